//===- InlinePtx.cpp - Instructions that LLVM hands on as text ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/NVIDIA/InlinePtx.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tessera;

LLVM::InlineAsmOp target::createInlinePtx(OpBuilder &builder, Location loc,
                                          TypeRange results,
                                          ValueRange operands, StringRef text,
                                          StringRef constraints,
                                          bool hasSideEffects) {
  return LLVM::InlineAsmOp::create(
      builder, loc, results, operands, text, constraints, hasSideEffects,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
}

/// Bits of the registers that a letter names; 0 if it names none.
static int64_t bitsOf(StringRef letter) {
  return llvm::StringSwitch<int64_t>(letter)
      .Case("b", 1)
      .Case("h", 16)
      .Cases({"r", "f"}, 32)
      .Cases({"l", "d"}, 64)
      .Default(0);
}

static bool fitsLetter(Type type, StringRef letter) {
  if (letter == "f")
    return type.isF32();
  if (letter == "d")
    return type.isF64();
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return bitsOf(letter) == (pointer.getAddressSpace() == 3 ? 32 : 64) ||
           letter == "l";
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() > 1 &&
           vector.getElementTypeBitWidth() >= 8 &&
           bitsOf(letter) ==
               vector.getNumElements() * vector.getElementTypeBitWidth();
  return (type.isInteger() || type.isF16() || type.isBF16()) &&
         bitsOf(letter) == int64_t(type.getIntOrFloatBitWidth());
}

/// Every '$' of the text is "$$" or the number of a register.
static LogicalResult verifyPlaces(LLVM::InlineAsmOp code, size_t registers) {
  StringRef text = code.getAsmString();
  for (size_t at = text.find('$'); at != StringRef::npos;
       at = text.find('$', at)) {
    StringRef rest = text.drop_front(at + 1);
    at += 1;
    if (rest.consume_front("$")) {
      at += 1;
      continue;
    }
    size_t number;
    if (rest.consumeInteger(10, number) || number >= registers)
      return code.emitError() << "the text names '$"
                              << text.substr(at, 8).take_until(
                                     [](char c) { return !llvm::isAlnum(c); })
                              << "', but its registers are numbered from 0 to "
                              << int64_t(registers) - 1;
  }
  return success();
}

LogicalResult target::verifyInlinePtx(LLVM::InlineAsmOp code) {
  if (code.getIsAlignStack() || code.getOperandAttrs() ||
      code.getTailCallKind() != LLVM::tailcallkind::TailCallKind::None ||
      code.getAsmDialect().value_or(LLVM::AsmDialect::AD_ATT) !=
          LLVM::AsmDialect::AD_ATT)
    return code.emitError() << "inline PTX has a text, constraints and "
                               "has_side_effects, nothing else";
  if (code.getAsmString().contains('\0'))
    return code.emitError() << "a text of inline PTX holds no zero byte";
  SmallVector<Type> types;
  if (Value result = code.getRes()) {
    if (auto fields = dyn_cast<LLVM::LLVMStructType>(result.getType()))
      llvm::append_range(types, fields.getBody());
    else
      types.push_back(result.getType());
  }
  size_t results = types.size();
  llvm::append_range(types, code.getOperandTypes());
  SmallVector<StringRef> letters;
  if (!code.getConstraints().empty())
    code.getConstraints().split(letters, ',');
  if (letters.size() != types.size())
    return code.emitError()
           << "inline PTX with " << letters.size() << " constraints has "
           << types.size() << " results and operands";
  for (auto [i, given] : llvm::enumerate(letters)) {
    StringRef letter = given;
    bool isResult = letter.consume_front("=");
    if (isResult)
      letter.consume_front("&"); // written before all operands are read
    if (isResult != (i < results) || !bitsOf(letter))
      return code.emitError()
             << "'" << given << "' is no constraint of "
             << (i < results ? "a result" : "an operand")
             << " of PTX; there are " << (i < results ? "= and " : "")
             << "b, h, r, l, f and d";
    if (!fitsLetter(types[i], letter))
      return code.emitError()
             << "a register '" << letter << "' does not hold " << types[i];
  }
  return verifyPlaces(code, types.size());
}
