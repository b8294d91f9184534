//===- TensorOpsLater.cpp - What to write until a name is there -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ForeignNames.h"
#include "compiler/Frontend/TensorOps.h"

namespace tessera::frontend {

/// einsum("ij,jk->ik", a, b) and the like as a product, "bij,bjk->bik" too.
static std::string getProduct(const std::vector<std::string> &given) {
  std::string equation;
  for (char c : given[0])
    if (c != ' ' && c != '"' && c != '\'')
      equation += c;
  auto [left, rest] = llvm::StringRef(equation).split(',');
  auto [right, result] = rest.split("->");
  // x[..., k] and a matrix.
  if (left.size() > 2 && right.size() == 2 && result.size() == left.size() &&
      left.drop_back() == result.drop_back()) {
    if (left.back() == right[0] && result.back() == right[1])
      return fillForeign("$!$1 @ $2", given);
    if (left.back() == right[1] && result.back() == right[0])
      return fillForeign("$!$1 @ $2.T", given);
  }
  size_t batch = left.size() < 2 ? 0 : left.size() - 2;
  bool alike = left.size() >= 2 && right.size() == left.size() &&
               result.size() == left.size() &&
               left.take_front(batch) == right.take_front(batch) &&
               left.take_front(batch) == result.take_front(batch);
  if (alike) {
    llvm::StringRef a = left.drop_front(batch), b = right.drop_front(batch),
                    c = result.drop_front(batch);
    if (c[0] == a[0] && c[1] == b[1] && a[1] == b[0])
      return fillForeign("$!$1 @ $2", given);
    if (c[0] == a[0] && c[1] == b[0] && a[1] == b[1])
      return fillForeign("$!$1 @ $2.mT", given);
    if (c[0] == a[1] && c[1] == b[1] && a[0] == b[0])
      return fillForeign("$!$1.mT @ $2", given);
  }
  return fillForeign("products with @ and sums of $1 * $2, with x.permute and "
                     "x[:, None] where axes must line up",
                     given);
}

/// x.repeat(1, 4): x four times along axis 1.
static std::string getRepeated(const std::vector<std::string> &given) {
  std::string text = given.empty() ? "x" : given[0];
  for (size_t i = 1; i < given.size(); ++i) {
    unsigned times = 0;
    llvm::StringRef number = llvm::StringRef(given[i]).trim("( )");
    if (number.getAsInteger(10, times) || times == 0 || times > 8)
      return fillForeign("tsr.cat([$0, $0], dim=0)", given);
    if (times == 1)
      continue;
    std::string copies;
    for (unsigned k = 0; k < times; ++k)
      copies += (k ? ", " : "") + text;
    text = "tsr.cat([" + copies + "], dim=" + std::to_string(i - 1) + ")";
  }
  return text;
}

/// The number in "1", "dims=[1]" or "k=-1"; nothing if it is not one.
static std::optional<int64_t> getNumber(llvm::StringRef text) {
  int64_t number;
  if (text.contains('='))
    text = text.split('=').second;
  if (text.trim().trim("[]()").getAsInteger(10, number))
    return std::nullopt;
  return number;
}

/// "x[:, ::-1]" for flip(x, 1).
static std::string getFlipped(const std::vector<std::string> &given) {
  std::optional<int64_t> axis =
      given.size() == 2 ? getNumber(given[1]) : std::nullopt;
  if (!axis || *axis < -1 || *axis > 8)
    return "a step of -1 in each of these axes: x[:, ::-1] turns axis 1";
  std::string index = *axis < 0 ? "..., " : "";
  for (int64_t i = 0; i < *axis; ++i)
    index += ":, ";
  return asObject(given[0]) + "[" + index + "::-1]";
}

std::string getLaterFix(llvm::StringRef name,
                        const std::vector<std::string> &given) {
  if (name == "einsum")
    return given.size() == 3 ? getProduct(given)
                             : "tsr.sum(a * b, dim=-1), a @ b, or x.permute";
  if (name == "std")
    return fillForeign("tsr.sqrt(tsr.var($*))", given);
  if (name == "norm" && !given.empty()) {
    // All that follows are dim= and keepdim=, as of a sum.
    auto isOrder = [](llvm::StringRef text) {
      return !text.contains('=') || text.starts_with("p=") ||
             text.starts_with("ord=");
    };
    if (llvm::none_of(llvm::ArrayRef(given).drop_front(), isOrder))
      return fillForeign(given.size() == 1 ? "tsr.sqrt(tsr.sum($0 * $0))"
                                           : "tsr.sqrt(tsr.sum($0 * $0, $r))",
                         given);
  }
  if (name == "outer")
    return fillForeign("$0[:, None] * $1[None, :]", given);
  if (name == "dropout")
    return "a mask of the caller's: tsr.where(keep, " +
           (given.empty() ? std::string("x") : given[0]) + " / (1 - p), 0.0)";
  if (name == "rand")
    return "random numbers as an argument, or tsr.rand in a @tsr.kernel";
  if (name == "topk" || name == "sort" || name == "argsort")
    return fillForeign(
        "sort in the calling code; the largest is tsr.max($0, dim=-1), at "
        "tsr.argmax($0, dim=-1)",
        given);
  if (name == "one_hot")
    return fillForeign(given.size() > 1
                           ? "($0[:, None] == tsr.arange($1)).to(fp32)"
                           : "($0[:, None] == tsr.arange(classes)).to(fp32)",
                       given);
  if ((name == "tril" || name == "triu") && given.size() == 1)
    return fillForeign(name == "tril"
                           ? "tsr.where(tsr.arange($0.shape[-2])[:, None] >= "
                             "tsr.arange($0.shape[-1]), $0, 0.0)"
                           : "tsr.where(tsr.arange($0.shape[-2])[:, None] <= "
                             "tsr.arange($0.shape[-1]), $0, 0.0)",
                       given);
  if (std::optional<int64_t> diagonal =
          given.size() == 2 ? getNumber(given[1]) : std::nullopt;
      diagonal && (name == "tril" || name == "triu"))
    return fillForeign("tsr.where(tsr.arange($0.shape[-1]) - "
                       "tsr.arange($0.shape[-2])[:, None] " +
                           std::string(name == "tril" ? "<= " : ">= ") +
                           std::to_string(*diagonal) + ", $0, 0.0)",
                       given);
  if (name == "tril" || name == "triu")
    return fillForeign("tsr.where(mask, $0, 0.0), with the mask an argument",
                       given);
  if (name == "tile" || name == "repeat")
    return getRepeated(given);
  if (name == "reduce" || name == "scan")
    return "tsr.sum, tsr.max, tsr.prod, tsr.cumsum or tsr.cumprod";
  if (name == "pad")
    return fillForeign("tsr.cat([$0, tsr.zeros(...)], dim=-1)", given);
  if (name == "flip")
    return getFlipped(given);
  if (name == "roll")
    return fillForeign("a tsr.cat of the last part of $0 and the first", given);
  if (name == "breakpoint")
    return "return the value, and look at it outside";
  return "do it in the code that calls this function, and pass the result";
}

} // namespace tessera::frontend
