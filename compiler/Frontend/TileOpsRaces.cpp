//===- TileOpsRaces.cpp - Stores that several programs of a grid make -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs run in any order or at once. A store whose element, mask and
// condition do not depend on an axis of the grid is made by every program along
// it. If its value does depend on that axis, or is the element itself with
// something added, which value stays is up to chance: an error. (If all of them
// store the same value, they may.)
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace tessera::frontend {

namespace {

/// All that some values are computed from, within one function.
class Sources {
public:
  void add(mlir::Value value) {
    SmallVector<mlir::Value> worklist = {value};
    while (!worklist.empty()) {
      mlir::Value next = worklist.pop_back_val();
      if (next && seen.insert(next).second)
        appendDirect(next, worklist);
    }
  }
  bool contains(mlir::Value value) const { return seen.contains(value); }
  const llvm::DenseSet<mlir::Value> &all() const { return seen; }

private:
  static void appendDirect(mlir::Value value,
                           SmallVectorImpl<mlir::Value> &into) {
    Operation *op;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      // Of a loop: the bounds, what it starts with and what each turn yields.
      op = argument.getOwner()->getParentOp();
      if (!op || isa<FunctionOpInterface>(op))
        return;
    } else {
      op = value.getDefiningOp();
    }
    llvm::append_range(into, op->getOperands());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
          llvm::append_range(into, block.back().getOperands());
  }

  llvm::DenseSet<mlir::Value> seen;
};

} // namespace

/// The op that joins what the programs along an axis have: "+" for a sum.
static llvm::StringRef joinerOf(mlir::Value value) {
  auto reduce = value.getDefiningOp<tile::ReduceOp>();
  if (!reduce)
    return "";
  switch (reduce.getKind()) {
  case tile::ReduceKind::Sum:
    return "+";
  case tile::ReduceKind::Max:
    return "tsr.maximum";
  case tile::ReduceKind::Min:
    return "tsr.minimum";
  default:
    return "";
  }
}

/// "tsr.atomic_add(C, (m,), x)" with the annotation it needs, or a loop inside
/// that joins what every program has, or a destination with the axis.
std::string TileOps::getRaceFix(const WriteSite &site, const GridAxis &axis,
                                bool adds, mlir::Value value) {
  const std::string &name = parameterNames[site.parameter];
  if (adds && !llvm::StringRef(site.arguments).contains(name + "["))
    return "tsr.atomic_add(" + name + ", " + site.arguments + "), with " +
           getAnnotationFix(site.parameter, "Region[reduce_sum, Tensor[", "]]");
  std::string extent = context.quote(axis.where),
              whole = context.quote(site.where);
  llvm::StringRef place = whole;
  if (!place.consume_front(name + "[") || !place.consume_back("]"))
    place = "";
  llvm::StringRef joiner = joinerOf(value);
  llvm::StringRef stored = llvm::StringRef(site.arguments).split("), ").second;
  if (joiner.empty() || place.empty() || stored.empty())
    return name + "[" + (place.empty() ? "" : place.str() + ", ") + axis.name +
           "], in an Out with that axis, too";
  std::string loop =
      "for " + axis.name + " in " +
      (axis.axis ? extent : "range(" + extent + ")") +
      ":  # inside the loop of the grid, instead of an axis of it\n    ";
  std::string end = "\n" + whole + " = acc";
  if (joiner == "+")
    return "acc = tsr.zeros(" + place.str() + ")\n" + loop +
           "acc += " + stored.str() + end;
  return "acc = tsr.full(" + std::string(joiner == "tsr.maximum" ? "-" : "") +
         "tsr.inf, " + place.str() + ")\n" + loop + "acc = " + joiner.str() +
         "(acc, " + stored.str() + ")" + end;
}

/// The element itself with something added.
static bool addsTo(tile::StoreOp store) {
  Operation *sum = store.getValue().getDefiningOp();
  return sum && sum->getName().stripDialect().starts_with("add") &&
         llvm::any_of(sum->getOperands(), [&](mlir::Value operand) {
           auto load = operand.getDefiningOp<tile::LoadOp>();
           return load && load.getView() == store.getView();
         });
}

LogicalResult TileOps::checkRaces(Operation *kernel) {
  LogicalResult result = success();
  kernel->walk([&](tile::StoreOp store) {
    auto known = writes.find(store.getLoc());
    if (failed(result) || known == writes.end())
      return;
    const WriteSite &site = known->second;
    Sources place, value;
    for (mlir::Value index : store.getIndices())
      place.add(index);
    if (store.getMask())
      place.add(store.getMask());
    for (Operation *parent = store->getParentOp(); parent && parent != kernel;
         parent = parent->getParentOp())
      for (mlir::Value operand : parent->getOperands())
        place.add(operand);
    value.add(store.getValue());
    bool updates = llvm::any_of(value.all(), [&](mlir::Value source) {
      auto load = source.getDefiningOp<tile::LoadOp>();
      return load && load.getView() == store.getView();
    });
    for (const GridAxis &axis : gridAxes) {
      mlir::Value id = axis.axis ? axis.axis->range : axis.index;
      APInt extent;
      bool isSingle = matchPattern(axis.extent, m_ConstantInt(&extent)) &&
                      extent.sle(std::max<int64_t>(axis.size, 1));
      if (isSingle || place.contains(id) || !(updates || value.contains(id)))
        continue;
      Diagnostic &diagnostic = context.error(
          site.where, context.quote(site.where) +
                          " is written by every program along " + axis.name +
                          (updates ? ": some updates are lost"
                                   : ": which value stays is up to chance"));
      if (axis.axis)
        diagnostic.addNote(axis.axis->where, "the axis " + axis.name);
      diagnostic.setFix(
          getRaceFix(site, axis, addsTo(store), store.getValue()));
      result = failure();
      return;
    }
  });
  return result;
}

} // namespace tessera::frontend
