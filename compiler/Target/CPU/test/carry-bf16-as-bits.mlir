// RUN: tessera-opt --target-carry-bf16-as-bits %s | FileCheck %s
//
// bf16 that is selected and carried through a loop is a 16-bit integer:
// constants have its bits, and bit casts between the two are gone.

// CHECK-LABEL: func @largest
// CHECK-SAME:    %[[X:.*]]: vector<16xi16>
// CHECK-NOT:     bf16
// CHECK:         %[[LOWEST:.*]] = arith.constant dense<-128> : vector<16xi16>
// CHECK:         scf.for {{.*}} iter_args(%[[TOP:.*]] = %[[LOWEST]]) -> (vector<16xi16>)
// CHECK-NOT:       arith.bitcast
// CHECK:           %[[BETTER:.*]] = arith.cmpi sgt, %[[X]], %[[TOP]] : vector<16xi16>
// CHECK:           arith.select %[[BETTER]], %[[X]], %[[TOP]] : vector<16xi1>, vector<16xi16>
// CHECK:         return {{.*}} : vector<16xi16>
func.func @largest(%x: vector<16xi16>, %n: index) -> vector<16xbf16> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lowest = arith.constant dense<0xFF80> : vector<16xbf16>
  %result = scf.for %i = %zero to %n step %one iter_args(%top = %lowest) -> (vector<16xbf16>) {
    %value = arith.bitcast %x : vector<16xi16> to vector<16xbf16>
    %a = arith.bitcast %value : vector<16xbf16> to vector<16xi16>
    %b = arith.bitcast %top : vector<16xbf16> to vector<16xi16>
    %better = arith.cmpi sgt, %a, %b : vector<16xi16>
    %next = arith.select %better, %value, %top : vector<16xi1>, vector<16xbf16>
    scf.yield %next : vector<16xbf16>
  }
  return %result : vector<16xbf16>
}

// f32 stays what it is.
// CHECK-LABEL: func @other
// CHECK:         arith.constant 1.000000e+00 : f32
func.func @other() -> f32 {
  %one = arith.constant 1.0 : f32
  return %one : f32
}
