//===- SemaCarried.cpp - Variables on their way through a loop ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera::frontend {

std::string describeLine(const SourceRange &where) {
  return "line " + std::to_string(where.begin.line);
}

int Analyzer::getDeadArm(const If &stmt,
                         const std::set<std::string> &assigned) {
  auto value = tryFold(
      stmt.test, [&](const std::string &dotted) -> std::optional<ConstantData> {
        std::string root = dotted.substr(0, dotted.find('.'));
        if (assigned.count(root))
          return std::nullopt;
        if (auto found = scope().variables.find(dotted);
            found != scope().variables.end()) {
          if (found->second.isConstant())
            return found->second.constant;
          return std::nullopt;
        }
        if (scope().variables.count(root))
          return std::nullopt;
        if (Dim *dim = scope().hasDims ? findDim(dotted) : nullptr) {
          if (dim->size >= 0)
            return ConstantData(dim->size);
          return std::nullopt;
        }
        if (scope().constants)
          if (auto found = scope().constants->find(dotted);
              found != scope().constants->end())
            return found->second;
        if (auto found = scope().captured->find(dotted);
            found != scope().captured->end() &&
            found->second.kind == CapturedValue::Kind::Constant)
          return found->second.constant;
        return std::nullopt;
      });
  if (!value)
    return -1;
  return value->isTrue() ? 1 : 0;
}

mlir::Value Analyzer::materialize(const SemaValue &value, Location location) {
  switch (value.kind) {
  case ValueKind::Tile:
  case ValueKind::Scalar:
  case ValueKind::Tensor:
    return value.ssa;
  case ValueKind::Dim:
    if (auto size = decay(value, value.origin); succeeded(size))
      return library->makeScalar(*size, DType::I64, location);
    return nullptr;
  case ValueKind::Constant:
    if (value.constant.isNumber())
      return library->makeScalar(value, value.getPromotionOperand().dtype,
                                 location);
    return nullptr;
  default:
    return nullptr;
  }
}

/// The value a variable has inside a loop: as before, but not known.
SemaValue Analyzer::withSsa(const SemaValue &before, mlir::Value ssa) {
  SemaValue value;
  if (before.isConstant() || before.kind == ValueKind::Dim) {
    PromotionOperand operand = before.getPromotionOperand();
    value = SemaValue::makeScalar(ssa, operand.dtype, operand.weak);
  } else {
    value = before;
    value.ssa = ssa;
  }
  value.name = before.name;
  value.origin = before.origin;
  return value;
}

/// Whether a value of one kind can stand where the other was; a number without
/// a dtype of its own takes the other's.
bool Analyzer::isCompatible(const SemaValue &before, const SemaValue &after) {
  if (before.isTile() || after.isTile())
    return before.isTile() && after.isTile() && before.dtype == after.dtype &&
           before.axes == after.axes && before.complete == after.complete;
  // What is known about sizes, the library compares.
  if (before.isTensor() || after.isTensor()) {
    auto rank = [](const SemaValue &value) {
      return value.isTensor()
                 ? cast<RankedTensorType>(value.ssa.getType()).getRank()
                 : 0;
    };
    if (!(before.isTensor() || before.isNumber()) ||
        !(after.isTensor() || after.isNumber()) || rank(before) != rank(after))
      return false;
    if (rank(before) > 0)
      return before.dtype == after.dtype;
  } else if (!before.isNumber() || !after.isNumber()) {
    return false;
  }
  PromotionOperand was = before.getPromotionOperand();
  PromotionOperand is = after.getPromotionOperand();
  if (was.dtype == is.dtype)
    return true;
  // x = 0 where x is fp32.
  return is.weak && !was.weak && promote(is, was) &&
         promote(is, was).dtype == was.dtype;
}

/// The results of a loop are known by the first variable it carries.
Location Analyzer::getLoopLocation(const std::vector<Carried> &carried,
                                   Location loop) {
  for (const Carried &entry : carried)
    if (entry.argument)
      return loc(entry.assigned, entry.name);
  return loop;
}

