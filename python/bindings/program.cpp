//===- program.cpp - Parsing and signatures, for Python -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Frontend/ForeignNames.h"
#include "compiler/Frontend/Operations.h"
#include "compiler/Frontend/Parser.h"

#include "python/bindings/bindings.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

using namespace tessera;
using namespace tessera::frontend;
namespace nb = nanobind;

SourceManager &python::sources() {
  static SourceManager *manager = new SourceManager;
  return *manager;
}

void python::raise(const char *type, const std::string &text) {
  nb::object error = nb::module_::import_("tessera.errors").attr(type);
  PyErr_SetString(error.ptr(), text.c_str());
  throw nb::python_error();
}

ConstantData python::toConstant(nb::handle value) {
  if (value.is_none())
    return {};
  if (nb::isinstance<nb::bool_>(value))
    return ConstantData(nb::cast<bool>(value));
  if (nb::isinstance<nb::int_>(value)) {
    int64_t number;
    if (!nb::try_cast(value, number))
      raise("CompileError", "error: " + nb::cast<std::string>(nb::str(value)) +
                                " does not fit 64 bits");
    return ConstantData(number);
  }
  if (nb::isinstance<nb::float_>(value))
    return ConstantData(nb::cast<double>(value));
  if (nb::isinstance<nb::str>(value))
    return ConstantData(nb::cast<std::string>(value));
  if (nb::isinstance<nb::tuple>(value)) {
    std::vector<ConstantData> elements;
    for (nb::handle element : nb::cast<nb::tuple>(value))
      elements.push_back(toConstant(element));
    return ConstantData::tuple(std::move(elements));
  }
  // A dtype of ours.
  auto name = nb::cast<std::string>(value.attr("name"));
  auto dtype = parseDType(name);
  if (!dtype)
    raise("InternalError", "no dtype is called " + name);
  return ConstantData(*dtype);
}

static ArgumentSpec toArray(nb::tuple parts, size_t first) {
  auto dtype = parseDType(nb::cast<std::string>(parts[first]));
  if (!dtype)
    python::raise("InternalError", "no such dtype");
  return ArgumentSpec::tensor(*dtype,
                              nb::cast<std::vector<int64_t>>(parts[first + 1]),
                              nb::cast<int>(parts[first + 2]));
}

CapturedNames python::toCaptured(nb::dict names) {
  CapturedNames captured;
  for (auto [key, item] : names) {
    auto parts = nb::cast<nb::tuple>(item);
    auto kind = nb::cast<std::string>(parts[0]);
    CapturedValue value;
    if (kind == "const") {
      value = CapturedValue::value(toConstant(parts[1]));
    } else if (kind == "module") {
      value = CapturedValue::module(nb::cast<std::string>(parts[1]));
    } else if (kind == "builtin") {
      value = CapturedValue::builtin(nb::cast<std::string>(parts[1]));
    } else if (kind == "dim") {
      value = CapturedValue::dimName(nb::cast<std::string>(parts[1]));
    } else if (kind == "function") {
      // ("function", Program, captured, accum, precision, policy, constants,
      // schedule)
      auto function = std::make_shared<CapturedFunction>();
      auto &program = nb::cast<Program &>(parts[1]);
      function->kind = program.kind;
      function->definition = program.definition;
      function->captured = toCaptured(nb::cast<nb::dict>(parts[2]));
      function->accum = toConstant(parts[3]);
      function->precision = nb::cast<std::string>(parts[4]);
      function->policy = nb::cast<std::string>(parts[5]);
      for (auto [name, constant] : nb::cast<nb::dict>(parts[6]))
        function->constants[nb::cast<std::string>(name)] = toConstant(constant);
      for (auto [name, constant] : nb::cast<nb::dict>(parts[7]))
        function->schedule[nb::cast<std::string>(name)] = toConstant(constant);
      value.kind = CapturedValue::Kind::Function;
      value.function = std::move(function);
    } else if (kind == "array") {
      // ("array", hidden name, dtype, sizes, unit axis)
      value.kind = CapturedValue::Kind::Array;
      value.text = nb::cast<std::string>(parts[1]);
      value.array = toArray(parts, 2);
    } else {
      value = CapturedValue::other(nb::cast<std::string>(parts[1]));
    }
    captured.emplace(nb::cast<std::string>(key), std::move(value));
  }
  return captured;
}

