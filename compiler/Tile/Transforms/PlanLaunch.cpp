//===- PlanLaunch.cpp - Launches in the text of a plan --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Transforms/PlanLaunch.h"

#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera::tile;

std::optional<PlanLaunch> PlanLaunch::parse(StringRef line) {
  PlanLaunch launch;
  StringRef text = line.ltrim();
  launch.indent = line.drop_back(text.size());
  if (!text.consume_front("launch @"))
    return std::nullopt;
  launch.symbol = text.take_until([](char c) { return c == '('; });
  text = text.drop_front(launch.symbol.size() + 1);
  int64_t depth = 0;
  bool scalar = false;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (depth == 0 && (c == ',' || c == ';' || c == ')')) {
      StringRef part = text.slice(begin, i).trim();
      if (!part.empty())
        (scalar ? launch.scalars : launch.views).push_back(part);
      scalar |= c == ';';
      begin = i + 1;
      if (c == ')') {
        launch.rest = text.substr(i + 1);
        return launch;
      }
    }
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
  }
  return std::nullopt;
}

std::string PlanLaunch::of(StringRef kernel) const {
  return ("launch @" + kernel + "(" + llvm::join(views, ", ") +
          (scalars.empty() ? "" : "; ") + llvm::join(scalars, ", ") + ")" +
          rest)
      .str();
}

void PlanLaunch::choose(StringRef condition, StringRef kernel, StringRef line,
                        SmallVectorImpl<std::string> &lines) const {
  lines.push_back((indent + "if " + condition).str());
  lines.push_back((indent + "  " + of(kernel)).str());
  lines.push_back((indent + "else").str());
  lines.push_back(("  " + line).str());
  lines.push_back((indent + "end").str());
}

std::string PlanLaunch::extent(FuncOp func, Value value) const {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return std::to_string(number.getSExtValue());
  if (auto dim = value.getDefiningOp<DimOp>())
    if (auto view = dyn_cast<BlockArgument>(dim.getView()))
      return ("size(" + views[view.getArgNumber()] + ", " +
              Twine(dim.getAxis()) + ")")
          .str();
  if (auto scalar = dyn_cast<BlockArgument>(value))
    if (scalar.getOwner() == &func.getBody().front())
      return ("(" + scalars[scalar.getArgNumber() - views.size()] + ")").str();
  return "";
}

std::pair<std::string, StringRef> PlanLaunch::gridAndMore() const {
  StringRef text = rest;
  text.consume_front(" grid ");
  StringRef grid =
      text.take_front(std::min(text.find(" threads "), text.find(" work ")));
  return {("(" + grid + ")").str(), text.drop_front(grid.size())};
}

void tessera::tile::replaceLaunches(
    ModuleOp module, StringRef kernel,
    llvm::function_ref<void(const PlanLaunch &, StringRef,
                            SmallVectorImpl<std::string> &)>
        replace) {
  Builder builder(module.getContext());
  for (PlanOp plan : module.getOps<PlanOp>()) {
    SmallVector<std::string> lines;
    for (auto line : plan.getLines().getAsRange<StringAttr>()) {
      std::optional<PlanLaunch> launch = PlanLaunch::parse(line.getValue());
      if (launch && launch->symbol == kernel)
        replace(*launch, line.getValue(), lines);
      else
        lines.push_back(line.str());
    }
    SmallVector<StringRef> texts(lines.begin(), lines.end());
    plan.setLinesAttr(builder.getStrArrayAttr(texts));
  }
}
