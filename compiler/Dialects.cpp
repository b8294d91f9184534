//===- Dialects.cpp - Everything a context of ours must know --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Dialects.h"

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Graph/Transforms/Passes.h"
#include "compiler/Plan/Passes.h"
#include "compiler/Schedule/IR/Schedule.h"
#include "compiler/Schedule/Transforms/Passes.h"
#include "compiler/ScheduleToTile/Passes.h"
#include "compiler/Target/IR/Target.h"
#include "compiler/Target/Machine.h"
#include "compiler/Target/Math/ExpandMath.h"
#include "compiler/Target/SIMT/Lowering/Passes.h"
#include "compiler/Target/SIMT/Mapping/Passes.h"
#include "compiler/Tile/IR/Tile.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

void tessera::registerDialects(DialectRegistry &registry) {
  registry
      .insert<graph::GraphDialect, plan::PlanDialect, schedule::ScheduleDialect,
              tile::TileDialect, target::TargetDialect>();
  registry.insert<affine::AffineDialect, amx::AMXDialect, arith::ArithDialect,
                  func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect, vector::VectorDialect>();
}

void tessera::registerMachineDialects(DialectRegistry &registry) {
  for (const Machine *machine : machines())
    if (machine->registerDialects)
      machine->registerDialects(registry);
}

void tessera::registerPasses() {
  graph::registerGraphPasses();
  graph::registerGraphPipeline();
  plan::registerPlanPasses();
  schedule::registerSchedulePipeline();
  tile::registerScheduleToTilePipeline();
  tile::registerTilePasses();
  simt::registerSimtMappingPasses();
  simt::registerSimtLoweringPasses();
  for (const Machine *machine : machines())
    if (machine->registerPasses)
      machine->registerPasses();
  target::registerExpandMathPass();
}