static nb::object fromConstant(const ConstantData &constant) {
  if (constant.isBool())
    return nb::cast(constant.isTrue());
  if (constant.isInt())
    return nb::cast(constant.asInt());
  if (constant.isFloat())
    return nb::cast(constant.asFloat());
  if (constant.isString())
    return nb::cast(constant.asString());
  if (constant.isDType())
    return nb::module_::import_("tessera.dtypes")
        .attr("by_name")(getDTypeName(constant.asDType()));
  if (constant.isTuple()) {
    nb::list elements;
    for (const ConstantData &element : constant.asTuple())
      elements.append(fromConstant(element));
    return nb::tuple(elements);
  }
  return nb::none();
}

static const char *kindName(ParameterDescription::Kind kind) {
  using Kind = ParameterDescription::Kind;
  switch (kind) {
  case Kind::Any:
    return "any";
  case Kind::Tensor:
    return "tensor";
  case Kind::Out:
    return "out";
  case Kind::InOut:
    return "inout";
  case Kind::Region:
    return "region";
  case Kind::Const:
    return "const";
  case Kind::Scalar:
    return "scalar";
  }
  return "";
}

static nb::list describe(const python::Program &program, nb::dict captured,
                         bool colour) {
  DiagnosticEngine diags(python::sources());
  CapturedNames names = python::toCaptured(captured);
  auto signature = describeSignature(*program.definition, names, diags);
  if (failed(signature))
    python::raise("CompileError", diags.render(colour));
  std::vector<WholeDim> whole = wholeDims(*program.definition, *signature);
  std::set<std::string> written;
  if (program.kind == ProgramKind::Kernel)
    written = writtenNames(*program.definition);
  nb::list parameters;
  for (size_t i = 0; i < signature->parameters.size(); ++i) {
    const ParameterDescription &p = signature->parameters[i];
    nb::dict entry;
    entry["name"] = p.name;
    entry["kind"] = kindName(p.kind);
    entry["mode"] = p.mode.empty() && written.count(p.name) ? "inout" : p.mode;
    entry["keyword_only"] = p.passing == ParameterKind::KeywordOnly;
    entry["dims"] = p.hasDims ? nb::cast(p.dims) : nb::none();
    entry["dtype"] = p.dtype ? nb::cast(getDTypeName(*p.dtype)) : nb::none();
    entry["has_default"] = p.hasDefault;
    entry["default"] = fromConstant(p.defaultValue);
    std::vector<int> axes;
    for (const WholeDim &dim : whole)
      if (dim.parameter == int(i))
        axes.push_back(dim.axis);
    entry["whole_axes"] = axes;
    parameters.append(entry);
  }
  return parameters;
}

static std::string renderError(const python::Program &program,
                               const std::string &message,
                               const std::string &parameter,
                               const std::string &fix, bool colour) {
  Diagnostic diagnostic;
  diagnostic.where = program.definition->nameRange;
  diagnostic.message = message;
  diagnostic.fix = fix;
  for (const Parameter &p : program.definition->parameters)
    if (p.name == parameter)
      diagnostic.where = p.range;
  return renderDiagnostic(python::sources(), diagnostic, colour);
}

/// The first way to write it, of x, y and z; empty if it hangs on the place.
static std::string showForeign(std::string_view ours) {
  std::vector<std::string_view> ways = splitForeign(ours);
  if (ways.empty() || ways[0].find("$a") != std::string_view::npos)
    return {};
  std::string_view way = ways[0];
  if (way.starts_with("#"))
    return std::string(way.substr(1));
  if (way.starts_with("$?"))
    way.remove_prefix(way.find(')') + 1);
  std::vector<std::string> arguments = {"x"};
  for (const char *name : {"y", "z"}) {
    std::string next = "$" + std::to_string(arguments.size());
    if (way.find(next) != std::string_view::npos)
      arguments.push_back(name);
  }
  return fillForeign(way, arguments, "x");
}

