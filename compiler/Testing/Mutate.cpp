//===- Mutate.cpp - Plants a miscompile, for testing ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Testing/Mutate.h"

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Plan/IR/Plan.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/StringExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"

#include <functional>
#include <random>
#include <vector>

using namespace mlir;
using namespace tessera;

namespace {

/// One place and what to do there; `undo` takes it back.
struct Mutation {
  std::string what;
  Operation *op;
  std::function<void()> apply, undo;
};

/// Of an op that was there before a pass: its attributes.
constexpr StringLiteral beforeName = "test.before";

class Collector {
public:
  Collector(ModuleOp module, bool made) : made(made) {
    // Variants for results of many megabytes do not run on test inputs, unless
    // a schedule asks for them.
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto name = SymbolTable::getSymbolName(op);
      if (!made && name && name.getValue().ends_with("_stream"))
        return WalkResult::skip();
      visit(op);
      return WalkResult::advance();
    });
  }
  std::vector<Mutation> found;

private:
  /// Only what a pass made: ops that are new, attributes that it changed.
  bool made;

  void visit(Operation *op);
  void visitAttributes(Operation *op);
  void add(Operation *op, std::string what, std::function<void()> apply,
           std::function<void()> undo) {
    found.push_back({std::move(what), op, std::move(apply), std::move(undo)});
  }
  /// An attribute gets another value.
  void change(Operation *op, StringRef name, Attribute to, std::string what) {
    Attribute from = op->getAttr(name);
    add(
        op, std::move(what), [=] { op->setAttr(name, to); },
        [=] { op->setAttr(name, from); });
  }
  void swapOperands(Operation *op);
  void drop(Operation *op);
  void changeConstant(Operation *op);
  void changeKind(Operation *op);
  void changeBranch(scf::IfOp branch);
  void changeGrid(plan::LaunchOp launch);
};

} // namespace

static bool isPayload(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "gir" || dialect == "tile" || dialect == "arith" ||
         dialect == "math";
}

/// An attribute is as before the pass, or another number.
void Collector::visitAttributes(Operation *op) {
  auto before = op->getAttrOfType<DictionaryAttr>(beforeName);
  for (NamedAttribute now : op->getAttrs()) {
    StringRef name = now.getName();
    Attribute was = before ? before.get(name) : Attribute();
    if (name == beforeName || was == now.getValue())
      continue;
    Attribute is = now.getValue();
    if (was || isa<UnitAttr>(is))
      add(
          op, ("attribute " + name + " as before").str(),
          [=] {
            if (was)
              op->setAttr(name, was);
            else
              op->removeAttr(name);
          },
          [=] { op->setAttr(name, is); });
    if (auto number = dyn_cast<IntegerAttr>(is))
      change(op, name,
             IntegerAttr::get(number.getType(), number.getInt() ? 0 : 64),
             ("attribute " + name + " another number").str());
  }
}

/// The branch is always taken, or never.
void Collector::changeBranch(scf::IfOp branch) {
  Operation *op = branch;
  for (bool always : {false, true}) {
    Value condition = branch.getCondition();
    add(
        op, always ? "branch always taken" : "branch never taken",
        [=] {
          OpBuilder builder(op);
          op->setOperand(
              0, arith::ConstantOp::create(builder, op->getLoc(),
                                           builder.getBoolAttr(always)));
        },
        [=] {
          Operation *constant = op->getOperand(0).getDefiningOp();
          op->setOperand(0, condition);
          constant->erase();
        });
  }
}

void Collector::visit(Operation *op) {
  if (made) {
    visitAttributes(op);
    if (op->hasAttr(beforeName))
      return;
    if (auto branch = dyn_cast<scf::IfOp>(op))
      changeBranch(branch);
  }
  if (auto launch = dyn_cast<plan::LaunchOp>(op))
    return changeGrid(launch);
  if (op->getParentOfType<plan::FuncOp>())
    return;
  if (!isPayload(op) || op->hasTrait<OpTrait::IsTerminator>() ||
      (op->getNumResults() && op->use_empty()))
    return;
  swapOperands(op);
  drop(op);
  changeConstant(op);
  changeKind(op);
}

