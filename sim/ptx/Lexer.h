// Splits PTX text into tokens that remember their line and column.
//
// An opcode with its modifiers is one token (`ld.global.v4.b32`), because the
// dots inside it bind tighter than anything else; a directive is a token that
// starts with a dot and ends at the next (`.reg.b16` is two tokens).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::sim::ptx {

/// A mistake in the PTX text, or something in it that is not supported.
struct Error : std::runtime_error {
  Error(unsigned line, unsigned column, const std::string &what)
      : std::runtime_error(std::to_string(line) + ":" + std::to_string(column) +
                           ": " + what),
        line(line), column(column), message(what) {}
  unsigned line, column;
  std::string message;
};

struct Token {
  enum Kind : uint8_t {
    End,
    Word,      // identifier, opcode with modifiers
    Directive, // starts with a dot
    Integer,
    Float32, // 0f... (bits)
    Float64, // 0d... or decimal (bits)
    String,
    Punct
  };
  Kind kind = End;
  unsigned line = 0, column = 0;
  std::string_view text;
  uint64_t bits = 0;
  /// Number of the inline assembly it stands in, by LLVM's comments; 0: none.
  unsigned assembly = 0;
};

std::vector<Token> lex(std::string_view text);

} // namespace tessera::sim::ptx
