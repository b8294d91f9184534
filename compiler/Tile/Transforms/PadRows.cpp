//===- PadRows.cpp - Temporaries of a plan with padded rows ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Transforms/PadRows.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tessera::tile;

/// Does a line of a plan speak of the tensor?
static bool mentions(StringRef line, StringRef name) {
  for (size_t at = line.find(name); at != StringRef::npos;
       at = line.find(name, at + 1)) {
    StringRef rest = line.substr(at + name.size());
    if (rest.empty() ||
        !(llvm::isAlnum(rest[0]) || rest[0] == '_' || rest[0] == '.'))
      return true;
  }
  return false;
}

/// Launches and conditions ask for the strides of a tensor; what else there is
/// may rely on them.
static bool reliesOnStrides(StringRef line, StringRef name) {
  StringRef text = line.ltrim();
  for (StringRef word : {"launch ", "if ", "alloc ", "free ", "check "})
    if (text.starts_with(word))
      return false;
  if (text.starts_with("view ")) // view %v = %name offset ...
    return text.split(" = ").second.split(' ').first == name;
  return mentions(text, name);
}

/// "[a, max(b, c)]": a; max(b, c)
static SmallVector<StringRef> listOf(StringRef text) {
  SmallVector<StringRef> parts;
  if (!text.consume_front("[") || !text.consume_back("]"))
    return parts;
  int64_t depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.slice(begin, i).trim());
      begin = i + 1;
    } else {
      depth += (text[i] == '(') - (text[i] == ')');
    }
  }
  return parts;
}

void tessera::tile::padRows(PlanOp plan, const llvm::StringSet<> &names) {
  auto all = plan.getLines().getAsRange<StringAttr>();
  SmallVector<std::string> lines;
  llvm::StringMap<std::string> wholes; // tensor -> the memory it lies in
  for (StringAttr attribute : all) {
    StringRef line = attribute.getValue(), text = line.ltrim();
    std::string indent = line.drop_back(text.size()).str();
    SmallVector<StringRef> words; // alloc %t bf16 [...]
    text.split(words, ' ', 3);
    if (words[0] == "free" && words.size() == 2 && wholes.contains(words[1])) {
      lines.push_back(indent + "free " + wholes[words[1]]);
      continue;
    }
    SmallVector<StringRef> sizes;
    int64_t bytes = 0;
    if (words[0] == "alloc" && words.size() == 4 && names.contains(words[1]) &&
        llvm::none_of(all, [&](StringAttr other) {
          return reliesOnStrides(other.getValue(), words[1]);
        })) {
      bytes = words[2] == "bf16" ? 2 : words[2] == "i8" ? 1 : 0;
      sizes = listOf(words[3]);
    }
    if (!bytes || sizes.size() < 2) {
      lines.push_back(line.str());
      continue;
    }
    std::string whole = (words[1] + ".rows").str(), strides;
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      strides += (axis ? ", stride(" : "stride(") + whole + ", " +
                 std::to_string(axis) + ")";
    std::string two = std::to_string(128 / bytes);
    std::string last = ("(" + sizes.back() + ") ceildiv " + two + " * " + two +
                        " + " + Twine(64 / bytes))
                           .str();
    std::string shape = words[3].str();
    wholes[words[1]] = whole;
    sizes.back() = last;
    lines.push_back(indent + "alloc " + whole + " " + words[2].str() + " [" +
                    llvm::join(sizes, ", ") + "]");
    lines.push_back(indent + "view " + words[1].str() + " = " + whole +
                    " offset 0 sizes " + shape + " strides [" + strides + "]");
  }
  SmallVector<StringRef> texts(lines.begin(), lines.end());
  plan.setLinesAttr(Builder(plan.getContext()).getStrArrayAttr(texts));
}
