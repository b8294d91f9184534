//===- StageText.cpp - A stage as text, and back --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/StageText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <limits>

using namespace mlir;

static constexpr llvm::StringLiteral stageAttr = "tessera.stage";
static constexpr llvm::StringLiteral formatAttr = "tessera.format";

void tessera::setStage(ModuleOp module, StringRef stage) {
  Builder builder(module.getContext());
  module->setAttr(stageAttr, builder.getStringAttr(stage));
  module->setAttr(formatAttr, builder.getI64IntegerAttr(stageFormatVersion));
}

StringRef tessera::getStage(ModuleOp module) {
  auto attr = module->getAttrOfType<StringAttr>(stageAttr);
  return attr ? attr.getValue() : StringRef();
}

/// The place in the user's source, if the location knows one.
static FileLineColLoc findSource(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location part) {
    if (auto place = dyn_cast<FileLineColLoc>(part)) {
      if (!place.getFilename().getValue().empty() && place.getLine() != 0) {
        found = place;
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return found;
}

std::string tessera::sourcePlace(Location loc) {
  FileLineColLoc place = findSource(loc);
  if (!place)
    return "";
  return (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" +
          Twine(place.getColumn()))
      .str();
}

std::string tessera::printStage(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  AsmState::LocationMap places;
  OpPrintingFlags flags;
  flags.printNameLocAsPrefix();
  AsmState state(module, flags, &places);
  module->print(stream, state);

  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  SmallVector<std::string> remarks(lines.size());
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto printed = places.find(op);
    if (printed == places.end() || isa<ModuleOp>(op))
      return;
    size_t line = printed->second.first - 1;
    if (line < remarks.size() && remarks[line].empty())
      remarks[line] = sourcePlace(op->getLoc());
  });
  std::string result;
  for (auto [line, remark] : llvm::zip(lines, remarks)) {
    result += line;
    if (!remark.empty())
      result += "  // " + remark;
    result += '\n';
  }
  return result;
}

bool tessera::splitRemark(StringRef line, StringRef &file, unsigned &row,
                          unsigned &column) {
  line = line.take_back(1 << 13); // longer than a path
  size_t at = line.rfind("  // ");
  if (at == StringRef::npos)
    return false;
  StringRef rest = line.drop_front(at + 5).rtrim();
  auto [head, last] = rest.rsplit(':');
  auto [name, middle] = head.rsplit(':');
  file = name;
  return !name.empty() && !last.getAsInteger(10, column) &&
         !middle.getAsInteger(10, row);
}

/// "%acc_12" -> "acc": the printer's numbers are given anew.
static StringRef nameAt(llvm::SMRange range) {
  if (!range.isValid())
    return {};
  const char *begin = range.Start.getPointer();
  StringRef name(begin, range.End.getPointer() - begin);
  if (!name.consume_front("%"))
    return {};
  auto [head, number] = name.rsplit('_');
  if (!head.empty() && !number.empty() && llvm::all_of(number, llvm::isDigit))
    name = head;
  return llvm::isDigit(name.front()) ? StringRef() : name;
}

/// Puts the user's names (`NameLoc`) around what the lines say.
static void restoreNames(const AsmParserState &state) {
  auto named = [](Location loc, llvm::SMRange range) -> Location {
    StringRef name = nameAt(range);
    return name.empty()
               ? loc
               : NameLoc::get(StringAttr::get(loc.getContext(), name), loc);
  };
  for (const auto &definition : state.getOpDefs())
    if (!definition.resultGroups.empty())
      definition.op->setLoc(
          named(definition.op->getLoc(),
                definition.resultGroups.front().definition.loc));
  for (const auto &definition : state.getBlockDefs())
    for (auto [argument, place] :
         llvm::zip(definition.block->getArguments(), definition.arguments))
      argument.setLoc(named(argument.getLoc(), place.loc));
}

/// What the module says about itself must be what this compiler reads.
static LogicalResult checkHeader(ModuleOp module) {
  auto format = module->getAttrOfType<IntegerAttr>(formatAttr);
  if (!format || tessera::getStage(module).empty())
    return module->emitError()
           << "this text does not say its "
           << (format ? "stage" : "format version")
           << "; a stage begins with 'module attributes {tessera.format = "
           << tessera::stageFormatVersion << " : i64, tessera.stage = ...}'";
  if (format.getInt() != tessera::stageFormatVersion)
    return module->emitError()
           << "this text has format " << format.getInt()
           << ", but this compiler reads format " << tessera::stageFormatVersion
           << "; print the stage again with this version";
  return success();
}

/// MLIR's parser and verifier look at the lower 32 bits of a field's position
/// (llvm.extractvalue, llvm.insertvalue) and then use all of them.
static constexpr uint64_t maxPosition = std::numeric_limits<uint32_t>::max();
static constexpr const char *beyondPositions =
    "a position of a value's field has at most 32 bits";

