//===- TileOpsFixes.h - Fixes of what kernels write -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_TILEOPSFIXES_H
#define TESSERA_COMPILER_FRONTEND_TILEOPSFIXES_H

#include "compiler/Frontend/TileOps.h"

namespace tessera::frontend {

/// "tsr.atomic_add(S, (m,), x)" for S[m] += x, S being a region of mode
/// "reduce_sum"; otherwise S as an InOut.
std::string getAtomicFix(SemaContext &context, const std::string &name,
                         const std::string &mode, const OpSite &site);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_TILEOPSFIXES_H
