// Policy "fast". SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --graph-to-schedule-relax-rounding | FileCheck %s

// A chain is rounded at its end only.
// CHECK-LABEL: func.func @chain
// CHECK:         %[[S:.*]] = gir.add %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK-NEXT:    %[[E:.*]] = gir.exp %[[S]] : tensor<?xf32>
// CHECK-NEXT:    %[[R:.*]] = gir.cast %[[E]] : tensor<?xf32> -> tensor<?xbf16>
// CHECK-NEXT:    return %[[R]]
func.func @chain(%x: tensor<?xbf16>, %y: tensor<?xbf16>) -> tensor<?xbf16> attributes {gir.policy = "fast"} {
  %s = gir.add %x, %y : tensor<?xbf16>
  %r = gir.exp %s : tensor<?xbf16>
  return %r : tensor<?xbf16>
}

// Every other policy keeps the roundings.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    gir.add %{{.*}} : tensor<?xbf16>
// CHECK-NEXT:    gir.exp %{{.*}} : tensor<?xbf16>
func.func @kept(%x: tensor<?xbf16>, %y: tensor<?xbf16>) -> tensor<?xbf16> attributes {gir.policy = "deterministic"} {
  %s = gir.add %x, %y : tensor<?xbf16>
  %r = gir.exp %s : tensor<?xbf16>
  return %r : tensor<?xbf16>
}
