//===- LowerMachineOps.cpp - Instructions that a person wrote -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `memcpy`, `tensor_core`, `ptx_instr` and `breakpoint` of Target IR as PTX.
// Buffers of a kernel lie one behind the other in its shared memory. `assert`
// is left to target-kernel-to-nvvm: every kernel may have it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/IR/MachineOps.h"
#include "compiler/Target/NVIDIA/InlinePtx.h"
#include "compiler/Target/NVIDIA/MachineOps.h"
#include "compiler/Target/NVIDIA/Passes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

namespace {

class MachineLowering {
public:
  MachineLowering(KernelOp kernel, const nvidia::Arch &arch)
      : kernel(kernel), arch(arch), builder(kernel.getContext()) {}

  LogicalResult run() {
    SmallVector<Operation *> ops;
    kernel.getBody().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      loc = op->getLoc();
      LogicalResult done = success();
      if (auto allocate = dyn_cast<AllocateOp>(op))
        done = place(allocate);
      else if (auto copy = dyn_cast<MemcpyOp>(op))
        done = lower(copy);
      else if (auto product = dyn_cast<TensorCoreOp>(op))
        done = lower(product);
      else if (auto instruction = dyn_cast<PtxInstrOp>(op))
        done = lower(instruction);
      else if (auto stop = dyn_cast<BreakpointOp>(op))
        lower(stop);
      if (failed(done))
        return failure();
    }
    return success();
  }

private:
  LogicalResult place(AllocateOp allocate);
  LogicalResult lower(MemcpyOp copy);
  LogicalResult lower(TensorCoreOp product);
  LogicalResult lower(PtxInstrOp instruction);
  void lower(BreakpointOp stop);

  /// A value, or each element of a vector.
  SmallVector<Value> elementsOf(Value value);
  Value vectorOf(Type type, ArrayRef<Value> elements);
  /// The threads of a block in one row: this one, and how many there are.
  Value threadNumber();
  int64_t threads() {
    int64_t all = 1;
    for (int64_t size : kernel.getConfig()->getBlock())
      all *= size;
    return all;
  }
  /// `body(offset)` for every multiple of `bytes` in [from, to), dealt out to
  /// the block's threads.
  void forEach(Value from, Value to, int64_t bytes,
               llvm::function_ref<void(Value)> body);
  Value at(Value base, Value offset) {
    return LLVM::GEPOp::create(builder, loc, base.getType(),
                               builder.getI8Type(), base, ValueRange(offset));
  }

  Value i64(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  Value special(StringRef name) {
    return inlineAsm(builder.getI32Type(), "mov.u32 $0, " + name.str() + ";",
                     "=r", {})
        .front();
  }
  /// The results, one by one.
  SmallVector<Value> inlineAsm(TypeRange results, StringRef text,
                               StringRef constraints, ValueRange operands) {
    Type type;
    if (results.size() == 1)
      type = results.front();
    else if (results.size() > 1)
      type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                              SmallVector<Type>(results));
    auto code =
        createInlinePtx(builder, loc, type ? TypeRange(type) : TypeRange(),
                        operands, text, constraints, /*hasSideEffects=*/true);
    if (results.empty())
      return {};
    if (results.size() == 1)
      return {code.getRes()};
    SmallVector<Value> all;
    for (size_t i = 0; i < results.size(); ++i)
      all.push_back(LLVM::ExtractValueOp::create(builder, loc, code.getRes(),
                                                 int64_t(i)));
    return all;
  }

  KernelOp kernel;
  nvidia::Arch arch;
  OpBuilder builder;
  Location loc = UnknownLoc::get(kernel.getContext());
  int64_t used = 0; // bytes of shared memory
};

} // namespace

static StringRef letterOf(Type type) {
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return pointer.getAddressSpace() == 3 ? "r" : "l";
  if (type.isF32())
    return "f";
  if (type.isF64())
    return "d";
  if (type.isInteger(1))
    return "b";
  int64_t bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 32;
  return bits == 64 ? "l" : bits == 16 ? "h" : "r";
}

SmallVector<Value> MachineLowering::elementsOf(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return {value};
  SmallVector<Value> all;
  for (int32_t i = 0; i < vector.getNumElements(); ++i)
    all.push_back(LLVM::ExtractElementOp::create(
        builder, loc, value,
        arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(i))));
  return all;
}

