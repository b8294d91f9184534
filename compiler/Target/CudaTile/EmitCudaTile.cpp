//===- EmitCudaTile.cpp - A module of kernels as bytecode -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CudaTile/CudaTile.h"
#include "compiler/Target/CudaTile/KernelWriter.h"
#include "compiler/Target/Math/ExpandMath.h"
#include "compiler/Tile/Transforms/MaskAbsent.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

FailureOr<std::string> tessera::target::emitCudaTile(ModuleOp given,
                                                     PreparePasses prepare) {
  OwningOpRef<ModuleOp> module = given.clone();
  PassManager first(module->getContext(), ModuleOp::getOperationName());
  first.enableVerifier(false);
  if (prepare)
    prepare(first);
  tile::addKernelPass(first, tile::createExpandProductsPass());
  if (failed(first.run(*module)))
    return failure();
  for (auto func : module->getOps<tile::FuncOp>())
    tile::maskAbsent(func, [](Value tile, int64_t axis) {
      return paddedShape(tile.getType())[axis];
    });
  // Our functions, so that every machine computes within the same bound.
  PassManager manager(module->getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(false);
  if (prepare)
    prepare(manager);
  manager.addPass(createExpandMathPass());
  manager.addPass(createCSEPass());
  if (failed(manager.run(*module)))
    return failure();
  cudatile::Module out;
  for (auto func : module->getOps<tile::FuncOp>())
    if (failed(KernelWriter(out, func).run()))
      return failure();
  return out.write();
}
