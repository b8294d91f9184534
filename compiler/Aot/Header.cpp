//===- Header.cpp - The C++ header of a library ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Aot/Aot.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace tessera::aot {

/// A name of the user as one of C++: results have none, and some names are
/// taken.
static std::string toIdentifier(StringRef name, StringRef fallback) {
  static constexpr StringLiteral taken[] = {
      "and",      "asm",      "auto",     "bool",     "break",    "case",
      "catch",    "char",     "class",    "const",    "continue", "default",
      "delete",   "do",       "double",   "else",     "enum",     "explicit",
      "export",   "extern",   "false",    "float",    "for",      "friend",
      "goto",     "if",       "inline",   "int",      "long",     "mutable",
      "new",      "not",      "operator", "or",       "private",  "protected",
      "public",   "register", "return",   "short",    "signed",   "sizeof",
      "static",   "struct",   "switch",   "this",     "throw",    "true",
      "try",      "typedef",  "union",    "unsigned", "using",    "virtual",
      "void",     "volatile", "while",    "xor",      "template", "typename",
      "namespace"};
  std::string result;
  for (char c : name)
    result += isAlnum(c) || c == '_' ? c : '_';
  if (result.empty() || isDigit(result[0]))
    return fallback.str() + result;
  if (llvm::is_contained(taken, StringRef(result)))
    result += '_';
  return result;
}

namespace {
struct Field {
  std::string name, type, comment;
  bool scalar;
};
} // namespace

/// The lines of the plan that declare arguments say what a user has to pass.
static Expected<std::vector<Field>> readFields(const Version &version) {
  const std::string &plan = version.artifact.plan;
  Expected<PlanHandle> parsed = readPlan(plan);
  if (!parsed)
    return parsed.takeError();
  SmallVector<StringRef> lines;
  StringRef(plan).split(lines, '\n');
  std::vector<std::string> declared;
  for (StringRef line : lines)
    if (line.consume_front("arg %") || line.consume_front("result %"))
      declared.push_back(line.substr(line.find(' ') + 1).trim().str());
  std::vector<Field> fields;
  for (int32_t i = 0, e = tsr_plan_num_tensors(parsed->get()); i < e; ++i) {
    tsr_tensor_info info = tensorOf(*parsed, i);
    std::string comment = size_t(i) < declared.size() ? declared[i] : "";
    if (info.mode == TSR_RESULT)
      comment = "result " + comment;
    llvm::erase(comment, '$');
    fields.push_back(
        {toIdentifier(info.name, "result"), "tessera::View", comment, false});
  }
  for (int32_t i = 0, e = tsr_plan_num_scalars(parsed->get()); i < e; ++i) {
    const char *name = nullptr;
    int32_t dtype = 0;
    tsr_status_free(tsr_plan_scalar(parsed->get(), i, &name, &dtype));
    fields.push_back({toIdentifier(name, "scalar"),
                      dtype == TSR_F64   ? "double"
                      : dtype == TSR_I64 ? "int64_t"
                                         : "bool",
                      "", true});
  }
  return fields;
}

static void writeFunction(raw_ostream &os, const std::string &table,
                          const std::string &name, size_t versions,
                          const std::vector<Field> &fields) {
  os << "/// " << versions
     << (versions == 1 ? " version" : " versions; the call chooses") << ".\n"
     << "struct " << name << "_args {\n";
  size_t tensors = 0, scalars = 0;
  for (const Field &field : fields) {
    ++(field.scalar ? scalars : tensors);
    os << "  " << field.type << " " << field.name << (field.scalar ? "{}" : "")
       << ";" << (field.comment.empty() ? "" : " // " + field.comment) << "\n";
  }
  os << "};\n\n"
     << "/// Computes what stands in `args`; the status says what does not "
        "fit. On a\n/// GPU (tessera/device.h) if one is given: `args` are in "
        "its memory then.\n"
     << "inline tessera::Status " << name << "(const " << name
     << "_args &args, tsr_device *device = nullptr, void *stream = nullptr) "
        "{\n";
  auto list = [&](bool scalar, StringRef before, StringRef after) {
    bool first = true;
    for (const Field &field : fields)
      if (field.scalar == scalar) {
        os << (first ? "" : ", ") << before << field.name << after;
        first = false;
      }
  };
  if (tensors) {
    os << "  const tsr_tensor tensors[] = {";
    list(false, "args.", ".tensor()");
    os << "};\n";
  }
  if (scalars) {
    os << "  const int64_t scalars[] = {";
    list(true, "tessera::Scalar(args.", ").bits");
    os << "};\n";
  }
  os << "  return tessera::run(" << table << ", "
     << (tensors ? "tensors" : "nullptr") << ", " << tensors << ", "
     << (scalars ? "scalars" : "nullptr") << ", " << scalars
     << ", device, stream);\n"
     << "}\n\n";
}

Expected<std::string> writeHeader(const Library &library) {
  std::string text;
  raw_string_ostream os(text);
  std::string guard = StringRef("TESSERA_AOT_" + library.name + "_H").upper();
  os << "// " << library.name
     << ".h: kernels built ahead of time by Tessera. C++17; needs neither\n"
        "// exceptions nor RTTI. Link lib"
     << library.name << ".a and Tessera::Runtime (see " << library.name
     << "Config.cmake).\n"
     << "#ifndef " << guard << "\n#define " << guard << "\n\n"
     << "#include \"tessera/runtime.h\"\n\n";
  for (const Function &function : library.functions)
    os << "extern \"C\" const tsr_function tsr_" << library.name << "_"
       << function.name << ";\n";
  os << "\nnamespace " << toIdentifier(library.name, "library") << " {\n\n";
  for (const Function &function : library.functions) {
    Expected<std::vector<Field>> fields = readFields(function.versions.front());
    if (!fields)
      return fields.takeError();
    writeFunction(os, "::tsr_" + library.name + "_" + function.name,
                  toIdentifier(function.name, "function"),
                  function.versions.size(), *fields);
  }
  os << "} // namespace " << toIdentifier(library.name, "library")
     << "\n\n#endif\n";
  return text;
}

} // namespace tessera::aot
