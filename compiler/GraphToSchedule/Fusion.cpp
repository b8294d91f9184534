//===- Fusion.cpp - Which ops make one kernel -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/GraphToSchedule/Fusion.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::schedule;

/// Larger kernels take LLVM more than linear time.
static constexpr int64_t maxMembers = 40;
/// What may be computed again in every kernel that reads it.
static constexpr int64_t maxRepeatedCost = 4;
/// Dearer than any repetition is worth.
static constexpr int64_t expensive = 100;

static bool isTranscendental(Operation *op) {
  return isa<ExpOp, Exp2Op, LogOp, Log2Op, Log1pOp, SinOp, CosOp, TanhOp, ErfOp,
             GeluOp, SigmoidOp, SiluOp, PowOp, DivOp, SqrtOp, RsqrtOp, ModOp,
             FloorDivOp>(op);
}

/// A number repeated: it is not in memory, so nothing can look at it there.
static bool isOfScalar(Operation *op) {
  return isa<BroadcastOp>(op) &&
         (isScalar(op->getOperand(0)) ||
          isa_and_present<ConstantOp>(op->getOperand(0).getDefiningOp()));
}

/// Cloned into every kernel that reads it, or computed by the plan.
static bool isFree(Operation *op) {
  if (isControlFlow(op))
    return false;
  return isa<ConstantOp, DimOp, CheckEqualOp, BindDimsOp, CheckOp,
             ReportIndexOp, graph::PrintOp>(op) ||
         (op->getNumResults() == 1 && isScalar(op->getResult(0)));
}

Fusion::Fusion(Block &block, bool fuses) : block(block), fuses(fuses) {
  // Costs of computing a value again, from the first op to the last. A value
  // with several readers that is dear will be in memory: 0 from there on.
  int64_t next = 0;
  for (Operation &op : block) {
    number[&op] = next++;
    int64_t total = isa<ReduceOp, GemmOp, PartialOp, AttentionOp, ScanOp,
                        ConcatOp, TakeOp, GatherOp>(op)
                        ? expensive
                    : isTranscendental(&op) ? 3
                    : isElementwise(&op)    ? 1
                                            : 0;
    for (Value operand : op.getOperands())
      if (Operation *from = operand.getDefiningOp(); from && !isFree(from)) {
        bool stored = cost[from] > maxRepeatedCost && !operand.hasOneUse();
        total += stored ? 0 : cost[from];
      }
    cost[&op] = std::min(total, expensive);
    if (isElementwise(&op) &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          Operation *from = operand.getDefiningOp();
          return from && (isa<GemmOp>(from) || afterGemm.contains(from)) &&
                 llvm::all_of(operand.getUsers(), isElementwise);
        }))
      afterGemm.insert(&op);
  }
  for (Operation &op : llvm::reverse(block))
    visit(&op);
  hoistTransposes();
}

void Fusion::makeRoot(Operation *op) {
  groups.push_back(std::make_unique<Group>());
  Group &group = *groups.back();
  group.root = op;
  group.rank = rankOf(op->getResult(0));
  AxisMap identity = llvm::to_vector<4>(llvm::seq<int64_t>(0, group.rank));
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    group.kind = Group::Kind::Rows;
    group.gridAxes = identity;
    group.reducesLast =
        llvm::is_contained(reduce.getAxes(), rankOf(reduce.getInput()) - 1);
  } else if (isa<GemmOp>(op)) {
    group.kind = Group::Kind::Gemm;
  } else if (isa<AttentionOp>(op)) {
    group.kind = Group::Kind::Attention;
  } else if (isa<ScanOp>(op)) {
    group.kind = Group::Kind::Scan;
  } else if (isa<ConcatOp>(op)) {
    group.kind = Group::Kind::Concat;
  } else if (isa<PartialOp>(op)) {
    group.kind = Group::Kind::Partial;
  }
  group.gathers = isa<TakeOp, GatherOp>(op);
  group.members[op].push_back(identity);
  memberOf[op].push_back(&group);
  roots[op] = &group;
}

SmallVector<AxisMap, 2> Fusion::mapsIn(Operation *op, Group &group) {
  SmallVector<AxisMap, 2> maps;
  for (OpOperand &use : op->getResult(0).getUses()) {
    auto reader = group.members.find(use.getOwner());
    if (reader == group.members.end() || wantsMemory(use))
      continue;
    for (const AxisMap &map : reader->second) {
      AxisMap mine = getOperandAxes(use, map, number[use.getOwner()]);
      if (!llvm::is_contained(maps, mine))
        maps.push_back(std::move(mine));
    }
  }
  return maps;
}

