//===- Wave64.h - A SIMT machine from outside -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_TEST_UNIT_WAVE64_WAVE64_H
#define TESSERA_TEST_UNIT_WAVE64_WAVE64_H

#include "compiler/Target/Machine.h"

namespace tessera::wave64 {

/// Waves of 64 lanes, a matrix instruction of 16 x 16 x 16 and a shuffle of its
/// own; no predicated accesses and no copies that run beside the threads. It
/// exists as text only: the emission "wave".
const Machine &wave64Machine();

} // namespace tessera::wave64

#endif // TESSERA_TEST_UNIT_WAVE64_WAVE64_H
