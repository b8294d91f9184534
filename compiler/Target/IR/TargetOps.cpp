//===- TargetOps.cpp - Target IR: verifiers, text -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/IR/Target.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace tessera::target;

#define GET_OP_CLASSES
#include "compiler/Target/IR/TargetOps.cpp.inc"

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &builder, ArrayRef<Type> inputs,
                  ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                  std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), build,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult AllocateOp::verify() {
  // (C1)
  static constexpr llvm::StringLiteral pools[] = {"device", "managed", "pinned",
                                                  "shared", "scratch"};
  if (!llvm::is_contained(pools, getPool()))
    return emitOpError() << "no pool is called '" << getPool()
                         << "': device, managed, pinned, shared or scratch";
  if (!llvm::isPowerOf2_64(getAlign()))
    return emitOpError() << "alignment " << getAlign() << " is no power of two";
  return success();
}
