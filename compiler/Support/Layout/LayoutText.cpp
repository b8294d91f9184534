// Prints and parses layouts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//     layout  ::= `#layout<` (in (`,` in)*)? `->` outs repeat? pad* `>`
//     in      ::= name `:` `[` (basis (`,` basis)*)? `]`
//     basis   ::= int | `(` int (`,` int)* `)`          one int per output
//     outs    ::= `(` (int (`x` int)*)? `)`             dim0, dim1, ...
//               | name `:` int (`,` name `:` int)*      other names
//     repeat  ::= `,` `repeat` (`(` int (`x` int)* `)` | `[` axis (`,` axis)*
//     `]`) axis    ::= int `:` name `*` int `->` name `*` int pad     ::= `,`
//     `pad` name `[` int `:` `+` int (`,` ...)* `]`
//
// A basis per bit, the lowest bit first. `repeat (8x4)` is short for the usual
// grid of a register tile: the outer index of the first input counts the copies
// in row-major order.

#include "compiler/Support/Layout/DimBits.h"
#include "compiler/Support/Layout/Layout.h"

#include <algorithm>
#include <cctype>

namespace tessera::layout {

/// The axes that `repeat (extents)` stands for.
static std::vector<Axis> shortAxes(const Layout &atom,
                                   const std::vector<int64_t> &extents) {
  std::vector<Axis> axes;
  if (atom.ins().empty())
    return axes;
  int64_t stride = atom.ins()[0].size();
  for (size_t o = extents.size(); o-- > 0;) {
    if (extents[o] == 1)
      continue;
    axes.push_back({extents[o], atom.ins()[0].name, stride, atom.outs()[o].name,
                    atom.outs()[o].size()});
    stride *= extents[o];
  }
  return axes;
}

static bool hasTileNames(const std::vector<Dim> &dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].name != "dim" + std::to_string(i))
      return false;
  return true;
}

static std::string joinSizes(const std::vector<int64_t> &sizes) {
  std::string text = "(";
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i ? "x" : "") + std::to_string(sizes[i]);
  return text + ")";
}

std::string Layout::print() const {
  std::string text = "#layout<";
  for (size_t i = 0; i < inDims.size(); ++i) {
    text += (i ? ", " : "") + inDims[i].name + ":[";
    for (int b = 0; b < inDims[i].bits; ++b) {
      Index image = basis(int(i), b);
      text += b ? "," : "";
      if (image.size() == 1) {
        text += std::to_string(image[0]);
        continue;
      }
      text += "(";
      for (size_t o = 0; o < image.size(); ++o)
        text += (o ? "," : "") + std::to_string(image[o]);
      text += ")";
    }
    text += "]";
  }
  text += inDims.empty() ? "-> " : " -> ";
  if (hasTileNames(outDims)) {
    std::vector<int64_t> sizes;
    for (const Dim &dim : outDims)
      sizes.push_back(dim.size());
    text += joinSizes(sizes);
  } else {
    for (size_t o = 0; o < outDims.size(); ++o)
      text += (o ? ", " : "") + outDims[o].name + ":" +
              std::to_string(outDims[o].size());
  }
  if (!gridAxes.empty()) {
    std::vector<int64_t> extents(outDims.size(), 1);
    for (const Axis &axis : gridAxes)
      extents[*findOut(axis.out)] = axis.extent;
    text += ", repeat ";
    if (shortAxes(*this, extents) == gridAxes) {
      text += joinSizes(extents);
    } else {
      for (size_t a = 0; a < gridAxes.size(); ++a) {
        const Axis &axis = gridAxes[a];
        text += (a ? ", " : "[") + std::to_string(axis.extent) + ": " +
                axis.in + "*" + std::to_string(axis.inStride) + " -> " +
                axis.out + "*" + std::to_string(axis.outStride);
      }
      text += "]";
    }
  }
  for (const Padding &padding : paddingList)
    text += ", pad " + padding.dim + " [" + std::to_string(padding.interval) +
            ":+" + std::to_string(padding.amount) + "]";
  return text + ">";
}

