//===- SemaForeign.cpp - Calls of other libraries' functions --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ForeignNames.h"
#include "compiler/Frontend/ParseText.h"
#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::frontend {

std::string Analyzer::getOurSpelling(const std::string &name) {
  std::vector<std::string> calls = library->getCallNames();
  for (const std::string &spelling : getSpellings(name))
    if (llvm::is_contained(calls, spelling) ||
        findForeign(ForeignKind::Function, spelling, getLevel(*this)))
      return spelling;
  return name;
}

/// expf(x), atomicAdd(S, n, x), __syncthreads(): true, with an error.
bool Analyzer::reportUnknownCall(const Name &name, const Call &call) {
  // First what nearly every call is: spellings are looked up in long lists.
  if (isKnown(name.id) || llvm::is_contained(getPythonBuiltins(), name.id))
    return false;
  std::string ours = getOurSpelling(name.id);
  bool isOfC = ours != name.id;
  if (!isOfC && !findForeign(ForeignKind::Function, ours, getLevel(*this)))
    return false;
  reportForeign(CapturedValue::other(isOfC ? "function of C" : "unknown"),
                name.id, call.func->range, &call);
  return true;
}

std::string getAtomicCall(SemaContext &context, const std::string &name,
                          llvm::ArrayRef<std::string> given) {
  if (!llvm::StringRef(name).starts_with("atomic_") || given.size() < 2)
    return {};
  llvm::StringRef array = given[0];
  std::string index;
  if (given.size() == 2 && array.contains(" + "))
    std::tie(array, index) = array.split(" + ");
  else if (given.size() == 2 && array.ends_with("]"))
    std::tie(array, index) = array.drop_back().split('[');
  else
    index = llvm::join(given.drop_front().drop_back(), ", ");
  if (llvm::StringRef inner = index; inner.consume_front("(")) {
    inner.consume_back(")");
    index = inner.str();
  }
  std::vector<std::string> each = splitAtCommas(index);
  std::string fix = "tsr." + name + "(" + array.str() + ", (" +
                    llvm::join(each, ", ") +
                    (each.size() == 1 ? ",), " : "), ") + given.back() + ")";
  return context.tryFix(fix) ? fix : std::string();
}

