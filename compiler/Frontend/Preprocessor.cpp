//===- Preprocessor.cpp - Logical lines, indentation, imports -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Preprocessor.h"

using namespace tessera::frontend;

Token Preprocessor::fail(const Token &token, std::string message,
                         std::string fix, const Token *other) {
  Diagnostic &error = diags.error(token.range, std::move(message));
  error.setFix(std::move(fix));
  if (other)
    error.addNote(other->range, describeToken(other->kind) + " is opened here");
  held = token;
  held.kind = TokenKind::Error;
  hasHeld = true;
  return held;
}

/// Emits one token now and another one after it.
Token Preprocessor::hold(Token emitted, const Token &later) {
  held = later;
  hasHeld = true;
  return emitted;
}

Token Preprocessor::next() {
  if (hasHeld && held.is(TokenKind::Error))
    return held;
  if (pendingDedents) {
    --pendingDedents;
    Token dedent = held;
    dedent.kind = TokenKind::Dedent;
    return dedent;
  }
  if (hasHeld) {
    // The end of the text is held for ever.
    hasHeld = held.is(TokenKind::EndOfFile);
    trackBracket(held);
    return held;
  }

  while (true) {
    Token token = lexer.next();
    switch (token.kind) {
    case TokenKind::Comment:
    case TokenKind::LineJoin:
      continue;
    case TokenKind::Error:
      return hold(token, token);
    case TokenKind::Newline:
      if (options.singleLine || !brackets.empty())
        continue;
      if (atLineStart) {
        lineStart = token.offset + 1;
        continue;
      }
      atLineStart = true;
      lineStart = token.offset + 1;
      return token;
    case TokenKind::EndOfFile: {
      if (!brackets.empty())
        return fail(brackets.back(),
                    describeToken(brackets.back().kind) + " is never closed");
      pendingDedents = levels.empty() ? 0 : levels.size() - 1;
      levels.resize(levels.empty() ? 0 : 1);
      hasHeld = true;
      held = token;
      if (atLineStart)
        return next();
      atLineStart = true;
      token.kind = TokenKind::Newline;
      return token;
    }
    default:
      break;
    }
    if (atLineStart && !options.singleLine)
      return startLine(token);
    atLineStart = false;
    trackBracket(token);
    return hasHeld ? held : token;
  }
}

/// False after an error, which is then the held token.
bool Preprocessor::trackBracket(const Token &token) {
  TokenKind opening;
  switch (token.kind) {
  case TokenKind::LeftParen:
  case TokenKind::LeftBracket:
  case TokenKind::LeftBrace:
    if (brackets.size() >= options.maxBrackets) {
      fail(token,
           "more than " + std::to_string(options.maxBrackets) +
               " brackets are open",
           "give a part of the expression a name");
      return false;
    }
    brackets.push_back(token);
    return true;
  case TokenKind::RightParen:
    opening = TokenKind::LeftParen;
    break;
  case TokenKind::RightBracket:
    opening = TokenKind::LeftBracket;
    break;
  case TokenKind::RightBrace:
    opening = TokenKind::LeftBrace;
    break;
  default:
    return true;
  }
  if (brackets.empty()) {
    fail(token, describeToken(token.kind) + " closes nothing");
    return false;
  }
  Token open = brackets.back();
  brackets.pop_back();
  if (open.is(opening))
    return true;
  fail(token,
       describeToken(token.kind) + " does not close " +
           describeToken(open.kind),
       {}, &open);
  return false;
}

Preprocessor::Indentation Preprocessor::measure(size_t end) const {
  Indentation result;
  std::optional<Indentation> joined;
  std::string_view text = lexer.getText();
  for (size_t i = lineStart; i < end; ++i) {
    switch (text[i]) {
    case '\t':
      result.column = (result.column / 8 + 1) * 8;
      ++result.alternative;
      break;
    case '\f':
      result = {};
      break;
    case '\\':
      // A line that begins with a backslash join has the indentation of its
      // first part, unless that is empty.
      if (!joined && result.column)
        joined = Indentation{result.column, result.column};
      break;
    case '\n':
      break;
    default:
      ++result.column;
      ++result.alternative;
    }
  }
  return joined.value_or(result);
}

/// The first token of a logical line: compares the indentation with the open
/// levels.
Token Preprocessor::startLine(const Token &first) {
  atLineStart = false;
  Indentation indentation = measure(first.offset);
  const char *mixed = "tabs and blanks are mixed in the indentation";
  const char *blanks = "indent with four blanks per level";
  if (levels.empty())
    levels.push_back(options.segment ? indentation : Indentation{});

  Indentation &current = levels.back();
  if (indentation.column == current.column) {
    if (indentation.alternative != current.alternative)
      return fail(first, mixed, blanks);
    trackBracket(first);
    return hasHeld ? held : first;
  }
  if (indentation.column > current.column) {
    if (indentation.alternative <= current.alternative)
      return fail(first, mixed, blanks);
    if (levels.size() >= options.maxIndents)
      return fail(first, "more than " + std::to_string(options.maxIndents) +
                             " levels of indentation");
    levels.push_back(indentation);
    Token indent = first;
    indent.kind = TokenKind::Indent;
    return hold(indent, first);
  }

  if (options.segment && indentation.column < levels.front().column) {
    // The function ended; what follows is not ours to read.
    pendingDedents = levels.size() - 1;
    levels.resize(1);
    held = first;
    held.kind = TokenKind::EndOfFile;
    hasHeld = true;
    return next();
  }
  while (levels.size() > 1 && indentation.column < levels.back().column) {
    levels.pop_back();
    ++pendingDedents;
  }
  if (indentation.column != levels.back().column)
    return fail(first, "this indentation fits no line above");
  if (indentation.alternative != levels.back().alternative)
    return fail(first, mixed, blanks);
  held = first;
  hasHeld = true;
  return next();
}

//===----------------------------------------------------------------------===//
// Imports
//===----------------------------------------------------------------------===//

std::optional<KnownModule>
tessera::frontend::resolveImport(std::string_view name, bool from) {
  if (name == "tessera")
    return KnownModule::Tessera;
  // `math` stays a prefix, so that `sqrt` is always the one of tiles.
  if (name == "math" && !from)
    return KnownModule::Math;
  return std::nullopt;
}
