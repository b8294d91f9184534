// Ring mode: floats become elements of an integer ring.
//
// A float of n bits stands for an element of the integers modulo 2^(n-1); one
// more element is minus infinity, in the bits that the float has for it. Sums
// and products agree bit for bit in any order, so two schedules of the same
// computation can be compared exactly.
//
//   exact    add sub mul fma neg min max, comparisons, mma and wmma, atomics;
//            integers to floats. ex2 is 5^x, which turns sums into products;
//            ex2 of minus infinity is 0. Division is a product with rcp.
//   opaque   the same input gives the same tag: rcp sqrt rsqrt lg2 sin cos
//            tanh abs, conversions between float types (0, 1 and minus
//            infinity stay what they are)
//   excluded everything else: refused by name when the kernel is decoded
//
// Minus infinity swallows everything in sums and products. Numbers spelled as
// floats (0f3F800000) become elements; numbers spelled as integers and what a
// kernel does to floats with integer instructions stay bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Code.h"
#include "sim/exec/RingArithmetic.h"

namespace tessera::sim {

class Decoder;

namespace ring {

/// The scalar type of a packed one.
ptx::Type scalarOf(ptx::Type type);

} // namespace ring

/// Decodes a float instruction for ring mode; false if the instruction only
/// moves bits or has no floats. Throws ptx::Error for what is excluded.
bool decodeRing(Decoder &d, Inst &inst);

} // namespace tessera::sim
