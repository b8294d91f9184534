//===- CheckAddresses.cpp - Every address is 64-bit or proved small -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows what an address or a mask is made of back to where it comes from: the
// kernel's arguments, constants, counters of loops, elements of tensors. An
// integer of less than 64 bits on the way must be an element of a tensor (its
// own width is what the user asked for) or have bounds that fit its width.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/Passes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

namespace tessera::target {
#define GEN_PASS_DEF_CHECKADDRESSESPASS
#include "compiler/Target/CPU/Passes.h.inc"
} // namespace tessera::target

using namespace mlir;
using namespace tessera;

namespace {

/// Both ends inclusive, of a signed number.
struct Bounds {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();

  bool fit(unsigned width) const {
    return width >= 64 || (low >= -(int64_t(1) << (width - 1)) &&
                           high < (int64_t(1) << (width - 1)));
  }
  static Bounds join(Bounds a, Bounds b) {
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
  }
};

/// The exact result of an operation on two ends, or nothing if it overflows.
template <typename Op> Bounds combine(Bounds a, Bounds b, Op op) {
  Bounds result{std::numeric_limits<int64_t>::max(),
                std::numeric_limits<int64_t>::min()};
  for (int64_t x : {a.low, a.high})
    for (int64_t y : {b.low, b.high}) {
      int64_t value;
      if (op(x, y, value))
        return {};
      result = Bounds::join(result, {value, value});
    }
  return result;
}

unsigned widthOf(Value value) {
  Type element = getElementTypeOrSelf(value);
  return isa<IntegerType>(element) ? element.getIntOrFloatBitWidth() : 64;
}

/// The loop whose counter `value` is.
scf::ForOp loopOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  return loop && loop.getInductionVar() == value ? loop : scf::ForOp();
}

