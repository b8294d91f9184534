//===- ParseComprehensions.cpp - What a comprehension is here -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   sum(X[m, k] for k in tsr.tile(K, BK))   a loop that adds tiles up
//   sum(x[i] for i in range(N))             tsr.sum(x, dim=0), N being a dim
//   [x[n] * 2 for n in N]                   x * 2
//   [f(i) for i in range(4)]                a loop, which is unrolled
//   [f(part) for part in (a, b)]            (f(a), f(b))
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ParseText.h"
#include "compiler/Frontend/ParserImpl.h"

#include <algorithm>
#include <array>

using namespace tessera::frontend;

namespace {

/// `[element for variable in over]`, and the call around it.
struct Comprehension {
  std::string element, variable, over;
  std::string callee; // "tsr.sum"; empty if there is no call
  std::string before; // of the line, in front of the call
  std::string behind; // of the line, behind it
};

/// What a program says in front of a place.
struct Above {
  std::string text; // of the function, signature included
  bool isKernel = false;
  std::vector<std::string> ranges;     // names of ranges in loops above
  std::vector<std::string> grid, dims; // names of the grid, and what they cover
};

} // namespace

static bool isName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, isWord);
}

static std::string lastPart(const std::string &dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}

/// "tsr.sum" in front of "(" at the end of a text.
static std::string getCallee(std::string_view text) {
  if (text.empty() || text.back() != '(')
    return {};
  size_t begin = text.size() - 1;
  while (begin > 0 && (isWord(text[begin - 1]) || text[begin - 1] == '.'))
    --begin;
  return std::string(text.substr(begin, text.size() - 1 - begin));
}

static Above readAbove(std::string_view text) {
  Above above;
  size_t def = text.rfind("def ");
  if (def == std::string_view::npos)
    return above;
  above.text = text.substr(def);
  // The decorators are the lines before it.
  size_t line = text.rfind('\n', def);
  while (line != std::string_view::npos && line > 0) {
    size_t begin = text.rfind('\n', line - 1);
    begin = begin == std::string_view::npos ? 0 : begin + 1;
    std::string_view row = text.substr(begin, line - begin);
    size_t first = row.find_first_not_of(' ');
    if (first == std::string_view::npos || row[first] != '@')
      break;
    above.isKernel |= row.find("kernel") != std::string_view::npos;
    line = begin ? begin - 1 : std::string_view::npos;
  }
  for (size_t at = 0; (at = above.text.find("for ", at)) != std::string::npos;
       at += 4) {
    size_t in = above.text.find(" in ", at), end = above.text.find(":\n", at);
    if (in == std::string::npos || end == std::string::npos || end < in)
      continue;
    std::string over = above.text.substr(in + 4, end - in - 4);
    std::vector<std::string> names =
        splitAtCommas(above.text.substr(at + 4, in - at - 4));
    bool isGrid = over.starts_with("tsr.grid(");
    std::vector<std::string> parts = {over};
    if (isGrid)
      parts = splitAtCommas(over.substr(9, over.rfind(')') - 9));
    for (size_t i = 0; i < names.size() && i < parts.size(); ++i)
      if (parts[i].starts_with("tsr.tile("))
        above.ranges.push_back(names[i]);
    if (isGrid) {
      above.grid = names;
      above.dims = parts;
    }
  }
  return above;
}

/// The indices of each `X[i, j]` in a text.
static std::vector<std::vector<std::string>>
getSubscripts(const std::string &text) {
  std::vector<std::vector<std::string>> found;
  for (size_t i = 1; i < text.size(); ++i)
    if (text[i] == '[' && isWord(text[i - 1]))
      if (size_t end = text.find(']', i); end != std::string::npos)
        found.push_back(splitAtCommas(text.substr(i + 1, end - i - 1)));
  return found;
}

/// The text with `:` for the variable in each subscript; without the subscript
/// where all of it is then `:` and `dropsWhole`. Empty if the variable is used
/// in another way. `place`: which index it was.
static std::string getWhole(const std::string &text,
                            const std::string &variable, bool dropsWhole,
                            size_t &place) {
  std::string result;
  bool isThere = false;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t end = text.find(']', i);
    if (text[i] != '[' || i == 0 || !isWord(text[i - 1]) ||
        end == std::string::npos) {
      result += text[i];
      continue;
    }
    std::vector<std::string> indices =
        splitAtCommas(text.substr(i + 1, end - i - 1));
    std::string inner;
    for (size_t k = 0; k < indices.size(); ++k) {
      if (indices[k] == variable) {
        if (isThere && place != k)
          return {};
        place = k;
        isThere = true;
        indices[k] = ":";
      }
      inner += (k ? ", " : "") + indices[k];
    }
    bool isWhole = std::ranges::all_of(
        indices, [](const std::string &index) { return index == ":"; });
    result += isWhole && dropsWhole ? "" : "[" + inner + "]";
    i = end;
  }
  return isThere && replaceWord(result, variable, "") == result ? result : "";
}

