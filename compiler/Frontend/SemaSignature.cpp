//===- SemaSignature.cpp - Annotations and defaults of parameters ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::frontend {

ArgumentSpec ArgumentSpec::tensor(DType dtype, std::vector<int64_t> sizes,
                                  int unitAxis) {
  ArgumentSpec spec;
  spec.kind = Kind::Tensor;
  spec.dtype = dtype;
  spec.sizes = std::move(sizes);
  spec.unitAxis = unitAxis;
  return spec;
}

ArgumentSpec ArgumentSpec::scalar(DType dtype) {
  ArgumentSpec spec;
  spec.kind = Kind::Scalar;
  spec.dtype = dtype;
  return spec;
}

ArgumentSpec ArgumentSpec::value(ConstantData constant) {
  ArgumentSpec spec;
  spec.kind = Kind::Constant;
  spec.constant = std::move(constant);
  return spec;
}

CapturedValue CapturedValue::value(ConstantData constant) {
  CapturedValue result;
  result.constant = std::move(constant);
  return result;
}
CapturedValue CapturedValue::module(std::string name) {
  CapturedValue result;
  result.kind = Kind::Module;
  result.text = std::move(name);
  return result;
}
CapturedValue CapturedValue::builtin(std::string name) {
  CapturedValue result = module(std::move(name));
  result.kind = Kind::Builtin;
  return result;
}
CapturedValue CapturedValue::dimName(std::string name) {
  CapturedValue result = module(std::move(name));
  result.kind = Kind::DimName;
  return result;
}
CapturedValue CapturedValue::other(std::string typeName) {
  CapturedValue result = module(std::move(typeName));
  result.kind = Kind::Other;
  return result;
}

namespace {

constexpr const char *annotationNames[] = {"Tensor", "Out",  "InOut", "Region",
                                           "const",  "fp64", "fp32",  "fp16",
                                           "bf16",   "i32",  "i64",   "bool"};

struct Privilege {
  const char *name;
  const char *mode; // null: not yet
};
constexpr Privilege privileges[] = {
    {"read", "in"},
    {"write", "out"},
    {"read_write", "inout"},
    {"reduce_sum", "reduce_sum"},
    {"reduce_max", "reduce_max"},
    {"reduce_min", "reduce_min"},
    {"reduce_prod", nullptr},
};

class Reader {
public:
  Reader(const CapturedNames &captured, DiagnosticEngine &diags)
      : captured(captured), diags(diags) {}

  LogicalResult read(const Parameter &parameter, ParameterDescription &result);

private:
  LogicalResult readAnnotation(const Expr *annotation,
                               ParameterDescription &result);
  LogicalResult readTensor(const Expr *slice, ParameterDescription &result);
  LogicalResult readRegion(const Expr *slice, ParameterDescription &result);
  LogicalResult readDim(const Expr *expr, ParameterDescription &result,
                        bool last);
  LogicalResult checkDimText(const Expr *expr, const std::string &text);
  LogicalResult setDType(const Expr *expr, DType dtype,
                         ParameterDescription &result);
  /// The dims and the dtype of `siblings` in the right order.
  std::string moveLast(const Expr *dtype) const;
  std::optional<ConstantData> lookUp(const std::string &dotted) const;
  std::string getDimText(const Expr *expr) const;
  std::string quote(const Expr *expr) const {
    return diags.getSources().getSnippet(expr->range);
  }

