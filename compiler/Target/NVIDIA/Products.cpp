//===- Products.cpp - Fragments and mma.sync ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op says which form of mma.sync it is (Instructions.h); the layouts of its
// operands are that form's fragments, repeated. So one rule does for all types:
// registers of 32 bits hold a word of neighbouring elements, and the words of a
// fragment follow each other.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Layout/GpuTiles.h"
#include "compiler/Target/NVIDIA/InlinePtx.h"
#include "compiler/Target/NVIDIA/Instructions.h"
#include "compiler/Target/NVIDIA/SimtMachine.h"
#include "compiler/Target/SIMT/Lowering/KernelLowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;
using layout::Index;
using layout::Layout;
using simt::KernelLowering;
using simt::ProductPart;
using simt::ThreadInput;
using simt::ThreadLayout;
using Registers = KernelLowering::Registers;

Layout NvidiaSimt::fragmentOf(tile::MmaOp mma, ProductPart part,
                              layout::WarpGrid warps) const {
  auto sizesOf = [](Value tile) {
    return cast<RankedTensorType>(tile.getType()).getShape();
  };
  layout::MmaShape shape = instructionOf(mma)->shape;
  switch (part) {
  case ProductPart::Lhs: {
    ArrayRef<int64_t> sizes = sizesOf(mma.getLhs());
    return layout::mmaLhs(sizes[0], sizes[1], warps, shape);
  }
  case ProductPart::Rhs: {
    ArrayRef<int64_t> sizes = sizesOf(mma.getRhs());
    return layout::mmaRhs(sizes[0], sizes[1], warps, shape);
  }
  case ProductPart::Result: {
    ArrayRef<int64_t> sizes = sizesOf(mma.getResult());
    return layout::mmaResult(sizes[0], sizes[1], warps, shape);
  }
  case ProductPart::Meta: {
    ArrayRef<int64_t> sizes = sizesOf(mma.getMeta());
    return layout::mmaMeta(sizes[0], sizes[1], warps);
  }
  case ProductPart::LhsScale: {
    ArrayRef<int64_t> sizes = sizesOf(mma.getLhsScale());
    return layout::mmaLhsScale(sizes[0], sizes[1], warps);
  }
  case ProductPart::RhsScale: {
    ArrayRef<int64_t> sizes = sizesOf(mma.getRhsScale());
    return layout::mmaRhsScale(sizes[0], sizes[1], warps);
  }
  }
  llvm_unreachable("a part of a product");
}

//===----------------------------------------------------------------------===//
// Fragments from shared memory
//===----------------------------------------------------------------------===//

/// By ldmatrix.
bool NvidiaSimt::lowerFragment(KernelLowering &lowering,
                               tile::LocalLoadOp op) const {
  if (!nvidia::has(arch, nvidia::Feature::Ldmatrix))
    return false;
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  auto buffer = op.getBuffer().getDefiningOp<tile::AllocOp>();
  tile::BufferType type = op.getBuffer().getType();
  const Layout &memory = type.getLayout().getValue();
  ThreadLayout fragment(op.getResult());
  int64_t elementBytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  std::optional<layout::MatrixLoad> load = layout::matrixLoad(
      fragment.get(), layout::contiguousAxis(memory), elementBytes);
  if (!load)
    return false;
  Value slot = lowering.slotOffset(op.getSlot(), type);
  std::vector<Index> lanes;
  for (int b = 0; b < 5; ++b)
    lanes.push_back(load->lanes.basis(0, b));
  ThreadInput inputs[] = {{lowering.lane, lanes},
                          {lowering.warp, fragment.bits("warp")}};
  std::pair<Value, Value> dynamic =
      lowering.memoryOffset(memory, inputs, elementBytes);
  Type word = builder.getI32Type();
  Type several = word;
  if (load->matrices > 1)
    several = LLVM::LLVMStructType::getLiteral(
        builder.getContext(), SmallVector<Type>(load->matrices, word));
  auto order = load->transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  auto shape = NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8);
  int64_t perWord = 4 / elementBytes;
  KernelLowering::Registers result;
  for (int64_t r = 0; r < fragment.registers(); r += perWord * load->matrices) {
    Value loaded = NVVM::LdMatrixOp::create(
        builder, loc, several,
        lowering.sharedPointer(buffer, dynamic, memory, fragment.offset(r),
                               elementBytes, slot),
        uint32_t(load->matrices), order, shape, NVVM::LdStMatrixEltType::B16);
    if (load->matrices == 1)
      result.push_back(loaded);
    for (int64_t i = 0; load->matrices > 1 && i < load->matrices; ++i)
      result.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
  }
  lowering.packed[op.getResult()] = result;
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Nearest, ties away from zero: the hardware would cut the low bits off.
static Value roundToTf32(OpBuilder &builder, Location loc, Value word) {
  return createInlinePtx(builder, loc, builder.getI32Type(), word,
                         "cvt.rna.tf32.f32 $0, $1;", "=r,r",
                         /*hasSideEffects=*/false)
      .getRes();
}

