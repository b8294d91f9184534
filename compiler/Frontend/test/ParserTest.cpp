// Tests of the parser: trees, refusals, errors, limits. That trees are Python's
// is tested in test/frontend.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Frontend/Parser.h"

#include "compiler/Frontend/ASTPrinter.h"

#include <gtest/gtest.h>

using namespace tessera::frontend;

namespace {

struct Parse {
  SourceManager sources;
  DiagnosticEngine diags{sources};
  ASTContext context;

  FileId add(std::string_view text, uint32_t line = 1, uint32_t column = 0) {
    return sources.add("f.py", text, line, column);
  }
  /// The tree without ranges, or the first error as "line:column: message".
  std::string show(const Node *node, bool ranges = false) {
    EXPECT_EQ(node == nullptr, diags.hasErrors());
    if (node) {
      PrintOptions options;
      options.ranges = ranges;
      return printTree(node, options);
    }
    const Diagnostic &error = diags.getDiagnostics().front();
    EXPECT_EQ(diags.getErrorCount(), 1u);
    return std::to_string(error.where.begin.line) + ":" +
           std::to_string(error.where.begin.column) + ": " + error.message;
  }
};

std::string expression(std::string_view text) {
  Parse parse;
  FileId file = parse.add(text);
  return parse.show(
      parseExpression(parse.context, parse.sources, file, parse.diags));
}

std::string module(std::string_view text) {
  Parse parse;
  FileId file = parse.add(text);
  return parse.show(
      parseModule(parse.context, parse.sources, file, parse.diags));
}

/// The error of a statement in a function.
std::string inFunction(const std::string &statement) {
  return module("def f():\n    " + statement + "\n");
}

/// What a text in a function is refused for.
std::string refusedFor(const std::string &statement) {
  Parse parse;
  FileId file = parse.add("def f():\n    " + statement + "\n");
  EXPECT_EQ(parseFunction(parse.context, parse.sources, file, parse.diags),
            nullptr)
      << statement;
  if (!parse.diags.hasErrors())
    return "accepted";
  const Diagnostic &error = parse.diags.getDiagnostics().front();
  EXPECT_FALSE(error.fix.empty() && error.construct != "\\N escape" &&
               error.construct != "surrogate escape")
      << statement;
  EXPECT_NE(error.message.find("is not part of the Tessera language"),
            std::string::npos)
      << error.message;
  return error.construct;
}

TEST(Parser, Precedence) {
  EXPECT_EQ(expression("-x ** -y"),
            "(UnaryOp USub (BinOp (Name \"x\") Pow (UnaryOp USub (Name "
            "\"y\"))))");
  EXPECT_EQ(expression("a ** b ** c"),
            "(BinOp (Name \"a\") Pow (BinOp (Name \"b\") Pow (Name \"c\")))");
  EXPECT_EQ(expression("a - b - c"),
            "(BinOp (BinOp (Name \"a\") Sub (Name \"b\")) Sub (Name \"c\"))");
  EXPECT_EQ(expression("a | b & c @ d"),
            "(BinOp (Name \"a\") BitOr (BinOp (Name \"b\") BitAnd (BinOp (Name "
            "\"c\") MatMult (Name \"d\"))))");
  EXPECT_EQ(expression("not a == b"),
            "(UnaryOp Not (Compare (Name \"a\") [Eq] [(Name \"b\")]))");
  EXPECT_EQ(expression("a < b not in c is not d"),
            "(Compare (Name \"a\") [Lt NotIn IsNot] [(Name \"b\") (Name \"c\") "
            "(Name \"d\")])");
  EXPECT_EQ(expression("a or b or c and d"),
            "(BoolOp Or [(Name \"a\") (Name \"b\") (BoolOp And [(Name \"c\") "
            "(Name \"d\")])])");
  EXPECT_EQ(expression("a if b else c if d else e"),
            "(IfExp (Name \"b\") (Name \"a\") (IfExp (Name \"d\") (Name \"c\") "
            "(Name \"e\")))");
}

TEST(Parser, Constants) {
  Parse parse;
  FileId file =
      parse.add("(1, 0xffffffffffffffff, 1.5, 'a' \"b\", True, None, ...)");
  auto *tuple = checkedCast<Tuple>(
      parseExpression(parse.context, parse.sources, file, parse.diags));
  ASSERT_EQ(tuple->elts.size(), 7u);
  auto at = [&](size_t i) { return checkedCast<Constant>(tuple->elts[i]); };
  EXPECT_EQ(at(0)->intValue, 1);
  EXPECT_EQ(at(1)->intValue, std::nullopt);
  EXPECT_EQ(at(1)->text, "18446744073709551615");
  EXPECT_EQ(at(2)->floatValue, 1.5);
  EXPECT_EQ(at(3)->text, "ab");
  EXPECT_TRUE(at(4)->boolValue);
  EXPECT_EQ(at(5)->type, ConstantKind::None);
  EXPECT_EQ(at(6)->type, ConstantKind::Ellipsis);
  EXPECT_EQ(dynCast<Name>(tuple->elts[0]), nullptr);
}

TEST(Parser, Subscripts) {
  EXPECT_EQ(expression("A[m, :, 1:2:3]"),
            "(Subscript (Name \"A\") (Tuple [(Name \"m\") (Slice - - -) (Slice "
            "(Constant int 1) (Constant int 2) (Constant int 3))]))");
  EXPECT_EQ(expression("A[(m, k)]"), expression("A[m, k]"));
  EXPECT_EQ(expression("A[]"), "1:3: expected an index, found ']'");
}

TEST(Parser, Calls) {
  EXPECT_EQ(expression("f(a, *b, c=1, **d)"),
            "(Call (Name \"f\") [(Name \"a\") (Starred (Name \"b\"))] "
            "[(keyword \"c\" (Constant int 1)) (keyword - (Name \"d\"))])");
  EXPECT_EQ(expression("f(a=1, b)"),
            "1:8: a positional argument cannot follow a keyword argument");
  EXPECT_EQ(expression("f(a.b=1)"),
            "1:6: only a name can stand before '=' in the arguments");
  EXPECT_EQ(expression("f(a b)"),
            "1:5: expected ',' or ')' in the arguments, found 'b'");
}

TEST(Parser, OptionTextsMaySpanLines) {
  EXPECT_EQ(expression("BLOCK_M *\n  BLOCK_N\n"),
            "(BinOp (Name \"BLOCK_M\") Mult (Name \"BLOCK_N\"))");
  EXPECT_EQ(expression("a; b"),
            "1:2: expected the end of the expression, found ';'");
  EXPECT_EQ(expression(""),
            "1:1: expected an expression, found the end of the text");
}

TEST(Parser, Assignments) {
  EXPECT_EQ(module("a, b.c = d[0] = 1,"),
            "(Module [(Assign [(Tuple [(Name \"a\") (Attribute (Name \"b\") "
            "\"c\")]) (Subscript (Name \"d\") (Constant int 0))] (Tuple "
            "[(Constant int 1)]))])");
  EXPECT_EQ(module("(x): int"),
            "(Module [(AnnAssign (Name \"x\") (Name \"int\") - 0)])");
  EXPECT_EQ(module("x @= y"),
            "(Module [(AugAssign (Name \"x\") MatMult (Name \"y\"))])");
  EXPECT_EQ(module("f() = 1"), "1:1: cannot assign to the result of a call");
  EXPECT_EQ(module("(a, 1) = x"), "1:5: cannot assign to a constant");
  EXPECT_EQ(module("a, b += 1"), "1:1: '+=' cannot assign to a tuple");
  EXPECT_EQ(module("a, b: int"), "1:1: only a name, an attribute or an element "
                                 "can have an annotation");
  EXPECT_EQ(module("for f() in x: pass"),
            "1:5: cannot assign to the result of a call");
}

TEST(Parser, ElifIsAnIfInOrelse) {
  EXPECT_EQ(module("if a: pass\nelif b: pass\nelse: pass"),
            "(Module [(If (Name \"a\") [(Pass)] [(If (Name \"b\") [(Pass)] "
            "[(Pass)])])])");
  EXPECT_EQ(module("else: pass"),
            "1:1: 'else' has no 'if' before it on this level");
}

TEST(Parser, Functions) {
  Parse parse;
  FileId file = parse.add("@a\n@b(1)\ndef f(x, /, y: int = 1, *, z) -> t:\n"
                          "  'doc'\n  return\n");
  FunctionDef *f =
      parseFunction(parse.context, parse.sources, file, parse.diags);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->name, "f");
  EXPECT_EQ(f->decorators.size(), 2u);
  EXPECT_EQ(f->range.begin.line, 3u);
  EXPECT_EQ(f->docstring, "doc");
  EXPECT_EQ(f->body.size(), 2u);
  ASSERT_EQ(f->parameters.size(), 3u);
  EXPECT_EQ(f->parameters[0].kind, ParameterKind::PositionalOnly);
  EXPECT_EQ(f->parameters[1].kind, ParameterKind::Regular);
  EXPECT_TRUE(f->parameters[1].defaultValue);
  EXPECT_EQ(f->parameters[2].kind, ParameterKind::KeywordOnly);
}

