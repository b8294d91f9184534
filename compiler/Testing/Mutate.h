//===- Mutate.h - Plants a miscompile, for testing --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wrong pass leaves wrong IR. To see whether the oracle finds it, the output
// of a pass is made wrong in one place, as a mistake in that pass would: an op
// dropped, operands swapped, a constant off by one, a comparison negated,
// another reduction, a launch short of a tile.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TESTING_MUTATE_H
#define TESSERA_COMPILER_TESTING_MUTATE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera::testing {

/// Changes one place of `module`, chosen by `seed`; says which and how. Empty
/// if there is no such place, or if the module would not verify: then it is as
/// before.
std::string mutate(mlir::ModuleOp module, uint64_t seed);

} // namespace tessera::testing

#endif // TESSERA_COMPILER_TESTING_MUTATE_H
