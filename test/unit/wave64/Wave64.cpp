//===- Wave64.cpp - A SIMT machine from outside ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that a machine needs that runs tiles by threads: its numbers and pieces
// of code (Wave, an `simt::Machine`), its text, and its row. Its instructions
// are named in inline assembly, which is what its text shows.
//
//===----------------------------------------------------------------------===//

#include "Wave64.h"

#include "compiler/Target/IR/Target.h"
#include "compiler/Target/SIMT/Lowering/KernelLowering.h"
#include "compiler/Target/SIMT/Lowering/Passes.h"
#include "compiler/Target/SIMT/Mapping/Passes.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using layout::Index;
using layout::Layout;
using simt::KernelLowering;
using simt::ProductPart;
using Registers = KernelLowering::Registers;

namespace {

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

constexpr int64_t side = 16; // of the instruction's matrices

/// One instruction of the machine.
LLVM::InlineAsmOp emit(OpBuilder &builder, Location loc, TypeRange results,
                       ValueRange operands, StringRef text) {
  std::string constraints;
  for (size_t i = 0; i < results.size(); ++i)
    constraints += constraints.empty() ? "=v" : ",=v";
  for (size_t i = 0; i < operands.size(); ++i)
    constraints += constraints.empty() ? "v" : ",v";
  return LLVM::InlineAsmOp::create(
      builder, loc, results, operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
      ArrayAttr());
}

struct Wave final : simt::Machine {
  Wave() {
    name = "wave64";
    lanes = 64;
    sharedPerBlock = sharedPortable = 64 << 10;
    multiprocessors = 60;
  }

  // Products: floats of 16 and 32 bits into f32, else fused multiply-adds.
  LogicalResult chooseInstruction(tile::MmaOp mma) const override {
    Type element = mma.getLhs().getType().getElementType();
    auto result = dyn_cast<RankedTensorType>(mma.getResult().getType());
    bool fits = (element.isF16() || element.isBF16() || element.isF32()) &&
                result && result.getRank() == 2 &&
                result.getElementType().isF32();
    int64_t size = fits ? side : 0;
    mma.setInstructionAttr(tile::InstructionAttr::get(
        mma.getContext(), fits ? tile::MmaForm::Sync : tile::MmaForm::Fma, size,
        size, size));
    return success();
  }

  /// Lane l has row (or column) l % 16 of an operand at four positions of k
  /// from 4 (l / 16) on; of the result column l % 16, rows likewise.
  Layout fragmentOf(tile::MmaOp mma, ProductPart part,
                    layout::WarpGrid warps) const override {
    auto atomAlong = [](int quad, int line) {
      auto step = [](int axis, int64_t distance) {
        Index image = {0, 0};
        image[axis] = distance;
        return image;
      };
      return Layout({{"register", 2}, {"lane", 6}}, {{"dim0", 4}, {"dim1", 4}},
                    {{step(quad, 1), step(quad, 2)},
                     {step(line, 1), step(line, 2), step(line, 4),
                      step(line, 8), step(quad, 4), step(quad, 8)}});
    };
    auto sizeOf = [](Value tile, int64_t axis) {
      return cast<RankedTensorType>(tile.getType()).getDimSize(axis);
    };
    int64_t m = sizeOf(mma.getResult(), 0), n = sizeOf(mma.getResult(), 1),
            k = sizeOf(mma.getLhs(), 1);
    if (part == ProductPart::Lhs)
      return layout::fragments(atomAlong(1, 0), warps, 0, -1, 1, m, k);
    if (part == ProductPart::Rhs)
      return layout::fragments(atomAlong(0, 1), warps, -1, 1, 0, k, n);
    return layout::fragments(atomAlong(0, 1), warps, 0, 1, 1, m, n);
  }

  void lowerProduct(KernelLowering &lowering, tile::MmaOp mma) const override {
    OpBuilder &builder = lowering.builder;
    Location loc = lowering.loc;
    Registers sums = lowering.tiles[mma.getAcc()];
    Layout a = tile::layoutOf(mma.getLhs()),
           c = tile::layoutOf(mma.getResult());
    int64_t rows = side, columns = side;
    for (const Index &image : simt::ThreadLayout(c).bits("warp")) {
      rows *= image[0] ? 2 : 1;
      columns *= image[1] ? 2 : 1;
    }
    int64_t kSteps = a.outSize("dim1") / side,
            mSteps = c.outSize("dim0") / rows,
            nSteps = c.outSize("dim1") / columns;
    auto pack = [&](ArrayRef<Value> values, int64_t number) -> Value {
      Value all = LLVM::PoisonOp::create(
          builder, loc, VectorType::get(4, values.front().getType()));
      for (int64_t i = 0; i < 4; ++i)
        all = LLVM::InsertElementOp::create(
            builder, loc, all, values[4 * number + i], lowering.i32(i));
      return all;
    };
    for (int64_t k = 0; k < kSteps; ++k)
      for (int64_t m = 0; m < mSteps; ++m)
        for (int64_t n = 0; n < nSteps; ++n) {
          int64_t at = m * nSteps + n;
          Value operands[] = {
              pack(lowering.tiles[mma.getLhs()], m * kSteps + k),
              pack(lowering.tiles[mma.getRhs()], n * kSteps + k),
              pack(sums, at)};
          Value made = emit(builder, loc, operands[2].getType(), operands,
                            "wave_mma_16x16x16 $0, $1, $2, $3")
                           .getRes();
          for (int64_t i = 0; i < 4; ++i)
            sums[4 * at + i] = LLVM::ExtractElementOp::create(
                builder, loc, made, lowering.i32(i));
        }
    lowering.tiles[mma.getResult()] = sums;
  }

