//===- Messages.cpp - Texts of checks at the call -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Messages.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

std::string tessera::escapeBraces(StringRef text) {
  std::string escaped;
  for (char c : text)
    escaped.append(c == '{' || c == '}' ? 2 : 1, c);
  return escaped;
}

std::string tessera::placeText(Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place)
    return "";
  return escapeBraces(place.getFilename().getValue()) + ":" +
         std::to_string(place.getLine()) + ":" +
         std::to_string(place.getColumn()) + ": ";
}