  const CapturedNames &captured;
  DiagnosticEngine &diags;
  /// What stands between the brackets being read.
  std::vector<const Expr *> siblings;
};

std::string Reader::moveLast(const Expr *dtype) const {
  std::string text;
  for (const Expr *sibling : siblings)
    if (sibling != dtype)
      text += quote(sibling) + ", ";
  return "[" + text + quote(dtype) + "]";
}

std::vector<const Expr *> getElements(const Expr *slice) {
  if (auto *tuple = dynCast<Tuple>(slice))
    return {tuple->elts.begin(), tuple->elts.end()};
  return {slice};
}

std::optional<ConstantData> Reader::lookUp(const std::string &dotted) const {
  auto found = captured.find(dotted);
  if (found != captured.end()) {
    if (found->second.kind == CapturedValue::Kind::Constant)
      return found->second.constant;
    if (found->second.kind == CapturedValue::Kind::Builtin)
      if (auto dtype = parseDType(found->second.text))
        return ConstantData(*dtype);
    return std::nullopt;
  }
  return std::nullopt;
}

/// The text of a dim written without quotes: a name from tsr.dims, a captured
/// int, or an expression of them. Empty if it is something else.
std::string Reader::getDimText(const Expr *expr) const {
  if (auto *binary = dynCast<BinOp>(expr)) {
    std::string left = getDimText(binary->left);
    std::string right = getDimText(binary->right);
    if (left.empty() || right.empty())
      return {};
    if (is<BinOp>(binary->left))
      left = "(" + left + ")";
    if (is<BinOp>(binary->right))
      right = "(" + right + ")";
    return left + getOperatorSpelling(binary->op) + right;
  }
  if (auto *constant = dynCast<Constant>(expr))
    return constant->type == ConstantKind::Int ? constant->text : std::string();
  std::string dotted = getDottedName(expr);
  auto found = captured.find(dotted);
  if (found == captured.end())
    return {};
  if (found->second.kind == CapturedValue::Kind::DimName)
    return found->second.text;
  if (found->second.kind == CapturedValue::Kind::Constant &&
      found->second.constant.isInt())
    return found->second.constant.str();
  return {};
}

LogicalResult Reader::setDType(const Expr *expr, DType dtype,
                               ParameterDescription &result) {
  if (!isSupportedDType(dtype)) {
    diags
        .error(expr->range,
               std::string("not yet: the dtype ") + getDTypeName(dtype) +
                   "; there are fp64, fp32, fp16, bf16, i64, i32, bool and, in "
                   "kernels, fp8_e4m3, fp8_e5m2 and i8")
        .setFix(getSupportedInstead(dtype));
    return failure();
  }
  result.dtype = dtype;
  return success();
}

/// "M N", "M, N", "batch-size", "...": several dims in one string, or none.
LogicalResult Reader::checkDimText(const Expr *expr, const std::string &text) {
  auto isWord = [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; };
  std::vector<std::string> words(1);
  bool several = false, strange = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isWord(c)) {
      bool gap = i && !isWord(text[i - 1]) && !words.back().empty();
      if (gap) {
        // Blanks and commas part words; an operator joins them.
        size_t back = i;
        while (back && !isWord(text[back - 1]))
          --back;
        std::string between = text.substr(back, i - back);
        several |= between.find_first_not_of(" ,") == std::string::npos;
        words.emplace_back();
      }
      words.back() += c;
      continue;
    }
    strange |= llvm::StringRef(" ,+-*/()%").find(c) == llvm::StringRef::npos;
  }
  if (words.back().empty())
    strange = true;
  if (!several && !strange)
    return success();
  std::string fix;
  for (const std::string &word : words)
    if (!word.empty())
      fix += (fix.empty() ? "\"" : ", \"") + word + "\"";
  if (several && !strange)
    diags
        .error(expr->range, quote(expr) + " holds " +
                                std::to_string(words.size()) +
                                " dims; each dim is a string of its own")
        .setFix(fix);
  else
    diags
        .error(expr->range, quote(expr) + " is not a dim; a dim is a name, an "
                                          "int, or +, -, *, // of them")
        .setFix(fix.empty() ? "\"M\", \"N\"" : fix);
  return failure();
}

