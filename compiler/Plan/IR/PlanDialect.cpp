//===- PlanDialect.cpp - The plan: dialect and type -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/IR/Plan.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tessera::plan;

#include "compiler/Plan/IR/PlanDialect.cpp.inc"
#include "compiler/Plan/IR/PlanEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/Plan/IR/PlanTypes.cpp.inc"

void PlanDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/Plan/IR/PlanTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Plan/IR/PlanOps.cpp.inc"
      >();
}

/// docs/abi.md, section 3.1.
static constexpr int64_t maxRank = 16;

LogicalResult
PlanTensorType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                       Type element, int64_t rank) {
  if (nameOf(element).empty())
    return emitError() << element << " is no type of elements in memory";
  if (rank < 0 || rank > maxRank)
    return emitError() << "a tensor has 0 to " << maxRank << " axes, not "
                       << rank;
  return success();
}

StringRef tessera::plan::nameOf(Type element) {
  return llvm::TypeSwitch<Type, StringRef>(element)
      .Case<Float64Type>([](auto) { return "f64"; })
      .Case<Float32Type>([](auto) { return "f32"; })
      .Case<Float16Type>([](auto) { return "f16"; })
      .Case<BFloat16Type>([](auto) { return "bf16"; })
      .Case<Float8E4M3FNType>([](auto) { return "f8e4m3"; })
      .Case<Float8E5M2Type>([](auto) { return "f8e5m2"; })
      .Case([](IntegerType type) {
        switch (type.isSignless() ? type.getWidth() : 0) {
        case 64:
          return "i64";
        case 32:
          return "i32";
        case 16:
          return "i16";
        case 8:
          return "i8";
        case 1:
          return "bool";
        default:
          return "";
        }
      })
      .Default([](Type) { return ""; });
}
