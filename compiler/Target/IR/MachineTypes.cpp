//===- MachineTypes.cpp - What a machine's instructions work on -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM takes any type and makes code of it, for as long as that may take; or it
// ends the process. Kernels have registers, vectors of a few of them, pointers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/IR/Target.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera::target;

/// Elements of a vector, of an array on the stack, of a structure.
static constexpr int64_t maxVector = 1024, maxArray = 1 << 16, maxFields = 128;
static constexpr int64_t maxAlignment = 4096;

static bool isScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1, 2, 4, 8, 16, 32, 64, 128},
                              integer.getWidth());
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return pointer.getAddressSpace() <= 7;
  auto number = dyn_cast<FloatType>(type);
  return type.isIndex() || (number && number.getWidth() <= 64);
}

static bool isMachineType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return isScalar(vector.getElementType()) && !vector.isScalable() &&
           vector.getRank() >= 1 && vector.getRank() <= 3 &&
           llvm::all_of(vector.getShape(),
                        [](int64_t n) { return n >= 1 && n <= maxVector; }) &&
           vector.getNumElements() <= maxVector;
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return (isScalar(array.getElementType()) ||
            isa<VectorType>(array.getElementType())) &&
           isMachineType(array.getElementType()) &&
           array.getNumElements() <= maxArray;
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type))
    return !structure.isOpaque() && !structure.isIdentified() &&
           int64_t(structure.getBody().size()) <= maxFields &&
           llvm::all_of(structure.getBody(), [](Type field) {
             return isScalar(field) ||
                    (isa<VectorType>(field) && isMachineType(field));
           });
  return isScalar(type) || isa<LLVM::LLVMX86AMXType>(type);
}

static LogicalResult verifyType(Operation *op, Type type) {
  if (isMachineType(type))
    return success();
  return op->emitError() << "a machine has registers, vectors of up to "
                         << maxVector << " numbers and pointers, not " << type;
}

/// Memory on the stack is known, and small.
static LogicalResult verifyStack(LLVM::AllocaOp alloca) {
  APInt count;
  if (matchPattern(alloca.getArraySize(), m_ConstantInt(&count)) &&
      count.getActiveBits() <= 32 && count.getSExtValue() >= 1 &&
      count.getSExtValue() <= maxArray)
    return success();
  return alloca.emitError() << "memory on the stack has 1 to " << maxArray
                            << " elements, a constant";
}

/// Bits of a number or a vector of them; 0 of anything else.
static int64_t bitsOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * bitsOf(vector.getElementType());
  return type.isIntOrFloat() ? int64_t(type.getIntOrFloatBitWidth()) : 0;
}

/// Types that are known to be a machine's: a kernel has a few, many times.
using KnownTypes = llvm::SmallPtrSet<const void *, 16>;

static LogicalResult verifyTypes(Operation *op, TypeRange types,
                                 KnownTypes &known) {
  for (Type type : types)
    if (!known.contains(type.getAsOpaquePointer())) {
      if (failed(verifyType(op, type)))
        return failure();
      known.insert(type.getAsOpaquePointer());
    }
  return success();
}

static LogicalResult verifyAttribute(Operation *op, StringRef name,
                                     Attribute attribute) {
  if (auto type = dyn_cast<TypeAttr>(attribute);
      type && !isa<FunctionType>(type.getValue())) {
    if (failed(verifyType(op, type.getValue())))
      return failure();
    // The other dialects are lowered; what stands in LLVM's stays.
    if (isa<LLVM::LLVMDialect>(op->getDialect()) &&
        !LLVM::isCompatibleType(type.getValue()))
      return op->emitError() << "LLVM has no " << type.getValue();
  }
  auto number = dyn_cast<IntegerAttr>(attribute);
  if (number && name.contains("alignment") &&
      (number.getValue().getActiveBits() > 32 ||
       number.getInt() > maxAlignment ||
       (number.getInt() && !llvm::isPowerOf2_64(number.getInt()))))
    return op->emitError() << "an alignment is a power of two up to "
                           << maxAlignment << ", not " << number;
  return success();
}