class Prover {
public:
  Bounds of(Value value) {
    auto [entry, isNew] = known.try_emplace(value, Bounds());
    if (!isNew) // also while it is being computed: a cycle knows nothing
      return entry->second;
    Bounds bounds = compute(value);
    known[value] = bounds;
    return bounds;
  }

private:
  Bounds compute(Value value) {
    DenseIntElementsAttr dense;
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return {number.getSExtValue(), number.getSExtValue()};
    if (matchPattern(value, m_Constant(&dense))) {
      Bounds all{std::numeric_limits<int64_t>::max(),
                 std::numeric_limits<int64_t>::min()};
      for (const APInt &one : dense.getValues<APInt>())
        all = Bounds::join(all, {one.getSExtValue(), one.getSExtValue()});
      return all;
    }
    if (scf::ForOp loop = loopOf(value)) {
      Bounds low = of(loop.getLowerBound()), high = of(loop.getUpperBound());
      if (of(loop.getStep()).low > 0) // the body runs below the bound only
        return {low.low, std::max(low.low, high.high - (high.high != low.low))};
      return {};
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    return llvm::TypeSwitch<Operation *, Bounds>(op)
        .Case([&](arith::AddIOp o) {
          return combine(of(o.getLhs()), of(o.getRhs()),
                         llvm::AddOverflow<int64_t>);
        })
        .Case([&](arith::SubIOp o) { return difference(o); })
        .Case([&](arith::MulIOp o) {
          return combine(of(o.getLhs()), of(o.getRhs()),
                         llvm::MulOverflow<int64_t>);
        })
        .Case([&](arith::MinSIOp o) {
          Bounds a = of(o.getLhs()), b = of(o.getRhs());
          return Bounds{std::min(a.low, b.low), std::min(a.high, b.high)};
        })
        .Case([&](arith::MaxSIOp o) {
          Bounds a = of(o.getLhs()), b = of(o.getRhs());
          return Bounds{std::max(a.low, b.low), std::max(a.high, b.high)};
        })
        .Case([&](arith::RemUIOp o) {
          Bounds b = of(o.getRhs());
          return b.low > 0 ? Bounds{0, b.high - 1} : Bounds{};
        })
        .Case([&](arith::SelectOp o) {
          return Bounds::join(of(o.getTrueValue()), of(o.getFalseValue()));
        })
        .Case<arith::ExtSIOp, arith::TruncIOp, vector::BroadcastOp>(
            [&](Operation *o) { return of(o->getOperand(0)); })
        .Default([](Operation *) { return Bounds(); });
  }

  /// What is left of a loop is at least 1 while it runs.
  Bounds difference(arith::SubIOp op) {
    Bounds result =
        combine(of(op.getLhs()), of(op.getRhs()), llvm::SubOverflow<int64_t>);
    if (scf::ForOp loop = loopOf(op.getRhs());
        loop && loop.getUpperBound() == op.getLhs())
      result.low = std::max<int64_t>(result.low, 1);
    return result;
  }

  llvm::DenseMap<Value, Bounds> known;
};

struct CheckAddressesPass
    : target::impl::CheckAddressesPassBase<CheckAddressesPass> {
  using CheckAddressesPassBase::CheckAddressesPassBase;

  void runOnOperation() override {
    bool good = true;
    for (auto kernel : getOperation().getOps<target::KernelOp>()) {
      if (kernel.isForGpu())
        continue; // a GPU's
      good &= succeeded(check(kernel));
    }
    if (count)
      getOperation().emitRemark()
          << addressCount << " addresses and masks, made of " << valueCount
          << " integers, of which " << narrowCount << " are cut";
    if (!good)
      signalPassFailure();
  }

  LogicalResult check(target::KernelOp kernel) {
    llvm::SetVector<Value> slice;
    int64_t roots = 0;
    auto start = [&](Value value) {
      ++roots;
      slice.insert(value);
    };
    kernel.getBody().walk([&](Operation *op) {
      if (auto address = dyn_cast<LLVM::GEPOp>(op)) {
        for (Value index : address.getDynamicIndices())
          start(index);
      } else if (auto load = dyn_cast<LLVM::MaskedLoadOp>(op)) {
        start(load.getMask());
      } else if (auto store = dyn_cast<LLVM::MaskedStoreOp>(op)) {
        start(store.getMask());
      } else if (auto gather = dyn_cast<LLVM::masked_gather>(op)) {
        start(gather.getMask());
      } else if (auto scatter = dyn_cast<LLVM::masked_scatter>(op)) {
        start(scatter.getMask());
      }
    });
    Prover prover;
    bool good = true;
    for (size_t i = 0; i < slice.size(); ++i) // grows while it is walked
      good &= succeeded(checkValue(slice[i], prover, slice));
    addressCount += roots;
    valueCount += int64_t(slice.size());
    return success(good);
  }

  LogicalResult checkValue(Value value, Prover &prover,
                           llvm::SetVector<Value> &slice) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop)
        return success(); // of the kernel: 64 bits by its interface
      if (loopOf(value)) {
        slice.insert(loop.getLowerBound());
        slice.insert(loop.getUpperBound());
        slice.insert(loop.getStep());
      } else {
        OpOperand *init = loop.getTiedLoopInit(argument);
        slice.insert(init->get());
        slice.insert(loop.getTiedLoopYieldedValue(argument)->get());
      }
      return success();
    }
    Operation *op = value.getDefiningOp();
    // An element of a tensor, or of the sizes and strides, is what it is; so
    // is what the user computes from elements as a float.
    if (!isa_and_present<arith::ArithDialect, vector::VectorDialect,
                         scf::SCFDialect>(op->getDialect()) ||
        isa<arith::FPToSIOp, arith::FPToUIOp, arith::CmpFOp>(op))
      return success();
    if (isa<scf::SCFDialect>(op->getDialect())) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      if (auto loop = dyn_cast<scf::ForOp>(op))
        slice.insert(loop.getInitArgs()[number]);
      for (Region &region : op->getRegions())
        if (!region.empty() &&
            number < region.front().getTerminator()->getNumOperands())
          slice.insert(region.front().getTerminator()->getOperand(number));
      return success();
    }
    if (auto cut = dyn_cast<arith::TruncIOp>(op);
        cut && !isElement(cut.getIn())) {
      ++narrowCount;
      unsigned width = widthOf(value);
      if (width > 1 && !prover.of(cut.getIn()).fit(width))
        return op->emitError()
               << "an address or mask is cut to " << width
               << " bits, and nothing shows that its value fits";
    }
    for (Value operand : op->getOperands())
      slice.insert(operand);
    return success();
  }

  int64_t addressCount = 0, valueCount = 0, narrowCount = 0;

  /// Whether a value is made of elements of tensors (and constants) only: its
  /// width is the user's. Sizes are loaded through the kernel's argument 1.
  static bool isElement(Value value) {
    llvm::SetVector<Value> parts;
    parts.insert(value);
    bool loads = false;
    for (size_t i = 0; i < parts.size(); ++i) {
      Operation *op = parts[i].getDefiningOp();
      if (!op)
        return false; // a counter or an argument
      if (isa<LLVM::MaskedLoadOp, LLVM::masked_gather>(op)) {
        loads = true;
        continue;
      }
      if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
        Value base = load.getAddr();
        while (auto address = base.getDefiningOp<LLVM::GEPOp>())
          base = address.getBase();
        auto argument = dyn_cast<BlockArgument>(base);
        if (argument &&
            isa<target::KernelOp>(argument.getOwner()->getParentOp()) &&
            argument.getArgNumber() == 1)
          return false;
        loads = true;
        continue;
      }
      for (Value operand : op->getOperands())
        parts.insert(operand);
    }
    return loads;
  }
};

} // namespace
