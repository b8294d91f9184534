//===- Mutate.h - Plants a miscompile, for testing --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wrong pass leaves wrong IR. To see whether the oracle finds it, the output
// of a pass is made wrong in one place, as a mistake in that pass would: an op
// dropped, operands swapped, a constant off by one, a comparison negated,
// another reduction, a launch short of a tile; of what one pass made, also a
// branch always or never taken, an attribute as before.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TESTING_MUTATE_H
#define TESSERA_COMPILER_TESTING_MUTATE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera::testing {

/// Changes one place of `module`, chosen by `seed`; says which and how. Empty
/// if there is no such place, or if the module would not verify: then it is as
/// before. With `made`, only what a pass made since `markBefore`: a new op, an
/// attribute that it changed.
std::string mutate(mlir::ModuleOp module, uint64_t seed, bool made = false);

/// What is there now was there before the pass. `mutate` forgets it.
void markBefore(mlir::ModuleOp module);

/// For tessera-opt: `test-mark`, and `test-mutate=seed=n` after the pass.
void registerPasses();

} // namespace tessera::testing

#endif // TESSERA_COMPILER_TESTING_MUTATE_H
