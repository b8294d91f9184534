//===- Library.cpp - The files of a library -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Aot/Aot.h"

#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace tessera::aot {

Expected<PlanHandle> readPlan(const std::string &text) {
  tsr_plan *plan = nullptr;
  if (tsr_status status = tsr_plan_parse(text.data(), text.size(), &plan)) {
    std::string message = tsr_status_message(status);
    tsr_status_free(status);
    return createStringError(message);
  }
  return PlanHandle(plan);
}

tsr_tensor_info tensorOf(const PlanHandle &plan, int32_t index) {
  tsr_tensor_info info{};
  info.struct_size = sizeof info;
  tsr_status_free(tsr_plan_tensor(plan.get(), index, &info));
  return info;
}

/// Neighbours along `axis` are neighbours in memory.
static tsr_guard unitStride(int32_t tensor, int64_t axis) {
  int64_t bit = int64_t(1) << axis;
  return {tensor, TSR_FIELD_UNIT_STRIDES, int16_t(axis), bit, bit};
}

Expected<std::vector<tsr_guard>>
guardsFor(const std::string &plan, ArrayRef<frontend::ArgumentSpec> arguments) {
  Expected<PlanHandle> parsed = readPlan(plan);
  if (!parsed)
    return parsed.takeError();
  std::vector<tsr_guard> guards;
  int32_t tensor = 0;
  for (int32_t i = 0, e = tsr_plan_num_tensors(parsed->get()); i < e; ++i) {
    tsr_tensor_info info = tensorOf(*parsed, i);
    guards.push_back({i, TSR_FIELD_TYPE, 0, 0xffffffff, info.dtype});
    if (info.mode == TSR_RESULT && info.rank > 0)
      guards.push_back(unitStride(i, info.rank - 1));
  }
  for (const frontend::ArgumentSpec &argument : arguments) {
    if (argument.kind != frontend::ArgumentSpec::Kind::Tensor)
      continue;
    for (auto [axis, size] : llvm::enumerate(argument.sizes))
      if (size >= 0)
        guards.push_back({tensor, TSR_FIELD_SIZE, int16_t(axis), -1, size});
    if (argument.unitAxis >= 0)
      guards.push_back(unitStride(tensor, argument.unitAxis));
    ++tensor;
  }
  return guards;
}

/// Written beside its name and renamed, so that nobody reads half a file.
static Error writeFile(const std::string &path, StringRef bytes) {
  std::string temporary = path + ".part";
  std::error_code problem;
  {
    raw_fd_ostream file(temporary, problem);
    if (problem)
      return createStringError(problem, "cannot write %s", path.c_str());
    file << bytes;
    file.close();
    if (file.has_error())
      return createStringError(file.error(), "cannot write %s", path.c_str());
  }
  problem = sys::fs::rename(temporary, path);
  if (problem)
    return createStringError(problem, "cannot write %s", path.c_str());
  return Error::success();
}

static std::string cmakeText(const Library &library) {
  std::string n = library.name;
  return "# " + n +
         "Config.cmake: written by Tessera.\n"
         "#   find_package(" +
         n +
         " REQUIRED PATHS <this folder>)\n"
         "#   target_link_libraries(app PRIVATE " +
         n +
         ")\n"
         "include(CMakeFindDependencyMacro)\n"
         "find_dependency(Tessera COMPONENTS Runtime)\n"
         "if(NOT TARGET " +
         n +
         ")\n"
         "  add_library(" +
         n +
         " STATIC IMPORTED)\n"
         "  set_target_properties(" +
         n +
         " PROPERTIES\n"
         "    IMPORTED_LOCATION ${CMAKE_CURRENT_LIST_DIR}/lib" +
         n +
         ".a\n"
         "    INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_LIST_DIR}\n"
         "    INTERFACE_COMPILE_FEATURES cxx_std_17\n"
         "    INTERFACE_LINK_LIBRARIES Tessera::Runtime)\n"
         "endif()\n";
}

/// lib<name>.so with the runtime inside; needs a C++ compiler's linker. Empty
/// if it was made, else why not.
static std::string linkShared(const Library &library,
                              const std::string &archive,
                              const std::string &output) {
  if (library.runtimeDirectory.empty())
    return "the runtime's static library was not found";
  std::string runtime = library.runtimeDirectory + "/libTesseraRuntime.a";
  if (!sys::fs::exists(runtime))
    return runtime + " is not there";
  for (StringRef name : {"c++", "g++", "clang++", "clang++-22"}) {
    ErrorOr<std::string> program = sys::findProgramByName(name);
    if (!program)
      continue;
    std::string message;
    std::vector<StringRef> arguments = {*program,
                                        "-shared",
                                        "-o",
                                        output,
                                        "-Wl,--whole-archive",
                                        archive,
                                        runtime,
                                        "-Wl,--no-whole-archive",
                                        "-static-libstdc++",
                                        "-static-libgcc",
                                        "-lpthread",
                                        "-ldl"};
    if (sys::ExecuteAndWait(*program, arguments, std::nullopt, {}, 0, 0,
                            &message) == 0)
      return {};
    return *program + " failed" + (message.empty() ? "" : ": " + message);
  }
  return "no C++ compiler was found to link with";
}

Expected<std::vector<std::string>> writeLibrary(const Library &library,
                                                const std::string &directory) {
  if (std::error_code problem = sys::fs::create_directories(directory))
    return createStringError(problem, "cannot make the folder %s",
                             directory.c_str());
  Expected<std::vector<char>> tables = emitTables(library);
  if (!tables)
    return tables.takeError();
  std::vector<std::unique_ptr<MemoryBuffer>> buffers;
  auto addObject = [&](ArrayRef<char> bytes, const std::string &name) {
    buffers.push_back(MemoryBuffer::getMemBufferCopy(
        StringRef(bytes.data(), bytes.size()), name));
  };
  addObject(*tables, library.name + ".tables.o");
  for (const Function &function : library.functions)
    for (auto [i, version] : llvm::enumerate(function.versions))
      if (version.images.empty())
        addObject(version.artifact.object,
                  function.name + "." + std::to_string(i) + ".o");
  std::vector<NewArchiveMember> members;
  for (const std::unique_ptr<MemoryBuffer> &buffer : buffers)
    members.emplace_back(buffer->getMemBufferRef());

  std::string stem = directory + "/";
  std::string archive = stem + "lib" + library.name + ".a";
  if (Error error =
          writeArchive(archive, members, SymtabWritingMode::NormalSymtab,
                       object::Archive::K_GNU,
                       /*Deterministic=*/true, /*Thin=*/false))
    return std::move(error);
  Expected<std::string> header = writeHeader(library);
  if (!header)
    return header.takeError();
  std::string headerPath = stem + library.name + ".h";
  std::string cmakePath = stem + library.name + "Config.cmake";
  if (Error error = writeFile(headerPath, *header))
    return std::move(error);
  if (Error error = writeFile(cmakePath, cmakeText(library)))
    return std::move(error);
  std::vector<std::string> files = {headerPath, archive, cmakePath};
  std::string shared = stem + "lib" + library.name + ".so";
  std::string problem = linkShared(library, archive, shared);
  files.push_back(problem.empty() ? shared
                                  : shared + ": not written: " + problem);
  return files;
}

} // namespace tessera::aot