FailureOr<std::vector<Analyzer::Carried>>
Analyzer::startLoop(const Body &body, const std::set<std::string> &targets,
                    Block &block) {
  std::vector<std::pair<std::string, SourceRange>> names;
  collectAssigned(body, names);
  std::set<std::string> assigned = targets;
  for (const auto &[name, where] : names)
    assigned.insert(name);
  // Again, now without the arms that are never run.
  names.clear();
  collectAssigned(body, names,
                  [&](const If &stmt) { return getDeadArm(stmt, assigned); });
  std::vector<Carried> carried;
  for (const auto &[name, where] : names) {
    auto found = scope().variables.find(name);
    if (found == scope().variables.end() || targets.count(name))
      continue;
    Carried entry;
    entry.name = name;
    entry.before = found->second;
    entry.assigned = where;
    entry.init = materialize(found->second, loc(found->second.origin, name));
    if (!entry.init)
      continue; // finishTurn checks that it stays what it is
    entry.argument = block.addArgument(entry.init.getType(), loc(where, name));
    found->second = withSsa(entry.before, entry.argument);
    carried.push_back(std::move(entry));
  }
  return carried;
}

/// A tile of zeros, as tsr.zeros makes it.
static bool isZeros(mlir::Value value) {
  auto fill = value ? value.getDefiningOp<tile::FillOp>() : tile::FillOp();
  return fill && matchPattern(fill.getValue(), m_AnyZeroFloat());
}