/// Is text[open], a '[', the list of positions of "%name[", one too large?
static bool hasLargePosition(StringRef text, size_t open) {
  StringRef before = text.take_front(open).rtrim();
  size_t name = before.find_last_not_of("0123456789abcdefghijklmnopqrstuvwxyz"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ_$.-#");
  if (name == StringRef::npos || before[name] != '%')
    return false;
  StringRef list =
      text.drop_front(open + 1).take_until([](char c) { return c == ']'; });
  SmallVector<StringRef> numbers;
  list.split(numbers, ',');
  return llvm::any_of(numbers, [](StringRef number) {
    number = number.trim();
    bool hex = number.consume_front("0x");
    number = number.take_while([](char c) { return llvm::isHexDigit(c); })
                 .ltrim('0');
    uint64_t value;
    return number.size() > 10 ||
           (!number.getAsInteger(hex ? 16 : 10, value) && value > maxPosition);
  });
}

/// The same for ops in generic form, whose positions the parser does not use.
static LogicalResult checkPositions(ModuleOp module) {
  WalkResult result = module->walk([](Operation *op) -> WalkResult {
    auto position = op->getAttrOfType<DenseI64ArrayAttr>("position");
    if (!position || llvm::all_of(position.asArrayRef(), [](int64_t at) {
          return at <= int64_t(maxPosition);
        }))
      return WalkResult::advance();
    return op->emitError() << beyondPositions;
  });
  return failure(result.wasInterrupted());
}

std::string tessera::findExcess(StringRef text, unsigned &line,
                                unsigned &column) {
  // The target stage of a program with 2,000 ops has 140,000 lines, 13 MB and
  // is nested 20 deep.
  constexpr size_t maxBytes = 64 << 20, maxOps = 500000, maxDepth = 200;
  line = column = 1;
  if (text.size() > maxBytes)
    return "this text has " + std::to_string(text.size() >> 20) +
           " megabytes; a stage has at most " + std::to_string(maxBytes >> 20);
  size_t depth = 0, definitions = 0, lineStart = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (c) {
    case '\n':
      ++line;
      lineStart = i + 1;
      break;
    case '"': // a string, up to its end or the end of the line
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      if (i < text.size() && text[i] == '\n')
        --i;
      break;
    case '/':
      if (next == '/') // a comment
        i = std::min(text.find('\n', i), text.size()) - 1;
      break;
    case '-':
    case '>':
    case '=':
      definitions += c == '=' && next == ' ';
      if (c == '-' && next == '>')
        ++i;
      else if (c == '>' && next != '=' && depth > 0)
        --depth;
      break;
    case '[':
      if (hasLargePosition(text, i)) {
        column = unsigned(i - lineStart + 1);
        return beyondPositions;
      }
      ++depth;
      break;
    case '(':
    case '{':
    case '<':
      ++depth;
      break;
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    }
    column = unsigned(i - lineStart + 1);
    if (depth > maxDepth)
      return "this is nested more than " + std::to_string(maxDepth) +
             " levels deep";
    if (std::max<size_t>(definitions, line) > maxOps)
      return "this text has more than " + std::to_string(maxOps) + " ops";
  }
  return {};
}

OwningOpRef<ModuleOp> tessera::parseStage(MLIRContext *context, StringRef text,
                                          StringRef name) {
  unsigned line, column;
  if (std::string excess = findExcess(text, line, column); !excess.empty()) {
    emitError(FileLineColLoc::get(context, name, line, column)) << excess;
    return {};
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                             llvm::SMLoc());
  // Verified below, when locations are the user's.
  ParserConfig config(context, /*verifyAfterParse=*/false);
  AsmParserState state;
  Block parsed;
  if (failed(parseAsmSourceFile(sources, &parsed, config, &state)))
    return {};
  auto first = parsed.empty() ? ModuleOp() : dyn_cast<ModuleOp>(parsed.front());
  if (!first || !llvm::hasSingleElement(parsed)) {
    emitError(FileLineColLoc::get(context, name, 1, 1))
        << "a stage is one module, this text has "
        << std::distance(parsed.begin(), parsed.end()) << " top-level ops";
    return {};
  }
  first->remove();
  OwningOpRef<ModuleOp> module(first);
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  module->walk([&](Operation *op) {
    auto place = dyn_cast<FileLineColLoc>(op->getLoc());
    StringRef file;
    unsigned row, column;
    if (!place || place.getLine() == 0 || place.getLine() > lines.size() ||
        !splitRemark(lines[place.getLine() - 1], file, row, column))
      return;
    // The user's place first: it is the one that is printed.
    Location source = FileLineColLoc::get(context, file, row, column);
    op->setLoc(FusedLoc::get(context, {source, place}));
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setLoc(op->getLoc());
  });
  restoreNames(state);
  if (failed(checkHeader(*module)) || failed(checkPositions(*module)) ||
      failed(verify(*module)))
    return {};
  return module;
}
