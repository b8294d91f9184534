//===- ASTPrinter.cpp - The tree as text ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ASTPrinter.h"

#include <bit>

using namespace tessera::frontend;

namespace {

class Printer {
public:
  explicit Printer(const PrintOptions &options) : options(options) {}

  void print(const Node *node);
  std::string take() { return std::move(out); }

private:
  void open(const char *name, const SourceRange &range);
  void quote(const std::string &text);
  void printConstant(const Constant *constant);
  void printBody(const Body &body);
  void printFunction(const FunctionDef *function);
  void printNames(const std::vector<ImportedName> &names);

  void field(const Node *node) {
    out += ' ';
    print(node);
  }
  void field(const char *word) {
    out += ' ';
    out += word;
  }
  void field(const std::vector<Expr *> &list) {
    out += " [";
    for (size_t i = 0; i < list.size(); ++i) {
      out += i ? " " : "";
      print(list[i]);
    }
    out += ']';
  }

  const PrintOptions &options;
  std::string out;
  unsigned indent = 0;
};

} // namespace

void Printer::open(const char *name, const SourceRange &range) {
  out += '(';
  out += name;
  if (!options.ranges)
    return;
  out += '@' + std::to_string(range.begin.line) + ':' +
         std::to_string(range.begin.column) + '-' +
         std::to_string(range.end.line) + ':' +
         std::to_string(range.end.column);
}

