# How a dialect, a pass list and a library of this project are declared.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# tessera_add_dialect(Graph gir) generates, in compiler/Graph/IR, every .inc
# file and the reference page of the dialect whose ODS lives in GraphOps.td.
function(tessera_add_dialect stage mnemonic)
  set(LLVM_TARGET_DEFINITIONS ${stage}Ops.td)
  mlir_tablegen(${stage}Dialect.h.inc -gen-dialect-decls -dialect=${mnemonic})
  mlir_tablegen(${stage}Dialect.cpp.inc -gen-dialect-defs -dialect=${mnemonic})
  mlir_tablegen(${stage}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${stage}Enums.cpp.inc -gen-enum-defs)
  mlir_tablegen(${stage}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${mnemonic})
  mlir_tablegen(${stage}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${mnemonic})
  mlir_tablegen(${stage}Types.h.inc -gen-typedef-decls -typedefs-dialect=${mnemonic})
  mlir_tablegen(${stage}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${mnemonic})
  mlir_tablegen(${stage}Ops.h.inc -gen-op-decls -dialect=${mnemonic})
  mlir_tablegen(${stage}Ops.cpp.inc -gen-op-defs -dialect=${mnemonic})
  add_public_tablegen_target(Tessera${stage}IncGen)
  add_mlir_doc(${stage}Ops ${stage} reference/ -gen-dialect-doc -dialect=${mnemonic})
endfunction()

# tessera_add_passes(Graph) does the same for the Passes.td of this folder.
function(tessera_add_passes stage)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${stage})
  add_public_tablegen_target(Tessera${stage}PassIncGen)
  add_mlir_doc(Passes ${stage}Passes reference/ -gen-pass-doc)
endfunction()

# tessera_add_library(TesseraGraph SOURCES a.cpp DEPENDS XIncGen LINKS TesseraY):
# a static library of ours over MLIR's and LLVM's shared ones. Mixing in their
# static targets would bring a second copy of every registry.
function(tessera_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(TESSERA_PCH)
    target_precompile_headers(${name} REUSE_FROM TesseraHeaders)
  endif()
  install(TARGETS ${name} EXPORT TesseraCompilerTargets COMPONENT compiler
    ARCHIVE DESTINATION lib)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINKS} TesseraMLIR)
endfunction()

# MLIR's headers are most of the time of a compilation: parsed once. Off by
# default, since ccache then shares nothing between build folders.
option(TESSERA_PCH "Parse MLIR's headers once" OFF)
if(TESSERA_PCH)
  file(WRITE ${PROJECT_BINARY_DIR}/TesseraHeaders.cpp "")
  add_library(TesseraHeaders STATIC ${PROJECT_BINARY_DIR}/TesseraHeaders.cpp)
  target_precompile_headers(TesseraHeaders PRIVATE
    <map> <memory> <optional> <string> <vector>
    <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h> <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h>
    <mlir/IR/DialectImplementation.h> <mlir/IR/PatternMatch.h>
    <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Pass/PassManager.h>
    <mlir/Transforms/DialectConversion.h>)
endif()