/// One mma.sync as inline PTX: its operands' registers in, its result's out.
static SmallVector<Value> emitMma(KernelLowering &lowering,
                                  const nvidia::Arch &arch,
                                  const MmaInstruction &form, ValueRange lhs,
                                  ValueRange rhs, ValueRange acc,
                                  ValueRange beside) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  StringRef text = form.text;
  auto letterOf = [](Type type) -> StringRef {
    return type.isF32() ? "f" : type.isF64() ? "d" : "r";
  };
  std::string shape = text.split('.').first.str(),
              types = text.split('.').second.str();
  bool sparse = form.kind == nvidia::MmaRow::SyncSparse,
       scaled = form.kind == nvidia::MmaRow::SyncBlockScale;
  // The ordered form is the faster one, and has its name since PTX 8.5.
  std::string name = !sparse ? "mma"
                     : nvidia::ptxEmitted(arch) >= 85
                         ? "mma.sp::ordered_metadata"
                         : "mma.sp";
  std::string code = name + ".sync.aligned." + shape + ".row.col.";
  if (scaled)
    code += "kind::mxf8f6f4.block_scale.scale_vec::1X.";
  code += types + (scaled ? ".ue8m0 " : " ");
  std::string constraints;
  int64_t number = 0;
  auto list = [&](ValueRange values, StringRef prefix, StringRef end) {
    code += "{";
    for (auto [i, value] : llvm::enumerate(values)) {
      code += (i ? ", $" : "$") + std::to_string(number++);
      constraints += constraints.empty() ? "" : ",";
      constraints += (prefix + letterOf(value.getType())).str();
    }
    code += "}" + end.str();
  };
  list(acc, "=", ", ");
  list(lhs, "", ", ");
  list(rhs, "", ", ");
  list(acc, "", beside.empty() ? ";" : ", ");
  for (auto [i, value] : llvm::enumerate(beside)) {
    code += "$" + std::to_string(number++);
    constraints += ",r";
    // Which lanes of four, and which byte: the first ones.
    code += sparse ? ", 0x0;" : i == 0 ? ", {0, 0}, " : ", {0, 0};";
  }
  SmallVector<Value> operands(lhs);
  llvm::append_range(operands, rhs);
  llvm::append_range(operands, acc);
  llvm::append_range(operands, beside);
  SmallVector<Type> results(acc.getTypes());
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(), results);
  auto step = createInlinePtx(builder, loc, type, operands, code, constraints,
                              /*hasSideEffects=*/false);
  SmallVector<Value> made;
  for (size_t i = 0; i < acc.size(); ++i)
    made.push_back(
        LLVM::ExtractValueOp::create(builder, loc, step.getRes(), int64_t(i)));
  return made;
}

/// Of the words of rows g and g + 8 the first lane of four gives the lower
/// halves (16 positions of k), the next one the upper halves.
static Registers metaWords(KernelLowering &lowering, ArrayRef<Value> rows) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  auto i32 = [&](int64_t value) { return lowering.i32(value); };
  Value upper = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ne,
      arith::AndIOp::create(builder, loc, lowering.lane, i32(1)), i32(0));
  Registers result;
  for (size_t r = 0; r + 1 < rows.size(); r += 2) {
    Value a = rows[r], b = rows[r + 1];
    Value low = arith::OrIOp::create(
        builder, loc, arith::AndIOp::create(builder, loc, a, i32(0xffff)),
        arith::ShLIOp::create(builder, loc, b, i32(16)));
    Value high = arith::OrIOp::create(
        builder, loc, arith::ShRUIOp::create(builder, loc, a, i32(16)),
        arith::AndIOp::create(builder, loc, b, i32(-65536)));
    result.push_back(arith::SelectOp::create(builder, loc, upper, high, low));
  }
  return result;
}

