// RUN: tessera-opt %s --cpu-assume-dense | FileCheck %s
// RUN: tessera-opt %s --cpu-assume-dense --plan-print-text -o /dev/null | FileCheck %s --check-prefix=PLAN

// Memory to work in, with inner sizes that are numbers: so are the strides of
// all views without gaps. Rows of 40 begin at lines. Nothing is said of an axis
// of one element, nor of one whose size is not known.
// CHECK-LABEL: tile.func @work_dense(
// CHECK-SAME:    : memref<?x8x2xf32, strided<[?, 2, 1]>>
// CHECK-SAME:    : memref<?x1x32x16xf32, strided<[?, ?, 16, 1]>>
// CHECK-SAME:    : memref<?x4x40xf32, strided<[?, 48, 1]>>
// CHECK-LABEL: tile.func @work(
// CHECK-SAME:    : memref<?x1x32x16xf32, strided<[?, ?, ?, 1]>>
tile.func @work(%x: memref<?x8x2xf32, strided<[?, ?, 1]>> {gir.mode = "in", gir.name = "x"}, %u: memref<?x1x32x16xf32, strided<[?, ?, ?, 1]>> {gir.mode = "inout", gir.name = "u"}, %v: memref<?x4x40xf32, strided<[?, ?, 1]>> {gir.mode = "inout", gir.name = "v"}) {
  tile.return
}

// What is only read or only written may have gaps.
// CHECK-NOT: @result_dense
tile.func @result(%x: memref<8x16xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "x"}, %y: memref<8x16xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "y"}) {
  tile.return
}

// CHECK-NOT: @any_dense
tile.func @any(%x: memref<8x?xf32, strided<[?, 1]>> {gir.mode = "inout", gir.name = "x"}, %y: memref<8x16xf32, strided<[1, ?]>> {gir.mode = "inout", gir.name = "y"}) {
  tile.return
}

// PLAN-LABEL: function f
// PLAN:           if stride(%X, 1) == 2 and stride(%U, 2) == 16 and stride(%V, 1) == 48
// PLAN-NEXT:        launch @work_dense(%X, %U, %V) grid $M
// PLAN-NEXT:      else
// PLAN-NEXT:        launch @work(%X, %U, %V) grid $M
// PLAN-NEXT:      end
plan.func @f target "cpu" {
  %M = plan.dim "M"
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %X = plan.arg "X" in [%M, %c8, %c2] : !plan.tensor<f32, 3>
  %U = plan.arg "U" inout [%M, %c1, %c32, %c16] : !plan.tensor<f32, 4>
  %V = plan.arg "V" inout [%M, %c4, %c40] : !plan.tensor<f32, 3>
  plan.launch @work(%X, %U, %V) grid %M : !plan.tensor<f32, 3>, !plan.tensor<f32, 4>, !plan.tensor<f32, 3>
  plan.return
}