/// CONFIG["eps"]: a name of its own, made where the program can use it.
void Analyzer::reportDict(Diagnostic &diagnostic, const std::string &dotted) {
  std::string behind = quoteBehind(diagnostic.where), key = "w";
  size_t end = behind.find(']');
  bool isKey = end != std::string::npos && end > 3 && behind[0] == '[' &&
               (behind[1] == '"' || behind[1] == '\'');
  if (isKey) {
    key = behind.substr(2, end - 3);
    diagnostic.where.end.column += uint32_t(end) + 1;
  }
  bool isName =
      !key.empty() && !llvm::isDigit(key[0]) &&
      llvm::all_of(key, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  std::string name = isName ? key : "w";
  diagnostic.setFix(name + " = " + dotted + "[\"" + key +
                    "\"] before the def, and " + name +
                    " here: a name of its own for each value that is used");
}

std::string getEinsumFix(SemaContext &context,
                         const std::vector<std::string> &given) {
  std::string fix = getLaterFix("einsum", given);
  // A tile has two axes.
  if (size_t at = fix.find(".mT");
      at != std::string::npos && getLevel(context) == ForeignLevel::Tiles)
    fix.erase(at + 1, 1);
  return context.tryFix(fix) ? fix : std::string();
}

/// np.zeros(N), torch.zeros(BM, BN, dtype=torch.float16): ours, with a tuple of
/// sizes in a function; in a kernel, as many as it has ranges are those.
std::string Analyzer::getFillFix(const std::string &name, const Call &call) {
  if (name != "zeros" && name != "ones")
    return {};
  llvm::ArrayRef<Expr *> sizes = call.args;
  if (auto *tuple = sizes.size() == 1 ? dynCast<Tuple>(sizes[0]) : nullptr)
    sizes = tuple->elts;
  SmallVector<std::string> axes;
  if (request.kind == ProgramKind::Kernel) {
    for (const auto &axis : getKernelState(*library).gridAxes)
      if (axis.axis)
        axes.push_back(axis.axis->name);
  } else {
    for (const Expr *size : sizes)
      axes.push_back(quote(size->range));
  }
  std::string shape = llvm::join(axes, ", ");
  if (request.kind != ProgramKind::Kernel)
    shape = "(" + shape + (axes.size() == 1 ? ",)" : ")");
  for (const Keyword &keyword : call.keywords) {
    std::string given = quote(keyword.value->range);
    if (auto dtype = parseDType(given.substr(given.rfind('.') + 1));
        keyword.name == "dtype" && dtype && *dtype != DType::FP32)
      shape += std::string(", dtype=") + getDTypeName(*dtype);
  }
  std::string fix = "tsr." + name + "(" + shape + ")";
  return axes.size() == sizes.size() && tryFix(fix) ? fix : std::string();
}

void Analyzer::reportForeign(const CapturedValue &captured,
                             const std::string &dotted,
                             const SourceRange &where, const Call *call) {
  std::string last = getOurSpelling(dotted.substr(dotted.rfind('.') + 1));
  bool known = llvm::is_contained(library->getCallNames(), last);
  bool isOfTiles = captured.text == "function of tiles";
  bool plain = captured.text == "function" || isOfTiles;
  if (!call && !plain && !known) {
    llvm::StringRef type = captured.text;
    bool vowel = llvm::StringRef("aeiou").contains(type.take_front().lower());
    Diagnostic &diagnostic = error(
        where, "'" + dotted + "' is " + (vowel ? "an " : "a ") + type.str() +
                   "; from outside a program can use int, float, bool, "
                   "str, dtype, tuple, array and tessera functions");
    if (type == "list of arrays" || type == "tuple")
      diagnostic.setFix("a, b = " + dotted +
                        " before the def, a name for each, and (a, b) here");
    else if (type == "list" || type == "set")
      diagnostic.setFix(dotted + " = (...), a tuple");
    else if (type == "dict")
      reportDict(diagnostic, dotted);
    else if (type == "NoneType" || type == "complex")
      diagnostic.setFix(dotted + " = 0.0");
    else if (type == "module")
      diagnostic.setFix("tsr, whose operations are tsr.exp, tsr.sum, ...");
    else
      diagnostic.setFix("pass it as an argument, or its number: " + dotted +
                        ".value");
    return;
  }
  std::string kind = plain                     ? "a plain Python function"
                     : captured.text == "type" ? "a Python class"
                     : captured.text == "function of C" ? "a function of C"
                     : captured.text == "unknown" ? "no function of tessera"
                     : dotted.find('.') == std::string::npos
                         ? "a function of Python"
                         : "not tessera's";
  Diagnostic &diagnostic =
      error(where, "'" + dotted + "' is " + kind +
                       "; a program calls operations of tessera and tessera "
                       "functions");
  std::vector<std::string> arguments;
  std::string listed = call ? "" : "...";
  if (call) {
    for (const Expr *argument : call->args)
      arguments.push_back(quote(argument->range));
    for (const Keyword &keyword : call->keywords)
      if (last != "dot" || keyword.name == "acc")
        arguments.push_back(
            quote(last == "dot" ? keyword.value->range : keyword.range));
    llvm::StringRef root = llvm::StringRef(dotted).split('.').first;
    useCorrection(last, arguments,
                  llvm::is_contained({"np", "numpy", "jnp", "cp"}, root));
    for (const std::string &argument : arguments)
      listed += (listed.empty() ? "" : ", ") + argument;
  }
  const ForeignName *foreign =
      findForeign(ForeignKind::Function, last, getLevel(*this));
  // np.add.at
  if (const ForeignName *longer = findForeign(
          ForeignKind::Function, dotted.substr(dotted.find('.') + 1)))
    foreign = longer;
  if (plain) {
    diagnostic.setFix(std::string(isOfTiles ? "@tsr.kernel" : "@tsr.function") +
                      " above def " + last);
    return;
  }
  if (captured.text == "function of triton" &&
      request.kind == ProgramKind::Kernel &&
      llvm::is_contained({"program_id", "num_programs", "arange", "load",
                          "store", "make_block_ptr"},
                         last)) {
    diagnostic.setFix(suggestGrid() +
                      "  # X[...] loads, Y[...] = x stores: no offsets, no "
                      "masks");
    return;
  }
  std::string fix;
  // tl.load(X + m), tl.cdiv(M, BM) of a grid: what stands there here.
  auto *pointer = call && last == "load" && call->args.size() == 1
                      ? dynCast<BinOp>(call->args[0])
                      : nullptr;
  if (auto *base = pointer ? dynCast<Name>(pointer->left) : nullptr;
      base && pointer->op == BinaryOperator::Add) {
    auto view = scope().variables.find(base->id);
    if (view != scope().variables.end() && view->second.kind == ValueKind::View)
      fix = base->id + "[" + quote(pointer->right->range) + "]";
  }
  if (call && last == "cdiv" && arguments.size() == 2 &&
      llvm::StringRef(quoteBefore(call->range)).rtrim().ends_with("tsr.grid("))
    fix = "tsr.tile(" + arguments[0] + ", " + arguments[1] + ")";
  if (!fix.empty()) {
    diagnostic.setFix(fix);
    return;
  }
  if (known) {
    fix = "tsr." + last + "(" + listed + ")";
    if (std::string atomic = getAtomicCall(*this, last, arguments);
        !atomic.empty())
      fix = atomic;
    if (call && !tryFix(fix))
      fix = getFillFix(last, *call);
  }
  if (last == "einsum" && arguments.size() == 3)
    fix = getEinsumFix(*this, arguments);
  if (fix.empty() && call && request.kind == ProgramKind::Function)
    if (std::string later = getLaterFix(last, arguments); tryFix(later))
      fix = later;
  if (fix.empty() && foreign) {
    if (!foreign->why.empty())
      diagnostic.message += "; " + std::string(foreign->why);
    fix = findInstead(*this, *foreign, arguments);
  } else if (fix.empty() && known) {
    fix = "tsr." + last; // its arguments are another matter
  } else if (fix.empty()) {
    fix = findNearest(*this, "tsr.", last, arguments, library->getCallNames());
  }
  diagnostic.setFix(fix.empty() ? "call " + dotted +
                                      " outside and pass its result as an "
                                      "argument"
                                : fix);
}

} // namespace tessera::frontend