LogicalResult Analyzer::reportCarried(const Carried &carried,
                                      const SemaValue &after) {
  const SemaValue &before = carried.before;
  SourceRange where = after.origin.isValid() ? after.origin : carried.assigned;
  if (before.isTile() && after.isTile() &&
      unifyWhole(after.axes, before.axes, where))
    return failure();
  std::string message = carried.name + " is " + describe(before) +
                        " before the loop (" + describeLine(before.origin) +
                        ") but " + describe(after) + " after one turn";
  std::string fix;
  if (before.isTile() && after.isTile()) {
    if (isZeros(carried.init) && isFloat(before.dtype) &&
        isFloat(after.dtype) &&
        getDTypeBits(before.dtype) < getDTypeBits(after.dtype)) {
      // Rounding each term would lose what the wider dtype is for.
      fix = carried.name + " = tsr.zeros(";
      for (Axis *axis : before.axes)
        fix += axis->name + ", ";
      fix += std::string("dtype=tsr.") + getDTypeName(after.dtype) + ")";
    } else if (before.dtype != after.dtype) {
      fix = isFloat(before.dtype) && isFloat(after.dtype) &&
                    getDTypeBits(before.dtype) > getDTypeBits(after.dtype)
                ? std::string("keep it ") + getDTypeName(before.dtype) +
                      ", round at the store"
                : getCastFix(carried.name, before.dtype);
    } else if (before.axes != after.axes) {
      bool permuted = before.axes.size() == after.axes.size() &&
                      llvm::all_of(after.axes, [&](Axis *axis) {
                        return llvm::is_contained(before.axes, axis);
                      });
      if (permuted) {
        const Expr *value = scope().sources[carried.name].value;
        bool isPlain = value && scope().sources[carried.name].op.empty();
        fix = isPlain ? parenthesize(value) : carried.name;
        where = isPlain ? value->range : where;
        fix += ".permute(";
        for (auto [i, axis] : llvm::enumerate(before.axes))
          fix += (i ? ", " : "") + axis->name;
        fix += ")";
      } else if (std::string sum = suggestReduction(carried, after);
                 !sum.empty()) {
        fix = sum;
        where = scope().sources.find(carried.name)->second.value->range;
      } else if (after.axes.size() > before.axes.size()) {
        // It grew: it must have these axes from the start.
        fix = carried.name + " = tsr.zeros(";
        for (auto [i, axis] : llvm::enumerate(after.axes))
          fix += (i ? ", " : "") + axis->name;
        fix += ")";
      } else {
        fix = "another name inside the loop, or " + carried.name +
              " = ... with axes " + describeAxes(before.axes);
      }
    } else {
      message = carried.name +
                " has absent elements after one turn, but none before the "
                "loop (" +
                describeLine(before.origin) + ")";
      fix = carried.name + ".filled(0)";
    }
  } else if (after.isTile() && before.isNumber()) {
    bool zero = before.isConstant() && before.constant.asFloat() == 0;
    fix = carried.name + " = ";
    if (zero)
      fix += "tsr.zeros(";
    else
      fix += "tsr.full(" +
             (before.isConstant() ? before.constant.str() : carried.name);
    for (auto [i, axis] : llvm::enumerate(after.axes))
      fix += (i || !zero ? ", " : "") + axis->name;
    if (after.dtype != DType::FP32)
      fix += std::string(", dtype=") + getDTypeName(after.dtype);
    fix += ")";
  } else if (before.isConstant() && before.constant.isInt() &&
             after.isNumber() && isFloat(after.getPromotionOperand().dtype) &&
             after.getPromotionOperand().weak) {
    fix = carried.name + " = " + before.constant.str() + ".0";
  } else if (before.isNumber() &&
             (after.isScalar() || (after.isTensor() && after.dims.empty()))) {
    fix = carried.name + ": " + getDTypeName(after.dtype) + " = " +
          (before.isConstant() ? before.constant.str() : carried.name);
  } else if (before.isTensor() && after.isTensor() &&
             before.dtype != after.dtype) {
    fix = getCastFix(carried.name, before.dtype);
  } else if (before.isNumber() && after.isTensor()) {
    // It must have these axes from the start.
    std::string value =
        before.isConstant() ? before.constant.str() : carried.name;
    bool zero = before.isConstant() && before.constant.asFloat() == 0;
    std::string sizes;
    for (const Dim *dim : after.dims)
      sizes += (sizes.empty() ? "" : ", ") +
               (dim->size >= 0 ? std::to_string(dim->size) : dim->name);
    fix = carried.name + " = " + (zero ? "tsr.zeros((" : "tsr.full((") + sizes +
          (after.dims.size() == 1 ? ",)" : ")") + (zero ? "" : ", " + value);
    if (after.dtype != DType::FP32)
      fix += std::string(", dtype=tsr.") + getDTypeName(after.dtype);
    fix += ")";
  } else {
    fix = "another name inside the loop: " + carried.name + "2 = ...";
  }
  if (before.isTensor() && after.isTensor()) {
    fix = before.dtype != after.dtype ? getCastFix(carried.name, before.dtype)
                                      : unrollFix;
    // A column where a vector was: without the axis that it gained.
    auto type = cast<RankedTensorType>(after.ssa.getType());
    const auto &source = scope().sources[carried.name];
    bool isColumn = before.dtype == after.dtype && type.getRank() == 2 &&
                    type.getDimSize(1) == 1 && source.value &&
                    source.op.empty() &&
                    cast<RankedTensorType>(before.ssa.getType()).getRank() == 1;
    if (isColumn) {
      where = source.value->range;
      fix = parenthesize(source.value) + "[:, 0]";
    }
  }
  Diagnostic &diagnostic = error(where, message);
  // Another start is the line before the loop; an update stands at the caret.
  bool isUpdate =
      !fix.empty() &&
      (fix == getCastFix(carried.name, before.isTile() || before.isTensor()
                                           ? before.dtype
                                           : DType::FP32));
  bool isReduced = where.begin != carried.assigned.begin &&
                   where.begin != after.origin.begin;
  bool isStart = !isUpdate && !isReduced &&
                 (llvm::StringRef(fix).starts_with(carried.name + " = ") ||
                  llvm::StringRef(fix).starts_with(carried.name + ": "));
  diagnostic.setFix(fix);
  bool isBefore = isStart && before.origin.begin.line < where.begin.line;
  if (isBefore && before.isTile()) {
    diagnostic.message = carried.name + " starts as " + describe(before) +
                         ", but one turn of the loop makes it " +
                         describe(after);
    diagnostic.where = before.origin;
    diagnostic.addNote(where, carried.name + " after one turn");
  } else {
    diagnostic.addNote(before.origin, carried.name + " before the loop");
    if (isBefore)
      diagnostic.setFix(fix, before.origin);
  }
  return failure();
}