void Printer::quote(const std::string &text) {
  static constexpr char hex[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void Printer::printConstant(const Constant *constant) {
  switch (constant->type) {
  case ConstantKind::Int:
    field("int");
    field(constant->text.c_str());
    return;
  case ConstantKind::Float: {
    static constexpr char hex[] = "0123456789abcdef";
    field("float ");
    auto bits = std::bit_cast<uint64_t>(constant->floatValue);
    for (int shift = 60; shift >= 0; shift -= 4)
      out += hex[bits >> shift & 15];
    return;
  }
  case ConstantKind::String:
    field("str ");
    quote(constant->text);
    return;
  case ConstantKind::Bool:
    return field(constant->boolValue ? "True" : "False");
  case ConstantKind::None:
    return field("None");
  case ConstantKind::Ellipsis:
    return field("...");
  }
}

void Printer::printBody(const Body &body) {
  out += " [";
  indent += 2;
  for (size_t i = 0; i < body.size(); ++i) {
    if (options.lines)
      out += '\n' + std::string(indent, ' ');
    else if (i)
      out += ' ';
    print(body[i]);
  }
  indent -= 2;
  out += ']';
}

void Printer::printFunction(const FunctionDef *function) {
  static constexpr const char *kinds[] = {"posonly", "arg", "kwonly"};
  out += ' ';
  quote(function->name);
  out += " [";
  bool first = true;
  for (const Parameter &parameter : function->parameters) {
    out += first ? "" : " ";
    first = false;
    open(kinds[static_cast<size_t>(parameter.kind)], parameter.range);
    out += ' ';
    quote(parameter.name);
    field(parameter.annotation);
    field(parameter.defaultValue);
    out += ')';
  }
  out += ']';
  printBody(function->body);
  field(function->decorators);
  field(function->returns);
}

void Printer::printNames(const std::vector<ImportedName> &names) {
  out += " [";
  for (size_t i = 0; i < names.size(); ++i) {
    out += i ? " " : "";
    open("alias", names[i].range);
    out += ' ';
    quote(names[i].name);
    out += ' ';
    if (names[i].asname.empty())
      out += '-';
    else
      quote(names[i].asname);
    out += ')';
  }
  out += ']';
}

void Printer::print(const Node *node) {
  if (!node) {
    out += '-';
    return;
  }
  open(getNodeName(node->kind), node->range);
  switch (node->kind) {
  case NodeKind::Name:
    out += ' ';
    quote(checkedCast<Name>(node)->id);
    break;
  case NodeKind::Constant:
    printConstant(checkedCast<Constant>(node));
    break;
  case NodeKind::Attribute: {
    const auto *attribute = checkedCast<Attribute>(node);
    field(attribute->value);
    out += ' ';
    quote(attribute->attr);
    break;
  }
  case NodeKind::Subscript: {
    const auto *subscript = checkedCast<Subscript>(node);
    field(subscript->value);
    field(subscript->slice);
    break;
  }
  case NodeKind::Slice: {
    const auto *slice = checkedCast<Slice>(node);
    field(slice->lower);
    field(slice->upper);
    field(slice->step);
    break;
  }
  case NodeKind::Starred:
    field(checkedCast<Starred>(node)->value);
    break;
  case NodeKind::Call: {
    const auto *call = checkedCast<Call>(node);
    field(call->func);
    field(call->args);
    out += " [";
    bool first = true;
    for (const Keyword &keyword : call->keywords) {
      out += first ? "" : " ";
      first = false;
      open("keyword", keyword.range);
      out += ' ';
      if (keyword.name.empty())
        out += '-';
      else
        quote(keyword.name);
      field(keyword.value);
      out += ')';
    }
    out += ']';
    break;
  }
  case NodeKind::BinOp: {
    const auto *binary = checkedCast<BinOp>(node);
    field(binary->left);
    field(getOperatorName(binary->op));
    field(binary->right);
    break;
  }
  case NodeKind::UnaryOp: {
    const auto *unary = checkedCast<UnaryOp>(node);
    field(getOperatorName(unary->op));
    field(unary->operand);
    break;
  }
  case NodeKind::BoolOp: {
    const auto *boolean = checkedCast<BoolOp>(node);
    field(getOperatorName(boolean->op));
    field(boolean->values);
    break;
  }
  case NodeKind::Compare: {
    const auto *compare = checkedCast<Compare>(node);
    field(compare->left);
    out += " [";
    for (size_t i = 0; i < compare->ops.size(); ++i) {
      out += i ? " " : "";
      out += getOperatorName(compare->ops[i]);
    }
    out += ']';
    field(compare->comparators);
    break;
  }
  case NodeKind::IfExp: {
    const auto *conditional = checkedCast<IfExp>(node);
    field(conditional->test);
    field(conditional->body);
    field(conditional->orelse);
    break;
  }
  case NodeKind::Tuple:
    field(checkedCast<Tuple>(node)->elts);
    break;
  case NodeKind::List:
    field(checkedCast<List>(node)->elts);
    break;
  case NodeKind::Dict: {
    const auto *dict = checkedCast<Dict>(node);
    field(dict->keys);
    field(dict->values);
    break;
  }
  case NodeKind::Assign: {
    const auto *assign = checkedCast<Assign>(node);
    field(assign->targets);
    field(assign->value);
    break;
  }
  case NodeKind::AugAssign: {
    const auto *assign = checkedCast<AugAssign>(node);
    field(assign->target);
    field(getOperatorName(assign->op));
    field(assign->value);
    break;
  }
  case NodeKind::AnnAssign: {
    const auto *assign = checkedCast<AnnAssign>(node);
    field(assign->target);
    field(assign->annotation);
    field(assign->value);
    field(assign->simple ? "1" : "0");
    break;
  }
  case NodeKind::For: {
    const auto *loop = checkedCast<For>(node);
    field(loop->target);
    field(loop->iter);
    printBody(loop->body);
    break;
  }
  case NodeKind::While: {
    const auto *loop = checkedCast<While>(node);
    field(loop->test);
    printBody(loop->body);
    break;
  }
  case NodeKind::If: {
    const auto *branch = checkedCast<If>(node);
    field(branch->test);
    printBody(branch->body);
    printBody(branch->orelse);
    break;
  }
  case NodeKind::Assert: {
    const auto *assertion = checkedCast<Assert>(node);
    field(assertion->test);
    field(assertion->msg);
    break;
  }
  case NodeKind::Return:
    field(checkedCast<Return>(node)->value);
    break;
  case NodeKind::ExprStmt:
    field(checkedCast<ExprStmt>(node)->value);
    break;
  case NodeKind::Pass:
  case NodeKind::Break:
  case NodeKind::Continue:
    break;
  case NodeKind::FunctionDef:
    printFunction(checkedCast<FunctionDef>(node));
    break;
  case NodeKind::Import:
    printNames(checkedCast<Import>(node)->names);
    break;
  case NodeKind::ImportFrom: {
    const auto *import = checkedCast<ImportFrom>(node);
    out += ' ';
    quote(import->module);
    printNames(import->names);
    break;
  }
  case NodeKind::Module:
    printBody(checkedCast<Module>(node)->body);
    break;
  }
  out += ')';
}

std::string tessera::frontend::printTree(const Node *node,
                                         const PrintOptions &options) {
  Printer printer(options);
  printer.print(node);
  return printer.take();
}