Value MachineLowering::vectorOf(Type type, ArrayRef<Value> elements) {
  if (!isa<VectorType>(type))
    return elements.front();
  Value value = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, element] : llvm::enumerate(elements))
    value = LLVM::InsertElementOp::create(
        builder, loc, value, element,
        arith::ConstantOp::create(builder, loc,
                                  builder.getI32IntegerAttr(int32_t(i))));
  return value;
}

Value MachineLowering::threadNumber() {
  Value number = special("%tid.x");
  int64_t before = 1;
  ArrayRef<int64_t> block = kernel.getConfig()->getBlock();
  for (auto [axis, name] : {std::pair(1, "%tid.y"), std::pair(2, "%tid.z")}) {
    if (size_t(axis) >= block.size() || block[axis] <= 1)
      continue;
    before *= block[axis - 1];
    Value weight = arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(int32_t(before)));
    number = arith::AddIOp::create(
        builder, loc, number,
        arith::MulIOp::create(builder, loc, special(name), weight));
  }
  return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), number);
}

void MachineLowering::forEach(Value from, Value to, int64_t bytes,
                              llvm::function_ref<void(Value)> body) {
  Value first = arith::AddIOp::create(
      builder, loc, from,
      arith::MulIOp::create(builder, loc, threadNumber(), i64(bytes)));
  auto loop =
      scf::ForOp::create(builder, loc, first, to, i64(threads() * bytes));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

/// Shared memory is the kernel's; each buffer gets its part of it.
LogicalResult MachineLowering::place(AllocateOp allocate) {
  if (allocate.getPool() != "shared")
    return allocate.emitError() << "memory of pool '" << allocate.getPool()
                                << "' is allocated on the host, not in a "
                                   "kernel";
  APInt size;
  if (!matchPattern(allocate.getSize(), m_ConstantInt(&size)))
    return allocate.emitError() << "shared memory has a constant size";
  int64_t offset = llvm::alignTo(used, allocate.getAlign());
  used = offset + size.getSExtValue();
  int64_t have = kernel.getConfig()->getShared();
  if (used > have)
    return allocate.emitError()
           << "the kernel's buffers need " << used
           << " bytes of shared memory, its config has shared = " << have;
  builder.setInsertionPointAfter(allocate);
  Value buffer = allocate.getPointer();
  if (offset) {
    auto moved =
        LLVM::GEPOp::create(builder, loc, buffer.getType(), builder.getI8Type(),
                            buffer, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    buffer.replaceAllUsesExcept(moved, moved);
    buffer = moved;
  }
  if (allocate.getZeroInitialize()) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(0));
    forEach(i64(0), i64(size.getSExtValue()), 1, [&](Value offset) {
      LLVM::StoreOp::create(builder, loc, zero, at(buffer, offset));
    });
    NVVM::Barrier0Op::create(builder, loc);
  }
  return success();
}

/// Thread t copies groups t, t + threads, ... of 16 bytes, then what is left
/// byte by byte.
LogicalResult MachineLowering::lower(MemcpyOp copy) {
  if (!copy.getKind().contains("shared") && !copy.getKind().contains("global_"))
    return copy.emitError()
           << copy.getKind() << " is a copy of the host, not of a kernel";
  Value size = copy.getSize();
  if (size.getType().isIndex())
    size = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
  else if (!size.getType().isInteger(64))
    size = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), size);
  Value whole = arith::AndIOp::create(builder, loc, size, i64(-16));
  bool hardware = copy.getKind() == "global_to_shared" &&
                  nvidia::has(arch, nvidia::Feature::CpAsync);
  forEach(i64(0), whole, 16, [&](Value offset) {
    Value to = at(copy.getDest(), offset), from = at(copy.getSource(), offset);
    if (hardware) {
      NVVM::CpAsyncOp::create(builder, loc, to, from, 16,
                              NVVM::LoadCacheModifierKind::CG, Value());
      return;
    }
    auto group = VectorType::get(4, builder.getI32Type());
    LLVM::StoreOp::create(builder, loc,
                          LLVM::LoadOp::create(builder, loc, group, from, 16),
                          to, 16);
  });
  forEach(whole, size, 1, [&](Value offset) {
    Value to = at(copy.getDest(), offset), from = at(copy.getSource(), offset);
    LLVM::StoreOp::create(
        builder, loc,
        LLVM::LoadOp::create(builder, loc, builder.getI8Type(), from), to);
  });
  if (hardware)
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  if (!copy.getAsync()) {
    if (nvidia::has(arch, nvidia::Feature::CpAsync))
      NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
    NVVM::Barrier0Op::create(builder, loc);
  }
  copy.erase();
  return success();
}