  // Code of one thread.
  Value threadId(OpBuilder &builder, Location loc) const override {
    return emit(builder, loc, builder.getI32Type(), {}, "wave_thread $0")
        .getRes();
  }
  Value blockId(OpBuilder &builder, Location loc) const override {
    return emit(builder, loc, builder.getI32Type(), {}, "wave_group $0")
        .getRes();
  }
  void barrier(OpBuilder &builder, Location loc) const override {
    emit(builder, loc, TypeRange(), {}, "wave_barrier");
  }
  Value shuffle(OpBuilder &builder, Location loc, Value word, Value other,
                bool isMask) const override {
    return emit(builder, loc, word.getType(), {word, other},
                isMask ? "wave_swap $0, $1, $2" : "wave_fetch $0, $1, $2")
        .getRes();
  }
};

const simt::Machine *findWave(StringRef name) {
  static const Wave wave;
  return name == wave.name ? &wave : nullptr;
}

const simt::Family &waveFamily() {
  static const simt::Family family = {
      findWave, [] { return std::string("wave64"); }, [](DialectRegistry &) {}};
  return family;
}

//===----------------------------------------------------------------------===//
// The text: an instruction a line, indented by its depth
//===----------------------------------------------------------------------===//

struct Writer {
  std::string text;
  llvm::DenseMap<Value, size_t> numbers;

  std::string nameOf(Value value) {
    return "v" + std::to_string(
                     numbers.insert({value, numbers.size()}).first->second);
  }
  void line(size_t depth, const std::string &what) {
    text += std::string(2 * depth, ' ') + what + "\n";
  }
  void write(Operation &op, size_t depth) {
    auto code = dyn_cast<LLVM::InlineAsmOp>(op);
    std::string what = code ? code.getAsmString().split(' ').first.str()
                            : op.getName().getStringRef().str();
    for (ValueRange values :
         {ValueRange(op.getResults()), ValueRange(op.getOperands())})
      for (Value value : values)
        what += " " + nameOf(value);
    line(depth, what);
    for (Region &region : op.getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          write(inner, depth + 1);
  }
};

FailureOr<std::string> emitText(ModuleOp module, const EmitRequest &) {
  Writer writer;
  for (auto kernel : module.getOps<target::KernelOp>()) {
    writer.line(0, "kernel " + kernel.getSymName().str() + " threads " +
                       std::to_string(kernel.getConfig()->getBlock().front()));
    for (Operation &op : kernel.getBody().front())
      writer.write(op, 1);
  }
  if (writer.text.empty())
    return module.emitError() << "there are no kernels";
  return writer.text;
}

} // namespace

//===----------------------------------------------------------------------===//
// The row
//===----------------------------------------------------------------------===//

const Machine &tessera::wave64::wave64Machine() {
  static constexpr Emission emissions[] = {
      {"wave", "wave code", "target", ".wave", /*isText=*/true, emitText}};
  static const Machine machine = {
      .name = "wave64",
      .platform = "wave",
      .example = "wave64",
      .schedules = schedule::Model::SharedMemory,
      .versionPerHead = true,
      .has = [](StringRef target) { return target == "wave64"; },
      .targetNames = [] { return std::string("wave64"); },
      .targetOf = [](StringRef) { return std::string("wave64"); },
      .portable = nullptr,
      .registerDialects = nullptr,
      .registerPasses = nullptr,
      .buildMapped =
          [](OpPassManager &manager, const CompileOptions &) {
            simt::buildMappedPipeline(manager, *findWave("wave64"));
          },
      .buildTarget =
          [](OpPassManager &manager, const CompileOptions &) {
            tile::addKernelPass(manager, tile::createProveBarriersPass());
            manager.addPass(simt::createLowerToThreadsPass());
            manager.addPass(createCSEPass());
          },
      .checkMapped =
          [](OpPassManager &manager) {
            manager.addPass(simt::createCheckMappedContractPass());
          },
      .checkTarget = nullptr,
      .checkMappedFor = nullptr,
      .remark = nullptr,
      .simt = waveFamily,
      .features = nullptr,
      .imageArch = [](StringRef target) { return target.str(); },
      .emissions = emissions,
  };
  return machine;
}