TEST(Parser, BadParameters) {
  EXPECT_EQ(module("def f(a=1, b): pass"),
            "1:12: 'b' needs a default, since the parameter before it has one");
  EXPECT_EQ(module("def f(a, a): pass"), "1:10: two parameters are called 'a'");
  EXPECT_EQ(module("def f(*): pass"), "1:7: a parameter must follow '*'");
  EXPECT_EQ(module("def f(*,): pass"), "1:7: a parameter must follow '*'");
  EXPECT_EQ(module("def f(a, *,): pass"), "1:10: a parameter must follow '*'");
  EXPECT_EQ(module("def f(/): pass").substr(0, 4), "1:7:");
  EXPECT_EQ(module("def f(*, a, b=1, c): pass").substr(0, 7), "(Module");
}

TEST(Parser, Imports) {
  EXPECT_EQ(module("import tessera as tsr, math\nfrom tessera import (a, b as "
                   "c,)\n"),
            "(Module [(Import [(alias \"tessera\" \"tsr\") (alias \"math\" "
            "-)]) (ImportFrom \"tessera\" [(alias \"a\" -) (alias \"b\" "
            "\"c\")])])");
  EXPECT_EQ(module("import numpy as np"),
            "1:8: module 'numpy' cannot be imported here");
  EXPECT_EQ(module("from math import sqrt"),
            "1:6: names of module 'math' cannot be imported here");
  EXPECT_EQ(module("from . import x"),
            "1:6: a relative import finds nothing here");
  EXPECT_EQ(module("from tessera import *"),
            "1:21: '*' hides which names are imported");
}