LogicalResult MachineLowering::lower(TensorCoreOp product) {
  if (product.getInstruction() == "wgmma" ||
      product.getInstruction().starts_with("tcgen05"))
    return product.emitError() << "not yet: code for "
                               << product.getInstruction() << "; mma has it";
  StringRef type = ptxType(product.getPrecision());
  Type sum = getElementTypeOrSelf(product.getResult().getType());
  StringRef result = sum.isF32()         ? "f32"
                     : sum.isF64()       ? "f64"
                     : sum.isF16()       ? "f16"
                     : sum.isInteger(32) ? (type == "f16" ? "f16" : "s32")
                                         : "";
  const nvidia::MmaRow *form = nullptr;
  for (const nvidia::MmaRow &row : nvidia::mmaRows())
    if (row.instruction == nvidia::MmaRow::Sync && type == row.a &&
        result == row.d && row.m == product.getShape()[0] &&
        row.n == product.getShape()[1] && row.k == product.getShape()[2] &&
        row.where.on(arch))
      form = &row;
  if (!form)
    return product.emitError()
           << arch.name() << " has no mma of " << product.getPrecision()
           << " that accumulates in " << sum;
  SmallVector<Value> registers;
  SmallVector<size_t> counts;
  for (Value operand : product.getOperands()) {
    llvm::append_range(registers, elementsOf(operand));
    counts.push_back(registers.size());
  }
  std::string text = form->text(), code = "mma.sync.aligned.", constraints;
  auto [shape, types] = StringRef(text).split('.');
  code += (shape + ".row.col." + types + " ").str();
  size_t number = 0;
  auto list = [&](ValueRange values, StringRef prefix, StringRef end) {
    code += "{";
    for (auto [i, value] : llvm::enumerate(values)) {
      code += (i ? ", $" : "$") + std::to_string(number++);
      constraints += (constraints.empty() ? "" : ",") +
                     (prefix + letterOf(value.getType())).str();
    }
    code += "}" + end.str();
  };
  ArrayRef<Value> all = registers;
  ArrayRef<Value> lhs = all.take_front(counts[0]),
                  rhs = all.slice(counts[0], counts[1] - counts[0]),
                  acc = all.drop_front(counts[1]);
  list(acc, "=", ", ");
  list(lhs, "", ", ");
  list(rhs, "", ", ");
  list(acc, "", ";");
  SmallVector<Value> made =
      inlineAsm(ValueRange(acc).getTypes(), code, constraints, registers);
  product.getResult().replaceAllUsesWith(
      vectorOf(product.getResult().getType(), made));
  product.erase();
  return success();
}