/// To list the attributes of an op is slow. Arithmetic, most of a kernel, has
/// neither types nor alignments among them; accesses have them by these names.
static LogicalResult verifyAttributes(Operation *op) {
  Dialect *dialect = op->getDialect();
  if (isa_and_present<arith::ArithDialect, math::MathDialect, scf::SCFDialect>(
          dialect))
    return success();
  bool isAccess = isa_and_present<vector::VectorDialect>(dialect) ||
                  isa<LLVM::AllocaOp, LLVM::ConstantOp, LLVM::ExtractValueOp,
                      LLVM::GEPOp, LLVM::LoadOp, LLVM::MaskedLoadOp,
                      LLVM::MaskedStoreOp, LLVM::Prefetch, LLVM::StoreOp>(op);
  if (isAccess)
    for (StringRef name : {"alignment", "elem_type"})
      if (std::optional<Attribute> found = op->getInherentAttr(name);
          found && *found && failed(verifyAttribute(op, name, *found)))
        return failure();
  for (NamedAttribute each : isAccess
                                 ? op->getDiscardableAttrDictionary().getValue()
                                 : op->getAttrs())
    if (failed(verifyAttribute(op, each.getName(), each.getValue())))
      return failure();
  return success();
}

static LogicalResult verifyOp(Operation *op, KnownTypes &known) {
  if (isa_and_present<scf::SCFDialect>(op->getDialect()) &&
      !isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp>(
          op))
    return op->emitError() << "'" << op->getName()
                           << "' may not stand in a kernel of a machine";
  if (failed(verifyTypes(op, op->getResultTypes(), known)))
    return failure();
  for (Region &region : op->getRegions()) {
    if (!region.empty() && !llvm::hasSingleElement(region))
      return op->emitError() << "a region of a kernel is one block";
    if (failed(verifyTypes(op, region.getArgumentTypes(), known)))
      return failure();
  }
  if (failed(verifyAttributes(op)))
    return failure();
  if (auto alloca = dyn_cast<LLVM::AllocaOp>(op))
    return verifyStack(alloca);
  if (auto prefetch = dyn_cast<LLVM::Prefetch>(op))
    if (prefetch.getRw() > 1 || prefetch.getHint() > 3 ||
        prefetch.getCache() > 1)
      return op->emitError() << "a prefetch has rw 0 or 1, a hint of 0 to 3 "
                                "and cache 0 or 1";
  if (auto cast = dyn_cast<LLVM::BitcastOp>(op)) {
    Type from = cast.getArg().getType(), to = cast.getType();
    if (bitsOf(from) != bitsOf(to))
      return op->emitError()
             << "the bits of " << from << " are not those of " << to;
  }
  return success();
}

LogicalResult tessera::target::verifyMachineOp(Operation *op) {
  KnownTypes known;
  return verifyOp(op, known);
}

LogicalResult tessera::target::verifyMachineKernel(
    KernelOp kernel, llvm::function_ref<LogicalResult(Operation *)> isListed) {
  for (Type type : kernel.getArgumentTypes())
    if (!isMachineType(type))
      return kernel.emitOpError() << "takes numbers and pointers, not " << type;
  if (!kernel.getResultTypes().empty() &&
      !llvm::all_of(kernel.getResultTypes(), isScalar))
    return kernel.emitOpError() << "returns a number or nothing";
  if (!llvm::hasSingleElement(kernel.getBody()))
    return kernel.emitOpError() << "is one block";
  KnownTypes known;
  bool good = true;
  kernel.getBody().walk([&](Operation *op) {
    bool isHere = !isListed || succeeded(isListed(op));
    good &= isHere;
    // One error of a type is enough.
    if (isHere && good && failed(verifyOp(op, known)))
      good = false;
  });
  return success(good);
}
