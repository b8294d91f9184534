//===- GraphDialect.cpp - Graph IR: registration --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Graph.h"

using namespace tessera::graph;

#include "compiler/Graph/IR/GraphDialect.cpp.inc"

void GraphDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/Graph/IR/GraphOps.cpp.inc"
      >();
}
