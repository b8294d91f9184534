//===- PlanOps.cpp - The plan: its ops ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/IR/IntegerBuilder.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::plan;

#define GET_OP_CLASSES
#include "compiler/Plan/IR/PlanOps.cpp.inc"

//===----------------------------------------------------------------------===//
// The function and its arguments
//===----------------------------------------------------------------------===//

static bool isInteger(Type type) {
  return isa<IndexType>(type) || type.isInteger(1);
}

/// Is the axis made of dims, scalars and constants?
static bool isOfHeader(Value axis) {
  SetVector<Value> worklist;
  worklist.insert(axis);
  for (size_t next = 0; next < worklist.size(); ++next) {
    Operation *op = worklist[next].getDefiningOp();
    if (isa_and_present<DimOp, ScalarOp>(op))
      continue;
    if (!op || !(isa<ModOp>(op) || isa<arith::ArithDialect>(op->getDialect())))
      return false;
    worklist.insert_range(op->getOperands());
  }
  return true;
}

/// A message has a `{}` for each value; other braces are doubled.
static LogicalResult checkMessage(Operation *op, StringRef message,
                                  size_t values) {
  size_t places = 0;
  while (!message.empty()) {
    if (message.consume_front("{}"))
      ++places;
    else if (message.starts_with("{{") || message.starts_with("}}"))
      message = message.drop_front(2);
    else if (message.front() == '{' || message.front() == '}')
      return op->emitOpError() << "has a brace alone in its message";
    else
      message = message.drop_front();
  }
  if (places == values)
    return success();
  return op->emitOpError() << "shows " << values << " values in " << places
                           << " places";
}

LogicalResult FuncOp::verify() {
  Block &body = getBody().front();
  // (C1)
  if (body.getNumArguments() != 0)
    return emitOpError() << "takes no arguments: plan.arg and plan.scalar are";
  if (body.empty() || !isa<ReturnOp>(body.back()))
    return emitOpError() << "ends with plan.return";
  // (C4)
  if (std::optional<ArrayAttr> messages = getMessages())
    for (auto text : messages->getAsRange<StringAttr>())
      if (failed(checkMessage(*this, text, 0)))
        return failure();
  return success();
}

/// What a plan can compute: as exact as the runtime's expressions.
static bool isArithmetic(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return constant.getType().isF64() || isInteger(constant.getType());
  if (!llvm::all_of(op->getOperandTypes(), isInteger))
    return false;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate() <= arith::CmpIPredicate::sge;
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return op->getResult(0).getType().isInteger(1);
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::MinSIOp, arith::MaxSIOp,
             arith::SelectOp, arith::IndexCastOp, arith::IndexCastUIOp>(op);
}

