//===- RegisterTranspose.cpp - cpu-register-transpose ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/NestVectors.h"
#include "compiler/Target/CPU/Mapping/Passes.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_REGISTERTRANSPOSEPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;

namespace {
struct RegisterTransposePass
    : tessera::cpu::impl::RegisterTransposePassBase<RegisterTransposePass> {
  using RegisterTransposePassBase::RegisterTransposePassBase;

  void runOnOperation() override {
    getOperation().walk([&](tile::NestOp nest) {
      nest.setTransposes(cpu::mayTranspose(nest, vectorBytes));
    });
  }
};
} // namespace
