//===- MachineTypes.cpp - What a machine's instructions work on -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM takes any type and makes code of it, for as long as that may take; or it
// ends the process. Kernels have registers, vectors of a few of them, pointers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/IR/Target.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

LogicalResult tessera::target::verifyMachineOp(Operation *op) {
  if (isa_and_present<scf::SCFDialect>(op->getDialect()) &&
      !isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp>(
          op))
    return op->emitError() << "'" << op->getName()
                           << "' may not stand in a kernel of a machine";
  for (Type type : op->getResultTypes())
    if (failed(verifyType(op, type)))
      return failure();
  for (Region &region : op->getRegions()) {
    if (!region.empty() && !llvm::hasSingleElement(region))
      return op->emitError() << "a region of a kernel is one block";
    for (Type type : region.getArgumentTypes())
      if (failed(verifyType(op, type)))
        return failure();
  }
  // Arithmetic, most of a kernel, has neither types nor alignments among its
  // attributes; to list those of an op is slow.
  if (llvm::is_contained({"arith", "math", "scf"},
                         op->getName().getDialectNamespace()))
    return success();
  for (NamedAttribute attribute : op->getAttrs()) {
    if (auto type = dyn_cast<TypeAttr>(attribute.getValue());
        type && !isa<FunctionType>(type.getValue())) {
      if (failed(verifyType(op, type.getValue())))
        return failure();
      // The other dialects are lowered; what stands in LLVM's stays.
      if (isa<LLVM::LLVMDialect>(op->getDialect()) &&
          !LLVM::isCompatibleType(type.getValue()))
        return op->emitError() << "LLVM has no " << type.getValue();
    }
    auto number = dyn_cast<IntegerAttr>(attribute.getValue());
    if (number && attribute.getName().getValue().contains("alignment") &&
        (number.getValue().getActiveBits() > 32 ||
         number.getInt() > maxAlignment ||
         (number.getInt() && !llvm::isPowerOf2_64(number.getInt()))))
      return op->emitError() << "an alignment is a power of two up to "
                             << maxAlignment << ", not " << number;
  }
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

LogicalResult tessera::target::verifyMachineKernel(KernelOp kernel) {
  for (Type type : kernel.getArgumentTypes())
    if (!isMachineType(type))
      return kernel.emitOpError() << "takes numbers and pointers, not " << type;
  if (!kernel.getResultTypes().empty() &&
      !llvm::all_of(kernel.getResultTypes(), isScalar))
    return kernel.emitOpError() << "returns a number or nothing";
  if (!llvm::hasSingleElement(kernel.getBody()))
    return kernel.emitOpError() << "is one block";
  WalkResult result = kernel.getBody().walk(
      [](Operation *op) -> WalkResult { return verifyMachineOp(op); });
  return failure(result.wasInterrupted());
}
