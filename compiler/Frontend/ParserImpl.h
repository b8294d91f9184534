//===- ParserImpl.h - The recursive descent parser --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the parser: Parser.cpp has tokens, errors and entry points,
// ParseExpressions.cpp and ParseStatements.cpp one method per rule of Python's
// grammar. A method returns null (or false) after an error; the first error is
// reported and the rest of the parse is abandoned.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_PARSERIMPL_H
#define TESSERA_COMPILER_FRONTEND_PARSERIMPL_H

#include "compiler/Frontend/Parser.h"
#include "compiler/Frontend/Preprocessor.h"

#include <deque>
#include <initializer_list>

namespace tessera::frontend {

/// What the text is, and so what may stand in it.
enum class TextKind : uint8_t { Module, Function, Expression };

/// What a method returns after an error: null or false.
struct Failure {
  template <typename T> operator T *() const { return nullptr; }
  operator bool() const { return false; }
};

class Parser {
public:
  Parser(ASTContext &context, const SourceFile &file, FileId id,
         DiagnosticEngine &diags, const ParserOptions &options, TextKind kind);

  Module *parseModule();
  FunctionDef *parseOnlyFunction();
  Expr *parseOnlyExpression();

private:
  /// Bounds the recursion for as long as it lives.
  class Level {
  public:
    explicit Level(Parser &parser) : parser(parser) { ++parser.level; }
    ~Level() { --parser.level; }
    /// False, with an error, if the bound is passed.
    bool check() { return parser.checkDepth(parser.level); }

  private:
    Parser &parser;
  };

  //===--- Tokens ---------------------------------------------------------===//

  const Token &peek(size_t ahead = 0);
  bool at(TokenKind kind) { return peek().is(kind); }
  Token consume();
  bool consumeIf(TokenKind kind);
  /// Consumes a token of this kind, or says that it is missing after `after`.
  bool expect(TokenKind kind, const char *after);

  /// From `begin` to the end of the last token that is not white space; that is
  /// how Python's parser sets the range of every node.
  SourceRange rangeFrom(SourcePosition begin) const {
    return {id, begin, lastEnd};
  }

  //===--- Errors ---------------------------------------------------------===//

  Failure error(SourceRange where, std::string message, std::string fix = {});
  Failure unexpected(const std::string &expected);
  /// At an Error token: passes on what the lexer or the preprocessor said.
  Failure passOnTokenError();
  /// Refuses a construct of Python by its name in the table of refusals; a fix
  /// replaces the table's.
  /// `name`: what the user called the thing, for the message.
  Failure refuse(SourceRange where, std::string_view construct,
                 std::string fix = {}, std::string name = {});
  /// The text from here to the bracket that closes what is open.
  std::string getTextToClose();
  /// The text of the tokens ahead, from the one number `first` to before `end`.
  std::string getText(size_t first, size_t end);
  /// Where that bracket, or else the line, ends.
  SourcePosition getEndOfText();
  /// The lines under a header, without their indentation.
  std::string getBlockBelow(SourcePosition begin) const;
  /// Refuses `try` or `with`; the fix is what stands in it.
  Failure refuseBlock(SourceRange where, std::string_view construct);
  /// At an import: the same line where imports belong.
  std::string getImportFix();
  /// At a `def` in a block: the same function outside.
  std::string getOuterFix() const;
  Failure refuseLambda();
  Failure refuseWalrus(const Expr &target);
  /// "parts" for what stands behind `parts =` on its line, else `otherwise`.
  std::string getAssignedName(SourcePosition begin,
                              const std::string &otherwise) const;
  /// ParseComprehensions.cpp: at the `for`, `element` being what stands before
  /// it; `where` is the same for an argument without brackets of its own.
  Failure refuseComprehension(SourceRange where, SourceRange element,
                              std::string_view construct);
  bool checkDepth(uint32_t depth);
  bool checkStatements();
  /// Of elements of a display, or arguments of a call.
  bool checkCount(size_t count);
  bool checkNameLength(const Token &name);

  //===--- Nodes ----------------------------------------------------------===//

  template <typename T> T *create(SourcePosition begin) {
    return context.create<T>(rangeFrom(begin));
  }
  /// Sets the depth of an expression from its parts (which may be null); null,
  /// with an error, if it is nested too deeply.
  template <typename T>
  T *nest(T *expr, std::initializer_list<const Expr *> parts) {
    for (const Expr *part : parts)
      if (part && part->depth >= expr->depth)
        expr->depth = part->depth + 1;
    return checkDepth(expr->depth) ? expr : nullptr;
  }
  template <typename T> T *nest(T *expr, const std::vector<Expr *> &parts) {
    for (const Expr *part : parts)
      nest(expr, {part});
    return failed ? nullptr : expr;
  }

  //===--- Expressions ----------------------------------------------------===//

  /// a | a, b | a, ; the caller knows that an expression must follow.
  Expr *parseExpressionList();
  /// An element of a display or a list of expressions: no `*`, no `:=`.
  Expr *parseElement();
  Expr *parseExpression();
  Expr *parseBoolOp(BoolOperator op);
  Expr *parseInversion();
  Expr *parseComparison();
  Expr *parseBinary(unsigned minPrecedence);
  Expr *parseUnary();
  Expr *parsePower();
  Expr *parsePrimary();
  Expr *parseAtom();
  Expr *parseNumber();
  Expr *parseStrings();
  Expr *parseParenthesised();
  Expr *parseListDisplay();
  Expr *parseBraces();
  Expr *parseCall(Expr *func, SourcePosition begin);
  bool parseArgument(Call *call, bool &unpacked);
  Expr *parseSubscript(Expr *value, SourcePosition begin);
  Expr *parseSlice();
  bool atComprehension();
  bool atExpressionStart();

  //===--- Statements -----------------------------------------------------===//

  bool parseStatement(Body &body);
  bool parseSimpleStatements(Body &body);
  Stmt *parseSimpleStatement();
  Stmt *parseExpressionStatement();
  Stmt *parseAnnAssign(Expr *target, const Token &first);
  Stmt *parseAugAssign(Expr *target, BinaryOperator op, SourcePosition begin);
  Stmt *parseAssign(Expr *target, SourcePosition begin);
  Stmt *parseReturn();
  Stmt *parseAssert();
  Stmt *parseImport();
  Stmt *parseImportFrom();
  bool parseImportedName(ImportedName &name);
  Stmt *parseIf();
  Stmt *parseWhile();
  Stmt *parseFor();
  Expr *parseTargetList();
  FunctionDef *parseFunctionDef();
  bool parseDecorators(std::vector<Expr *> &decorators);
  bool parseParameters(FunctionDef *function);
  bool parseParameter(FunctionDef *function, ParameterKind kind);
  bool parseBlock(Body &body, const Token &header);
  bool checkTarget(const Expr *target);
  bool isMatchStatement();

  ASTContext &context;
  FileId id;
  DiagnosticEngine &diags;
  ParserOptions options;
  TextKind kind;
  // The lexer may be ahead of the parser; its error counts when the parser gets
  // there, unless the parser finds one before.
  DiagnosticEngine tokenDiags;
  Preprocessor preprocessor;
  std::deque<Token> lookahead;
  SourcePosition lastEnd;
  bool failed = false;
  uint32_t level = 0;
  uint32_t blockDepth = 0;
  bool inFunction = false;
  uint32_t statements = 0; // of this function so far
};

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_PARSERIMPL_H