/// A parser by recursive descent. The first failure is kept as the message;
/// after it every step fails at once.
class LayoutParser {
public:
  explicit LayoutParser(std::string_view text) : text(text) {}

  std::optional<Layout> parse() {
    Layout layout;
    bool ok = expect("#") && expect("layout") && expect("<") &&
              parseIns(layout) && expect("->") && parseOuts(layout) &&
              buildAtom(layout) && parseTail(layout) && expect(">");
    if (!ok)
      return std::nullopt;
    skipSpace();
    if (position != text.size()) {
      fail("text after the layout");
      return std::nullopt;
    }
    return layout;
  }

  std::string error;

private:
  bool fail(const std::string &message) {
    if (error.empty())
      error = "layout, column " + std::to_string(position + 1) + ": " + message;
    return false;
  }

  void skipSpace() {
    while (position < text.size() &&
           std::isspace((unsigned char)text[position]))
      ++position;
  }

  bool consume(std::string_view token) {
    skipSpace();
    if (text.substr(position, token.size()) != token)
      return false;
    position += token.size();
    return true;
  }

  bool expect(std::string_view token) {
    return consume(token) || fail("expected '" + std::string(token) + "'");
  }

  bool parseInt(int64_t &value) {
    skipSpace();
    size_t start = position;
    value = 0;
    while (position < text.size() &&
           std::isdigit((unsigned char)text[position])) {
      if (position - start >= 18)
        return fail("number is too large");
      value = value * 10 + (text[position++] - '0');
    }
    return position > start || fail("expected a number");
  }

  bool parseName(std::string &name) {
    skipSpace();
    size_t start = position;
    while (
        position < text.size() &&
        (std::isalnum((unsigned char)text[position]) || text[position] == '_'))
      ++position;
    name = text.substr(start, position - start);
    if (name.empty() || std::isdigit((unsigned char)name[0]))
      return fail("expected a name");
    if (name == "repeat" || name == "pad")
      return fail("'" + name + "' cannot name a dim");
    return true;
  }

  bool parseIns(Layout &layout) {
    if (peek("->"))
      return true;
    do {
      std::string name;
      if (!parseName(name) || !expect(":") || !expect("["))
        return false;
      if (layout.findIn(name))
        return fail("input '" + name + "' is there twice");
      std::vector<Index> list;
      if (!peek("]"))
        do {
          Index basis;
          int64_t value;
          if (consume("(")) {
            do {
              if (!parseInt(value))
                return false;
              basis.push_back(value);
            } while (consume(","));
            if (!expect(")"))
              return false;
          } else {
            if (!parseInt(value))
              return false;
            basis.push_back(value);
          }
          list.push_back(basis);
        } while (consume(","));
      if (!expect("]"))
        return false;
      layout.inDims.push_back({name, int(list.size())});
      bases.push_back(list);
    } while (consume(","));
    return true;
  }

  bool parseSize(int &bits) {
    int64_t size;
    if (!parseInt(size))
      return false;
    std::optional<int> log = exactLog2(size);
    if (!log)
      return fail("the atom's size " + std::to_string(size) +
                  " is not a power of two; use repeat");
    bits = *log;
    return true;
  }

  bool parseOuts(Layout &layout) {
    int bits;
    if (consume("(")) {
      if (consume(")"))
        return true;
      do {
        if (!parseSize(bits))
          return false;
        layout.outDims.push_back(
            {"dim" + std::to_string(layout.outDims.size()), bits});
      } while (consume("x"));
      return expect(")");
    }
    while (true) {
      std::string name;
      if (!parseName(name) || !expect(":") || !parseSize(bits))
        return false;
      if (layout.findOut(name))
        return fail("output '" + name + "' is there twice");
      layout.outDims.push_back({name, bits});
      size_t before = position;
      if (!consume(","))
        return true;
      if (peek("repeat") || peek("pad")) {
        position = before;
        return true;
      }
    }
  }

