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
// A store in a loop whose element does not depend on the turn, and whose value
// does, is overwritten by the next turn: an error as well, unless the value is
// what the turns before have left.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ParseText.h"
#include "compiler/Frontend/TileOps.h"
#include "compiler/Frontend/TileOpsFixes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace tessera::frontend {

namespace {

/// All that some values are computed from, within one function, or within one
/// turn of a loop.
class Sources {
public:
  explicit Sources(Operation *loop = nullptr) : loop(loop) {}
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
  void appendDirect(mlir::Value value,
                    SmallVectorImpl<mlir::Value> &into) const {
    Operation *op, *owner = value.getParentBlock()->getParentOp();
    // What a turn begins with is not looked into.
    if (loop && !(isa<BlockArgument>(value) ? loop->isProperAncestor(owner)
                                            : loop->isAncestor(owner)))
      return;
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
  Operation *loop;
};

} // namespace

/// The op that joins what the programs along an axis have: "+" for a sum.
static llvm::StringRef joinerOf(mlir::Value value) {
  // A product that begins with zeros is a sum over its k.
  mlir::Value root = value;
  while (Operation *op = root.getDefiningOp()) {
    if (!isa<arith::TruncFOp, arith::ExtFOp>(op))
      break;
    root = op->getOperand(0);
  }
  if (auto mma = root.getDefiningOp<tile::MmaOp>())
    return mma.getAcc().getDefiningOp<tile::FillOp>() ? "+" : "";
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

/// The element itself with something added.
static bool addsTo(tile::StoreOp store) {
  Operation *sum = store.getValue().getDefiningOp();
  bool isSum = sum && (isa<tile::MmaOp>(sum) ||
                       sum->getName().stripDialect().starts_with("add"));
  return isSum && llvm::any_of(sum->getOperands(), [&](mlir::Value operand) {
           auto load = operand.getDefiningOp<tile::LoadOp>();
           return load && load.getView() == store.getView();
         });
}

/// "m, n" of "C[m, n]"; empty if it is written otherwise.
static llvm::StringRef getPlace(llvm::StringRef whole, llvm::StringRef name) {
  bool isPlain = whole.consume_front(name) && whole.consume_front("[") &&
                 whole.consume_back("]");
  return isPlain ? whole : "";
}

/// "x" of "(m, n), x".
static llvm::StringRef getStored(llvm::StringRef arguments) {
  return arguments.split("), ").second;
}

/// "acc += x", or "acc = tsr.maximum(acc, x)".
static std::string getStep(llvm::StringRef joiner, llvm::StringRef stored,
                           const std::string &name = "acc") {
  if (joiner.empty() || joiner == "+")
    return name + " += " + stored.str();
  return name + " = " + joiner.str() + "(" + name + ", " + stored.str() + ")";
}

/// "acc = tsr.zeros(m)", or "acc: fp32 = 0.0" where all indices are positions.
static std::string getStart(tile::StoreOp store, llvm::StringRef place,
                            llvm::StringRef joiner) {
  std::string number = joiner == "+"             ? "0.0"
                       : joiner == "tsr.maximum" ? "-tsr.inf"
                                                 : "tsr.inf";
  SmallVector<llvm::StringRef> indices;
  place.split(indices, ',');
  std::string ranges;
  for (auto [text, index] : llvm::zip(indices, store.getIndices()))
    if (isa<tile::RangeType>(index.getType()))
      ranges += ", " + text.trim().str();
  if (ranges.empty())
    return "acc: fp32 = " + number;
  return joiner == "+" ? "acc = tsr.zeros(" + ranges.substr(2) + ")"
                       : "acc = tsr.full(" + number + ranges + ")";
}

/// "tsr.atomic_add(C, (m,), x)" with the annotation it needs, or a loop inside
/// that joins what every program has, or a destination with the axis.
/// The loop around a store once more, as one that joins its turns:
///
///     acc = tsr.zeros(m, n)
///     for k in tsr.tile(K, BK):
///         acc += A[m, k] @ B[k, n]
///     C[m, n] = acc
std::string TileOps::getJoinedLoop(tile::StoreOp store, const WriteSite &site,
                                   llvm::StringRef place,
                                   llvm::StringRef joiner,
                                   llvm::StringRef stored) const {
  std::string head, whole = context.quote(site.where);
  std::function<void(const Body &)> find = [&](const Body &body) {
    for (const Stmt *stmt : body) {
      auto *loop = dynCast<For>(stmt);
      auto *branch = dynCast<If>(stmt);
      if (branch)
        find(branch->body);
      if (!loop || site.where.begin < loop->range.begin ||
          loop->range.end < site.where.end)
        continue;
      head = "for " + context.quote(loop->target->range) + " in " +
             context.quote(loop->iter->range) + ":";
      find(loop->body);
    }
  };
  find(context.getBody());
  return getStart(store, place, joiner) + "\n" + head + "\n    " +
         getStep(joiner, stored) + "\n" + whole + " = acc";
}

std::string TileOps::getRaceFix(const WriteSite &site, const GridAxis &axis,
                                tile::StoreOp store) {
  const std::string &name = parameterNames[site.parameter];
  if (addsTo(store) && !llvm::StringRef(site.arguments).contains(name + "["))
    return "tsr.atomic_add(" + name + ", " + site.arguments + "), with " +
           getAnnotationFix(site.parameter, "Region[reduce_sum, Tensor[", "]]");
  std::string extent = context.quote(axis.where),
              whole = context.quote(site.where);
  llvm::StringRef place = getPlace(whole, name);
  llvm::StringRef joiner = joinerOf(store.getValue());
  llvm::StringRef stored = getStored(site.arguments);
  if (joiner.empty() || place.empty() || stored.empty())
    return name + "[" + (place.empty() ? "" : place.str() + ", ") + axis.name +
           "], in an Out with that axis, too";
  // The grid without the axis, if another one is left.
  std::string names, extents, indent;
  for (const GridAxis &other : gridAxes)
    if (other.name != axis.name) {
      names += (names.empty() ? "" : ", ") + other.name;
      extents += (extents.empty() ? "" : ", ") + context.quote(other.where);
    }
  std::string head;
  if (!names.empty()) {
    head = "for " + names + " in tsr.grid(" + extents + "):\n    ";
    indent = "    ";
  }
  std::string loop = "for " + axis.name + " in " +
                     (axis.axis ? extent : "range(" + extent + ")") +
                     ":\n    " + indent;
  return head + getStart(store, place, joiner) + "\n" + indent + loop +
         getStep(joiner, stored) + "\n" + indent + whole + " = acc";
}

/// The most that an integer may be, if it is a constant or has one as bound.
static std::optional<int64_t> getMost(mlir::Value root) {
  std::optional<int64_t> most;
  llvm::SetVector<mlir::Value> worklist;
  worklist.insert(root);
  for (size_t next = 0; next < worklist.size(); ++next) {
    APInt number;
    if (matchPattern(worklist[next], m_ConstantInt(&number)))
      most = std::min(most.value_or(INT64_MAX), number.getSExtValue());
    else if (auto least = worklist[next].getDefiningOp<arith::MinSIOp>())
      worklist.insert_range(least->getOperands());
  }
  return most;
}

/// Whether a loop may have more than one turn.
static bool hasTurns(Operation *loop) {
  APInt start, stop, step;
  if (auto tiles = dyn_cast<tile::ForOp>(loop)) {
    std::optional<int64_t> most = getMost(tiles.getStop());
    return !matchPattern(tiles.getStart(), m_ConstantInt(&start)) || !most ||
           *most - start.getSExtValue() > tiles.getSize();
  }
  if (auto plain = dyn_cast<scf::ForOp>(loop))
    return !matchPattern(plain.getLowerBound(), m_ConstantInt(&start)) ||
           !matchPattern(plain.getUpperBound(), m_ConstantInt(&stop)) ||
           !matchPattern(plain.getStep(), m_ConstantInt(&step)) ||
           (stop - start).sgt(step);
  return false;
}

/// Whether values of a turn are of its number and of what lies in memory alone.
static bool isOfOneTurn(const Sources &value,
                        Block::BlockArgListType arguments) {
  auto isIn = [&](mlir::Value argument) { return value.contains(argument); };
  if (!isIn(arguments[0]) || llvm::any_of(arguments.drop_front(), isIn))
    return false;
  // What lies in memory may be of the turn before.
  return llvm::all_of(value.all(), [&](mlir::Value source) {
    Operation *op = source.getDefiningOp();
    auto load = dyn_cast_or_null<tile::LoadOp>(op);
    if (!load)
      return !op || op->getNumRegions() || isMemoryEffectFree(op);
    return llvm::none_of(load.getView().getUsers(), [](Operation *user) {
      return !isa<tile::LoadOp>(user) && !isMemoryEffectFree(user);
    });
  });
}

/// What a store in a loop leaves: each turn another place, or adds to what is
/// there; a value of the turn where the last left one; or one of all turns so
/// far, which the last makes whole.
enum class Overwritten { No, ByTurn, ByAll };

template <typename WriteOp>
static Overwritten getOverwritten(WriteOp store, Operation *loop) {
  if (!hasTurns(loop))
    return Overwritten::No;
  Sources place(loop), value(loop);
  for (mlir::Value index : store.getIndices())
    place.add(index);
  if (store.getMask())
    place.add(store.getMask());
  for (Operation *parent = store->getParentOp(); parent != loop;
       parent = parent->getParentOp())
    for (mlir::Value operand : parent->getOperands())
      place.add(operand);
  value.add(store.getValue());
  Block::BlockArgListType arguments = loop->getRegion(0).getArguments();
  auto isIn = [](const Sources &sources) {
    return [&](mlir::Value argument) { return sources.contains(argument); };
  };
  if (llvm::any_of(arguments, isIn(place)))
    return Overwritten::No;
  if (isOfOneTurn(value, arguments))
    return Overwritten::ByTurn;
  bool isOfAll = isa<tile::ForOp>(loop) && store->getParentOp() == loop &&
                 llvm::any_of(arguments.drop_front(), isIn(value));
  return isOfAll ? Overwritten::ByAll : Overwritten::No;
}

std::string TileOps::getLastTurnFix(OpResult result, const std::string &name,
                                    const std::string &value) {
  Operation *loop = result.getOwner();
  if (!hasTurns(loop))
    return "";
  Block &turn = loop->getRegion(0).front();
  mlir::Value yielded =
      turn.getTerminator()->getOperand(result.getResultNumber());
  Sources sources(loop);
  sources.add(yielded);
  llvm::StringRef joiner = joinerOf(yielded);
  // A sum over the tile of a turn is a part, whatever else the loop carries.
  const Axis *along = partialReductions.lookup(yielded.getLoc()).along;
  mlir::Value tile = turn.getArgument(0);
  bool isPart =
      isa<tile::ForOp>(loop) &&
      (along ? along->range == tile
             : yielded.getDefiningOp<tile::MmaOp>() && sources.contains(tile));
  if (isOfOneTurn(sources, turn.getArguments()))
    return getStep(joiner, value, name);
  // What else the loop carries rescales it, in a way that is not known here.
  return isPart && !joiner.empty() ? name + " = " + name + " * ... + " + value
                                   : "";
}

namespace {
/// S[m] += x, by its texts.
struct ElementUpdate {
  std::string name, indices, added;

  std::string getAtomic() const {
    bool isOne = splitAtCommas(indices).size() == 1;
    return "tsr.atomic_add(" + name + ", (" + indices +
           (isOne ? ",), " : "), ") + added + ")";
  }
};
} // namespace

/// The update of what is indexed at the site; nothing if it is another
/// statement.
static std::optional<ElementUpdate>
readUpdate(SemaContext &context, const std::string &name, const OpSite &site) {
  std::string place = context.quote(site.range),
              behind = context.quoteBehind(site.range);
  llvm::StringRef indices = place, added = llvm::StringRef(behind).ltrim();
  if (!added.consume_front("+=") || !indices.consume_front(name + "[") ||
      !indices.consume_back("]"))
    return std::nullopt;
  return ElementUpdate{name, indices.str(), added.trim().str()};
}

std::string getAtomicFix(SemaContext &context, const std::string &name,
                         const std::string &mode, const OpSite &site) {
  std::optional<ElementUpdate> update = readUpdate(context, name, site);
  if (!update || mode != "reduce_sum" ||
      llvm::StringRef(update->added).contains('#'))
    return name + ": InOut[...]";
  return update->getAtomic();
}

/// What lets a kernel read what it only writes. Y[m] += x, which every program
/// along another axis does, is a loop or an atomic.
std::string TileOps::getUpdateFix(const SemaValue &view, const OpSite &site) {
  std::optional<ElementUpdate> update =
      readUpdate(context, parameterNames[view.parameter], site);
  if (!update)
    return getAnnotationFix(view.parameter, "InOut[", "]");
  SmallVector<llvm::StringRef> parts;
  llvm::StringRef(update->indices).split(parts, ',');
  auto isIndex = [&](const GridAxis &axis) {
    return llvm::any_of(
        parts, [&](llvm::StringRef part) { return part.trim() == axis.name; });
  };
  SmallVector<const GridAxis *> shared;
  for (const GridAxis &axis : gridAxes)
    if (!isIndex(axis))
      shared.push_back(&axis);
  if (shared.empty())
    return getAnnotationFix(view.parameter, "InOut[", "]");
  // All but one axis are tiles of the result: the sum is a loop.
  bool isSum =
      modes[view.parameter] == "out" && shared.size() == 1 && shared[0]->axis &&
      parts.size() + 1 == gridAxes.size() &&
      llvm::all_of(gridAxes, [](const GridAxis &axis) { return axis.axis; });
  if (isSum)
    return "acc = tsr.zeros(" + update->indices + ")\nfor " + shared[0]->name +
           " in " + context.quote(shared[0]->where) +
           ":  # inside the loop of the grid, instead of an axis of it\n"
           "    acc += " +
           update->added + "\n" + context.quote(site.range) + " = acc";
  return update->getAtomic() + ", with " +
         getAnnotationFix(view.parameter, "Region[reduce_sum, Tensor[", "]]");
}

LogicalResult TileOps::checkUpdate(const SemaValue &loaded,
                                   const Subscript &target,
                                   const SourceRange &where) {
  auto load =
      loaded.ssa ? loaded.ssa.getDefiningOp<tile::LoadOp>() : tile::LoadOp();
  bool isGathered = load && llvm::any_of(load.getIndices(), [](mlir::Value i) {
                      return isa<RankedTensorType>(i.getType());
                    });
  auto *array = dynCast<Name>(target.value);
  if (!isGathered || !array)
    return success();
  auto parameter = llvm::find(parameterNames, array->id);
  if (parameter == parameterNames.end())
    return success();
  SemaValue view;
  view.parameter = int(parameter - parameterNames.begin());
  std::string place = context.quote(target.range), whole = context.quote(where);
  std::string joined = llvm::StringRef(whole).drop_front(place.size()).str();
  Diagnostic &diagnostic =
      context.error(where, "where " + context.quote(target.slice->range) +
                               " holds a place twice, all but one update of " +
                               place + " are lost");
  diagnostic.addNote(parameterRanges[view.parameter],
                     parameterTexts[view.parameter]);
  llvm::StringRef step = llvm::StringRef(joined).ltrim();
  std::string plain = place + " = " + place + " " + step.take_front(1).str() +
                      step.drop_front(2).str();
  diagnostic.setFix(
      (step.starts_with("+=")
           ? getUpdateFix(view, {target.range, target.range, {}}) + "; or "
           : "") +
      plain + ", if no two places are one");
  return failure();
}

LogicalResult TileOps::checkOverwrites(tile::StoreOp store,
                                       const WriteSite &site,
                                       Operation *kernel) {
  bool isRead = llvm::any_of(store.getView().getUsers(), [&](Operation *user) {
    return !isa<tile::StoreOp>(user) && !isMemoryEffectFree(user);
  });
  for (Operation *loop = store->getParentOp();
       loop && loop != kernel && !isRead; loop = loop->getParentOp()) {
    Overwritten overwritten = getOverwritten(store, loop);
    if (overwritten == Overwritten::No)
      continue;
    std::string whole = context.quote(site.where), name = "n";
    if (auto named =
            dyn_cast<NameLoc>(loop->getRegion(0).getArgument(0).getLoc()))
      name = named.getName().str();
    const std::string &array = parameterNames[site.parameter];
    llvm::StringRef place = getPlace(whole, array);
    llvm::StringRef stored = getStored(site.arguments);
    if (overwritten == Overwritten::ByAll) {
      InFlightDiagnostic remark = emitRemark(store.getLoc());
      remark << whole << " is written in every turn of the loop over " << name
             << ", and only what the last turn writes stays";
      remark.attachNote() << "fix: " << context.getLoopWithout(site.where)
                          << "\n"
                          << whole << " = " << stored;
      continue;
    }
    std::string fix = array + "[" + (place.empty() ? "" : place.str() + ", ") +
                      name + "], in an Out with that axis, too";
    llvm::StringRef joiner = joinerOf(store.getValue());
    if (!joiner.empty() && !place.empty() && !stored.empty())
      fix = getJoinedLoop(store, site, place, joiner, stored);
    context
        .error(site.where, whole +
                               " is written again in every turn of the "
                               "loop over " +
                               name + ": only the last one stays")
        .setFix(fix);
    return failure();
  }
  return success();
}

LogicalResult TileOps::checkRepeated(const WriteSite &site) {
  auto reduce = site.value ? site.value.getDefiningOp<tile::ReduceOp>()
                           : tile::ReduceOp();
  if (!reduce)
    return success();
  Sources sources;
  sources.add(site.value);
  for (const GridAxis &axis : gridAxes) {
    if (!axis.axis || axis.size <= 1 ||
        !llvm::is_contained(site.repeated, axis.axis) ||
        !sources.contains(axis.axis->range))
      continue;
    llvm::StringRef stored = getStored(site.arguments), inner = stored;
    bool isBare =
        inner.consume_back(")") && !inner.contains(',') && inner.contains('(');
    std::string size = std::to_string(axis.size);
    context
        .error(site.where, stored.str() + " is also over " + axis.name +
                               ": each of its " + size +
                               " elements would get one value of the tile")
        .addNote(axis.axis->where, "the axis " + axis.name)
        .setFix(isBare ? inner.str() + ", dim=1)"
                       : "a reduction over the other axis alone: dim=1");
    return failure();
  }
  return success();
}

/// Refuses an atomic that adds, in each turn, all that the turns so far made.
LogicalResult TileOps::checkRunningAtomics(Operation *kernel) {
  LogicalResult result = success();
  kernel->walk([&](tile::AtomicOp atomic) {
    Operation *loop = atomic->getParentOp();
    auto known = writes.find(atomic.getLoc());
    if (failed(result) || known == writes.end() || !isa<tile::ForOp>(loop) ||
        atomic.getKind() != tile::ReduceKind::Sum ||
        getOverwritten(atomic, loop) != Overwritten::ByAll)
      return;
    std::string text = context.quote(known->second.where);
    context
        .error(known->second.where,
               "each turn adds what the turns before have added, once more")
        .setFix(context.getLoopWithout(known->second.where) + "\n" + text);
    result = failure();
  });
  return result;
}

/// Whether two values are computed alike from the same ones.
static bool isSameValue(mlir::Value one, mlir::Value other, int depth = 0) {
  if (one == other)
    return true;
  Operation *first = one.getDefiningOp(), *second = other.getDefiningOp();
  return first && second && depth < 8 &&
         first->getName() == second->getName() && isMemoryEffectFree(first) &&
         !first->getNumRegions() &&
         first->getAttrDictionary() == second->getAttrDictionary() &&
         first->getNumOperands() == second->getNumOperands() &&
         first->getResultTypes() == second->getResultTypes() &&
         llvm::all_of(
             llvm::zip(first->getOperands(), second->getOperands()),
             [&](const auto &pair) {
               return isSameValue(std::get<0>(pair), std::get<1>(pair),
                                  depth + 1);
             });
}

/// Refuses a store whose elements the next line but reads writes once more.
LogicalResult TileOps::checkWrittenTwice(tile::StoreOp store,
                                         const WriteSite &site) {
  for (Operation *next = store->getNextNode(); next;
       next = next->getNextNode()) {
    if (next->getNumRegions())
      return success();
    bool isOfView = llvm::is_contained(next->getOperands(), store.getView());
    if (!isOfView || (isa<tile::StoreOp>(next) &&
                      writes.find(next->getLoc()) == writes.end()))
      continue;
    auto other = dyn_cast<tile::StoreOp>(next);
    if (!other)
      return success();
    const WriteSite &again = writes.find(other.getLoc())->second;
    if (!llvm::all_of(llvm::zip(other.getIndices(), store.getIndices()),
                      [](const auto &pair) {
                        return isSameValue(std::get<0>(pair),
                                           std::get<1>(pair));
                      }) ||
        other.getMask() ||
        context.quote(again.where) != context.quote(site.where))
      continue;
    Diagnostic &diagnostic = context.error(
        again.where, context.quote(again.where) + " is written twice: what " +
                         describeLine(site.where) + " stores is lost");
    diagnostic.addNote(site.where, "written before");
    // The one other array of these dims that is to be written, and is not.
    std::string name = parameterNames[again.parameter], unwritten;
    unsigned count = 0;
    for (auto [i, mode] : llvm::enumerate(modes)) {
      bool isWritten = llvm::any_of(writes, [&](const auto &each) {
        return each.second.parameter == int(i);
      });
      std::string dims =
          llvm::StringRef(parameterTexts[i]).split('[').second.str();
      if (isWritten || (mode != "out" && mode != "inout") ||
          dims != llvm::StringRef(parameterTexts[again.parameter])
                      .split('[')
                      .second)
        continue;
      unwritten = parameterNames[i];
      ++count;
    }
    std::string text = context.quote(again.where);
    if (count == 1 && llvm::StringRef(text).starts_with(name + "["))
      diagnostic.setFix(unwritten + text.substr(name.size()));
    return failure();
  }
  return success();
}

LogicalResult TileOps::checkRaces(Operation *kernel) {
  LogicalResult result = checkPartsOfRows(kernel);
  if (succeeded(result))
    remarkStarts(kernel);
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
      diagnostic.setFix(getRaceFix(site, axis, store));
      result = failure();
      return;
    }
    result = checkRepeated(site);
    if (succeeded(result))
      result = checkOverwrites(store, site, kernel);
    if (succeeded(result))
      result = checkWrittenTwice(store, site);
  });
  return failed(result) ? result : checkRunningAtomics(kernel);
}

} // namespace tessera::frontend
