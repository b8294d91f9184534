//===- CheckMappedContract.cpp - What threads can run ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering to threads goes by layouts: register r of an operand meets
// register r of another, a reduction finds its result's register, a fragment
// lies in its buffer. A text may say anything, so all of that is checked first.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"
#include "compiler/Target/SIMT/Mapping/Passes.h"
#include "compiler/Target/SIMT/Mapping/Scratch.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tessera::simt {
#define GEN_PASS_DEF_CHECKMAPPEDCONTRACTPASS
#include "compiler/Target/SIMT/Mapping/Passes.h.inc"
} // namespace tessera::simt

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using namespace tessera::tile;
using layout::Layout;

namespace {

/// More registers of one tile than a thread has, several times over: such a
/// kernel would only be compiled for a long time.
constexpr int64_t maxRegisters = 16384;

class MappedContract {
public:
  MappedContract(FuncOp func, const Machine &machine)
      : func(func), machine(machine) {}
  LogicalResult run();

private:
  FuncOp func;
  const Machine &machine;
  int64_t threads = 0, shared = 0;

  LogicalResult check(Operation *op);
  LogicalResult checkTile(Operation *op, Value tile);
  LogicalResult checkBuffer(AllocOp alloc);
  LogicalResult checkScratch(Operation *op);
  LogicalResult checkOperands(Operation *op);
  LogicalResult checkCopy(CpAsyncOp copy);
  LogicalResult checkLocalLoad(LocalLoadOp load);
  LogicalResult checkProduct(MmaOp mma);
  LogicalResult checkFactors(MmaOp mma);
  template <typename Access> LogicalResult checkAccess(Access op, Value moved);
  /// `tile` must be held as `wanted`.
  LogicalResult expect(Operation *op, Value tile, const Layout &wanted);
};

} // namespace

/// Whether threads can hold a tile of this shape so: named inputs, as many
/// lanes and warps as there are, a place for each register.
static std::string problemOf(const Layout &layout, int64_t threads,
                             int64_t lanes) {
  int64_t warps = threads / lanes;
  for (const layout::Dim &in : layout.ins()) {
    int64_t most = in.name == "lane"       ? lanes
                   : in.name == "warp"     ? warps
                   : in.name == "register" ? maxRegisters
                                           : 0;
    if (in.bits > 30 || in.size() > most)
      return "has " + std::to_string(in.bits > 30 ? 0 : in.size()) + " of '" +
             in.name + "'";
  }
  if (!layout.paddings().empty())
    return "has padding";
  int64_t registers = 1;
  for (const layout::Axis &axis : layout.axes()) {
    if (axis.in != "register" || axis.extent > maxRegisters ||
        axis.inStride > maxRegisters || axis.outStride > maxTileElements)
      return "repeats over other than registers, or too often";
    registers *= axis.extent;
    if (registers > maxRegisters)
      return "has too many registers";
  }
  std::optional<int> in = layout.findIn("register");
  int64_t count = in ? layout.inSize("register") : 1;
  if (count > maxRegisters)
    return "has too many registers";
  for (int64_t r = 0; in && r < count; ++r) {
    layout::Index at(layout.ins().size(), 0);
    at[*in] = r;
    if (!layout.apply(at))
      return "leaves register " + std::to_string(r) + " without an element";
  }
  return "";
}

LogicalResult MappedContract::checkTile(Operation *op, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  LayoutAttr layout = findLayout(type);
  if (!layout)
    return op->emitError() << "a tile of a mapped kernel needs a layout";
  std::string problem = problemOf(layout.getValue(), threads, machine.lanes);
  if (!problem.empty())
    return op->emitError() << "the layout of " << type << " " << problem
                           << " for a block of " << threads << " threads";
  return success();
}

LogicalResult MappedContract::expect(Operation *op, Value tile,
                                     const Layout &wanted) {
  if (isSame(layoutOf(tile), wanted))
    return success();
  return op->emitError() << "'" << op->getName() << "' needs " << tile.getType()
                         << " held as " << wanted.print();
}

