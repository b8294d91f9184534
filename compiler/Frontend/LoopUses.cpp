//===- LoopUses.cpp - Which axes the variables of loops index -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tessera::frontend {

std::string changeWords(
    llvm::StringRef text,
    llvm::function_ref<std::string(llvm::StringRef, char, char)> change) {
  std::string result;
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (i < text.size() && isWord(text[i]))
      ++i;
    if (i == begin)
      result += text[i++];
    else
      result += change(text.slice(begin, i), begin ? text[begin - 1] : ' ',
                       i < text.size() ? text[i] : ' ');
  }
  return result;
}

bool isWithin(const SourceRange &inner, const SourceRange &outer) {
  return inner.file == outer.file && !(inner.begin < outer.begin) &&
         !(outer.end < inner.end);
}

static void collectLoops(const SemaContext &context, const Body &body,
                         std::vector<LoopUse> &uses) {
  for (const Stmt *stmt : body) {
    if (auto *branch = dynCast<If>(stmt)) {
      collectLoops(context, branch->body, uses);
      collectLoops(context, branch->orelse, uses);
    } else if (auto *loop = dynCast<While>(stmt)) {
      collectLoops(context, loop->body, uses);
    }
    auto *loop = dynCast<For>(stmt);
    auto *call = loop ? dynCast<Call>(loop->iter) : nullptr;
    if (!loop)
      continue;
    std::vector<const Expr *> targets = {loop->target}, extents;
    if (auto *tuple = dynCast<Tuple>(loop->target))
      targets.assign(tuple->elts.begin(), tuple->elts.end());
    llvm::StringRef callee;
    std::string text = call ? context.quote(call->func->range) : "";
    callee = text;
    if (callee.ends_with("grid"))
      extents.assign(call->args.begin(), call->args.end());
    else if (callee.ends_with("tile"))
      extents = {call};
    for (auto [target, extent] : llvm::zip(targets, extents)) {
      auto *name = dynCast<Name>(target);
      if (!name)
        continue;
      auto *tile = dynCast<Call>(extent);
      if (tile && tile->args.empty())
        continue;
      LoopUse use;
      use.name = name->id;
      use.loop = loop;
      use.target = target;
      use.extent = tile ? tile->args.front() : extent;
      use.size = tile && tile->args.size() > 1 ? tile->args[1] : nullptr;
      uses.push_back(use);
    }
    collectLoops(context, loop->body, uses);
  }
}

void walkIndices(const SemaContext &context, DimNames dimsOf,
                 llvm::function_ref<void(const Subscript &, const Expr *,
                                         const std::string &)>
                     visit) {
  walkExpressions(context.getBody(), [&](const Expr *expr) {
    auto *access = dynCast<Subscript>(expr);
    auto *array = access ? dynCast<Name>(access->value) : nullptr;
    if (!array)
      return true;
    llvm::ArrayRef<Expr *> indices = access->slice;
    if (auto *tuple = dynCast<Tuple>(access->slice))
      indices = tuple->elts;
    for (auto [index, dim] : llvm::zip(indices, dimsOf(array->id)))
      visit(*access, index, dim);
    return true;
  });
}

std::vector<LoopUse> collectLoopUses(const SemaContext &context,
                                     DimNames dimsOf) {
  std::vector<LoopUse> uses;
  collectLoops(context, context.getBody(), uses);
  walkIndices(
      context, dimsOf,
      [&](const Subscript &access, const Expr *index, const std::string &dim) {
        auto *name = dynCast<Name>(index);
        // The innermost loop around it.
        LoopUse *own = nullptr;
        for (LoopUse &use : uses)
          if (name && use.name == name->id &&
              isWithin(access.range, use.loop->range))
            own = &use;
        if (!own)
          return;
        own->dims.insert(dim);
        ++own->count;
      });
  return uses;
}

std::string findLoop(const SemaContext &context, const Dim &dim,
                     llvm::StringRef indices) {
  std::string name = context.findRange(dim);
  bool isTaken = false;
  changeWords(indices, [&](llvm::StringRef word, char, char) {
    isTaken |= word == name;
    return word.str();
  });
  if (isTaken)
    return {};
  for (const LoopUse &use : collectLoopUses(context, [](llvm::StringRef) {
         return llvm::SmallVector<std::string>();
       }))
    if (use.name == name)
      return name;
  return {};
}

std::string findIndexedDim(const SemaContext &context, llvm::StringRef name,
                           DimNames dimsOf) {
  std::set<std::string> found;
  walkIndices(
      context, dimsOf,
      [&](const Subscript &, const Expr *index, const std::string &dim) {
        if (auto *used = dynCast<Name>(index); used && used->id == name)
          found.insert(dim);
      });
  return found.size() == 1 ? *found.begin() : std::string();
}

} // namespace tessera::frontend