LogicalResult FuncOp::verifyRegions() {
  WalkResult result = getBody().walk([&](Operation *op) {
    // (C2)
    if (isa<ArgOp, ResultOp>(op))
      for (Value axis : op->getOperands())
        if (!isOfHeader(axis)) {
          op->emitOpError()
              << "has an axis that is not made of dims, scalars and constants";
          return WalkResult::interrupt();
        }
    // (C3)
    bool control =
        isa<scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op);
    bool arithmetic = isa<arith::ArithDialect>(op->getDialect());
    if (arithmetic && !isArithmetic(op)) {
      op->emitOpError() << "cannot be computed by a plan";
      return WalkResult::interrupt();
    }
    bool known = control || arithmetic || isa<PlanDialect>(op->getDialect());
    if (!known || isa<FuncOp>(op)) {
      op->emitOpError() << "is not an op of a plan";
      return WalkResult::interrupt();
    }
    // (C5): names of the loop's block end with it.
    if (auto condition = dyn_cast<scf::ConditionOp>(op))
      for (Value value : condition.getArgs())
        if (Operation *made = value.getDefiningOp();
            made && made->getBlock() == condition->getBlock()) {
          condition.emitOpError() << "hands on what is not carried";
          return WalkResult::interrupt();
        }
    auto isOfPlan = [&](Type type) {
      return isInteger(type) ||
             (!control && (type.isF64() || isa<PlanTensorType>(type)));
    };
    if (!llvm::all_of(op->getOperandTypes(), isOfPlan) ||
        !llvm::all_of(op->getResultTypes(), isOfPlan)) {
      op->emitOpError() << (control ? "carries integers and conditions"
                                    : "computes with integers and conditions");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult DimOp::verify() {
  // (C1)
  if (llvm::none_of((*this)->getUsers(), llvm::IsaPred<ArgOp>))
    return emitOpError() << "is an axis of no argument";
  return success();
}

static LogicalResult checkCount(Operation *op, PlanTensorType type,
                                size_t count, StringRef what) {
  if (int64_t(count) == type.getRank())
    return success();
  return op->emitOpError() << "has " << count << " " << what << ", but "
                           << type.getRank() << " axes";
}

LogicalResult ArgOp::verify() {
  return checkCount(*this, getType(), getAxes().size(), "sizes"); // (C1)
}

LogicalResult ResultOp::verify() {
  // (C1)
  if (getLate() ? !getAxes().empty()
                : int64_t(getAxes().size()) != getType().getRank())
    return emitOpError() << "has " << getAxes().size() << " sizes, but "
                         << (getLate() ? 0 : getType().getRank())
                         << (getLate() ? " that are known" : " axes");
  // (C2)
  if (!getLate())
    return success();
  auto allocs = llvm::make_filter_range((*this)->getUsers(),
                                        llvm::IsaPred<AllocResultOp>);
  if (!llvm::hasSingleElement(allocs))
    return emitOpError() << "is late, and allocated once";
  Operation *alloc = *allocs.begin();
  for (Operation *user : (*this)->getUsers())
    if (user = (*this)->getBlock()->findAncestorOpInBlock(*user);
        user && user->isBeforeInBlock(alloc))
      return emitOpError() << "is used before it is allocated";
  return success();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static LogicalResult checkAxis(Operation *op, Value tensor, int64_t axis) {
  int64_t rank = cast<PlanTensorType>(tensor.getType()).getRank();
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError() << "asks for axis " << axis << " of " << rank;
}

LogicalResult SizeOp::verify() {
  return checkAxis(*this, getTensor(), getAxis());
} // (C1)
LogicalResult StrideOp::verify() {
  return checkAxis(*this, getTensor(), getAxis());
} // (C1)

LogicalResult LoadOp::verify() {
  PlanTensorType type = getTensor().getType();
  // (C1)
  if (failed(checkCount(*this, type, getIndices().size(), "indices")))
    return failure();
  // (C2)
  Type element = type.getElement();
  bool isReal = element.isF32() || element.isF64();
  if (!isReal && !isa<IntegerType>(element))
    return emitOpError() << "cannot read " << element;
  if (isReal != getResult().getType().isF64())
    return emitOpError() << "reads " << element << " as "
                         << getResult().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult CheckOp::verify() {
  return checkMessage(*this, getMessage(), getValues().size()); // (C1)
}

LogicalResult HoldsOp::verify() {
  return checkMessage(*this, getMessage(), getValues().size()); // (C1)
}

LogicalResult ExpectOp::verify() {
  // (C1)
  PlanTensorType type = getTensor().getType();
  if (type.getRank() != 0 || !type.getElement().isInteger(64))
    return emitOpError() << "reads an i64 without axes, not " << type;
  return success();
}

LogicalResult ExpectOp::verifyRegions() {
  // (C2)
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 || !body.getArgument(0).getType().isIndex())
    return emitOpError() << "gives its region one index";
  for (Operation &op : body.without_terminator())
    if (!isa<arith::ArithDialect>(op.getDialect()) &&
        !isa<ModOp, SizeOp, StrideOp>(op))
      return op.emitOpError() << "is no integer of plan.expect";
  if (body.empty() || !isa<HoldsOp>(body.back()))
    return emitOpError() << "ends with plan.holds";
  return success();
}

LogicalResult AllocOp::verify() {
  return checkCount(*this, getType(), getSizes().size(), "sizes"); // (C1)
}

LogicalResult AllocResultOp::verify() {
  // (C1)
  auto result = getTensor().getDefiningOp<ResultOp>();
  if (!result || !result.getLate())
    return emitOpError() << "gives sizes to something else than a late result";
  return checkCount(*this, getTensor().getType(), getSizes().size(), "sizes");
}

LogicalResult FreshOp::verify() {
  // (C1)
  auto alloc = getTensor().getDefiningOp<AllocOp>();
  if (!alloc || !alloc.getSource())
    return emitOpError() << "asks for memory that is never kept";
  return success();
}

LogicalResult ViewOp::verify() {
  // (C1)
  PlanTensorType type = getType();
  if (failed(checkCount(*this, type, getSizes().size(), "sizes")) ||
      failed(checkCount(*this, type, getStrides().size(), "strides")))
    return failure();
  // (C2)
  if (type.getElement() != getSource().getType().getElement())
    return emitOpError() << "shows " << getSource().getType().getElement()
                         << " as " << type.getElement();
  return success();
}

LogicalResult LaunchOp::verify() {
  // (C1)
  if (getThreads() && int64_t(*getThreads()) < 1)
    return emitOpError() << "threads is at least 1, not "
                         << int64_t(*getThreads());
  return success();
}

LaunchOp LaunchOp::cloneFor(OpBuilder &builder, StringRef kernel) {
  auto copy = cast<LaunchOp>(builder.clone(**this));
  copy.setKernel(kernel);
  return copy;
}

scf::IfOp LaunchOp::chooseIf(Value condition, StringRef kernel) {
  OpBuilder builder(*this);
  auto choice =
      scf::IfOp::create(builder, getLoc(), condition, /*withElseRegion=*/true);
  OpBuilder arm = choice.getThenBodyBuilder();
  cloneFor(arm, kernel);
  (*this)->moveBefore(choice.elseBlock(), choice.elseBlock()->begin());
  return choice;
}

LogicalResult SwapOp::verify() {
  // (C1)
  if (!getLhs().getDefiningOp<AllocOp>() || !getRhs().getDefiningOp<AllocOp>())
    return emitOpError() << "exchanges what plan.alloc makes";
  return success();
}

LogicalResult FreeOp::verify() {
  // (C1)
  auto alloc = getTensor().getDefiningOp<AllocOp>();
  if (!alloc || alloc.getSource() || alloc->getBlock() != (*this)->getBlock())
    return emitOpError() << "gives back what plan.alloc made in this block";
  return success();
}

void tessera::plan::forEachLaunch(ModuleOp module, StringRef kernel,
                                  llvm::function_ref<void(LaunchOp)> visit) {
  SmallVector<LaunchOp> launches;
  for (FuncOp func : module.getOps<FuncOp>())
    func.walk([&](LaunchOp launch) {
      if (launch.getKernel() == kernel)
        launches.push_back(launch);
    });
  for (LaunchOp launch : launches)
    visit(launch);
}

Value IntegerBuilder::product(ValueRange values) {
  Value result;
  for (Value value : values)
    result = result ? mul(result, value) : value;
  return result ? result : number(1);
}

Value IntegerBuilder::all(ValueRange conditions) {
  Value result;
  for (Value condition : conditions)
    result = result
                 ? builder.createOrFold<arith::AndIOp>(loc, result, condition)
                 : condition;
  return result;
}

Value IntegerBuilder::any(ValueRange conditions) {
  Value result;
  for (Value condition : conditions)
    result = result ? builder.createOrFold<arith::OrIOp>(loc, result, condition)
                    : condition;
  return result;
}
