//===- ParseRefusals.cpp - What to write for Python that is not here ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A refused construct has no tree, so its fix is made of the user's text: the
// lines under a `try`, a function for a lambda.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ParseText.h"
#include "compiler/Frontend/ParserImpl.h"

#include <algorithm>
#include <cctype>

using namespace tessera::frontend;

bool tessera::frontend::isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::string tessera::frontend::replaceWord(std::string_view text,
                                           std::string_view from,
                                           std::string_view to) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && isWord(text[end]))
      ++end;
    std::string_view word = text.substr(i, std::max<size_t>(end - i, 1));
    bool isName = word == from && (i == 0 || text[i - 1] != '.');
    result += isName ? to : word;
    i += word.size();
  }
  return result;
}

std::vector<std::string>
tessera::frontend::splitAtCommas(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth +=
        (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (depth < 0)
      break;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else if (c != ' ' || !parts.back().empty())
      parts.back() += c;
  }
  if (parts.back().empty())
    parts.pop_back();
  return parts;
}

std::string Parser::getTextToClose() {
  int depth = 0;
  size_t end = 0;
  for (; end < 256; ++end) {
    const Token &token = peek(end);
    std::string_view text = token.text;
    if (token.is(TokenKind::Newline) || token.is(TokenKind::EndOfFile) ||
        token.is(TokenKind::Error))
      break;
    bool closes = text == ")" || text == "]" || text == "}";
    if (closes && depth == 0)
      break;
    depth += closes ? -1 : text == "(" || text == "[" || text == "{";
  }
  return getText(0, end);
}

std::string Parser::getText(size_t first, size_t end) {
  if (first >= end)
    return {};
  SourceRange range = peek(first).range;
  range.end = peek(end - 1).range.end;
  return diags.getSources().getSnippet(range);
}