/// Over the fragments of the tile; registers count a fragment, then along k
/// (result: along n), then the other dim.
void NvidiaSimt::lowerProduct(KernelLowering &lowering, tile::MmaOp op) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  auto &tiles = lowering.tiles;
  MmaInstruction form = *instructionOf(op);
  layout::MmaShape shape = form.shape;
  bool isWide = form.a == "f64", halfSum = form.d == "f16";
  auto operand = [&](Value tile) {
    if (auto found = lowering.packed.find(tile); found != lowering.packed.end())
      return found->second;
    return isWide ? tiles[tile]
                  : lowering.words(tiles[tile], shape.perRegister);
  };
  Registers lhs = operand(op.getLhs()), rhs = operand(op.getRhs()),
            acc = tiles[op.getAcc()];
  if (form.a == "tf32")
    for (Registers *side : {&lhs, &rhs})
      for (Value &value : *side)
        value = roundToTf32(builder, loc, value);
  ThreadLayout a(op.getLhs()), c(op.getResult());
  int64_t warpsAlongM = 1, warpsAlongN = 1;
  for (const Index &image : c.bits("warp")) {
    warpsAlongM *= image[0] ? 2 : 1;
    warpsAlongN *= image[1] ? 2 : 1;
  }
  int64_t kSteps = a.get().outSize("dim1") / shape.kOfLhs();
  int64_t nSteps = c.get().outSize("dim1") / (shape.n * warpsAlongN);
  int64_t mSteps = c.get().outSize("dim0") / (shape.m * warpsAlongM);
  int64_t aRegisters = shape.m * shape.kOfLhs() / (32 * shape.perRegister);
  int64_t bRegisters = shape.k * shape.n / (32 * shape.perRegister);
  int64_t cElements = shape.m * shape.n / 32;
  // One word of metadata, or one byte for each side, for every step.
  Registers meta, lhsScale, rhsScale;
  if (op.getMeta())
    meta = metaWords(lowering, tiles[op.getMeta()]);
  auto asWords = [&](Value bytes) {
    Registers result;
    for (Value byte : tiles[bytes])
      result.push_back(
          arith::ExtUIOp::create(builder, loc, builder.getI32Type(), byte));
    return result;
  };
  if (op.getLhsScale()) {
    lhsScale = asWords(op.getLhsScale());
    rhsScale = asWords(op.getRhsScale());
  }
  Type half = builder.getF16Type();
  auto half2 = VectorType::get(2, half);
  for (int64_t k = 0; k < kSteps; ++k)
    for (int64_t m = 0; m < mSteps; ++m)
      for (int64_t n = 0; n < nSteps; ++n) {
        MutableArrayRef<Value> sum = MutableArrayRef<Value>(acc).slice(
            (m * nSteps + n) * cElements, cElements);
        Registers before = halfSum ? lowering.words(sum, 2)
                                   : Registers(sum.begin(), sum.end());
        SmallVector<Value> beside;
        if (!meta.empty())
          beside = {meta[m * kSteps + k]};
        if (!lhsScale.empty())
          beside = {lhsScale[m * kSteps + k], rhsScale[n * kSteps + k]};
        SmallVector<Value> after =
            emitMma(lowering, arch, form,
                    ArrayRef<Value>(lhs).slice((m * kSteps + k) * aRegisters,
                                               aRegisters),
                    ArrayRef<Value>(rhs).slice((n * kSteps + k) * bRegisters,
                                               bRegisters),
                    before, beside);
        for (int64_t i = 0; i < cElements; ++i) {
          if (!halfSum) {
            sum[i] = after[i];
            continue;
          }
          Value pair =
              LLVM::BitcastOp::create(builder, loc, half2, after[i / 2]);
          sum[i] = LLVM::ExtractElementOp::create(builder, loc, half, pair,
                                                  lowering.i32(i % 2));
        }
      }
  tiles[op.getResult()] = acc;
}