/// The dim that `N`, `range(N)` or `range(0, N)` counts; else empty.
static std::string getCounted(const std::string &over, const Above &above) {
  std::string counted = over;
  if (counted.starts_with("range(") && counted.ends_with(")")) {
    counted = counted.substr(6, counted.size() - 7);
    if (counted.starts_with("0, "))
      counted = counted.substr(3);
  }
  bool isSize = counted.ends_with(".shape[0]") ||
                (counted.starts_with("len(") && counted.ends_with(")"));
  if (isSize)
    return counted;
  for (const char *quote : {"\"", "'"})
    if (isName(counted) &&
        above.text.find(quote + counted + quote) != std::string::npos)
      return counted;
  return {};
}

static bool isReducer(const std::string &callee) {
  static constexpr std::array known = {"sum", "max", "min", "any", "all"};
  return std::ranges::count(known, lastPart(callee)) > 0;
}

static bool isCollector(const std::string &callee) {
  static constexpr std::array known = {"stack", "array", "list", "asarray",
                                       "tuple"};
  return callee.empty() || std::ranges::count(known, lastPart(callee)) > 0;
}

/// acc = tsr.zeros(m), a loop over tiles, and the line with `acc` in the place
/// of the call.
static std::string getTileLoop(const Comprehension &it, const Above &above,
                               const std::string &assigned) {
  std::string axes;
  std::vector<std::string> seen;
  bool isOfVariable = false;
  for (const auto &indices : getSubscripts(it.element))
    for (const std::string &index : indices) {
      isOfVariable |= index == it.variable;
      if (index == it.variable || std::ranges::count(seen, index))
        continue;
      if (!isName(index))
        return {};
      seen.push_back(index);
      if (std::ranges::count(above.ranges, index))
        axes += (axes.empty() ? "" : ", ") + index;
    }
  std::string kind = lastPart(it.callee);
  if (!isOfVariable || (kind != "sum" && kind != "max" && kind != "min"))
    return {};
  std::string name = assigned;
  for (const char *free : {"acc", "total", "joined"})
    if (name.empty() && replaceWord(above.text, free, "") == above.text)
      name = free;
  bool isReduced = it.element.find(" @ ") != std::string::npos ||
                   it.element.starts_with("tsr." + kind + "(");
  std::string part =
      isReduced ? it.element
                : "tsr." + kind + "(" + it.element + ", " + it.variable + ")";
  std::string start = kind == "sum"   ? "0.0"
                      : kind == "max" ? "-tsr.inf"
                                      : "tsr.inf";
  std::string fix = axes.empty() ? name + ": fp32 = " + start
                    : kind == "sum"
                        ? name + " = tsr.zeros(" + axes + ")"
                        : name + " = tsr.full(" + start + ", " + axes + ")";
  fix += "\nfor " + it.variable + " in " + it.over + ":\n    " + name;
  fix += kind == "sum" ? " += " + part
                       : " = tsr." + kind + "imum(" + name + ", " + part + ")";
  if (assigned.empty())
    fix += "\n" + it.before + name + it.behind;
  return fix;
}

/// Y[m, :] = [X[m, n] * 2 for n in ...]: each turn, or each program, stores.
static std::string getStores(const Comprehension &it, const std::string &loop) {
  size_t equals = it.before.rfind(" = ");
  if (!it.callee.empty() || equals == std::string::npos ||
      equals + 3 != it.before.size() || !it.behind.empty())
    return {};
  std::string target = it.before.substr(0, equals);
  size_t colon = target.find(':');
  if (isName(target))
    target += "[" + it.variable + "]";
  else if (colon != std::string::npos)
    target.replace(colon, 1, it.variable);
  else if (replaceWord(target, it.variable, "") == target)
    return {};
  return "for " + it.variable + " in " + loop + ":\n    " + target + " = " +
         it.element;
}

/// The operation on the whole tensor, or row, that goes over a dim.
static std::string getWholeDim(const Comprehension &it, const Above &above,
                               const std::string &dim) {
  size_t place = 0;
  std::string whole = getWhole(it.element, it.variable, !above.isKernel, place);
  if (whole.empty())
    return {};
  if (isCollector(it.callee)) {
    bool isAtom = it.callee.empty() || whole.find(' ') == std::string::npos ||
                  (it.before.ends_with("= ") && it.behind.empty()) ||
                  (it.before.ends_with("return ") && it.behind.empty());
    return isAtom ? whole : "(" + whole + ")";
  }
  if (!isReducer(it.callee))
    return {};
  return "tsr." + lastPart(it.callee) + "(" + whole +
         (above.isKernel ? ", " + dim : ", dim=" + std::to_string(place)) + ")";
}