LogicalResult Reader::readDim(const Expr *expr, ParameterDescription &result,
                              bool last) {
  if (auto *constant = dynCast<Constant>(expr)) {
    if (constant->type == ConstantKind::String) {
      std::string text;
      for (char c : constant->text)
        if (c != ' ')
          text += c;
      if (auto dtype = parseDType(text)) {
        diags
            .error(expr->range, quote(expr) +
                                    " in quotes would be a dim; the dtype is "
                                    "written without them")
            .setFix(getDTypeName(*dtype));
        return failure();
      }
      if (text.empty()) {
        diags.error(expr->range, "an empty dim name").setFix("\"M\"");
        return failure();
      }
      int64_t number;
      if (llvm::all_of(text, llvm::isDigit) &&
          llvm::StringRef(text).getAsInteger(10, number)) {
        diags.error(expr->range,
                    "the size " + quote(expr) + " does not fit 64 bits");
        return failure();
      }
      if (failed(checkDimText(expr, constant->text)))
        return failure();
      result.dims.push_back(text);
      return success();
    }
    if (constant->type == ConstantKind::Int && !constant->intValue) {
      diags.error(expr->range,
                  "the size " + quote(expr) + " does not fit 64 bits");
      return failure();
    }
    if (constant->type == ConstantKind::Int) {
      result.dims.push_back(constant->text);
      return success();
    }
  }
  std::string text = getDimText(expr);
  if (!text.empty()) {
    result.dims.push_back(text);
    return success();
  }
  std::string builtin = resolveBuiltin(expr, captured);
  std::optional<DType> dtype = parseDType(builtin);
  if (!dtype && !getDottedName(expr).empty())
    // np.float32, torch.bfloat16
    if (auto *attribute = dynCast<Attribute>(expr))
      dtype = parseDType(attribute->attr);
  if (dtype) {
    if (!last) {
      diags
          .error(expr->range, std::string("the dtype ") + getDTypeName(*dtype) +
                                  " comes after the dims")
          .setFix(moveLast(expr));
      return failure();
    }
    return setDType(expr, *dtype, result);
  }
  Diagnostic &diagnostic = diags.error(
      expr->range,
      "a dim is a name in quotes, an int or an expression of them, not " +
          quote(expr));
  if (is<Name>(expr)) {
    diagnostic.setFix("\"" + quote(expr) + "\"");
  } else if (is<List>(expr) || is<Tuple>(expr)) {
    std::string text = quote(expr);
    diagnostic.setFix(text.substr(1, text.size() - 2));
  } else {
    auto *constant = dynCast<Constant>(expr);
    diagnostic.setFix(constant && constant->type == ConstantKind::Float
                          ? "an int: " +
                                quote(expr).substr(0, quote(expr).find('.'))
                          : "\"M\"");
  }
  return failure();
}

LogicalResult Reader::readTensor(const Expr *slice,
                                 ParameterDescription &result) {
  result.hasDims = true;
  std::vector<const Expr *> elements = getElements(slice);
  constexpr size_t maxRank = 16; // docs/abi.md, section 1; a dtype may follow
  if (elements.size() > maxRank + 1) {
    diags
        .error(elements[maxRank]->range, "an array has at most " +
                                             std::to_string(maxRank) +
                                             " axes, this has more")
        .setFix("drop dims, or join some: \"M * N\"");
    return failure();
  }
  siblings = elements;
  for (auto [i, element] : llvm::enumerate(elements))
    if (failed(readDim(element, result, i + 1 == elements.size())))
      return failure();
  // Tensor[fp16] gives a dtype and no dims.
  if (result.dims.empty() && result.dtype)
    result.hasDims = false;
  return success();
}

