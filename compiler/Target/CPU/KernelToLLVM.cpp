//===- KernelToLLVM.cpp - target-kernel-to-llvm ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/IR/Plan.h"
#include "compiler/Target/CPU/Passes.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tessera::target {
#define GEN_PASS_DEF_KERNELTOLLVMPASS
#include "compiler/Target/CPU/Passes.h.inc"
} // namespace tessera::target

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

/// math.erf %x : f64 -> llvm.call @erf, element by element: LLVM has no
/// intrinsic for these functions, or one that loses digits.
static void callLibrary(ModuleOp module) {
  module.walk([&](Operation *op) {
    StringRef name = llvm::TypeSwitch<Operation *, StringRef>(op)
                         .Case<math::ErfOp>([](auto) { return "erf"; })
                         .Case<math::ErfcOp>([](auto) { return "erfc"; })
                         .Case<math::Log1pOp>([](auto) { return "log1p"; })
                         .Default([](Operation *) { return ""; });
    if (name.empty() || !getElementTypeOrSelf(op->getResult(0)).isF64())
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Type f64 = builder.getF64Type();
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder start = OpBuilder::atBlockBegin(module.getBody());
      callee = LLVM::LLVMFuncOp::create(
          start, module.getLoc(), name,
          LLVM::LLVMFunctionType::get(f64, ArrayRef<Type>(f64)));
    }
    Value x = op->getOperand(0), result;
    auto vector = dyn_cast<VectorType>(x.getType());
    if (!vector) {
      result = LLVM::CallOp::create(builder, loc, callee, x).getResult();
    } else {
      result = x;
      SmallVector<int64_t> strides = computeStrides(vector.getShape());
      for (int64_t i = 0; i < vector.getNumElements(); ++i) {
        SmallVector<int64_t> at = delinearize(i, strides);
        Value one = vector::ExtractOp::create(builder, loc, x, at);
        Value value =
            LLVM::CallOp::create(builder, loc, callee, one).getResult();
        result = vector::InsertOp::create(builder, loc, value, result, at);
      }
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  });
}

/// tessera_target.call -> llvm.call of a declared function
static void callRuntime(ModuleOp module) {
  unsigned texts = 0;
  module.walk([&](CallOp op) {
    OpBuilder builder(op), start = OpBuilder::atBlockBegin(module.getBody());
    Location loc = op.getLoc();
    MLIRContext *context = module.getContext();
    SmallVector<Value> arguments;
    if (op.getText()) {
      StringRef text = *op.getText();
      auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
      auto global = LLVM::GlobalOp::create(
          start, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
          "text_" + std::to_string(texts++), builder.getStringAttr(text));
      arguments.push_back(LLVM::AddressOfOp::create(builder, loc, global));
      arguments.push_back(LLVM::ConstantOp::create(
          builder, loc, builder.getI64IntegerAttr(int64_t(text.size()))));
    }
    llvm::append_range(arguments, op.getArguments());
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(op.getCallee());
    if (!callee)
      callee = LLVM::LLVMFuncOp::create(
          start, module.getLoc(), op.getCallee(),
          LLVM::LLVMFunctionType::get(
              LLVM::LLVMVoidType::get(context),
              llvm::to_vector(ValueRange(arguments).getTypes())));
    LLVM::CallOp::create(builder, loc, callee, arguments);
    op.erase();
  });
}

namespace {
struct KernelToLLVMPass
    : tessera::target::impl::KernelToLLVMPassBase<KernelToLLVMPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder(&getContext());
    for (KernelOp kernel :
         llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      builder.setInsertionPoint(kernel);
      auto type = LLVM::LLVMFunctionType::get(kernel.getResultTypes()[0],
                                              kernel.getArgumentTypes());
      auto func = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(),
                                           kernel.getSymName(), type);
      func.getBody().takeBody(kernel.getBody());
      func.walk([&](target::ReturnOp op) {
        builder.setInsertionPoint(op);
        LLVM::ReturnOp::create(builder, op.getLoc(), op.getValues());
        op.erase();
      });
      kernel.erase();
    }
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<plan::FuncOp>(op))
        op.erase();
    callLibrary(module);
    callRuntime(module);
  }
};
} // namespace
