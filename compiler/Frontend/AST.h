//===- AST.h - The syntax tree of a Tessera program -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tree has the shape, the field names and the ranges of Python's own `ast`
// module; what Python has and Tessera has not is refused by the parser and has
// no node. Three differences:
//   * expression contexts (Load, Store) are not kept: a target is where it is;
//   * parameters are one list in source order, each with its kind;
//   * a function's docstring is also a field (the statement stays in the body).
//
// Nodes belong to an ASTContext and live as long as it does; they point at each
// other with plain pointers. `is<T>`, `dynCast<T>` and `checkedCast<T>` look at
// the kind. No node is nested deeper than ParserOptions::maxDepth, so recursive
// walks are safe.
//
//   if (auto *call = dynCast<Call>(expr))
//     for (const Keyword &keyword : call->keywords) ...
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_AST_H
#define TESSERA_COMPILER_FRONTEND_AST_H

#include "compiler/Frontend/SourceFile.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::frontend {

enum class NodeKind : uint8_t {
  // Expressions.
  Name,
  Constant,
  Attribute,
  Subscript,
  Slice,
  Starred,
  Call,
  BinOp,
  UnaryOp,
  BoolOp,
  Compare,
  IfExp,
  Tuple,
  List,
  Dict,
  // Statements.
  Assign,
  AugAssign,
  AnnAssign,
  For,
  While,
  If,
  Assert,
  Return,
  ExprStmt,
  Pass,
  Break,
  Continue,
  FunctionDef,
  Import,
  ImportFrom,
  // The whole file.
  Module,
};

/// The name of the node as Python's `ast` spells it: "BinOp", "Expr", ...
const char *getNodeName(NodeKind kind);