LogicalResult Analyzer::finishTurn(
    std::vector<Carried> &carried,
    const std::map<std::string, SemaValue, std::less<>> &before) {
  // Tuples, ranges and functions are not carried; they must stay what they are.
  for (const auto &[name, old] : before) {
    if (old.kind == ValueKind::Constant ? old.constant.isNumber()
                                        : old.ssa || old.dim)
      continue;
    const SemaValue &now = scope().variables[name];
    if (now.origin == old.origin)
      continue;
    (void)notYet(now.origin,
                 "'" + name + "' is " + describe(old) +
                     " and assigned in a loop",
                 old.isConstant() && old.constant.isNone() && now.isTile()
                     ? suggestFirst(name, now)
                     : "another name inside the loop");
    return failure();
  }
  for (Carried &entry : carried) {
    const SemaValue &after = scope().variables[entry.name];
    if (entry.before.isConstant() && after.isConstant() &&
        entry.before.constant == after.constant) {
      entry.yielded = entry.argument;
      continue;
    }
    if (!isCompatible(entry.before, after))
      return reportCarried(entry, after);
    Location location = loc(entry.assigned, entry.name);
    if (after.isTile() || entry.before.isTensor() || after.isTensor()) {
      entry.yielded =
          library->conform(entry.before, after, entry.name, location);
      if (!entry.yielded)
        return reportCarried(entry, after);
    } else {
      entry.yielded = library->makeScalar(
          after, entry.before.getPromotionOperand().dtype, location);
    }
  }
  return success();
}

void Analyzer::dropUnchanged(std::vector<Carried> &carried, Block &block) {
  for (Carried &entry : carried)
    if (entry.yielded == entry.argument) {
      entry.argument.replaceAllUsesWith(entry.init);
      for (Carried &other : carried)
        if (&other != &entry && other.yielded == entry.argument)
          other.yielded = entry.init;
      block.eraseArgument(entry.argument.getArgNumber());
      entry.argument = nullptr;
    }
}

LogicalResult Analyzer::checkReplaced(KernelState &state) {
  for (const Replaced &one : replaced) {
    std::string fix =
        one.result.use_empty()
            ? ""
            : state.getLastTurnFix(one.result, one.name,
                                   one.value ? quote(one.value->range) : "...");
    if (fix.empty())
      continue;
    SourceRange assigned = one.assigned;
    // acc = acc * fix + p @ v beside it: each turn rescales what it adds to.
    std::string factor = one.value ? findRescale(one.assigned) : "";
    if (llvm::StringRef(fix).contains(" * ... + ") && !factor.empty())
      fix = one.name + " = " + one.name + " * " + factor + " + " +
            quote(one.value->range);
    // The turn begins with `name = first` and adds to that: it is the one.
    const Assign *first =
        one.isUpdate ? findPlainAssign(one.name, one.assigned.begin) : nullptr;
    if (first && one.before.begin < first->range.begin) {
      assigned = first->range;
      fix = one.name + " += " + quote(first->value->range);
    }
    error(assigned, one.name + " is what the last turn of the loop makes "
                               "it: no turn uses what the one before made")
        .addNote(one.before, one.name + " before the loop")
        .setFix(fix);
    return failure();
  }
  return success();
}

void Analyzer::finishLoop(
    const std::vector<Carried> &carried, ValueRange results,
    const std::map<std::string, SemaValue, std::less<>> &before,
    const SourceRange &loop) {
  std::map<std::string, SemaValue, std::less<>> after = before;
  size_t next = 0;
  for (const Carried &entry : carried) {
    if (!entry.argument)
      continue;
    // tsr.zeros before the loop is the start of a sum.
    if (request.kind == ProgramKind::Kernel && entry.argument.use_empty() &&
        entry.before.isTile() && entry.init.getDefiningOp<tile::FillOp>())
      replaced.push_back({cast<OpResult>(results[next]), entry.name,
                          entry.before.origin,
                          scope().variables[entry.name].origin,
                          scope().sources[entry.name].value,
                          !scope().sources[entry.name].op.empty()});
    SemaValue value = withSsa(entry.before, results[next++]);
    value.origin = scope().variables[entry.name].origin;
    after[entry.name] = std::move(value);
  }
  for (const auto &[name, value] : scope().variables)
    if (!before.count(name))
      scope().gone[name] = {value.origin,
                            "inside the loop of " + describeLine(loop) +
                                ", which may run zero times",
                            getNeutralStart(name, value, BinaryOperator::Add,
                                            "before the loop", loop)};
  scope().variables = std::move(after);
}

} // namespace tessera::frontend
