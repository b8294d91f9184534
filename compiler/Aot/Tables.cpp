//===- Tables.cpp - Functions as data, in an object file ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The structs of tessera-c/runtime.h as constants that the linker fills in.
//
//===----------------------------------------------------------------------===//

#include "compiler/Aot/Aot.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace tessera::aot {

namespace {
class TableBuilder {
public:
  explicit TableBuilder(llvm::Module &module)
      : module(module), context(module.getContext()) {}

  Error addFunction(const Library &library, const Function &function);

private:
  Constant *number(int64_t value) {
    return ConstantInt::get(Type::getInt64Ty(context), value, true);
  }
  Constant *shortNumber(int32_t value) {
    return ConstantInt::get(Type::getInt32Ty(context), value, true);
  }
  GlobalVariable *add(Constant *value, bool constant = true) {
    return new GlobalVariable(module, value->getType(), constant,
                              GlobalValue::PrivateLinkage, value);
  }
  Constant *text(StringRef value) {
    return add(ConstantDataArray::getString(context, value));
  }
  Constant *null() { return ConstantPointerNull::get(pointer()); }
  PointerType *pointer() { return PointerType::getUnqual(context); }
  /// A pointer to the rows, which are all of one type; null without rows.
  Constant *table(ArrayRef<Constant *> rows) {
    if (rows.empty())
      return null();
    return add(ConstantArray::get(
        ArrayType::get(rows.front()->getType(), rows.size()), rows));
  }
  Expected<Constant *> makeVersion(const Version &version);
  Constant *makeImages(const Version &version);

  llvm::Module &module;
  LLVMContext &context;
};
} // namespace

Expected<Constant *> TableBuilder::makeVersion(const Version &version) {
  const std::string &plan = version.artifact.plan;
  Expected<PlanHandle> parsed = readPlan(plan);
  if (!parsed)
    return parsed.takeError();
  SmallVector<Constant *> symbols, guards;
  auto *type = FunctionType::get(Type::getInt32Ty(context), false);
  int32_t linked =
      version.images.empty() ? tsr_plan_num_kernels(parsed->get()) : 0;
  for (int32_t i = 0; i < linked; ++i) {
    std::string name = tsr_plan_kernel(parsed->get(), i);
    FunctionCallee kernel =
        module.getOrInsertFunction(version.symbolPrefix + name, type);
    symbols.push_back(ConstantStruct::getAnon(
        {text(name), cast<Constant>(kernel.getCallee())}));
  }
  for (const tsr_guard &guard : version.guards)
    guards.push_back(ConstantStruct::getAnon(
        {shortNumber(guard.argument),
         ConstantInt::get(Type::getInt16Ty(context), guard.field),
         ConstantInt::get(Type::getInt16Ty(context), guard.axis),
         number(guard.mask), number(guard.value)}));
  return ConstantStruct::getAnon(
      {text(plan), number(int64_t(plan.size())), table(symbols),
       number(int64_t(symbols.size())), table(guards),
       number(int64_t(guards.size()))});
}

Constant *TableBuilder::makeImages(const Version &version) {
  SmallVector<Constant *> images;
  for (const Image &image : version.images)
    images.push_back(
        ConstantStruct::getAnon({text(image.arch), text(image.data),
                                 number(int64_t(image.data.size()))}));
  return ConstantStruct::getAnon(
      {table(images), number(int64_t(images.size()))});
}

Error TableBuilder::addFunction(const Library &library,
                                const Function &function) {
  SmallVector<Constant *> versions, images;
  for (const Version &version : function.versions) {
    Expected<Constant *> row = makeVersion(version);
    if (!row)
      return row.takeError();
    versions.push_back(*row);
    images.push_back(makeImages(version));
  }
  Constant *slots = ConstantAggregateZero::get(
      ArrayType::get(pointer(), function.versions.size()));
  Constant *value = ConstantStruct::getAnon(
      {number(sizeof(tsr_function)), text(function.name), table(versions),
       number(int64_t(versions.size())), add(slots, /*constant=*/false),
       table(images), number(TSR_GUARD_FORMAT)});
  new GlobalVariable(module, value->getType(), true,
                     GlobalValue::ExternalLinkage, value,
                     "tsr_" + library.name + "_" + function.name);
  return Error::success();
}

Expected<std::vector<char>> emitTables(const Library &library) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Triple triple(sys::getProcessTriple());
  std::string problem;
  const Target *target = TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return createStringError(problem);
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, "x86-64", "", TargetOptions(), Reloc::PIC_));
  LLVMContext context;
  llvm::Module module(library.name, context);
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  TableBuilder builder(module);
  for (const Function &function : library.functions)
    if (Error error = builder.addFunction(library, function))
      return std::move(error);
  SmallVector<char> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   CodeGenFileType::ObjectFile))
    return createStringError("LLVM cannot write object files here");
  passes.run(module);
  return std::vector<char>(object.begin(), object.end());
}

} // namespace tessera::aot
