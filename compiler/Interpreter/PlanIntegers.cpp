//===- PlanIntegers.cpp - Integers of a plan that runs --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/PlanIntegers.h"

#include "runtime/Plan.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cstdio>

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

std::optional<int64_t> PlanValues::known(Value value) const {
  if (auto set = integers.find(value); set != integers.end())
    return set->second;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto memory = [&](Value tensor) -> const PlanMemory & {
    return tensors.find(tensor)->second;
  };
  using Known = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Known>(op)
      .Case([&](plan::SizeOp size) {
        return memory(size.getTensor()).view->shape[size.getAxis()];
      })
      .Case([&](plan::StrideOp stride) {
        return memory(stride.getTensor()).view->strides[stride.getAxis()];
      })
      .Case([&](plan::AddressOp address) {
        return int64_t(memory(address.getTensor()).address);
      })
      .Case([&](plan::IsConstantOp constant) {
        return (memory(constant.getTensor()).address & constantAddress) != 0;
      })
      // Nothing is kept between runs.
      .Case([](plan::FreshOp) { return 1; })
      .Default(Known());
}

std::string PlanValues::render(StringRef message, ValueRange shown,
                               Domain &domain) const {
  auto show = [&](Value value) -> std::string {
    if (auto tensor = tensors.find(value); tensor != tensors.end()) {
      ArrayRef<int64_t> shape = tensor->second.view->shape;
      return runtime::sizesToString(shape.data(), int32_t(shape.size()));
    }
    if (auto real = reals.find(value); real != reals.end()) {
      uint64_t bits = domain.toBits(Element::F64, real->second);
      char text[32];
      std::snprintf(text, sizeof text, "%g", llvm::bit_cast<double>(bits));
      return text;
    }
    plan::Evaluated number = evaluate(value);
    if (number.error)
      return "?";
    if (value.getType().isInteger(1))
      return number.value ? "true" : "false";
    return std::to_string(number.value);
  };
  std::string text;
  auto next = shown.begin();
  for (size_t at = 0; at < message.size(); ++at) {
    char c = message[at];
    if (c == '{' || c == '}') {
      ++at; // `{{` is a brace, `{}` a value
      if (c == '{' && message[at] == '}') {
        text += show(*next++);
        continue;
      }
    }
    text += c;
  }
  return text;
}