struct Node {
  const NodeKind kind;
  SourceRange range;

  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;
  virtual ~Node() = default;

protected:
  Node(NodeKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// Any expression. `depth` is 1 for a leaf; the parser bounds it.
struct Expr : Node {
  uint32_t depth = 1;

  static bool classof(const Node *node) { return node->kind <= NodeKind::Dict; }

protected:
  using Node::Node;
};

struct Stmt : Node {
  static bool classof(const Node *node) {
    return node->kind >= NodeKind::Assign && node->kind < NodeKind::Module;
  }

protected:
  using Node::Node;
};

template <typename T> bool is(const Node *node) {
  return node && T::classof(node);
}

/// The node as a T, or null if it is something else (or null).
template <typename T> T *dynCast(Node *node) {
  return is<T>(node) ? static_cast<T *>(node) : nullptr;
}
template <typename T> const T *dynCast(const Node *node) {
  return is<T>(node) ? static_cast<const T *>(node) : nullptr;
}

/// The node as a T; anything else is our mistake and stops the program in every
/// build.
template <typename T> T *checkedCast(Node *node) {
  if (!is<T>(node))
    std::abort();
  return static_cast<T *>(node);
}
template <typename T> const T *checkedCast(const Node *node) {
  if (!is<T>(node))
    std::abort();
  return static_cast<const T *>(node);
}

/// Gives a node class its kind and `classof`.
template <typename Base, NodeKind nodeKind> struct NodeOf : Base {
  static constexpr NodeKind kindOf = nodeKind;
  static bool classof(const Node *node) { return node->kind == nodeKind; }

  explicit NodeOf(SourceRange range) : Base(nodeKind, range) {}
};

using Body = std::vector<Stmt *>;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

struct Name : NodeOf<Expr, NodeKind::Name> {
  using NodeOf::NodeOf;
  std::string id;
};

enum class ConstantKind : uint8_t { Int, Float, String, Bool, None, Ellipsis };

struct Constant : NodeOf<Expr, NodeKind::Constant> {
  using NodeOf::NodeOf;
  ConstantKind type = ConstantKind::None;
  /// Int: the value in decimal, whatever the base it was written in.
  /// String: the value in UTF-8, escapes resolved and parts concatenated.
  std::string text;
  /// Int: the value if it fits. Literals have no sign: -1 is UnaryOp(USub, 1),
  /// so the smallest i64 is 9223372036854775808, which does not fit, negated.
  std::optional<int64_t> intValue;
  double floatValue = 0;
  bool boolValue = false;
};

/// value.attr
struct Attribute : NodeOf<Expr, NodeKind::Attribute> {
  using NodeOf::NodeOf;
  Expr *value = nullptr;
  std::string attr;
  /// Where the name after the dot stands.
  SourceRange attrRange;
};

/// value[slice]; several indices are a Tuple, `:` parts are Slice.
struct Subscript : NodeOf<Expr, NodeKind::Subscript> {
  using NodeOf::NodeOf;
  Expr *value = nullptr;
  Expr *slice = nullptr;
};

/// lower:upper:step, only inside a Subscript; absent parts are null.
struct Slice : NodeOf<Expr, NodeKind::Slice> {
  using NodeOf::NodeOf;
  Expr *lower = nullptr;
  Expr *upper = nullptr;
  Expr *step = nullptr;
};

/// *value, only as an argument of a Call.
struct Starred : NodeOf<Expr, NodeKind::Starred> {
  using NodeOf::NodeOf;
  Expr *value = nullptr;
};

/// name=value in a call; `**value` has an empty name.
struct Keyword {
  SourceRange range;
  std::string name;
  Expr *value = nullptr;
};

struct Call : NodeOf<Expr, NodeKind::Call> {
  using NodeOf::NodeOf;
  Expr *func = nullptr;
  std::vector<Expr *> args;
  std::vector<Keyword> keywords;
};

enum class BinaryOperator : uint8_t {
  Add,
  Sub,
  Mult,
  MatMult,
  Div,
  FloorDiv,
  Mod,
  Pow,
  LShift,
  RShift,
  BitOr,
  BitXor,
  BitAnd,
};
enum class UnaryOperator : uint8_t { Invert, Not, UAdd, USub };
enum class BoolOperator : uint8_t { And, Or };
enum class CompareOperator : uint8_t {
  Eq,
  NotEq,
  Lt,
  LtE,
  Gt,
  GtE,
  Is,
  IsNot,
  In,
  NotIn,
};

/// Python's name of the operator ("Add") and its spelling ("+").
const char *getOperatorName(BinaryOperator op);
const char *getOperatorName(UnaryOperator op);
const char *getOperatorName(BoolOperator op);
const char *getOperatorName(CompareOperator op);
const char *getOperatorSpelling(BinaryOperator op);
const char *getOperatorSpelling(UnaryOperator op);
const char *getOperatorSpelling(BoolOperator op);
const char *getOperatorSpelling(CompareOperator op);

struct BinOp : NodeOf<Expr, NodeKind::BinOp> {
  using NodeOf::NodeOf;
  BinaryOperator op = BinaryOperator::Add;
  Expr *left = nullptr;
  Expr *right = nullptr;
  /// The operator itself, for carets.
  SourceRange opRange;
};

struct UnaryOp : NodeOf<Expr, NodeKind::UnaryOp> {
  using NodeOf::NodeOf;
  UnaryOperator op = UnaryOperator::UAdd;
  Expr *operand = nullptr;
};

/// a and b and c is one node with three values.
struct BoolOp : NodeOf<Expr, NodeKind::BoolOp> {
  using NodeOf::NodeOf;
  BoolOperator op = BoolOperator::And;
  std::vector<Expr *> values;
};

/// left ops[0] comparators[0] ops[1] comparators[1] ...
struct Compare : NodeOf<Expr, NodeKind::Compare> {
  using NodeOf::NodeOf;
  Expr *left = nullptr;
  std::vector<CompareOperator> ops;
  std::vector<Expr *> comparators;
};

/// body if test else orelse
struct IfExp : NodeOf<Expr, NodeKind::IfExp> {
  using NodeOf::NodeOf;
  Expr *test = nullptr;
  Expr *body = nullptr;
  Expr *orelse = nullptr;
};

struct Tuple : NodeOf<Expr, NodeKind::Tuple> {
  using NodeOf::NodeOf;
  std::vector<Expr *> elts;
};

struct List : NodeOf<Expr, NodeKind::List> {
  using NodeOf::NodeOf;
  std::vector<Expr *> elts;
};

struct Dict : NodeOf<Expr, NodeKind::Dict> {
  using NodeOf::NodeOf;
  std::vector<Expr *> keys;
  std::vector<Expr *> values;
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// targets[0] = targets[1] = ... = value. A target is a Name, an Attribute, a
/// Subscript, or a Tuple or List of targets.
struct Assign : NodeOf<Stmt, NodeKind::Assign> {
  using NodeOf::NodeOf;
  std::vector<Expr *> targets;
  Expr *value = nullptr;
};

/// target op= value; the target is a Name, an Attribute or a Subscript.
struct AugAssign : NodeOf<Stmt, NodeKind::AugAssign> {
  using NodeOf::NodeOf;
  Expr *target = nullptr;
  BinaryOperator op = BinaryOperator::Add;
  Expr *value = nullptr;
  SourceRange opRange;
};

/// target: annotation [= value]
struct AnnAssign : NodeOf<Stmt, NodeKind::AnnAssign> {
  using NodeOf::NodeOf;
  Expr *target = nullptr;
  Expr *annotation = nullptr;
  Expr *value = nullptr;
  /// The target is a name without parentheses.
  bool simple = false;
};

/// for target in iter: body (`else` is refused by the parser)
struct For : NodeOf<Stmt, NodeKind::For> {
  using NodeOf::NodeOf;
  Expr *target = nullptr;
  Expr *iter = nullptr;
  Body body;
};

struct While : NodeOf<Stmt, NodeKind::While> {
  using NodeOf::NodeOf;
  Expr *test = nullptr;
  Body body;
};

/// `elif` is an If alone in `orelse`.
struct If : NodeOf<Stmt, NodeKind::If> {
  using NodeOf::NodeOf;
  Expr *test = nullptr;
  Body body;
  Body orelse;
};

struct Assert : NodeOf<Stmt, NodeKind::Assert> {
  using NodeOf::NodeOf;
  Expr *test = nullptr;
  Expr *msg = nullptr; // may be null
};

struct Return : NodeOf<Stmt, NodeKind::Return> {
  using NodeOf::NodeOf;
  Expr *value = nullptr; // may be null
};

/// An expression as a statement; `ast.Expr` in Python.
struct ExprStmt : NodeOf<Stmt, NodeKind::ExprStmt> {
  using NodeOf::NodeOf;
  Expr *value = nullptr;
};

struct Pass : NodeOf<Stmt, NodeKind::Pass> {
  using NodeOf::NodeOf;
};

/// Parsed so that Sema can say which loop it stands in; Sema refuses it.
struct Break : NodeOf<Stmt, NodeKind::Break> {
  using NodeOf::NodeOf;
};

/// As Break.
struct Continue : NodeOf<Stmt, NodeKind::Continue> {
  using NodeOf::NodeOf;
};

/// `*args` and `**kwargs` are refused by the parser.
enum class ParameterKind : uint8_t { PositionalOnly, Regular, KeywordOnly };

struct Parameter {
  /// Name and annotation, without the default value.
  SourceRange range;
  SourceRange nameRange;
  std::string name;
  ParameterKind kind = ParameterKind::Regular;
  Expr *annotation = nullptr;   // may be null
  Expr *defaultValue = nullptr; // may be null
};

/// The range begins at `def`, not at the first decorator, as in Python.
struct FunctionDef : NodeOf<Stmt, NodeKind::FunctionDef> {
  using NodeOf::NodeOf;
  std::string name;
  SourceRange nameRange;
  std::vector<Expr *> decorators;
  std::vector<Parameter> parameters;
  Expr *returns = nullptr; // may be null
  Body body;
  /// Set if the body starts with a string; that statement stays in `body`.
  std::optional<std::string> docstring;
};

/// What an import makes known: `name` of the module is bound to `boundName`.
struct ImportedName {
  SourceRange range;
  std::string name;   // "tessera", or the name taken out of the module
  std::string asname; // empty without `as`

  const std::string &getBoundName() const {
    return asname.empty() ? name : asname;
  }
};

/// import tessera as tsr; only at module level, only modules that the
/// preprocessor resolves.
struct Import : NodeOf<Stmt, NodeKind::Import> {
  using NodeOf::NodeOf;
  std::vector<ImportedName> names;
};

/// from tessera import Tensor, Out; `*` is refused.
struct ImportFrom : NodeOf<Stmt, NodeKind::ImportFrom> {
  using NodeOf::NodeOf;
  std::string module;
  std::vector<ImportedName> names;
};

struct Module : NodeOf<Node, NodeKind::Module> {
  using NodeOf::NodeOf;
  Body body;
};

//===----------------------------------------------------------------------===//
// Ownership
//===----------------------------------------------------------------------===//

/// Owns every node of the trees made in it.
class ASTContext {
public:
  ASTContext() = default;
  ASTContext(const ASTContext &) = delete;
  ASTContext &operator=(const ASTContext &) = delete;

  template <typename T> T *create(SourceRange range) {
    auto node = std::make_unique<T>(range);
    T *result = node.get();
    nodes.push_back(std::move(node));
    return result;
  }

private:
  // A flat list, so that freeing a deep tree does not recurse.
  std::vector<std::unique_ptr<Node>> nodes;
};

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_AST_H
