//===- StageText.cpp - A stage as text, and back --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/StageText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

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
    FileLineColLoc place = findSource(op->getLoc());
    auto printed = places.find(op);
    if (!place || printed == places.end() || isa<ModuleOp>(op))
      return;
    size_t line = printed->second.first - 1;
    if (line < remarks.size() && remarks[line].empty())
      remarks[line] = (place.getFilename().getValue() + ":" +
                       Twine(place.getLine()) + ":" + Twine(place.getColumn()))
                          .str();
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

/// Splits "  %x = op ...  // gemm.py:6:20" at the last remark of that form.
static bool splitRemark(StringRef line, StringRef &file, unsigned &row,
                        unsigned &column) {
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

OwningOpRef<ModuleOp> tessera::parseStage(MLIRContext *context, StringRef text,
                                          StringRef name) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                             llvm::SMLoc());
  ParserConfig config(context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, config);
  if (!module)
    return {};
  auto format = (*module)->getAttrOfType<IntegerAttr>(formatAttr);
  if (format && format.getInt() != stageFormatVersion) {
    module->emitError() << "this text has format " << format.getInt()
                        << ", but this compiler reads format "
                        << stageFormatVersion
                        << "; print the stage again with this version";
    return {};
  }
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  module->walk([&](Operation *op) {
    auto place = dyn_cast<FileLineColLoc>(op->getLoc());
    StringRef file;
    unsigned row, column;
    if (!place || place.getLine() == 0 || place.getLine() > lines.size() ||
        !splitRemark(lines[place.getLine() - 1], file, row, column))
      return;
    Location source = FileLineColLoc::get(context, file, row, column);
    op->setLoc(source);
  });
  return module;
}