LogicalResult MappedContract::checkBuffer(AllocOp alloc) {
  BufferType type = alloc.getBuffer().getType();
  int64_t bits = type.getElementType().isIndex()
                     ? 0
                     : type.getElementType().getIntOrFloatBitWidth();
  ArrayRef<int64_t> shape = type.getShape();
  if (bits % 8 || bits == 0 || shape.size() < 2 || shape.size() > 3)
    return alloc->emitError()
           << "a shared buffer is a matrix of whole bytes, or a ring of them";
  int64_t end = bits / 8;
  for (int64_t size : shape)
    end *= size;
  std::optional<int64_t> offset = alloc.getOffset();
  if (!offset || *offset % 128 != 0)
    return alloc->emitError()
           << "a shared buffer needs an offset that is a multiple of 128";
  if (*offset + end > shared)
    return alloc->emitError()
           << "the buffer ends at byte " << *offset + end
           << " of shared memory, but the kernel has shared_bytes = " << shared;
  // The layout maps the whole matrix, and nothing beyond it.
  const Layout *memory =
      type.getLayout() ? &type.getLayout().getValue() : nullptr;
  ArrayRef<int64_t> matrix = shape.take_back(2);
  if (type.getSpace() != Space::Shared || !memory ||
      memory->ins().size() != 2 || !memory->findIn("dim0") ||
      !memory->findIn("dim1") || !memory->paddings().empty() ||
      memory->inSize("dim0") != matrix[0] ||
      memory->inSize("dim1") != matrix[1] ||
      memory->count() != matrix[0] * matrix[1] ||
      memory->outSize("offset") > matrix[0] * matrix[1])
    return alloc->emitError()
           << "the layout of a shared buffer maps its matrix of " << matrix[0]
           << " x " << matrix[1];
  return success();
}

LogicalResult MappedContract::checkScratch(Operation *op) {
  int64_t bytes = exchangeBytes(op);
  ExchangeAttr exchange = getExchange(op);
  if (bytes == 0 && !exchange)
    return success();
  if (!exchange || exchange.getBytes() != bytes || !exchange.getOffset())
    return op->emitError() << "'" << op->getName() << "' exchanges " << bytes
                           << " bytes, which have a place";
  if (*exchange.getOffset() % 16 || *exchange.getOffset() + bytes > shared)
    return op->emitError() << bytes << " bytes at " << *exchange.getOffset()
                           << " lie outside shared_bytes = " << shared
                           << ", or not at a multiple of 16";
  return success();
}

LogicalResult MappedContract::checkCopy(CpAsyncOp copy) {
  BufferType type = copy.getBuffer().getType();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  if (int64_t(copy.getVector()) * bytes != 16)
    return copy.emitError() << "a copy takes 16 bytes at once, not "
                            << copy.getVector() << " elements of " << bytes;
  return success();
}

/// Fragments are read where they are multiplied.
static bool isOnlyFactor(Value tile) {
  return llvm::all_of(tile.getUses(), [](OpOperand &use) {
    if (isFactor(use))
      return true;
    return isa<TransposeOp>(use.getOwner()) &&
           isOnlyFactor(use.getOwner()->getResult(0));
  });
}

LogicalResult MappedContract::checkLocalLoad(LocalLoadOp load) {
  const Layout &held = layoutOf(load.getResult());
  ArrayRef<int64_t> matrix = load.getBuffer().getType().getShape().take_back(2);
  if (held.outs().size() != 2 || held.outSize("dim0") > matrix[0] ||
      held.outSize("dim1") > matrix[1])
    return load.emitError() << "the fragment reaches beyond its buffer";
  if (!isOnlyFactor(load.getResult()))
    return load.emitError() << "a tile of a buffer is only multiplied";
  return success();
}