/// Comparisons for equality, and checks of it.
static bool isSymmetric(Operation *op) {
  if (auto compare = dyn_cast<graph::CompareOp>(op))
    return compare.getKind() == graph::CompareKind::Eq ||
           compare.getKind() == graph::CompareKind::Ne;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate() == arith::CmpIPredicate::eq ||
           compare.getPredicate() == arith::CmpIPredicate::ne;
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compare.getPredicate() == arith::CmpFPredicate::OEQ ||
           compare.getPredicate() == arith::CmpFPredicate::UNE;
  return isa<graph::CheckEqualOp>(op);
}

void Collector::swapOperands(Operation *op) {
  if (op->hasTrait<OpTrait::IsCommutative>() || op->getNumRegions() ||
      isSymmetric(op))
    return;
  for (unsigned i = 0; i + 1 < op->getNumOperands(); ++i) {
    Value a = op->getOperand(i), b = op->getOperand(i + 1);
    bool factors = i == 0 && isa<math::FmaOp, graph::FmaOp>(op);
    if (a == b || a.getType() != b.getType() || factors)
      continue;
    auto swap = [=] {
      Value first = op->getOperand(i);
      op->setOperand(i, op->getOperand(i + 1));
      op->setOperand(i + 1, first);
    };
    add(op, "operands " + std::to_string(i) + " and next swapped", swap, swap);
  }
}

/// Its only result becomes an operand of the same type, or it does nothing.
void Collector::drop(Operation *op) {
  if (op->getNumRegions())
    return;
  if (op->getNumResults() == 1) {
    Value result = op->getResult(0);
    for (Value operand : op->getOperands()) {
      if (operand.getType() != result.getType() || result.use_empty())
        continue;
      auto uses = std::make_shared<std::vector<OpOperand *>>();
      add(
          op, "dropped",
          [=] {
            for (OpOperand &use : result.getUses())
              uses->push_back(&use);
            for (OpOperand *use : *uses)
              use->set(operand);
          },
          [=] {
            for (OpOperand *use : *uses)
              use->set(result);
          });
      return;
    }
  } else if (isa<tile::StoreOp, tile::LocalStoreOp, tile::PrefetchOp>(op)) {
    // Nothing follows from a store, so there is never anything to undo; but a
    // matrix step needs its own.
    auto nest = op->getParentOfType<tile::NestOp>();
    if (!nest || !nest.getUnit())
      add(op, "dropped", [=] { op->erase(); }, [] {});
  }
}

static Attribute offByOne(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    if (integer.getType().isInteger(1))
      return IntegerAttr::get(integer.getType(), !integer.getValue());
    return IntegerAttr::get(integer.getType(), integer.getValue() + 1);
  }
  if (auto number = dyn_cast<FloatAttr>(value)) {
    // Zero, one and minus infinity are neutral elements: another one.
    APFloat to = number.getValue();
    APFloat one(to.getSemantics(), 1);
    if (to.isInfinity())
      to = APFloat::getZero(to.getSemantics());
    else if (to.isZero())
      to = one;
    else
      to.changeSign();
    return FloatAttr::get(number.getType(), to);
  }
  if (auto dense = dyn_cast<DenseElementsAttr>(value);
      dense && dense.isSplat()) {
    Attribute to = offByOne(dense.getSplatValue<Attribute>());
    return to ? DenseElementsAttr::get(cast<ShapedType>(dense.getType()), to)
              : Attribute();
  }
  return {};
}

void Collector::changeConstant(Operation *op) {
  if (!isa<arith::ConstantOp, graph::ConstantOp>(op))
    return;
  if (Attribute to = offByOne(op->getAttr("value")))
    change(op, "value", to, "constant changed");
}

