// Texts made from a plan and the values of a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Plan.h"

#include <cstdio>
#include <cstring>

namespace tessera::runtime {

std::string sizesToString(const int64_t *sizes, int32_t rank) {
  if (rank == 0)
    return "scalar";
  std::string text;
  for (int32_t axis = 0; axis < rank; ++axis) {
    if (axis)
      text += " x ";
    text += std::to_string(sizes[axis]);
  }
  return text;
}

static std::string renderValue(MessagePart::Kind kind, int64_t value) {
  if (kind == MessagePart::Kind::Bool)
    return value ? "true" : "false";
  if (kind == MessagePart::Kind::Integer)
    return std::to_string(value);
  double number;
  std::memcpy(&number, &value, sizeof number);
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", number);
  return buffer;
}

std::string renderMessage(const Plan &plan, const Message &message,
                          ExprInputs inputs) {
  std::string text;
  for (const MessagePart &part : message) {
    if (part.kind == MessagePart::Kind::Text) {
      text += part.text;
    } else if (part.kind == MessagePart::Kind::Sizes) {
      const Tensor &tensor = plan.tensors[static_cast<size_t>(part.tensor)];
      text += sizesToString(inputs.slots + tensor.sizes, tensor.rank);
    } else {
      int64_t value;
      ExprError error = evaluate(part.expr, plan.code.data(), inputs, value);
      text += error == ExprError::None ? renderValue(part.kind, value) : "?";
    }
  }
  return text;
}

} // namespace tessera::runtime
