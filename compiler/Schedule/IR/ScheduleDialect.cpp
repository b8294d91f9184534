//===- ScheduleDialect.cpp - Schedule IR: registration, attributes --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/IR/Schedule.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tessera::schedule;

#include "compiler/Schedule/IR/ScheduleDialect.cpp.inc"
#include "compiler/Schedule/IR/ScheduleEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Schedule/IR/ScheduleAttrs.cpp.inc"

void ScheduleDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Schedule/IR/ScheduleAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Schedule/IR/ScheduleOps.cpp.inc"
      >();
}

// #sched.param<128, [64, 128], default>
Attribute ParamAttr::parse(AsmParser &parser, Type) {
  int64_t value;
  SmallVector<int64_t> range;
  std::string by;
  auto parseOne = [&] { return parser.parseInteger(range.emplace_back()); };
  SMLoc where;
  if (parser.parseLess() || parser.parseInteger(value) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne) ||
      parser.parseComma() || parser.getCurrentLocation(&where) ||
      parser.parseKeywordOrString(&by) || parser.parseGreater())
    return {};
  std::optional<Decider> decider = symbolizeDecider(by);
  if (!decider) {
    parser.emitError(where) << "'" << by
                            << "' decides nothing: user, tuner, profile, "
                               "model or default";
    return {};
  }
  return ParamAttr::get(parser.getContext(), value, range, *decider);
}

void ParamAttr::print(AsmPrinter &printer) const {
  printer << "<" << getValue() << ", [";
  llvm::interleaveComma(getRange(), printer);
  printer << "], " << stringifyDecider(getBy()) << ">";
}

//===----------------------------------------------------------------------===//
// #sched.when<rows = [0, 4], right = column_major>
//===----------------------------------------------------------------------===//

static constexpr int64_t anySize[] = {0, 0};

/// [1, 2]
static ParseResult parseNumbers(AsmParser &parser,
                                SmallVectorImpl<int64_t> &numbers) {
  numbers.clear();
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        return parser.parseInteger(numbers.emplace_back());
      });
}

Attribute WhenAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> rows = {0, 0}, columns = rows, depth = rows;
  RightLayout right = RightLayout::Any;
  auto parseOne = [&]() -> ParseResult {
    StringRef key;
    SMLoc where = parser.getCurrentLocation();
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    if (key == "right") {
      FailureOr<RightLayout> parsed = FieldParser<RightLayout>::parse(parser);
      if (failed(parsed))
        return failure();
      right = *parsed;
      return success();
    }
    SmallVector<int64_t> *bounds = key == "rows"      ? &rows
                                   : key == "columns" ? &columns
                                   : key == "depth"   ? &depth
                                                      : nullptr;
    if (!bounds)
      return parser.emitError(where)
             << "'" << key << "' is not rows, columns, depth or right";
    return parseNumbers(parser, *bounds);
  };
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return getChecked([&] { return parser.emitError(where); },
                    parser.getContext(), rows, columns, depth, right);
}

void WhenAttr::print(AsmPrinter &printer) const {
  bool isFirst = true;
  auto start = [&](StringRef key) -> raw_ostream & {
    raw_ostream &os = printer.getStream();
    os << (isFirst ? "" : ", ") << key << " = ";
    isFirst = false;
    return os;
  };
  printer << "<";
  for (auto [key, bounds] :
       {std::pair("rows", getRows()), std::pair("columns", getColumns()),
        std::pair("depth", getDepth())})
    if (bounds != ArrayRef(anySize))
      start(key) << "[" << bounds[0] << ", " << bounds[1] << "]";
  if (getRight() != RightLayout::Any)
    start("right") << stringifyRightLayout(getRight());
  printer << ">";
}

LogicalResult WhenAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> rows,
                               ArrayRef<int64_t> columns,
                               ArrayRef<int64_t> depth, RightLayout) {
  constexpr int64_t most = int64_t(1) << 40;
  for (ArrayRef<int64_t> bounds : {rows, columns, depth})
    if (bounds.size() != 2 || bounds[0] < 0 || bounds[1] < 0 ||
        bounds[0] > most || bounds[1] > most ||
        (bounds[1] && bounds[1] < bounds[0]))
      return emitError() << "bounds are the least and the most, each 0 (any) "
                            "to 2^40";
  return success();
}

//===----------------------------------------------------------------------===//
// #sched.variant<thin4, product, [4, 1024, 64], <rows = [0, 4]>>
//===----------------------------------------------------------------------===//

Attribute VariantAttr::parse(AsmParser &parser, Type) {
  StringRef name;
  SmallVector<int64_t> tiles;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&name) || parser.parseComma())
    return {};
  FailureOr<VariantForm> form = FieldParser<VariantForm>::parse(parser);
  if (failed(form) || parser.parseComma() || parseNumbers(parser, tiles) ||
      parser.parseComma())
    return {};
  FailureOr<WhenAttr> when = FieldParser<WhenAttr>::parse(parser);
  if (failed(when) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(where); },
                    parser.getContext(), name, *form, tiles, *when);
}

void VariantAttr::print(AsmPrinter &printer) const {
  printer << "<" << getName() << ", " << stringifyVariantForm(getForm())
          << ", [";
  llvm::interleaveComma(getTiles(), printer);
  printer << "], ";
  printer.printStrippedAttrOrType(getWhen());
  printer << ">";
}

LogicalResult VariantAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringRef name, VariantForm form,
                                  ArrayRef<int64_t> tiles, WhenAttr) {
  constexpr int64_t mostInAxis = 1 << 16, most = int64_t(1) << 24;
  bool isName = !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_';
  });
  if (!isName || llvm::isDigit(name.front()))
    return emitError() << "'" << name << "' is no name of a variant";
  size_t count = form == VariantForm::Head ? 1 : 3;
  bool good = tiles.size() == count && llvm::all_of(tiles, [](int64_t size) {
                return size >= 1 && size <= mostInAxis;
              });
  // A tile spans two of the three.
  for (size_t i = 0; good && i < count; ++i)
    good = tiles[i] * tiles[(i + 1) % count] <= most;
  if (!good)
    return emitError() << "a variant of this form has " << count
                       << " sizes of tiles, each 1 to " << mostInAxis
                       << ", and tiles of at most 2^24 elements";
  return success();
}
