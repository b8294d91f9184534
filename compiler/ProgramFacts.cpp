//===- ProgramFacts.cpp - What tools ask of a program ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/ProgramFacts.h"

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Schedule/IR/Schedule.h"
#include "compiler/StageText.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tessera;

static bool isExact(Operation *op) {
  if (auto math = dyn_cast<arith::ArithFastMathInterface>(op))
    if (arith::FastMathFlagsAttr flags = math.getFastMathFlagsAttr();
        flags && flags.getValue() != arith::FastMathFlags::none)
      return false;
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return reduce.getKind() != tile::ReduceKind::Sum &&
           reduce.getKind() != tile::ReduceKind::Prod;
  if (isa<tile::MmaOp, tile::MmaAsyncOp, tile::ScanOp, tile::AtomicOp>(op))
    return false;
  return !isa<math::MathDialect>(op->getDialect()) ||
         isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp,
             math::RoundEvenOp, math::TruncOp, math::CopySignOp, math::FmaOp,
             math::SqrtOp, math::IsNaNOp, math::IsFiniteOp, math::IsInfOp>(op);
}

static std::string orderOf(tile::NumericsAttr numerics) {
  std::string text;
  llvm::raw_string_ostream(text) << numerics;
  auto [_, inside] = StringRef(text).split('<');
  return inside.rtrim('>').str();
}

static void addResultDims(func::FuncOp function, ProgramFacts &facts) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto dims = function.getResultAttrOfType<ArrayAttr>(i, "gir.dims");
    if (!dims)
      continue;
    std::vector<std::string> &names = facts.resultDims.emplace_back();
    for (auto name : dims.getAsRange<StringAttr>())
      names.push_back(name.str());
  }
}

ProgramFacts tessera::factsOf(ModuleOp module) {
  ProgramFacts facts;
  auto addConflicts = [&](auto access) {
    std::optional<uint64_t> count = access.getConflicts();
    if (count && int64_t(*count) >= 0)
      facts.bankConflicts.push_back({access->getName().stripDialect().str(),
                                     int64_t(*count),
                                     sourcePlace(access.getLoc())});
  };
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    facts.isExact &= isExact(op);
    if (auto policy = op->getAttrOfType<StringAttr>("gir.policy"))
      facts.hasFastPolicy |= policy.getValue() == "fast";
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](func::FuncOp function) { addResultDims(function, facts); })
        .Case([&](graph::AttentionOp) { facts.hasAttention = true; })
        .Case([&](schedule::FuseOp fuse) {
          facts.hasFusions = true;
          facts.numerics.push_back(
              orderOf(cast<tile::NumericsAttr>(fuse.getNumerics())));
        })
        .Case([&](schedule::KernelOp kernel) {
          facts.numerics.push_back(
              orderOf(cast<tile::NumericsAttr>(kernel.getNumerics())));
        })
        .Case([&](tile::FuncOp) { facts.hasTiles = true; })
        .Case([&](tile::MmaOp mma) {
          auto instruction = mma.getInstruction();
          facts.hasTensorCores |=
              instruction &&
              llvm::is_contained({tile::MmaForm::Sync, tile::MmaForm::Sparse,
                                  tile::MmaForm::Scaled},
                                 instruction->getForm());
        })
        .Case([&](tile::CpAsyncOp copy) { addConflicts(copy); })
        .Case([&](tile::LocalLoadOp load) { addConflicts(load); });
  });
  facts.isExact &= facts.hasTiles;
  return facts;
}
