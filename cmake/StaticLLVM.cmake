# MLIR and LLVM as archives, for the wheel: nothing of them is seen outside.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Debian's CMake targets put libMLIR.so behind the static ones, and then every
# registry exists twice; so the archives are named one by one. The linker takes
# from them what is used, --gc-sections drops the rest of it.
set(TESSERA_LLVM_TARGETS X86 NVPTX AMDGPU SPIRV)

file(GLOB mlir_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a)
list(FILTER mlir_archives EXCLUDE REGEX "libMLIR(CAPI|.*Test|JitRunner|TableGen|Tblgen)")
file(GLOB llvm_archives ${LLVM_LIBRARY_DIR}/libLLVM*.a)
set(other_targets ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM other_targets ${TESSERA_LLVM_TARGETS})
foreach(target ${other_targets})
  list(FILTER llvm_archives EXCLUDE REGEX "libLLVM${target}[A-Z][A-Za-z]*\\.a$")
endforeach()

# Code that initialises all targets finds nothing to do for the others.
set(stubs "/* Generated: targets that are left out. */\n")
foreach(target ${other_targets})
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser Disassembler)
    string(APPEND stubs "void LLVMInitialize${target}${part}(void) {}\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/LeftOut.c CONTENT "${stubs}" @ONLY)
add_library(TesseraLeftOut STATIC ${PROJECT_BINARY_DIR}/LeftOut.c
  ${PROJECT_SOURCE_DIR}/cmake/Glibc234.c)

find_library(ZLIB_ARCHIVE libz.a REQUIRED)
find_library(ZSTD_ARCHIVE libzstd.a REQUIRED)
target_link_libraries(TesseraMLIR INTERFACE
  -Wl,--start-group ${mlir_archives} ${llvm_archives} TesseraLeftOut
  ${ZLIB_ARCHIVE} ${ZSTD_ARCHIVE} -Wl,--end-group ${CMAKE_DL_LIBS} m)
target_link_options(TesseraMLIR INTERFACE
  -Wl,--gc-sections -Wl,--exclude-libs,ALL -static-libstdc++)