std::string Parser::getAssignedName(SourcePosition begin,
                                    const std::string &otherwise) const {
  // Indented names alone, then "=".
  std::string line =
      diags.getSources().getSnippet({id, {begin.line, 1}, begin});
  size_t first = line.find_first_not_of(' '), last = line.find_last_not_of(' ');
  if (last == std::string::npos || line[last] != '=' || first == last)
    return otherwise;
  last = line.find_last_not_of(' ', last - 1);
  std::string name = line.substr(first, last - first + 1);
  bool isName = std::ranges::all_of(
      name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return isName ? name : otherwise;
}

std::string Parser::getBlockBelow(SourcePosition begin) const {
  const SourceFile *file = diags.getSources().get(id);
  std::string block;
  size_t indent = 0;
  for (uint32_t number = begin.line + 1; file->hasLine(number); ++number) {
    std::string line = file->getLine(number);
    size_t blanks = line.find_first_not_of(' ');
    if (blanks == std::string::npos)
      continue;
    if (blanks < begin.column) // not deeper than the header
      break;
    if (block.empty())
      indent = blanks;
    if (blanks < indent)
      break;
    block += (block.empty() ? "" : "\n") + line.substr(indent);
  }
  return block;
}

Failure Parser::refuseBlock(SourceRange where, std::string_view construct) {
  std::string block = getBlockBelow(where.begin);
  // The lines in place of all of it.
  constexpr size_t longest = 2000;
  if (block.empty() || block.size() > longest)
    return refuse(where, construct);
  std::string note = "  # without the '" + std::string(construct) +
                     "', which belongs around the call";
  size_t end = std::min(block.find('\n'), block.size());
  return refuse(where, construct, block.insert(end, note));
}

std::string Parser::getOuterFix() const {
  SourcePosition begin = lookahead.front().range.begin;
  std::string block = getBlockBelow(begin);
  std::string header =
      diags.getSources().get(id)->getLine(begin.line).substr(begin.column - 1);
  constexpr size_t longest = 2000;
  if (header.empty() || header.back() != ':' || block.empty() ||
      block.size() > longest)
    return {};
  std::string fix = "outside this function:\n@tsr.function\n" + header;
  for (size_t from = 0; from < block.size();) {
    size_t end = std::min(block.find('\n', from), block.size());
    fix += "\n    " + block.substr(from, end - from);
    from = end + 1;
  }
  return fix;
}

SourcePosition Parser::getEndOfText() {
  int depth = 0;
  for (size_t i = 0; i < 256; ++i) {
    const Token &token = peek(i);
    std::string_view text = token.text;
    bool closes = text == ")" || text == "]" || text == "}";
    if (closes && depth == 0)
      return token.range.end;
    if (token.is(TokenKind::Newline) || token.is(TokenKind::EndOfFile) ||
        token.is(TokenKind::Error))
      return token.range.begin;
    depth += closes ? -1 : text == "(" || text == "[" || text == "{";
  }
  return peek(0).range.begin;
}

/// f(y := x + 1): the assignment, and the line without it.
Failure Parser::refuseWalrus(const Expr &target) {
  SourceRange where = peek().range;
  std::string name = diags.getSources().getSnippet(target.range);
  consume();
  std::string fix = name + " = " + getTextToClose();
  SourcePosition end = getEndOfText(); // behind the bracket that closes it
  std::string line = diags.getSources().get(id)->getLine(where.begin.line);
  if (target.range.begin.line != end.line || end.column < 2 ||
      end.column > line.size() + 1)
    return refuse(where, ":=", fix + "\nand then " + name);
  bool isClosed = line[end.column - 2] == ')';
  std::string before = line.substr(0, target.range.begin.column - 1),
              behind = line.substr(end.column - 1 - isClosed);
  size_t first = before.find_first_not_of(' ');
  if (first != std::string::npos && before.substr(first) == "(" &&
      behind.starts_with(")")) { // parentheses of its own
    before.resize(first);
    behind.erase(0, 1);
    first = std::string::npos;
  }
  if (first != std::string::npos ||
      behind.find_first_not_of(' ') != std::string::npos)
    fix += "\n" + (first == std::string::npos ? "" : before.substr(first)) +
           name + behind;
  return refuse(where, ":=", fix);
}

/// Shows the same function as a tsr.function, if its text can be read.
Failure Parser::refuseLambda() {
  if (failed)
    return {};
  // The tokens are only looked at; brackets are counted.
  int depth = 0;
  size_t colon = 0, end = 1;
  for (; end < 200; ++end) {
    const Token &token = peek(end);
    std::string_view text = token.text;
    if (token.is(TokenKind::EndOfFile) || token.is(TokenKind::Error) ||
        token.is(TokenKind::Newline))
      break;
    bool closes = text == ")" || text == "]" || text == "}";
    if (depth == 0 && (closes || (colon && text == ",")))
      break;
    depth += closes ? -1 : text == "(" || text == "[" || text == "{";
    if (depth == 0 && text == ":" && !colon)
      colon = end;
  }
  if (!colon || end <= colon + 1)
    return refuse(peek().range, "lambda");
  std::string name = getAssignedName(peek().range.begin, "name");
  std::string parameters = getText(1, colon);
  // Names of the function around it that the body uses become parameters.
  std::string text(diags.getSources().get(id)->getText()), more;
  text = text.substr(0, text.find("lambda"));
  for (size_t i = colon + 1; i < end; ++i) {
    const Token &token = peek(i);
    std::string word(token.text);
    bool isFree = token.is(TokenKind::Name) && peek(i - 1).text != "." &&
                  word != "tsr" && word != "math" && word != "np" &&
                  peek(i + 1).text != "(" && peek(i + 1).text != "=";
    std::string known = parameters + ", " + more;
    if (isFree && replaceWord(known, word, "") == known &&
        replaceWord(text, word, "") != text)
      more += (more.empty() ? "" : ", ") + word;
  }
  std::string fix = "outside this function:\n@tsr.function\ndef " + name + "(" +
                    parameters +
                    (more.empty() || parameters.empty() ? "" : ", ") + more +
                    "):\n    return " + getText(colon + 1, end);
  // The call gives them.
  const SourceFile *file = diags.getSources().get(id);
  uint32_t number = peek().range.begin.line + 1;
  for (; !more.empty() && file->hasLine(number); ++number) {
    std::string line = file->getLine(number);
    size_t at = line.find(name + "("), close = line.find(')', at);
    if (at == std::string::npos || close == std::string::npos ||
        (at && isWord(line[at - 1])))
      continue;
    std::string call = line.substr(at, close - at);
    fix += "\nand " + call + ", " + more + ") in place of " + call + ")";
    break;
  }
  return refuse(peek().range, "lambda", fix);
}
