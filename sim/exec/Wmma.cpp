// wmma: placeholder until its fragments are written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Decode.h"
namespace tessera::sim {
void decodeWmma(Decoder &d, Inst &) { d.fail("not supported yet"); }
void decodeVideo(Decoder &d, Inst &) { d.fail("not supported yet"); }
} // namespace tessera::sim
