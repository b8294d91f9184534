//===- SemaDims.cpp - Dims of the signature, and those the body relates ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An axis without a name is a dim of its own ("B.shape[0]") until the body
// relates it to another: indexed by a range over K, it is K. It is then found
// that two dims are one after both were used, so the analysis starts again with
// one. The call checks their sizes like those of a name that stands twice.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Parser.h"
#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::frontend {

/// x: Tensor["N"] for x: Tensor["N +"], "2*N" for "2N".
static std::string getDimFix(std::string declared, llvm::StringRef text) {
  llvm::StringRef name =
      text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  llvm::StringRef number = name.take_while(llvm::isDigit);
  llvm::StringRef rest = name.drop_front(number.size());
  std::string right = number.empty() ? name.str()
                      : rest.empty() || name.size() == 1
                          ? ""
                          : (number + "*" + rest).str();
  llvm::StringRef behind =
      llvm::StringRef(declared).split(("\"" + name).str()).second;
  std::string wrong = "\"" + name.str() +
                      behind.take_until([](char c) { return c == '"'; }).str() +
                      "\"";
  bool isCut = text.drop_front(name.size()).trim(" +-*/%").empty();
  size_t at = declared.find(wrong);
  if (right.empty() || !isCut || at == std::string::npos)
    return "a name, or one with a number: \"M\", \"H*D\", \"S//2\"";
  return declared.replace(at, wrong.size(), "\"" + right + "\"");
}

/// "Tensor[M, K]", as messages show an annotation.
std::string getAnnotationText(const ParameterDescription &parameter) {
  std::string text =
      parameter.kind == ParameterDescription::Kind::Out      ? "Out["
      : parameter.kind == ParameterDescription::Kind::InOut  ? "InOut["
      : parameter.kind == ParameterDescription::Kind::Region ? "Region["
                                                             : "Tensor[";
  for (auto [i, dim] : llvm::enumerate(parameter.dims))
    text += (i ? ", " : "") + dim;
  return text + "]";
}

