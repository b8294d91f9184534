//===- Instructions.cpp - The instruction of each product -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/NVIDIA/Instructions.h"

#include "compiler/Target/NVIDIA/SimtMachine.h"
#include "compiler/Tile/Transforms/MaskAbsent.h"

#include "llvm/Support/FormatVariadic.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <map>
#include <mutex>

using namespace mlir;
using namespace tessera;
using namespace tessera::target;
using tile::InstructionAttr;
using tile::MmaForm;
using tile::MmaOp;

/// As PTX spells an operand's type; empty if no product has it.
static StringRef operandName(MmaOp mma) {
  Type type = mma.getLhs().getType().getElementType();
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32()) // fp32 means fp32, unless the user says otherwise
    return mma.getPrecision() == "tf32" ? "tf32" : "f32";
  if (type.isF64())
    return "f64";
  if (type.isInteger(8))
    return "s8";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  return "";
}

/// fp16 sums are rounded after each step, as written, by fma.
static StringRef resultName(MmaOp mma) {
  Type type = getElementTypeOrSelf(mma.getResult());
  return type.isF32()         ? "f32"
         : type.isF64()       ? "f64"
         : type.isInteger(32) ? "s32"
                              : "";
}

/// Elements of an operand in one register.
static int64_t perRegister(StringRef type) {
  if (type == "tf32" || type == "f64")
    return 1;
  return type == "f16" || type == "bf16" ? 2 : 4;
}

std::optional<MmaInstruction> tessera::target::instructionOf(MmaOp mma) {
  InstructionAttr given = mma.getInstructionAttr();
  if (!given || given.getForm() == MmaForm::Fma)
    return std::nullopt;
  MmaInstruction result;
  if (given.getForm() == MmaForm::Sparse)
    result.kind = nvidia::MmaRow::SyncSparse;
  if (given.getForm() == MmaForm::Scaled)
    result.kind = nvidia::MmaRow::SyncBlockScale;
  result.shape.m = given.getM();
  result.shape.n = given.getN();
  result.shape.k = given.getK();
  result.d = resultName(mma).str();
  result.a = result.b = operandName(mma).str();
  result.text =
      llvm::formatv("m{0}n{1}k{2}.{3}.{4}.{5}.{3}", given.getM(), given.getN(),
                    given.getK(), result.d, result.a, result.b);
  result.shape.perRegister = perRegister(result.a);
  result.shape.sparse = result.kind == nvidia::MmaRow::SyncSparse;
  return result;
}

/// The table's line for a sparse or scaled product; null if the machine has
/// none that fits its types and sizes.
static const nvidia::MmaRow *extendedInstruction(MmaOp mma,
                                                 const nvidia::Arch &arch) {
  auto kind = mma.getMeta() ? nvidia::MmaRow::SyncSparse
                            : nvidia::MmaRow::SyncBlockScale;
  StringRef operand = operandName(mma);
  const nvidia::MmaRow *row =
      nvidia::findMma(arch, operand, operand, resultName(mma), kind);
  // Whole fragments only, and layouts of the metadata we know.
  if (!row || (mma.getMeta() && perRegister(operand) != 2) ||
      mma.getLhs().getType().getDimSize(0) % row->m ||
      mma.getRhs().getType().getDimSize(1) % row->n ||
      mma.getRhs().getType().getDimSize(0) % row->k)
    return nullptr;
  return row;
}

bool NvidiaSimt::hasExtendedProduct(MmaOp mma) const {
  return extendedInstruction(mma, arch);
}

std::optional<layout::MmaShape> NvidiaSimt::shapeOf(MmaOp mma) const {
  std::optional<MmaInstruction> form = instructionOf(mma);
  return form ? std::optional(form->shape) : std::nullopt;
}

/// The table's largest form for the types, or fma where the machine has none;
/// fp8 without one is refused with the table's line.
LogicalResult NvidiaSimt::chooseInstruction(MmaOp mma) const {
  Type element = mma.getLhs().getType().getElementType();
  Type accumulated = getElementTypeOrSelf(mma.getResult());
  StringRef operand = operandName(mma), sum = resultName(mma);
  auto mark = [&](MmaForm form, const nvidia::MmaRow &row) {
    mma.setInstructionAttr(
        InstructionAttr::get(mma.getContext(), form, row.m, row.n, row.k));
    return success();
  };
  if (mma.getMeta() || mma.getLhsScale()) {
    const nvidia::MmaRow *row = extendedInstruction(mma, arch);
    if (!row)
      return mma.emitError() << "target " << arch.name()
                             << " has no such product; tile-expand-products "
                                "makes a plain one of it";
    return mark(mma.getMeta() ? MmaForm::Sparse : MmaForm::Scaled, *row);
  }
  auto result = dyn_cast<RankedTensorType>(mma.getResult().getType());
  if (result && result.getRank() == 2 && !operand.empty())
    if (const nvidia::MmaRow *row =
            nvidia::findMma(arch, operand, operand, sum))
      return mark(MmaForm::Sync, *row);
  // No tensor core multiplies these types there: one by one.
  if (element.isF16() || element.isBF16() || element.isF32() ||
      element.isF64() || element.isSignlessInteger()) {
    mma.setInstructionAttr(
        InstructionAttr::get(mma.getContext(), MmaForm::Fma, 0, 0, 0));
    return success();
  }
  if (operand.empty())
    return tile::refuseOn(mma, "@ of " + tile::nameOf(element), "on a GPU");
  InFlightDiagnostic problem = mma.emitError();
  problem << "target " << arch.name() << " has no product of "
          << tile::nameOf(element) << " that accumulates in "
          << tile::nameOf(accumulated);
  if (const nvidia::MmaRow *anywhere =
          nvidia::findMmaAnywhere(operand, operand, sum))
    problem << "; mma.sync " << anywhere->text() << " needs "
            << anywhere->where.text();
  return problem;
}

//===----------------------------------------------------------------------===//
// The family
//===----------------------------------------------------------------------===//

/// Shared memory of a block on every machine that runs this code: machine code
/// for sm_80 runs on sm_86 and sm_89, which have less.
static int64_t portableShared(const nvidia::Arch &arch) {
  int64_t limit = nvidia::machine(arch).sharedPerBlock;
  for (const nvidia::Machine &row : nvidia::machines())
    if (!arch.suffix && row.number / 10 == arch.major &&
        row.number >= arch.number())
      limit = std::min<int64_t>(limit, row.sharedPerBlock);
  return limit;
}

NvidiaSimt::NvidiaSimt(const nvidia::Arch &arch) : arch(arch) {
  name = arch.name();
  sharedPerBlock = nvidia::machine(arch).sharedPerBlock;
  sharedPortable = portableShared(arch);
  multiprocessors = nvidia::machine(arch).multiprocessors;
  if (nvidia::has(arch, nvidia::Feature::CpAsync))
    copies = simt::CopyCompletion::ByGroup;
}

static const simt::Machine *findNvidia(StringRef name) {
  std::optional<nvidia::Arch> arch = nvidia::parseArch(name);
  if (!arch)
    return nullptr;
  static std::mutex mutex;
  static std::map<std::string, NvidiaSimt> known;
  std::lock_guard lock(mutex);
  return &known.try_emplace(arch->name(), *arch).first->second;
}

const simt::Family &tessera::target::nvidiaFamily() {
  static const simt::Family family = {
      findNvidia, nvidia::archNames,
      [](DialectRegistry &registry) { registry.insert<NVVM::NVVMDialect>(); }};
  return family;
}