LogicalResult Reader::readRegion(const Expr *slice,
                                 ParameterDescription &result) {
  std::vector<const Expr *> elements = getElements(slice);
  std::string name;
  if (auto *constant = dynCast<Constant>(elements[0]);
      constant && constant->type == ConstantKind::String)
    name = constant->text;
  else
    name = resolveBuiltin(elements[0], captured);
  auto *found = llvm::find_if(
      privileges, [&](const Privilege &p) { return name == p.name; });
  if (found == std::end(privileges)) {
    std::vector<std::string> known;
    for (const Privilege &p : privileges)
      known.push_back(p.name);
    Diagnostic &diagnostic = diags.error(
        elements[0]->range, "Region[...] begins with a privilege (read, write, "
                            "read_write, reduce_sum, reduce_max, reduce_min), "
                            "not " +
                                quote(elements[0]));
    std::vector<std::string> near = nearestNames(name, known);
    std::string tensor;
    for (const Expr *element : elements)
      if (is<Subscript>(element))
        tensor = ", " + quote(element);
    diagnostic.setFix("Region[" + (near.empty() ? "reduce_sum" : near.front()) +
                      tensor + "]");
    return failure();
  }
  if (!found->mode) {
    diags.error(elements[0]->range, "not yet: Region[" + name + "]")
        .setFix("Region[reduce_sum]");
    return failure();
  }
  result.mode = found->mode;
  result.kind = result.mode == "out"     ? ParameterDescription::Kind::Out
                : result.mode == "inout" ? ParameterDescription::Kind::InOut
                : result.mode == "in"    ? ParameterDescription::Kind::Tensor
                                         : ParameterDescription::Kind::Region;
  if (elements.size() == 1)
    return success();
  auto *inner = dynCast<Subscript>(elements[1]);
  if (elements.size() > 2 || !inner ||
      resolveBuiltin(inner->value, captured) != "Tensor") {
    diags
        .error(elements[1]->range, "Region[" + name +
                                       ", ...] takes a Tensor[...] after the "
                                       "privilege")
        .setFix("Region[" + name + ", Tensor[\"M\"]]");
    return failure();
  }
  return readTensor(inner->slice, result);
}

LogicalResult Reader::readAnnotation(const Expr *annotation,
                                     ParameterDescription &result) {
  using Kind = ParameterDescription::Kind;
  const Expr *base = annotation;
  auto *subscript = dynCast<Subscript>(annotation);
  if (subscript)
    base = subscript->value;
  std::string name = resolveBuiltin(base, captured);
  if (name == "Tensor" || name == "Out" || name == "InOut") {
    result.kind = name == "Tensor" ? Kind::Tensor
                  : name == "Out"  ? Kind::Out
                                   : Kind::InOut;
    result.mode = name == "Tensor" ? "" : name == "Out" ? "out" : "inout";
    return subscript ? readTensor(subscript->slice, result) : success();
  }
  if (name == "Region") {
    if (subscript)
      return readRegion(subscript->slice, result);
    diags.error(annotation->range, "Region needs a privilege")
        .setFix("Region[reduce_sum]");
    return failure();
  }
  if (!subscript && name == "const") {
    result.kind = Kind::Const;
    return success();
  }
  if (!subscript) {
    std::optional<DType> dtype = parseDType(name);
    if (!dtype && is<Attribute>(base))
      dtype = parseDType(checkedCast<Attribute>(base)->attr);
    // Python's float is 64-bit.
    if (dtype && name == "float")
      dtype = DType::FP64;
    if (dtype) {
      result.kind = Kind::Scalar;
      return setDType(annotation, *dtype, result);
    }
  }
  Diagnostic &diagnostic = diags.error(
      annotation->range, "the annotation of " + result.name + ", " +
                             quote(annotation) +
                             ", is none of Tensor[...], Out[...], InOut[...], "
                             "Region[...], const or a dtype");
  std::string dotted = getDottedName(base);
  llvm::StringRef last = llvm::StringRef(dotted).rsplit('.').second;
  if (last.empty())
    last = dotted;
  std::vector<std::string> near =
      nearestNames(name.empty() ? last.str() : name,
                   {std::begin(annotationNames), std::end(annotationNames)});
  std::string own = result.name + ": ";
  if (last == "ndarray" || last == "Tensor" || last == "array" ||
      last == "NDArray" || last == "Array" || last == "tensor")
    diagnostic.setFix(result.name + " without an annotation, or " + own +
                      "Tensor[\"M\"] with a name for each axis");
  else if (last == "constexpr" || last == "str" || last == "type" ||
           last == "Literal" || last == "Final")
    diagnostic.setFix(own + "const");
  else if (last == "Optional" || last == "Union" || last == "List" ||
           last == "list" || last == "Sequence" || last == "Any" ||
           last == "Callable")
    diagnostic.setFix(result.name + ", without an annotation");
  else if (auto *text = dynCast<Constant>(annotation);
           text && text->type == ConstantKind::String)
    diagnostic.setFix(own +
                      (parseDType(text->text)
                           ? std::string(getDTypeName(*parseDType(text->text)))
                           : "Tensor[\"M\", \"N\"]"));
  else if (!near.empty())
    diagnostic.setFix(own + near.front() +
                      (subscript ? "[" + quote(subscript->slice) + "]" : ""));
  else
    diagnostic.setFix(own + "Tensor[\"M\", \"N\"], or " + own + "const");
  return failure();
}