static graph::CompareKind negated(graph::CompareKind kind) {
  using K = graph::CompareKind;
  switch (kind) {
  case K::Eq:
    return K::Ne;
  case K::Ne:
    return K::Eq;
  case K::Lt:
    return K::Ge;
  case K::Ge:
    return K::Lt;
  case K::Le:
    return K::Gt;
  case K::Gt:
    return K::Le;
  }
  llvm_unreachable("a kind of comparison");
}

static arith::CmpFPredicate negated(arith::CmpFPredicate kind) {
  using P = arith::CmpFPredicate;
  static constexpr std::pair<P, P> pairs[] = {
      {P::OEQ, P::UNE}, {P::ONE, P::UEQ},
      {P::OLT, P::UGE}, {P::OLE, P::UGT},
      {P::OGT, P::ULE}, {P::OGE, P::ULT},
      {P::ORD, P::UNO}, {P::AlwaysTrue, P::AlwaysFalse}};
  for (auto [a, b] : pairs)
    if (kind == a || kind == b)
      return kind == a ? b : a;
  llvm_unreachable("a kind of comparison");
}

void Collector::changeKind(Operation *op) {
  MLIRContext *context = op->getContext();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    change(
        op, "predicate",
        arith::CmpFPredicateAttr::get(context, negated(compare.getPredicate())),
        "comparison negated");
  else if (auto compare = dyn_cast<arith::CmpIOp>(op))
    change(op, "predicate",
           arith::CmpIPredicateAttr::get(
               context, arith::invertPredicate(compare.getPredicate())),
           "comparison negated");
  else if (auto compare = dyn_cast<graph::CompareOp>(op))
    change(op, "kind",
           graph::CompareKindAttr::get(context, negated(compare.getKind())),
           "comparison negated");
  else if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
    auto to = reduce.getKind() == graph::ReduceKind::Sum
                  ? graph::ReduceKind::Max
                  : graph::ReduceKind::Sum;
    change(op, "kind", graph::ReduceKindAttr::get(context, to),
           "another reduction");
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    auto to = reduce.getKind() == tile::ReduceKind::Sum ? tile::ReduceKind::Max
                                                        : tile::ReduceKind::Sum;
    change(op, "kind", tile::ReduceKindAttr::get(context, to),
           "another reduction");
  }
}

/// A number of a launch's grid is doubled.
void Collector::changeGrid(plan::LaunchOp launch) {
  SetVector<Value> worklist;
  worklist.insert(launch.getGrid());
  for (size_t next = 0; next < worklist.size(); ++next) {
    Operation *op = worklist[next].getDefiningOp();
    if (!op || !isa<arith::ArithDialect>(op->getDialect()))
      continue;
    worklist.insert_range(op->getOperands());
    auto constant = dyn_cast<arith::ConstantOp>(op);
    auto number =
        constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
    if (!number || !number.getType().isIndex() || number.getInt() == 0)
      continue;
    change(op, "value", IntegerAttr::get(number.getType(), 2 * number.getInt()),
           "grid: " + std::to_string(number.getInt()) + " doubled");
  }
}

void testing::markBefore(ModuleOp module) {
  module.walk([](Operation *op) {
    op->setAttr(beforeName,
                DictionaryAttr::get(op->getContext(), op->getAttrs()));
  });
}

static std::string describe(const Mutation &mutation) {
  std::string text;
  llvm::raw_string_ostream(text) << mutation.what << ": " << *mutation.op;
  for (Operation *parent = mutation.op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (auto name =
            parent->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
      text += " (in @" + name.str() + ")";
  return text;
}

std::string testing::mutate(ModuleOp module, uint64_t seed, bool made) {
  std::vector<Mutation> found = Collector(module, made).found;
  if (made)
    module.walk([](Operation *op) { op->removeAttr(beforeName); });
  if (found.empty())
    return "";
  std::mt19937_64 random(seed);
  Mutation &chosen = found[random() % found.size()];
  std::string text = describe(chosen);
  chosen.apply();
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) {});
  if (succeeded(verify(module)))
    return text;
  chosen.undo();
  return "";
}