LogicalResult MachineLowering::lower(PtxInstrOp instruction) {
  DictionaryAttr given = instruction.getConstraintsAttr();
  auto constraintOf = [&](size_t i) {
    auto letter = given ? given.getAs<StringAttr>("operand" + std::to_string(i))
                        : StringAttr();
    return letter ? letter.str()
                  : letterOf(getElementTypeOrSelf(
                                 instruction.getOperand(i).getType()))
                        .str();
  };
  // Operands that are written too are the results, in order; else the results
  // come first.
  size_t written = 0;
  for (size_t i = 0; i < instruction.getNumOperands(); ++i)
    written += constraintOf(i).front() == '+';
  if (written && written != instruction.getNumResults())
    return instruction.emitError()
           << written << " operands are written, but there are "
           << instruction.getNumResults() << " results";
  std::string words, constraints;
  auto constrain = [&](const Twine &letter) {
    constraints += ((constraints.empty() ? "" : ",") + letter).str();
  };
  // "$3", or "{$3, $4}" of a vector.
  auto placesOf = [](Type type, size_t first, size_t count) {
    std::string text;
    for (size_t i = first; i < first + count; ++i)
      text += (i == first ? "$" : ", $") + std::to_string(i);
    return isa<VectorType>(type) ? "{" + text + "}" : text;
  };
  auto say = [&](const std::string &place) {
    words += (words.empty() ? " " : ", ") + place;
  };
  SmallVector<Type> registers;
  SmallVector<std::pair<size_t, size_t>> parts; // of each result
  for (Type type : instruction.getResultTypes()) {
    auto vector = dyn_cast<VectorType>(type);
    size_t first = registers.size(),
           count = vector ? size_t(vector.getNumElements()) : 1;
    parts.emplace_back(first, count);
    Type element = getElementTypeOrSelf(type);
    registers.append(count, element);
    for (size_t i = 0; i < count; ++i)
      constrain("=" + letterOf(element));
    if (!written)
      say(placesOf(type, first, count));
  }
  SmallVector<Value> operands;
  size_t number = registers.size(), tied = 0;
  for (auto [i, operand] : llvm::enumerate(instruction.getOperands())) {
    std::string letter = constraintOf(i);
    SmallVector<Value> values = elementsOf(operand);
    bool pointer = isa<LLVM::LLVMPointerType>(operand.getType());
    if (pointer)
      values = {LLVM::PtrToIntOp::create(builder, loc,
                                         letter == "r" ? builder.getI32Type()
                                                       : builder.getI64Type(),
                                         operand)};
    llvm::append_range(operands, values);
    std::string place;
    if (letter.front() == '+') {
      auto [first, count] = parts[tied++];
      if (instruction.getResultTypes()[tied - 1] != operand.getType())
        return instruction.emitError()
               << "operand" << i << " is written, but result " << tied - 1
               << " has another type";
      for (size_t k = 0; k < count; ++k)
        constrain(Twine(first + k));
      place = placesOf(operand.getType(), first, count);
    } else {
      for (size_t k = 0; k < values.size(); ++k)
        constrain(letter);
      place = placesOf(operand.getType(), number, values.size());
    }
    number += values.size();
    say(pointer ? "[" + place + "]" : place);
  }
  SmallVector<Value> made =
      inlineAsm(registers, instruction.getInstruction().str() + words + ";",
                constraints, operands);
  for (auto [old, part] : llvm::zip(instruction.getResults(), parts))
    old.replaceAllUsesWith(vectorOf(
        old.getType(), ArrayRef<Value>(made).slice(part.first, part.second)));
  instruction.erase();
  return success();
}

/// The label is a comment beside the instruction; inline PTX has its own use
/// of '$' and of other signs.
void MachineLowering::lower(BreakpointOp stop) {
  std::string label = stop.getLabel().str();
  for (char &c : label)
    if (!llvm::isAlnum(c) && !StringRef("_-.: ").contains(c))
      c = '_';
  inlineAsm({}, "brkpt; // " + label, "", {});
  stop.erase();
}

/// The block of a kernel that says only how threads cover its tile.
static void addConfig(KernelOp kernel) {
  auto threads = kernel->getAttrOfType<ThreadConfigAttr>("threads");
  if (!kernel.getConfig() && threads)
    kernel.setConfigAttr(KernelConfigAttr::get(
        kernel.getContext(), {}, threads.getGrid(), /*shared=*/0, /*regs=*/0));
}

/// `source_location` is where the kernel was written.
static void setPlace(KernelOp kernel) {
  auto info = kernel->getAttrOfType<DictionaryAttr>("tessera.debug_info");
  auto place = info ? info.getAs<StringAttr>("source_location") : StringAttr();
  if (!place)
    return;
  auto [file, line] = place.getValue().rsplit(':');
  unsigned number = 0;
  (void)line.getAsInteger(10, number);
  kernel->setLoc(FileLineColLoc::get(kernel.getContext(), file, number, 1));
}

int tessera::target::debugLevel(ModuleOp module, int otherwise) {
  for (auto kernel : module.getOps<KernelOp>())
    if (auto info = kernel->getAttrOfType<DictionaryAttr>("tessera.debug_info"))
      if (auto level = info.getAs<IntegerAttr>("optimization_level"))
        otherwise = std::min(otherwise, int(level.getInt()));
  return otherwise;
}

LogicalResult tessera::target::lowerMachineOps(ModuleOp module,
                                               const nvidia::Arch &arch) {
  for (auto kernel : module.getOps<KernelOp>()) {
    if (auto named = target::archOf(kernel); named && *named != arch)
      return kernel.emitError() << "the kernel is for " << named->name()
                                << ", but is compiled for " << arch.name();
    setPlace(kernel);
    addConfig(kernel);
    if (!kernel.getConfig())
      return kernel.emitError()
             << "a kernel of a GPU says its block: config = "
                "#tessera_target.kernel_config<grid = [], block = [128, 1], "
                "shared = 0, regs = 0>";
    if (failed(MachineLowering(kernel, arch).run()))
      return failure();
  }
  return success();
}