static std::string getShapeText(const ArgumentSpec &spec) {
  std::string text;
  for (int64_t size : spec.sizes) {
    if (!text.empty())
      text += " x ";
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text;
}

/// "X.shape[0]": the dim of an axis without a name.
static bool isUnnamed(llvm::StringRef dim) { return dim.contains(".shape["); }

bool isUnnamed(const Dim &dim) { return isUnnamed(dim.name); }

const Analyzer::Merge *Analyzer::findMerge(std::string_view name) const {
  auto found = merges.find(name);
  return found == merges.end() ? nullptr : &found->second;
}

bool Analyzer::unify(const Dim &first, const Dim &second,
                     const SourceRange &where) {
  if (trying || &first == &second ||
      (!isUnnamed(first.name) && !isUnnamed(second.name)))
    return false;
  // Into the one with a name, or the one that is declared first.
  const Dim *into = &first, *from = &second;
  if (!isUnnamed(second.name)) {
    std::swap(into, from);
  } else if (isUnnamed(first.name)) {
    for (const std::unique_ptr<Dim> &dim : getDims())
      if (dim.get() == &first || dim.get() == &second) {
        if (dim.get() == &second)
          std::swap(into, from);
        break;
      }
  }
  asked.emplace(from->name, Merge{into->name, where});
  return true;
}

bool SemaContext::unifyWhole(llvm::ArrayRef<Axis *> axes,
                             llvm::ArrayRef<Axis *> wanted,
                             const SourceRange &where) {
  for (Axis *extra : axes) {
    if (extra->kind != Axis::Kind::Whole || llvm::is_contained(wanted, extra))
      continue;
    // One that the tile lacks is the more likely partner.
    for (bool isThere : {false, true})
      for (Axis *axis : wanted)
        if (axis->kind == Axis::Kind::Whole && axis->size == extra->size &&
            llvm::is_contained(axes, axis) == isThere &&
            unify(*extra->dim, *axis->dim, where))
          return true;
  }
  return false;
}

bool Analyzer::addAsked(Merges &known) const {
  if (!asked)
    return false;
  // What was merged into it goes along.
  for (auto &[name, merge] : known)
    if (merge.into == asked->first)
      merge.into = asked->second.into;
  known[asked->first] = asked->second;
  return true;
}

/// Makes a Dim of every axis of every tensor; `axisDims` keeps them.
LogicalResult Analyzer::declareDims() {
  axisDims.assign(signature.parameters.size(), {});
  // Names first, so that expressions find theirs.
  for (const Signature::DimSource &source : signature.dims) {
    Dim *dim =
        addDim(source.name, source.parameter < 0
                                ? request.definition->nameRange
                                : signature.parameters[source.parameter].where);
    dimByText[source.name] = dim;
    sizeOrigin[dim] = -1;
  }
  for (auto [p, parameter] : llvm::enumerate(signature.parameters)) {
    const ArgumentSpec &spec = arguments[p];
    if (spec.kind != ArgumentSpec::Kind::Tensor &&
        spec.kind != ArgumentSpec::Kind::Omitted)
      continue;
    for (auto [axis, size] : llvm::enumerate(spec.sizes)) {
      std::string text = parameter.hasDims ? parameter.dims[axis] : "";
      Dim *dim = nullptr;
      const Merge *merge = nullptr;
      std::string own;
      if (text.empty()) {
        own = parameter.name + ".shape[" + std::to_string(axis) + "]";
        merge = findMerge(own);
        if (merge && !isUnnamed(merge->into))
          text = merge->into;
      }
      if (merge && text.empty()) {
        dim = findDim(merge->into);
        assert(dim && "axes are merged into those before them");
      } else if (text.empty()) {
        dim = addDim(own, parameter.where);
      } else if (auto found = dimByText.find(text); found != dimByText.end()) {
        dim = found->second;
      } else if (text.find_first_not_of("0123456789") == std::string::npos) {
        dim = dimByText[text] = addDim(text, parameter.where);
        dim->size = std::stoll(text);
        sizeOrigin[dim] = -1;
      } else {
        DiagnosticEngine quiet(dimSources);
        FileId file = dimSources.add("dim", text);
        Expr *tree = parseExpression(dimTrees, dimSources, file, quiet);
        std::string canonical = tree ? getCanonicalDim(tree) : "";
        if (canonical.empty()) {
          error(parameter.where,
                "'" + text +
                    "' is not an expression of dims; a dim is a name, "
                    "an int, or +, -, *, // of them")
              .setFix(getDimFix(quote(parameter.where), text));
          return failure();
        }
        if (auto found = dimByText.find(canonical); found != dimByText.end()) {
          dim = found->second;
        } else {
          dim = dimByText[canonical] = addDim(text, parameter.where);
          dim->expression = tree;
        }
        dimByText[text] = dim;
      }
      axisDims[p].push_back(dim);
      if (size < 0)
        continue;
      if (dim->size >= 0 && dim->size != size) {
        int other = sizeOrigin.count(dim) ? sizeOrigin[dim] : -1;
        if (merge) {
          error(merge->where,
                "axis " + std::to_string(axis) + " of " + parameter.name +
                    " is " + std::to_string(size) + ", but " + dim->name +
                    ", the same axis here, is " + std::to_string(dim->size))
              .setFix(parameter.name + " with " + std::to_string(dim->size) +
                      " elements along axis " + std::to_string(axis));
        } else if (other < 0) {
          error(parameter.where, "axis " + std::to_string(axis) + " of " +
                                     parameter.name + " is " +
                                     std::to_string(size) +
                                     ", but is annotated " + dim->name);
        } else {
          const ParameterDescription &first = signature.parameters[other];
          error(request.definition->range,
                first.name + " (" + getShapeText(arguments[other]) + ") and " +
                    parameter.name + " (" + getShapeText(spec) +
                    ") disagree on " + dim->name + ": " +
                    std::to_string(dim->size) + " from " + first.name + ", " +
                    std::to_string(size) + " from " + parameter.name)
              .addNote(first.where,
                       first.name + ": " + getAnnotationText(first))
              .addNote(parameter.where,
                       parameter.name + ": " + getAnnotationText(parameter));
        }
        return failure();
      }
      if (dim->size < 0) {
        dim->size = size;
        sizeOrigin[dim] = int(p);
      }
    }
  }
  return success();
}

/// The static shape of a parameter; an expression of known dims is known.
FailureOr<SmallVector<int64_t>> Analyzer::getShape(size_t parameter) {
  SmallVector<int64_t> shape;
  for (Dim *dim : axisDims[parameter]) {
    if (dim->size < 0 && dim->expression) {
      auto size =
          tryFold(dim->expression,
                  [&](const std::string &name) -> std::optional<ConstantData> {
                    Dim *part = findDim(name);
                    if (part && part->size >= 0)
                      return ConstantData(part->size);
                    return std::nullopt;
                  });
      if (size && size->isInt())
        dim->size = size->asInt();
    }
    shape.push_back(dim->size < 0 ? ShapedType::kDynamic : dim->size);
  }
  return shape;
}

/// The name in `gir.dims`. One that several axes have is checked at the call,
/// so that axes merged into one without a name get one of ours: "A_shape_1".
std::string Analyzer::getDimAttribute(const Dim &dim) const {
  if (!isUnnamed(dim.name))
    return dim.name;
  bool shared = llvm::any_of(
      merges, [&](const auto &entry) { return entry.second.into == dim.name; });
  if (!shared)
    return {};
  std::string name;
  for (char c : dim.name)
    if (c != ']')
      name += c == '.' || c == '[' ? '_' : c;
  while (findDim(name))
    name += '_';
  return name;
}

} // namespace tessera::frontend
