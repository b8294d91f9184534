//===- TensorOpsLater.cpp - What to write until a name is there -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ForeignNames.h"
#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tessera::frontend {

/// "a.permute(0, 2, 1, 3)", or "a" where the axes are in this order already.
static std::string permuteTo(const std::string &text, llvm::StringRef from,
                             llvm::StringRef to) {
  std::string axes;
  for (char c : to)
    axes += (axes.empty() ? "" : ", ") + std::to_string(from.find(c));
  return from == to ? asObject(text)
                    : asObject(text) + ".permute(" + axes + ")";
}

/// einsum("bshd,bthd->bhst", q, k) as one product of matrices: the axes that
/// both and the result have first, then one of each and the one that is summed.
static std::string getPermutedProduct(llvm::StringRef left,
                                      llvm::StringRef right,
                                      llvm::StringRef result,
                                      const std::vector<std::string> &given) {
  std::string batch, rows, columns, summed;
  auto isOnce = [](llvm::StringRef axes) {
    return llvm::all_of(
        axes, [&](char c) { return llvm::isAlpha(c) && axes.count(c) == 1; });
  };
  for (char c : result)
    (!left.contains(c) ? columns : !right.contains(c) ? rows : batch) += c;
  for (char c : left)
    if (!result.contains(c))
      summed += c;
  std::string made = batch + rows + columns;
  bool isProduct = rows.size() == 1 && columns.size() == 1 &&
                   summed.size() == 1 && right.contains(summed) &&
                   isOnce(left) && isOnce(right) && isOnce(result) &&
                   left.size() == batch.size() + 2 &&
                   right.size() == batch.size() + 2;
  if (!isProduct)
    return fillForeign("products with @ and sums of $1 * $2, with x.permute "
                       "and x[:, None] where axes must line up",
                       given);
  std::string product = permuteTo(given[1], left, batch + rows + summed) +
                        " @ " +
                        permuteTo(given[2], right, batch + summed + columns);
  return made == result ? product : permuteTo(product, made, result);
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

/// tsr.index_select(k, 1, tsr.arange(k.shape[1] * 2) // 2): each element twice.
static std::string getInterleaved(const std::vector<std::string> &given) {
  std::optional<int64_t> times =
      given.size() > 1 ? getNumber(given[1]) : std::nullopt;
  std::optional<int64_t> axis =
      given.size() > 2 ? getNumber(given[2]) : std::optional<int64_t>(0);
  if (!times || *times < 1 || !axis)
    return "tsr.index_select(x, dim, tsr.arange(x.shape[dim] * n) // n)";
  std::string at = std::to_string(*axis), n = std::to_string(*times);
  return "tsr.index_select(" + given[0] + ", " + at + ", tsr.arange(" +
         asObject(given[0]) + ".shape[" + at + "] * " + n + ") // " + n + ")";
}

/// tsr.cat((u[-1:], u[:-1]), dim=0) for roll(u, 1).
static std::string getRolled(const std::vector<std::string> &given) {
  std::optional<int64_t> by =
      given.size() > 1 ? getNumber(given[1]) : std::nullopt;
  std::optional<int64_t> axis =
      given.size() > 2 ? getNumber(given[2]) : std::optional<int64_t>(0);
  if (!by || *by == 0 || !axis || *axis < 0 || *axis > 8)
    return fillForeign("a tsr.cat of the last part of $0 and the first", given);
  std::string before, at = std::to_string(-*by), x = asObject(given[0]);
  for (int64_t i = 0; i < *axis; ++i)
    before += ":, ";
  return "tsr.cat((" + x + "[" + before + at + ":], " + x + "[" + before + ":" +
         at + "]), dim=" + std::to_string(*axis) + ")";
}

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
  return getPermutedProduct(left, right, result, given);
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
  bool isNumPys = name == "repeat" && given.size() == 3 &&
                  llvm::StringRef(given[2]).starts_with("axis=");
  if (name == "repeat_interleave" || isNumPys)
    return getInterleaved(given);
  if (name == "tile" || name == "repeat")
    return getRepeated(given);
  if (name == "reduce" || name == "scan")
    return "tsr.sum, tsr.max, tsr.prod, tsr.cumsum or tsr.cumprod";
  if (name == "pad")
    return fillForeign("tsr.cat([$0, tsr.zeros(...)], dim=-1)", given);
  if (name == "flip")
    return getFlipped(given);
  if (name == "roll")
    return getRolled(given);
  if (name == "breakpoint")
    return "return the value, and look at it outside";
  return "do it in the code that calls this function, and pass the result";
}

} // namespace tessera::frontend