TEST(Parser, StatementsRefusedByName) {
  EXPECT_EQ(refusedFor("try: pass"), "try");
  EXPECT_EQ(refusedFor("with a: pass"), "with");
  EXPECT_EQ(refusedFor("class A: pass"), "class");
  EXPECT_EQ(refusedFor("@a\n    class A: pass"), "class");
  EXPECT_EQ(refusedFor("global a"), "global");
  EXPECT_EQ(refusedFor("nonlocal a"), "nonlocal");
  EXPECT_EQ(refusedFor("del a"), "del");
  EXPECT_EQ(refusedFor("raise a"), "raise");
  EXPECT_EQ(refusedFor("async def g(): pass"), "async");
  EXPECT_EQ(refusedFor("import math"), "import");
  EXPECT_EQ(refusedFor("from tessera import a"), "import");
  EXPECT_EQ(refusedFor("def g(): pass"), "nested function");
  EXPECT_EQ(refusedFor("for a in b: pass\n    else: pass"), "for-else");
  EXPECT_EQ(refusedFor("while a: pass\n    else: pass"), "while-else");
  EXPECT_EQ(refusedFor("match x:\n        case 1: pass"), "match");
  EXPECT_EQ(refusedFor("match (x):\n        case 1: pass"), "match");
  EXPECT_EQ(refusedFor("match x, y:\n        case 1: pass"), "match");
  EXPECT_EQ(refusedFor("match -x:\n        case 1: pass"), "match");
  EXPECT_EQ(refusedFor("match not x:\n        case 1: pass"), "match");
}

TEST(Parser, MatchIsAName) {
  for (const char *text : {"match = 1", "match(x)", "match[0]: int", "match.x",
                           "match not in x", "match -x", "match: int", "match"})
    EXPECT_EQ(inFunction(text).substr(0, 7), "(Module") << text;
}

TEST(Parser, ExpressionsRefusedByName) {
  EXPECT_EQ(refusedFor("lambda: 0"), "lambda");
  EXPECT_EQ(refusedFor("yield a"), "yield");
  EXPECT_EQ(refusedFor("x = yield"), "yield");
  EXPECT_EQ(refusedFor("await a"), "await");
  EXPECT_EQ(refusedFor("[a for a in b]"), "list comprehension");
  EXPECT_EQ(refusedFor("{a for a in b}"), "set comprehension");
  EXPECT_EQ(refusedFor("{a: a for a in b}"), "dict comprehension");
  EXPECT_EQ(refusedFor("(a for a in b)"), "generator expression");
  EXPECT_EQ(refusedFor("f(a async for a in b)"), "generator expression");
  EXPECT_EQ(refusedFor("if (a := b): pass"), ":=");
  EXPECT_EQ(refusedFor("a, *b = c"), "starred");
  EXPECT_EQ(refusedFor("a[*b]"), "starred");
  EXPECT_EQ(refusedFor("{a, b}"), "set");
  EXPECT_EQ(refusedFor("{**a}"), "dict unpacking");
  EXPECT_EQ(refusedFor("f'{a}'"), "f-string");
  EXPECT_EQ(refusedFor("'a' b'c'"), "bytes");
  EXPECT_EQ(refusedFor("1j"), "complex");
  EXPECT_EQ(refusedFor("'\\N{DASH}'"), "\\N escape");
  EXPECT_EQ(refusedFor("'\\ud800'"), "surrogate escape");
}

