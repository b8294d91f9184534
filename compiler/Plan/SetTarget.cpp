//===- SetTarget.cpp - Names the machine of a plan ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Passes.h"

namespace tessera::plan {
#define GEN_PASS_DEF_SETTARGETPASS
#include "compiler/Plan/Passes.h.inc"
} // namespace tessera::plan

namespace {
struct SetTargetPass : tessera::plan::impl::SetTargetPassBase<SetTargetPass> {
  using Base::Base;
  void runOnOperation() override { getOperation().setTarget(target); }
};
} // namespace