/// Without tensor cores operands are in buffers that cover the result, or are
/// computed and exchanged.
LogicalResult MappedContract::checkFactors(MmaOp mma) {
  const Layout &result = layoutOf(mma.getResult());
  for (int64_t number : {0, 1}) {
    Value operand = mma->getOperand(number);
    bool swapped = false;
    while (auto transpose = operand.getDefiningOp<TransposeOp>()) {
      swapped = !swapped;
      operand = transpose.getInput();
    }
    auto load = operand.getDefiningOp<LocalLoadOp>();
    if (!load)
      continue;
    ArrayRef<int64_t> matrix =
        load.getBuffer().getType().getShape().take_back(2);
    int64_t size = result.outSize(number ? "dim1" : "dim0");
    if (size > matrix[swapped ? 1 - number : number])
      return mma.emitError() << "its result is held beyond an operand's buffer";
  }
  return success();
}

LogicalResult MappedContract::checkProduct(MmaOp mma) {
  for (Value value :
       {Value(mma.getLhs()), Value(mma.getRhs()), mma.getResult()})
    if (auto type = dyn_cast<RankedTensorType>(value.getType());
        !type || type.getRank() != 2)
      return mma.emitError() << "a product of a GPU is of matrices";
  if (usesFma(mma))
    return checkFactors(mma);
  std::optional<layout::MmaShape> given = machine.shapeOf(mma);
  if (!given)
    return mma.emitError() << "its instruction cannot be read";
  // As many registers as the instructions take.
  layout::MmaShape shape = *given;
  int64_t lanes = machine.lanes;
  const Layout &a = layoutOf(mma.getLhs()), &b = layoutOf(mma.getRhs()),
               &c = layoutOf(mma.getResult());
  int64_t alongM = 1, alongN = 1;
  if (std::optional<int> warp = c.findIn("warp"))
    for (int bit = 0; bit < c.ins()[*warp].bits; ++bit) {
      alongM *= c.basis(*warp, bit)[0] ? 2 : 1;
      alongN *= c.basis(*warp, bit)[1] ? 2 : 1;
    }
  auto registers = [](const Layout &layout) {
    return layout.findIn("register") ? layout.inSize("register") : 1;
  };
  if (shape.m < 1 || shape.n < 1 || shape.k < 1 || shape.kOfLhs() < 1)
    return mma.emitError() << "its instruction has no shape";
  int64_t kSteps = a.outSize("dim1") / shape.kOfLhs();
  int64_t nSteps = c.outSize("dim1") / (shape.n * alongN);
  int64_t mSteps = c.outSize("dim0") / (shape.m * alongM);
  bool good =
      registers(a) >= mSteps * kSteps * shape.m * shape.kOfLhs() / lanes &&
      registers(b) >= nSteps * kSteps * shape.k * shape.n / lanes &&
      registers(c) >= mSteps * nSteps * shape.m * shape.n / lanes &&
      mma.getAcc().getType() == mma.getResult().getType();
  auto beside = [&](Value value, int64_t needed) {
    good &= !value || registers(layoutOf(value)) >= needed;
  };
  beside(mma.getMeta(), 2 * mSteps * kSteps);
  beside(mma.getLhsScale(), mSteps * kSteps);
  beside(mma.getRhsScale(), nSteps * kSteps);
  if (!good)
    return mma.emitError() << "its operands are not the fragments of "
                           << mma.getInstructionAttr();
  return success();
}

template <typename Access>
LogicalResult MappedContract::checkAccess(Access op, Value moved) {
  if (!isTile(moved)) {
    for (Value operand : op->getOperands())
      if (isTile(operand))
        return op->emitError() << "a tile as the index of a scalar";
    return success();
  }
  const Layout &tile = layoutOf(moved);
  auto spans = axesOfIndices(op.getIndices(), op.getIndexAxes());
  for (auto [axes, index] : llvm::zip(spans, op.getIndices()))
    if (isTile(index) && failed(expect(op, index, indexLayout(axes, tile))))
      return failure();
  return op.getMask() ? expect(op, op.getMask(), tile) : success();
}

