//===- Messages.h - Texts of checks at the call -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The call reports what a check finds. Its text says where in the body it
// stands, and braces in it hold values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_SUPPORT_MESSAGES_H
#define TESSERA_COMPILER_SUPPORT_MESSAGES_H

#include "mlir/IR/Location.h"

#include <string>

namespace tessera {

/// A text in which braces are meant.
std::string escapeBraces(llvm::StringRef text);

/// "file.py:3:5: ", with which the text of a check begins; nothing if the
/// place is not known.
std::string placeText(mlir::Location location);

} // namespace tessera

#endif // TESSERA_COMPILER_SUPPORT_MESSAGES_H