void python::bindProgram(nb::module_ &module) {
  nb::class_<Program>(module, "Program", "A parsed function or kernel.")
      .def("free_names",
           [](const Program &program) {
             std::vector<std::string> names;
             for (FreeName &free : collectFreeNames(*program.definition))
               names.push_back(std::move(free.name));
             return names;
           })
      .def("describe", &describe, nb::arg("captured"), nb::arg("colour"),
           "The parameters, as dicts.")
      .def("render_error", &renderError, nb::arg("message"),
           nb::arg("parameter"), nb::arg("fix"), nb::arg("colour"),
           "A message about a call, at the function or one of its parameters.")
      .def_prop_ro("name", [](const Program &p) { return p.definition->name; })
      .def_prop_ro("kind", [](const Program &p) {
        return p.kind == ProgramKind::Kernel ? "kernel" : "function";
      });
  module.def(
      "foreign_name",
      [](const std::string &kind, const std::string &name)
          -> std::optional<std::pair<std::string, std::string>> {
        auto which = kind == "keyword"    ? ForeignKind::Keyword
                     : kind == "function" ? ForeignKind::Function
                                          : ForeignKind::Decorator;
        const ForeignName *found =
            findForeign(which, name, ForeignLevel::Tensors);
        if (!found && which == ForeignKind::Function)
          found = findForeign(which, name, ForeignLevel::Tiles);
        if (!found)
          return std::nullopt;
        std::string ours(found->ours);
        if (which == ForeignKind::Function)
          ours = showForeign(found->ours);
        return std::pair(ours, std::string(found->why));
      },
      nb::arg("kind"), nb::arg("name"),
      "What a name of another library is here, and why; None if unknown.");
  module.def(
      "operations",
      [](bool kernel) {
        std::vector<std::tuple<std::string, bool, bool>> result;
        for (const Callable &each :
             kernel ? listTileOperations() : listTensorOperations())
          result.emplace_back(each.name, each.isFunction, each.isMethod);
        return result;
      },
      nb::arg("kernel"),
      "What programs can call: name, whether as tsr.name(x), as x.name().");
  module.def("is_foreign_word", &isForeignWord, nb::arg("name"),
             "Whether another library has this name, which is nearly ours.");
  module.def(
      "parse_function",
      [](const std::string &text, const std::string &file, uint32_t firstLine,
         uint32_t columnOffset, bool kernel, bool colour) {
        auto program = std::make_unique<Program>();
        program->kind = kernel ? ProgramKind::Kernel : ProgramKind::Function;
        DiagnosticEngine diags(sources());
        FileId id = sources().add(file, text, firstLine, columnOffset);
        program->definition =
            parseFunction(program->context, sources(), id, diags);
        if (!program->definition)
          raise("CompileError", diags.render(colour));
        return program;
      },
      nb::arg("text"), nb::arg("file"), nb::arg("first_line"),
      nb::arg("column_offset"), nb::arg("kernel"), nb::arg("colour"));
  module.def(
      "parse_module",
      [](const std::string &text, const std::string &file, bool colour) {
        // Each function gets a Program; all share the file's tree.
        auto context = std::make_shared<ASTContext>();
        DiagnosticEngine diags(sources());
        FileId id = sources().add(file, text);
        frontend::Module *tree = parseModule(*context, sources(), id, diags);
        if (!tree)
          raise("CompileError", diags.render(colour));
        nb::list functions;
        for (const Stmt *statement : tree->body) {
          auto *definition = dynCast<FunctionDef>(statement);
          if (!definition)
            continue;
          nb::list decorators;
          uint32_t first = definition->range.begin.line;
          for (const Expr *decorator : definition->decorators) {
            first = std::min(first, decorator->range.begin.line);
            decorators.append(sources().getSnippet(decorator->range));
          }
          functions.append(nb::make_tuple(
              definition->name, first, definition->range.end.line, decorators));
        }
        return functions;
      },
      nb::arg("text"), nb::arg("file"), nb::arg("colour"),
      "(name, first line, last line, decorators) of each function of a file.");
}