/// Shows the loop, the elements, or the operation on all of them.
Failure Parser::refuseComprehension(SourceRange where, SourceRange element,
                                    std::string_view construct) {
  const SourceFile *file = diags.getSources().get(id);
  std::string loop = getTextToClose();
  size_t in = loop.find(" in ");
  bool isPlain = loop.starts_with("for ") && in != std::string::npos &&
                 loop.find(" if ") == std::string::npos &&
                 loop.find(" for ") == std::string::npos;
  if (!isPlain)
    return refuse(where, construct);
  Comprehension it;
  it.element = diags.getSources().getSnippet(element);
  it.variable = loop.substr(4, in - 4);
  it.over = loop.substr(in + 4);
  // What is refused ends with its bracket, which for an argument is the call's.
  SourcePosition end = getEndOfText();
  std::string line = file->getLine(where.begin.line);
  if (end.line != where.begin.line || end.column > line.size() + 1)
    return refuse(where, construct);
  bool isArgument = where == element;
  where.end = end;
  it.before = line.substr(0, where.begin.column - 1);
  it.behind = line.substr(end.column - 1);
  it.callee = getCallee(it.before);
  size_t closing = 0; // of the call around a list
  if (!isArgument && !it.callee.empty())
    for (std::string_view rest : {")", ", dim=0)", ", axis=0)", ", 0)"})
      if (it.behind.starts_with(rest))
        closing = rest.size();
  it.behind.erase(0, closing);
  where.end.column += uint32_t(closing);
  if (!isArgument && !closing)
    it.callee.clear();
  if (!it.callee.empty()) {
    it.before.resize(it.before.size() - it.callee.size() - 1);
    where.begin.column = uint32_t(it.before.size() + 1);
  }
  size_t first = it.before.find_first_not_of(' ');
  it.before = first == std::string::npos ? "" : it.before.substr(first);
  std::string assigned =
      it.behind.empty() ? getAssignedName(where.begin, "") : std::string();
  std::string_view text = file->getText();
  size_t offset = 0;
  for (uint32_t row = file->getFirstLine();
       row < where.begin.line && offset < text.size(); ++row)
    offset = text.find('\n', offset) + 1;
  Above above = readAbove(text.substr(0, offset));

  std::string fix;
  if (it.over.size() > 2 &&
      (it.over.front() == '(' || it.over.front() == '[') &&
      isName(it.variable)) {
    // The elements are known, and so are the results.
    std::string inner = it.over.substr(1, it.over.size() - 2);
    std::vector<std::string> parts = splitAtCommas(inner);
    bool isSum = lastPart(it.callee) == "sum" && parts.size() > 1;
    for (const std::string &part : parts)
      fix += (fix.empty() ? ""
              : isSum     ? " + "
                          : ", ") +
             replaceWord(it.element, it.variable,
                         isName(part) ? part : "(" + part + ")");
    bool isWhole = it.before.ends_with("= ") || it.before.ends_with("return ");
    fix = isSum ? (isWhole && it.behind.empty() ? fix : "(" + fix + ")")
                : "(" + fix + (parts.size() == 1 ? ",)" : ")");
    if (!isSum && !it.callee.empty())
      fix = it.callee + "(" + fix + ")";
    return refuse(where, construct, fix);
  }
  if (it.over.starts_with("tsr.tile(")) {
    fix = isReducer(it.callee) ? getTileLoop(it, above, assigned)
                               : getStores(it, it.over);
    return refuse(where, construct, fix);
  }
  if (std::string dim = getCounted(it.over, above); !dim.empty()) {
    if (above.isKernel && above.grid.empty())
      fix = getStores(it, "tsr.grid(tsr.tile(" + dim + ", 64))");
    if (fix.empty())
      fix = getWholeDim(it, above, dim);
    return refuse(where, construct, fix);
  }
  std::string name = assigned.empty() ? "items" : assigned;
  bool isSum = lastPart(it.callee) == "sum";
  if (isSum) // of a number of turns that is known
    fix = name + " = 0.0\n" + loop + ":\n    " + name + " = " + name + " + " +
          it.element;
  else
    fix = name + " = ()\n" + loop + ":\n    " + name + " = " + name + " + (" +
          it.element + ",)";
  // Inside of a line that goes on: the line, with the name in its place.
  if (assigned.empty() || (!isSum && !it.callee.empty()))
    fix += "\n" + it.before +
           (isSum || it.callee.empty() ? name : it.callee + "(" + name + ")") +
           it.behind;
  return refuse(where, construct, fix);
}
