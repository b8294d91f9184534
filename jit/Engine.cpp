//===- Engine.cpp - Object code into this process, by ORC -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "jit/Engine.h"

#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include "tessera-c/runtime.h"
#include <mutex>

using namespace llvm;
using namespace tessera::jit;

namespace {

/// One linker for the process; each object gets a library of its own, so that
/// two versions of a kernel may have one name.
struct Session {
  std::unique_ptr<orc::LLJIT> jit;
  std::mutex mutex;
  uint64_t count = 0;
};

} // namespace

static Expected<Session *> getSession() {
  static std::mutex mutex;
  // Never destroyed: kernels may still run while the process exits.
  static Session *session = nullptr;
  std::lock_guard lock(mutex);
  if (session)
    return session;
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto jit = orc::LLJITBuilder()
                 .setObjectLinkingLayerCreator([](orc::ExecutionSession &es) {
                   return std::make_unique<orc::ObjectLinkingLayer>(es);
                 })
                 .create();
  if (!jit)
    return jit.takeError();
  session = new Session;
  session->jit = std::move(*jit);
  return session;
}

struct LoadedObject::Impl {
  Session *session;
  orc::JITDylib *library;
};

LoadedObject::LoadedObject(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}

LoadedObject::~LoadedObject() {
  std::lock_guard lock(impl->session->mutex);
  consumeError(
      impl->session->jit->getExecutionSession().removeJITDylib(*impl->library));
}

Expected<std::unique_ptr<LoadedObject>>
LoadedObject::load(ArrayRef<char> object, const Symbols &symbols) {
  Expected<Session *> session = getSession();
  if (!session)
    return session.takeError();
  std::lock_guard lock((*session)->mutex);
  orc::LLJIT &jit = *(*session)->jit;
  auto library =
      jit.createJITDylib("kernel" + std::to_string((*session)->count++));
  if (!library)
    return library.takeError();
  // Math functions of libm and memcpy come from the process.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit.getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library->addGenerator(std::move(*process));
  orc::SymbolMap map;
  for (const auto &[name, address] : symbols)
    map[jit.mangleAndIntern(name)] = {orc::ExecutorAddr(address),
                                      JITSymbolFlags::Exported |
                                          JITSymbolFlags::Callable};
  if (Error error = library->define(orc::absoluteSymbols(std::move(map))))
    return std::move(error);
  auto buffer = MemoryBuffer::getMemBufferCopy(
      StringRef(object.data(), object.size()), "kernel");
  if (Error error = jit.addObjectFile(*library, std::move(buffer)))
    return std::move(error);
  return std::unique_ptr<LoadedObject>(
      new LoadedObject(std::make_unique<Impl>(Impl{*session, &*library})));
}

Expected<void *> LoadedObject::lookup(StringRef name) {
  std::lock_guard lock(impl->session->mutex);
  auto address = impl->session->jit->lookup(*impl->library, name);
  if (!address)
    return address.takeError();
  return address->toPtr<void *>();
}