  bool buildAtom(Layout &layout) {
    int total = 0;
    for (const Dim &dim : layout.outDims)
      total += dim.bits;
    if (total > 62 || layout.inBits() > 62)
      return fail("an atom has at most 2^62 elements");
    for (const std::vector<Index> &list : bases)
      for (const Index &basis : list) {
        if (basis.size() != layout.outDims.size())
          return fail("a basis has " + std::to_string(basis.size()) +
                      " numbers, but there are " +
                      std::to_string(layout.outDims.size()) + " outputs");
        for (size_t o = 0; o < basis.size(); ++o)
          if (basis[o] >= layout.outDims[o].size())
            return fail("basis " + std::to_string(basis[o]) + " of '" +
                        layout.outDims[o].name + "' is not below its size " +
                        std::to_string(layout.outDims[o].size()));
      }
    layout = Layout(layout.inDims, layout.outDims, bases);
    return true;
  }

  bool peek(std::string_view token) {
    size_t before = position;
    bool found = consume(token);
    position = before;
    return found;
  }

  bool addAxis(Layout &layout, const Axis &axis) {
    if (axis.extent < 1 || axis.inStride < 1)
      return fail("extents and input steps start at 1");
    std::optional<Layout> next = layout.withAxis(axis);
    if (!next)
      return fail("step " + std::to_string(axis.inStride) + " of '" + axis.in +
                  "' overlaps what is below it");
    layout = *next;
    return true;
  }

  bool parseTail(Layout &layout) {
    bool hasRepeat = false;
    while (consume(",")) {
      if (consume("repeat")) {
        if (hasRepeat)
          return fail("repeat is there twice");
        hasRepeat = true;
        if (!parseRepeat(layout))
          return false;
      } else if (consume("pad")) {
        if (!parsePad(layout))
          return false;
      } else {
        return fail("expected 'repeat' or 'pad'");
      }
    }
    return true;
  }

  bool parseRepeat(Layout &layout) {
    if (consume("(")) {
      std::vector<int64_t> extents;
      int64_t extent;
      do {
        if (!parseInt(extent))
          return false;
        if (extent < 1)
          return fail("extents start at 1");
        extents.push_back(extent);
      } while (consume("x"));
      if (extents.size() != layout.outDims.size() || layout.inDims.empty())
        return fail("repeat (...) needs an input, and an extent per output");
      Layout atom = layout;
      for (const Axis &axis : shortAxes(atom, extents))
        if (!addAxis(layout, axis))
          return false;
      return expect(")");
    }
    if (!expect("["))
      return false;
    do {
      Axis axis;
      if (!parseInt(axis.extent) || !expect(":") || !parseName(axis.in) ||
          !expect("*") || !parseInt(axis.inStride) || !expect("->") ||
          !parseName(axis.out) || !expect("*") || !parseInt(axis.outStride) ||
          !addAxis(layout, axis))
        return false;
    } while (consume(","));
    return expect("]");
  }

  bool parsePad(Layout &layout) {
    Padding padding;
    if (!parseName(padding.dim) || !expect("["))
      return false;
    if (layout.findIn(padding.dim).has_value() ==
        layout.findOut(padding.dim).has_value())
      return fail("padding needs a dim of one side, but '" + padding.dim +
                  "' is none");
    do {
      if (!parseInt(padding.interval) || !expect(":") || !expect("+") ||
          !parseInt(padding.amount))
        return false;
      if (padding.interval < 1)
        return fail("intervals start at 1");
      layout = layout.withPadding(padding);
    } while (consume(","));
    return expect("]");
  }

  std::string_view text;
  size_t position = 0;
  std::vector<std::vector<Index>> bases;
};

std::optional<Layout> Layout::parse(std::string_view text, std::string *error) {
  LayoutParser parser(text);
  std::optional<Layout> layout = parser.parse();
  if (!layout && error)
    *error = parser.error;
  return layout;
}

} // namespace tessera::layout