LogicalResult MappedContract::checkOperands(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](BroadcastOp broadcast) {
        return expect(op, broadcast.getInput(),
                      inputLayout(broadcast, layoutOf(broadcast.getResult())));
      })
      .Case([&](TransposeOp transpose) {
        return expect(op, transpose.getInput(),
                      inputLayout(transpose, layoutOf(transpose.getResult())));
      })
      .Case([&](ReduceOp reduce) {
        if (reduce.getKind() == ReduceKind::Argmax ||
            reduce.getKind() == ReduceKind::Argmin)
          return LogicalResult(op->emitError()
                               << "argmax and argmin are not mapped");
        if (!isTile(reduce.getResult()))
          return success();
        return expect(
            op, reduce.getResult(),
            layout::sliced(layoutOf(reduce.getInput()), reduce.getAxis()));
      })
      .Case([&](ScanOp scan) -> LogicalResult {
        if (!isWithinWarp(layoutOf(scan.getInput()), scan.getAxis()) ||
            scan.getInput().getType() != scan.getType())
          return op->emitError() << "a warp scans what it holds itself";
        return success();
      })
      .Case([&](LoadOp load) { return checkAccess(load, load.getResult()); })
      .Case([&](StoreOp store) { return checkAccess(store, store.getValue()); })
      .Case([&](AtomicOp atomic) {
        return checkAccess(atomic, atomic.getValue());
      })
      .Case([&](MmaOp mma) { return checkProduct(mma); })
      .Case([&](LocalLoadOp load) { return checkLocalLoad(load); })
      .Case([&](CpAsyncOp copy) { return checkCopy(copy); })
      .Case<ConvertLayoutOp, ReshapeOp, CatOp, AssertOp>(
          [](auto) { return success(); })
      .Default([&](Operation *other) -> LogicalResult {
        // Element by element.
        if (other->getNumRegions() || other->getNumResults() != 1 ||
            !isTile(other->getResult(0)))
          return success();
        for (Value operand : other->getOperands())
          if (isTile(operand) &&
              cast<RankedTensorType>(operand.getType()).getEncoding() !=
                  cast<RankedTensorType>(other->getResult(0).getType())
                      .getEncoding())
            return other->emitError()
                   << "'" << other->getName() << "' of " << operand.getType()
                   << " gives " << other->getResult(0).getType()
                   << ", held otherwise";
        return success();
      });
}

LogicalResult MappedContract::check(Operation *op) {
  if (!isa_and_present<TileDialect, arith::ArithDialect, math::MathDialect,
                       scf::SCFDialect>(op->getDialect()) ||
      isa<FuncOp, NestOp, NestYieldOp, FilledOp, LocalStoreOp>(op))
    return op->emitError() << "'" << op->getName()
                           << "' may not stand in a mapped kernel of a GPU";
  for (Value value : op->getResults())
    if (isTile(value) && failed(checkTile(op, value)))
      return failure();
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      if (isTile(argument) && failed(checkTile(op, argument)))
        return failure();
  if (auto alloc = dyn_cast<AllocOp>(op))
    return checkBuffer(alloc);
  return success();
}

LogicalResult MappedContract::run() {
  threads = *func.getBlockSize();
  shared = func.getSharedBytes().value_or(0);
  if (!llvm::isPowerOf2_64(threads))
    return func.emitError()
           << "block_size = " << threads << " is no power of two";
  if (threads % machine.lanes)
    return func.emitError()
           << "block_size = " << threads << ", but a warp of " << machine.name
           << " has " << machine.lanes << " threads";
  for (auto each : {&MappedContract::check, &MappedContract::checkOperands,
                    &MappedContract::checkScratch}) {
    WalkResult result = func.getBody().walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult { return (this->*each)(op); });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

namespace {

struct CheckMappedContractPass
    : tessera::simt::impl::CheckMappedContractPassBase<
          CheckMappedContractPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<FuncOp>()) {
      if (!kernel.hasThreads())
        continue;
      const Machine *machine = machineOf(kernel);
      if (!machine || failed(MappedContract(kernel, *machine).run()))
        signalPassFailure();
    }
  }
};

} // namespace