LogicalResult Reader::read(const Parameter &parameter,
                           ParameterDescription &result) {
  result.name = parameter.name;
  result.passing = parameter.kind;
  result.where = parameter.range;
  if (parameter.annotation &&
      failed(readAnnotation(parameter.annotation, result)))
    return failure();
  if (!parameter.defaultValue)
    return success();
  result.hasDefault = true;
  auto value = tryFold(parameter.defaultValue, [&](const std::string &dotted) {
    if (auto constant = lookUp(dotted))
      return std::optional<ConstantData>(*constant);
    if (captured.count(dotted))
      return std::optional<ConstantData>();
    size_t dot = dotted.rfind('.');
    std::string last =
        dot == std::string::npos ? dotted : dotted.substr(dot + 1);
    if (auto dtype = parseDType(last); dtype && last != "float")
      return std::optional<ConstantData>(*dtype);
    if (dotted.starts_with("math."))
      if (auto number = getMathConstant(last))
        return std::optional<ConstantData>(*number);
    return std::optional<ConstantData>();
  });
  if (!value) {
    diags
        .error(parameter.defaultValue->range,
               "the default of " + parameter.name + ", " +
                   quote(parameter.defaultValue) +
                   ", is not a constant (int, float, bool, str, dtype, None)")
        .setFix(parameter.name + "=None, or no default and the value in the "
                                 "call");
    return failure();
  }
  result.defaultValue = *value;
  return success();
}

} // namespace

FailureOr<Signature> describeSignature(const FunctionDef &definition,
                                       const CapturedNames &captured,
                                       DiagnosticEngine &diags) {
  Signature signature;
  Reader reader(captured, diags);
  for (const Parameter &parameter : definition.parameters) {
    signature.parameters.emplace_back();
    if (failed(reader.read(parameter, signature.parameters.back())))
      return failure();
  }
  // Names in order of appearance; an axis that is exactly the name gives its
  // size, preferably one of an argument that is always passed.
  auto addName = [&](const std::string &name, int parameter, int axis) {
    bool out = parameter >= 0 && signature.parameters[parameter].kind ==
                                     ParameterDescription::Kind::Out;
    for (Signature::DimSource &dim : signature.dims) {
      if (dim.name != name)
        continue;
      bool replace = dim.parameter < 0 ||
                     (!out && signature.parameters[dim.parameter].kind ==
                                  ParameterDescription::Kind::Out);
      if (parameter >= 0 && replace) {
        dim.parameter = parameter;
        dim.axis = axis;
      }
      return;
    }
    signature.dims.push_back({name, parameter, axis});
  };
  for (auto [p, parameter] : llvm::enumerate(signature.parameters))
    for (auto [axis, text] : llvm::enumerate(parameter.dims)) {
      if (text.empty() || std::isdigit(uint8_t(text[0])))
        if (text.find_first_not_of("0123456789") == std::string::npos)
          continue;
      if (text.find_first_of("+-*/()%") == std::string::npos) {
        addName(text, int(p), int(axis));
        continue;
      }
      std::string word;
      for (char c : text + " ") {
        if (std::isalnum(uint8_t(c)) || c == '_') {
          word += c;
          continue;
        }
        if (!word.empty() && !std::isdigit(uint8_t(word[0])))
          addName(word, -1, -1);
        word.clear();
      }
    }
  return signature;
}

} // namespace tessera::frontend