bool Fusion::join(Operation *op, Group &group) {
  if (group.members.size() >= maxMembers && !isOfScalar(op))
    return false;
  SmallVector<AxisMap, 2> maps = mapsIn(op, group);
  if (maps.empty() || maps.size() > 6)
    return false;
  // A pass over the row for each map. What is dear is stored once instead; and
  // what can be the epilogue of a product, whose result is stored anyway, is.
  if (maps.size() > 2 && cost[op] > maxRepeatedCost)
    return false;
  if (group.kind == Group::Kind::Rows && afterGemm.contains(op))
    return false;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    bool rows = group.kind == Group::Kind::Rows;
    if (!rows && group.kind != Group::Kind::Map)
      return false;
    // Computed once per program: on the grid axes, which are axes of the root.
    const AxisMap &map = maps.front();
    if (maps.size() != 1 || !llvm::is_sorted(map))
      return false;
    // A full reduction is a program of its own unless there is only one anyway.
    if (map.empty() ? group.rank > 0
                    : map.front() < 0 || map.back() >= group.rank)
      return false;
    if (rows && map != group.gridAxes)
      return false;
    int64_t last = rankOf(reduce.getInput()) - 1;
    bool reducesLast = llvm::is_contained(reduce.getAxes(), last);
    if (rows && reducesLast != group.reducesLast)
      return false;
    // Vectors run along the root's last axis, which must be everybody's.
    if (!reducesLast && !map.empty() && map.back() != group.rank - 1)
      return false;
    bool rootIsWhole = int64_t(map.size()) < group.rank;
    if (rootIsWhole && reducesLast && map.back() == group.rank - 1)
      return false;
    group.kind = Group::Kind::Rows;
    group.gridAxes = map;
    group.reducesLast = reducesLast;
  }
  if (isa<GemmOp>(op)) {
    AxisMap identity = llvm::to_vector<4>(llvm::seq<int64_t>(0, group.rank));
    if (group.kind != Group::Kind::Map || group.gathers || maps.size() != 1 ||
        maps.front() != identity)
      return false;
    group.kind = Group::Kind::Gemm;
  }
  if (isa<TakeOp, GatherOp>(op)) {
    if (group.kind == Group::Kind::Gemm)
      return false;
    group.gathers = true;
  }
  group.members[op] = std::move(maps);
  memberOf[op].push_back(&group);
  return true;
}

void Fusion::visit(Operation *op) {
  if (isFree(op) || op->hasTrait<OpTrait::IsTerminator>()) {
    // A scalar that is returned is stored by a kernel of its own.
    return;
  }
  if (isa<CallKernelOp>(op) || isControlFlow(op)) {
    outside.insert(op);
    return;
  }
  bool inMemory = false, returned = false;
  SmallVector<Group *, 2> readers;
  for (OpOperand &use : op->getResult(0).getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != &block)
      inMemory = true;
    else if (user->hasTrait<OpTrait::IsTerminator>())
      returned = true;
    else if (wantsMemory(use) || outside.contains(user))
      inMemory = true;
    else
      for (Group *group : memberOf.lookup(user))
        if (!llvm::is_contained(readers, group))
          readers.push_back(group);
  }
  if (!returned && !inMemory && readers.empty())
    return; // Nobody reads it.
  bool ofScalar = isOfScalar(op);
  if ((isOuterView(op) || (isInnerView(op) && inMemory && !returned)) &&
      !ofScalar) {
    outside.insert(op);
    return;
  }
  bool alone = isa<AttentionOp, ScanOp, ConcatOp, PartialOp>(op) ||
               (!fuses && !isInnerView(op));
  if (alone || returned || inMemory ||
      (readers.size() > 1 && cost[op] > maxRepeatedCost))
    return makeRoot(op);
  for (Group *group : readers) {
    if (join(op, *group))
      continue;
    // In memory for all readers, then.
    for (Group *joined : memberOf.lookup(op))
      joined->members.erase(op);
    memberOf.erase(op);
    if (!isInnerView(op) || ofScalar)
      return makeRoot(op);
    outside.insert(op);
    return;
  }
}

/// transpose(memory) inside a kernel -> a view outside: the kernel then loads
/// along the axis it iterates.
void Fusion::hoistTransposes() {
  for (Operation &op : block) {
    auto transpose = dyn_cast<TransposeOp>(op);
    if (!transpose || roots.contains(&op) || outside.contains(&op))
      continue;
    Operation *from = transpose.getInput().getDefiningOp();
    bool computed = from && (from->getBlock() == &block || isFree(from));
    if (computed && !roots.contains(from) && !outside.contains(from))
      continue;
    for (Group *group : memberOf.lookup(&op))
      group->members.erase(&op);
    outside.insert(&op);
  }
}