TEST(Parser, VariadicParametersAreRefused) {
  EXPECT_EQ(module("def f(*a): pass"),
            "1:7: a '*' parameter, *a, is not part of the Tessera language");
  EXPECT_EQ(module("def f(**a): pass"),
            "1:7: a '**' parameter, **a, is not part of the Tessera language");
}

TEST(Parser, Errors) {
  EXPECT_EQ(inFunction("x = = 1"),
            "2:9: '=' assigns and cannot stand in an expression");
  EXPECT_EQ(inFunction("if x = 1: pass"),
            "2:10: '=' assigns and cannot stand in a condition");
  EXPECT_EQ(inFunction("for k tsr.tile(K)"),
            "2:11: expected 'in' after the target of 'for', found 'tsr'");
  EXPECT_EQ(inFunction("while x\n        pass"),
            "2:12: expected ':' at the end of the 'while' line, found the end "
            "of the line");
  EXPECT_EQ(inFunction("if x:\n    y"),
            "3:5: expected an indented block after 'if' on line 2");
  EXPECT_EQ(inFunction("x\n        y"),
            "3:9: this line is indented, but no block begins above it");
  EXPECT_EQ(inFunction("print x"),
            "2:11: expected the end of the line, found 'x'");
  EXPECT_EQ(inFunction("x.if"), "2:7: expected a name after '.', found 'if'");
  EXPECT_EQ(module("return 1"), "1:1: 'return' outside a function");
  EXPECT_EQ(inFunction("x = 'abc"),
            "2:9: this string has no closing quote on its line");
}

// The lexer may be ahead of the parser; the first error of the text counts.
TEST(Parser, FirstErrorOfTheTextIsReported) {
  EXPECT_EQ(module("import numpy $"),
            "1:8: module 'numpy' cannot be imported here");
}

// A method of a class, cut out and dedented: positions are those of the file.
TEST(Parser, SegmentPositions) {
  for (bool dedent : {false, true}) {
    Parse parse;
    FileId file =
        dedent ? parse.add("@tsr.kernel\ndef f(x):\n    return x\n", 41, 4)
               : parse.add("    @tsr.kernel\n    def f(x):\n        return x\n"
                           "\n  after $",
                           41);
    EXPECT_EQ(parse.show(parseFunction(parse.context, parse.sources, file,
                                       parse.diags),
                         /*ranges=*/true),
              "(FunctionDef@42:5-43:17 \"f\" [(arg@42:11-42:12 \"x\" - -)] "
              "[(Return@43:9-43:17 (Name@43:16-43:17 \"x\"))] "
              "[(Attribute@41:6-41:16 (Name@41:6-41:9 \"tsr\") \"kernel\")] "
              "-)");
  }
}

TEST(Parser, OnlyAFunctionIsAFunction) {
  Parse parse;
  FileId file = parse.add("f = tsr.function(lambda x: x)\n");
  EXPECT_EQ(parse.show(
                parseFunction(parse.context, parse.sources, file, parse.diags)),
            "1:1: expected a function ('def' or a decorator), found 'f'");
}

std::string repeat(const std::string &part, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += part;
  return result;
}

// However deep the text, an error and not a crash.
TEST(Parser, NestingIsBounded) {
  constexpr size_t many = 100000;
  EXPECT_EQ(expression(repeat("(", many)),
            "1:201: more than 200 brackets are open");
  EXPECT_EQ(expression(repeat("f([{1:", many)).substr(0, 6), "1:400:");
  const char *deep = "this is nested more than 1000 levels deep";
  for (const std::string &text :
       {repeat("-", many) + "x", repeat("not ", many) + "x",
        repeat("x ** ", many) + "x", repeat("x + ", many) + "x",
        repeat("x if c else ", many) + "x", "x" + repeat(".x", many),
        "x" + repeat("()", many), "x" + repeat("[0]", many)})
    EXPECT_NE(expression(text).find(deep), std::string::npos)
        << text.substr(0, 20);
  EXPECT_NE(module("if a: pass\n" + repeat("elif a: pass\n", many)).find(deep),
            std::string::npos);
  std::string nested;
  for (size_t i = 0; i < 300; ++i)
    nested += std::string(i, ' ') + "if a:\n";
  EXPECT_EQ(module(nested), "101:101: more than 100 levels of indentation");
  // Long is not deep.
  EXPECT_EQ(
      module(repeat("x = [" + repeat("1, ", 100) + "]\n", 1000)).substr(0, 7),
      "(Module");
}

} // namespace
