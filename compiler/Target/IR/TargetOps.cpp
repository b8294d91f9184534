//===- TargetOps.cpp - Target IR: verifiers, text -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/IR/Target.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace tessera::target;

//===----------------------------------------------------------------------===//
// Clauses in any order: pool = "shared" align = 128
//===----------------------------------------------------------------------===//

namespace {
/// One clause: its name, how to read it, and whether it was there.
struct Clause {
  StringRef name;
  llvm::function_ref<ParseResult()> parse;
  bool found = false;
};
} // namespace

static ParseResult parseClauses(OpAsmParser &parser,
                                MutableArrayRef<Clause> clauses) {
  for (;;) {
    Clause *next = nullptr;
    SMLoc loc = parser.getCurrentLocation();
    for (Clause &clause : clauses)
      if (succeeded(parser.parseOptionalKeyword(clause.name))) {
        next = &clause;
        break;
      }
    if (!next)
      break;
    if (next->found)
      return parser.emitError(loc) << "'" << next->name << "' is there twice";
    next->found = true;
    if (parser.parseEqual() || next->parse())
      return failure();
  }
  return success();
}

/// Without a type behind it: ": i64" is of the op.
static ParseResult parseText(OpAsmParser &parser, StringAttr &text) {
  std::string bytes;
  if (parser.parseString(&bytes))
    return failure();
  text = parser.getBuilder().getStringAttr(bytes);
  return success();
}
static ParseResult parseBool(OpAsmParser &parser, BoolAttr &value) {
  return parser.parseAttribute(value);
}

static ParseResult missing(OpAsmParser &parser, StringRef clause) {
  return parser.emitError(parser.getCurrentLocation())
         << "'" << clause << " = ' is missing";
}

static ParseResult parseAllocateClauses(OpAsmParser &parser, StringAttr &pool,
                                        IntegerAttr &align, BoolAttr &zero) {
  auto readPool = [&] { return parseText(parser, pool); };
  auto readAlign = [&] {
    return parser.parseAttribute(align, parser.getBuilder().getI64Type());
  };
  auto readZero = [&] { return parseBool(parser, zero); };
  Clause all[] = {
      {"pool", readPool}, {"align", readAlign}, {"zero_initialize", readZero}};
  if (parseClauses(parser, all))
    return failure();
  return pool ? ParseResult(success()) : missing(parser, "pool");
}
static void printAllocateClauses(OpAsmPrinter &printer, Operation *,
                                 StringAttr pool, IntegerAttr align,
                                 BoolAttr zero) {
  printer << "pool = " << pool
          << " align = " << (align ? align.getInt() : int64_t(64))
          << " zero_initialize = "
          << (zero && zero.getValue() ? "true" : "false");
}

/// `i64 -> !llvm.ptr<3>`, or only the pointer.
static ParseResult parseAllocateTypes(OpAsmParser &parser, Type &size,
                                      Type &pointer) {
  if (parser.parseType(pointer))
    return failure();
  size = parser.getBuilder().getI64Type();
  if (failed(parser.parseOptionalArrow()))
    return success();
  size = pointer;
  return parser.parseType(pointer);
}
static void printAllocateTypes(OpAsmPrinter &printer, Operation *, Type size,
                               Type pointer) {
  printer << size << " -> " << pointer;
}

static ParseResult
parseMemcpyClauses(OpAsmParser &parser, StringAttr &kind, BoolAttr &async,
                   std::optional<OpAsmParser::UnresolvedOperand> &stream) {
  auto readKind = [&] { return parseText(parser, kind); };
  auto readAsync = [&] { return parseBool(parser, async); };
  auto readStream = [&] { return parser.parseOperand(stream.emplace()); };
  Clause all[] = {
      {"kind", readKind}, {"async", readAsync}, {"stream", readStream}};
  if (parseClauses(parser, all))
    return failure();
  return kind ? ParseResult(success()) : missing(parser, "kind");
}
static void printMemcpyClauses(OpAsmPrinter &printer, Operation *,
                               StringAttr kind, BoolAttr async, Value stream) {
  printer << "kind = " << kind
          << " async = " << (async && async.getValue() ? "true" : "false");
  if (stream)
    printer << " stream = " << stream;
}

