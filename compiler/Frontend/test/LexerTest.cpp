// Tests of the lexer, the preprocessor and the values of literals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Frontend/Literals.h"
#include "compiler/Frontend/Preprocessor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tessera::frontend;

namespace {

/// Tokens after the preprocessor, one word each; an error is its message.
std::string tokens(std::string_view text, PreprocessorOptions options = {}) {
  SourceManager sources;
  FileId id = sources.add("f.py", text);
  DiagnosticEngine diags(sources);
  Preprocessor preprocessor(*sources.get(id), id, diags, options);
  std::string result;
  while (true) {
    Token token = preprocessor.next();
    switch (token.kind) {
    case TokenKind::EndOfFile:
      // The end stays the end.
      EXPECT_TRUE(preprocessor.next().is(TokenKind::EndOfFile));
      return result;
    case TokenKind::Error:
      EXPECT_TRUE(preprocessor.next().is(TokenKind::Error));
      EXPECT_EQ(diags.getErrorCount(), 1u);
      return result + "error: " + diags.getDiagnostics()[0].message;
    case TokenKind::Newline:
      result += "; ";
      break;
    case TokenKind::Indent:
      result += "> ";
      break;
    case TokenKind::Dedent:
      result += "< ";
      break;
    default:
      result += std::string(token.text) + ' ';
    }
  }
}

std::string position(std::string_view text, size_t index) {
  SourceManager sources;
  FileId id = sources.add("f.py", text);
  DiagnosticEngine diags(sources);
  Lexer lexer(*sources.get(id), id, diags);
  Token token;
  for (size_t i = 0; i <= index; ++i)
    token = lexer.next();
  auto show = [](SourcePosition p) {
    return std::to_string(p.line) + ":" + std::to_string(p.column);
  };
  return show(token.range.begin) + "-" + show(token.range.end);
}

TEST(Lexer, Operators) {
  EXPECT_EQ(tokens("a**=b//c<<=d>>e->f:=g...h!=i@=j~k"),
            "a **= b // c <<= d >> e -> f := g ... h != i @= j ~ k ; ");
  EXPECT_EQ(tokens("a ? b"), "a error: '?' has no meaning here");
  EXPECT_EQ(tokens("!a"), "error: '!' is not an operator");
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(tokens("0 00 1_0 0x_fF 0o17 0B1 1. .5 1e5 1E-5 1_0.0_1e+1_0 2j"),
            "0 00 1_0 0x_fF 0o17 0B1 1. .5 1e5 1E-5 1_0.0_1e+1_0 2j ; ");
  // A keyword may follow at once.
  EXPECT_EQ(tokens("1if x else 1or 2"), "1 if x else 1 or 2 ; ");
  EXPECT_EQ(tokens("0x1for x"), "0x1f or x ; ");
  EXPECT_EQ(tokens("1..real"), "1. . real ; ");
}

TEST(Lexer, BadNumbers) {
  for (const char *text : {"1_", "1__0", "1._5", "1e5_", "1x", "1e+", "1_e5"})
    EXPECT_EQ(tokens(text), "error: invalid decimal number") << text;
  EXPECT_EQ(tokens("012"), "error: a decimal number cannot begin with 0");
  EXPECT_EQ(tokens("0o8"), "error: invalid octal number");
  EXPECT_EQ(tokens("0o18"), "error: invalid digit in this octal number");
  EXPECT_EQ(tokens("0b2"), "error: invalid binary number");
  EXPECT_EQ(tokens("0xg"), "error: invalid hexadecimal number");
}

TEST(Lexer, Strings) {
  EXPECT_EQ(tokens("'a' \"b'\" '\\'' r'\\' x'"),
            "'a' \"b'\" '\\'' r'\\' x' ; ");
  EXPECT_EQ(tokens("'''a\n'b''' rB\"\" Fr'' u''"),
            "'''a\n'b''' rB\"\" Fr'' u'' ; ");
  EXPECT_EQ(tokens("'a\nb'"),
            "error: this string has no closing quote on its line");
  EXPECT_EQ(tokens("'''a\nb"), "error: this string has no closing quotes");
  EXPECT_EQ(tokens("'a\\\nb'"), "'a\\\nb' ; ");
  // No prefix, but a name and a string.
  EXPECT_EQ(tokens("bu''"), "bu '' ; ");
}

TEST(Lexer, Names) {
  EXPECT_EQ(tokens("größe 日本 _x9 match"), "größe 日本 _x9 match ; ");
  EXPECT_EQ(tokens("a€"), "error: this character cannot stand in a name");
  EXPECT_EQ(tokens("a\xff"), "error: the text is not UTF-8 here");
  // The ligature is two letters to Python.
  EXPECT_EQ(tokens("\ufb01x"),
            "error: Python reads this character of a name as another one; it "
            "is not part of the Tessera language");
  EXPECT_EQ(tokens(std::string_view("a\0b", 3)),
            "a error: the text holds a null byte");
}

TEST(Lexer, PositionsCountCharacters) {
  EXPECT_EQ(position("\"日本\" + é", 0), "1:1-1:5");
  EXPECT_EQ(position("\"日本\" + é", 2), "1:8-1:9");
  EXPECT_EQ(position("\tx", 0), "1:2-1:3");
  EXPECT_EQ(position("'''a\nb''' c", 0), "1:1-2:5");
  EXPECT_EQ(position("'''a\nb''' c", 1), "2:6-2:7");
}

TEST(Preprocessor, JoinsLines) {
  EXPECT_EQ(tokens("a = 1 + \\\n  2\nb"), "a = 1 + 2 ; b ; ");
  EXPECT_EQ(tokens("f(a, # c\n\n  [b,\nc])\nd"), "f ( a , [ b , c ] ) ; d ; ");
  EXPECT_EQ(tokens("a \\ b"),
            "a error: unexpected character after the line continuation");
  EXPECT_EQ(tokens("a \\"), "a error: the text ends after a line continuation");
}

TEST(Preprocessor, Brackets) {
  EXPECT_EQ(tokens("(a]"), "( a error: ']' does not close '('");
  EXPECT_EQ(tokens("a)"), "a error: ')' closes nothing");
  EXPECT_EQ(tokens("f(a\nb"), "f ( a b error: '(' is never closed");
  EXPECT_EQ(tokens("if x:\n  )"), "if x : ; > error: ')' closes nothing");
  PreprocessorOptions options;
  options.maxBrackets = 2;
  EXPECT_EQ(tokens("(((", options), "( ( error: more than 2 brackets are open");
}

TEST(Preprocessor, Indentation) {
  EXPECT_EQ(tokens("if a:\n  b\n\n  # c\n  if d:\n  \te\nf"),
            "if a : ; > b ; if d : ; > e ; < < f ; ");
  EXPECT_EQ(tokens("if a:\n    b\n  c"),
            "if a : ; > b ; error: this indentation fits no line above");
  // Eight blanks and a tab are the same column only for some editors.
  EXPECT_EQ(tokens("if a:\n        b\n\tc"),
            "if a : ; > b ; error: tabs and blanks are mixed in the "
            "indentation");
  EXPECT_EQ(tokens("if a:\n\tb\n\f\tc"), "if a : ; > b ; c ; < ");
  EXPECT_EQ(tokens("if a:\n  \\\n b\n  c"), "if a : ; > b ; c ; < ");
  EXPECT_EQ(tokens("  # only a comment"), "");
  EXPECT_EQ(tokens(""), "");
}

TEST(Preprocessor, SegmentBeginsAtItsFirstLine) {
  PreprocessorOptions options;
  options.segment = true;
  EXPECT_EQ(tokens("    def f():\n        a\n    b\n  c\n", options),
            "def f ( ) : ; > a ; < b ; ");
  EXPECT_EQ(
      tokens("    def f():\n        a\n  $ not ours", options).substr(0, 22),
      "def f ( ) : ; > a ; er");
}

TEST(Preprocessor, Imports) {
  EXPECT_TRUE(resolveImport("tessera", false));
  EXPECT_TRUE(resolveImport("tessera", true));
  EXPECT_TRUE(resolveImport("math", false));
  EXPECT_FALSE(resolveImport("math", true));
  EXPECT_FALSE(resolveImport("numpy", false));
}

TEST(Literals, Integers) {
  EXPECT_EQ(decodeInt("1_000"), "1000");
  EXPECT_EQ(decodeInt("000"), "0");
  EXPECT_EQ(decodeInt("0x_7fff_ffff_ffff_ffff"), "9223372036854775807");
  EXPECT_EQ(decodeInt("0x10000000000000000"), "18446744073709551616");
  EXPECT_EQ(decodeInt("0b1000000000000000000000000000000"), "1073741824");
  EXPECT_EQ(decodeInt("0o7777777777777777777777"), "73786976294838206463");
  EXPECT_EQ(toInt64("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(toInt64("9223372036854775808"), std::nullopt);
  EXPECT_TRUE(decodeInt(std::string(maxIntDigits, '9')));
  EXPECT_FALSE(decodeInt(std::string(maxIntDigits + 1, '9')));
}

TEST(Literals, Floats) {
  EXPECT_EQ(decodeFloat("0.1"), 0.1);
  EXPECT_EQ(decodeFloat("1_0.2_5e1_0"), 10.25e10);
  EXPECT_EQ(decodeFloat("1."), 1.0);
  EXPECT_EQ(decodeFloat("5e-324"), 5e-324);
  EXPECT_EQ(decodeFloat("1e-400"), 0.0);
  EXPECT_EQ(decodeFloat("1e999999999999999999999"), INFINITY);
  EXPECT_EQ(decodeFloat("1e-999999999999999999999"), 0.0);
  EXPECT_EQ(decodeFloat("0e999999999999999999999"), 0.0);
  EXPECT_EQ(decodeFloat("0." + std::string(400, '0') + "1e401"), 1.0);
  EXPECT_EQ(decodeFloat("1" + std::string(400, '0') + ".0"), INFINITY);
}

std::string decoded(std::string_view literal) {
  std::string value;
  std::optional<StringError> error = decodeString(literal, value);
  return error ? "error: " + error->message : value;
}

TEST(Literals, Strings) {
  EXPECT_EQ(decoded("'a\\n\\t\\\\\\'\\x41\\101\\u00e9\\U0001F600'"),
            "a\n\t\\'AAé😀");
  EXPECT_EQ(decoded("r'\\n\\''"), "\\n\\'");
  EXPECT_EQ(decoded("'\\d\\é'"), "\\d\\é");
  EXPECT_EQ(decoded("'a\\\nb'"), "ab");
  EXPECT_EQ(decoded("''''''"), "");
  EXPECT_EQ(decoded("'''a\n'b'''"), "a\n'b");
  EXPECT_EQ(decoded("'\\0'"), std::string(1, '\0'));
  EXPECT_EQ(decoded("'\\777'"), "ǿ");
  EXPECT_EQ(decoded("'\\x4'"), "error: \\x needs 2 hexadecimal digits");
  EXPECT_EQ(decoded("'\\U00110000'"), "error: \\U stops at \\U0010ffff");
}

} // namespace
