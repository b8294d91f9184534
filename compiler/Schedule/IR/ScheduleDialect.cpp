//===- ScheduleDialect.cpp - Schedule IR: registration, attributes --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/IR/Schedule.h"

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