static ParseResult parseMemcpyTypes(OpAsmParser &parser, Type &dest,
                                    Type &source, Type &size) {
  size = parser.getBuilder().getI64Type();
  if (parser.parseType(dest) || parser.parseComma() || parser.parseType(source))
    return failure();
  if (failed(parser.parseOptionalComma()))
    return success();
  return parser.parseType(size);
}
static void printMemcpyTypes(OpAsmPrinter &printer, Operation *, Type dest,
                             Type source, Type size) {
  printer << dest << ", " << source << ", " << size;
}

static ParseResult parseTensorCoreClauses(OpAsmParser &parser,
                                          DenseI64ArrayAttr &shape,
                                          StringAttr &layout,
                                          StringAttr &precision) {
  auto readShape = [&]() -> ParseResult {
    shape = dyn_cast_if_present<DenseI64ArrayAttr>(
        DenseI64ArrayAttr::parse(parser, Type()));
    return success(bool(shape));
  };
  auto readLayout = [&] { return parseText(parser, layout); };
  auto readPrecision = [&] { return parseText(parser, precision); };
  Clause all[] = {{"shape", readShape},
                  {"layout", readLayout},
                  {"precision", readPrecision}};
  if (parseClauses(parser, all))
    return failure();
  if (!shape || !precision)
    return missing(parser, shape ? "precision" : "shape");
  if (!layout)
    layout = parser.getBuilder().getStringAttr("nt");
  return success();
}
static void printTensorCoreClauses(OpAsmPrinter &printer, Operation *,
                                   DenseI64ArrayAttr shape, StringAttr layout,
                                   StringAttr precision) {
  printer << "shape = [";
  llvm::interleaveComma(shape.asArrayRef(), printer);
  printer << "] layout = " << layout << " precision = " << precision;
}

#define GET_OP_CLASSES
#include "compiler/Target/IR/TargetOps.cpp.inc"

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

// @k(%a: !llvm.ptr<1>) [config = #...] [attributes {...}] { ... }
ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> types, results;
  SmallVector<DictionaryAttr> resultAttrs;
  bool variadic;
  (void)mlir::impl::parseOptionalVisibilityKeyword(parser, result.attributes);
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      function_interface_impl::parseFunctionSignatureWithArguments(
          parser, /*allowVariadic=*/false, arguments, variadic, results,
          resultAttrs))
    return failure();
  for (OpAsmParser::Argument &argument : arguments)
    types.push_back(argument.type);
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(builder.getFunctionType(types, results)));
  KernelConfigAttr config;
  if (succeeded(parser.parseOptionalKeyword("config")) &&
      (parser.parseEqual() ||
       parser.parseAttribute(config, getConfigAttrName(result.name).getValue(),
                             result.attributes)))
    return failure();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  call_interface_impl::addArgAndResultAttrs(
      builder, result, arguments, resultAttrs, getArgAttrsAttrName(result.name),
      getResAttrsAttrName(result.name));
  SMLoc loc = parser.getCurrentLocation();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments, /*enableNameShadowing=*/false))
    return failure();
  if (body->empty())
    return parser.emitError(loc, "a kernel has a body");
  // A body without an end returns there.
  Block &last = body->back();
  if (last.empty() || !last.back().mightHaveTrait<OpTrait::IsTerminator>()) {
    OpBuilder end(parser.getContext()); // the region has no op yet
    end.setInsertionPointToEnd(&last);
    ReturnOp::create(end, result.location);
  }
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

bool KernelOp::isForGpu() {
  if ((*this)->hasAttr("arch") || (*this)->hasAttr("threads"))
    return true;
  std::optional<KernelConfigAttr> config = getConfig();
  return config && llvm::any_of(config->getBlock(),
                                [](int64_t size) { return size > 1; });
}

LogicalResult AllocateOp::verify() {
  // (C1)
  static constexpr llvm::StringLiteral pools[] = {"device", "managed", "pinned",
                                                  "shared", "scratch"};
  if (!llvm::is_contained(pools, getPool()))
    return emitOpError() << "no pool is called '" << getPool()
                         << "': device, managed, pinned, shared or scratch";
  if (!llvm::isPowerOf2_64(getAlign()) || getAlign() > 4096)
    return emitOpError() << "alignment " << int64_t(getAlign())
                         << " is no power of two up to 4096";
  return success();
}
