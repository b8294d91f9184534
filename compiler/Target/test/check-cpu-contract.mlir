// RUN: tessera-opt %s --target-check-cpu-contract --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A tile op that no pass lowered.
tessera_target.kernel @left_over(%n: index) {
  // expected-error @+1 {{'tile.range_at' may not stand in a kernel of the CPU}}
  %r = tile.range_at %n of %n : !tile.range<16>
  tessera_target.return
}
