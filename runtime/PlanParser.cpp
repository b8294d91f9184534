// Reads the text of a plan line by line and validates it: header and blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/PlanParser.h"

#include "runtime/CudaDevice.h"
#include "runtime/Status.h"

#include <utility>

namespace tessera::runtime {

static constexpr size_t maxTextSize = size_t{16} << 20;
static constexpr size_t maxHeaderTensors = 4096;
static constexpr std::string_view formatName = "tessera.plan";

static std::string quotedInteger(std::string_view name) {
  Token token;
  token.kind = Token::Kind::Integer;
  token.text = name;
  return describe(token);
}

tsr_status parsePlan(std::string_view text, Plan &plan) {
  return PlanParser(text, plan).run();
}

tsr_status PlanParser::run() {
  if (text.size() > maxTextSize)
    return makeError(TSR_INVALID_PLAN, "the plan is larger than 16 MiB");
  if (parseAll())
    return nullptr;
  return makeError(errorCode,
                   "plan line " + std::to_string(line) + ": " + error);
}

bool PlanParser::nextLine(std::string_view &result) {
  if (text.empty())
    return false;
  ++line;
  size_t length = text.find('\n');
  result = text.substr(0, length);
  text.remove_prefix(length == std::string_view::npos ? text.size()
                                                      : length + 1);
  return true;
}

bool PlanParser::finishLine(LineLexer &lexer) {
  if (lexer.peek().kind == Token::Kind::EndOfLine)
    return true;
  return refuse(lexer.peek(), Reserved::Clause,
                "unexpected " + describe(lexer.peek()) +
                    " behind a complete statement");
}

bool PlanParser::refuse(const Token &token, Reserved place,
                        std::string otherwise) {
  struct Word {
    Reserved place;
    std::string_view word, meaning;
  };
  static constexpr Word words[] = {
      {Reserved::Header, "constant", "constants that stay on a device"},
      {Reserved::Header, "status", "a status word that kernels write"},
      {Reserved::Step, "map", "tensor maps"},
      {Reserved::Step, "copy", "copies between devices"},
      {Reserved::Step, "collective", "collectives"},
      {Reserved::Step, "await", "tokens of asynchronous steps"},
      {Reserved::Clause, "after", "tokens of asynchronous steps"},
      {Reserved::Clause, "on", "the device of a value or a launch"},
      {Reserved::Clause, "cluster", "clusters of blocks"},
      {Reserved::Clause, "dependent",
       "launches that begin before the last one has ended"}};
  for (const Word &one : words)
    if (one.place == place && token.is(one.word)) {
      errorCode = TSR_UNSUPPORTED;
      otherwise = "'" + std::string(one.word) + "' is reserved for " +
                  std::string(one.meaning) +
                  ", which this runtime does not have yet";
    }
  return fail(std::move(otherwise));
}

bool PlanParser::expect(LineLexer &lexer, std::string_view symbol) {
  if (lexer.accept(symbol))
    return true;
  return fail("expected '" + std::string(symbol) + "', found " +
              describe(lexer.peek()));
}

bool PlanParser::expectDtype(LineLexer &lexer, Dtype &dtype) {
  Token token = lexer.take();
  dtype = token.kind == Token::Kind::Word ? dtypeFromName(token.text) : -1;
  if (dtype >= 0)
    return true;
  return fail("expected a dtype such as f32, found " + describe(token));
}

bool PlanParser::parseAll() {
  std::string_view current;
  if (!nextLine(current) || current.substr(0, formatName.size()) != formatName)
    return fail("not a plan: the first line is not 'tessera.plan 1'");
  if (current != "tessera.plan 1") {
    LineLexer lexer(current.substr(formatName.size()));
    if (lexer.peek().kind != Token::Kind::Number || lexer.peek().number == 1)
      return fail("the first line must be exactly 'tessera.plan 1'");
    errorCode = TSR_UNSUPPORTED;
    return fail("the plan has format version " +
                std::string(lexer.peek().text) +
                ", this runtime reads version 1; compile the program again or "
                "use the runtime it was compiled for");
  }

  enum { Function, Target, Header, Body, Done } state = Function;
  while (nextLine(current)) {
    LineLexer lexer(current);
    if (lexer.peek().kind == Token::Kind::EndOfLine)
      continue;
    bool leave = false;
    switch (state) {
    case Function: {
      if (!expect(lexer, "function"))
        return false;
      Token name = lexer.take();
      if (name.kind != Token::Kind::Word)
        return fail("expected the function's name, found " + describe(name));
      plan.function = std::string(name.text);
      leave = true;
      break;
    }
    case Target: {
      if (!expect(lexer, "target"))
        return false;
      Token target = lexer.take();
      bool isCpu = target.is("cpu");
      CudaArch arch;
      if (!isCpu &&
          !(target.kind == Token::Kind::Word && parseArch(target.text, arch)))
        return fail("expected cpu or a GPU such as sm_80, found " +
                    describe(target));
      if (!isCpu)
        plan.chip = std::string(target.text);
      Token version = lexer.take();
      if (version.kind != Token::Kind::Number)
        return fail("expected a version number, found " + describe(version));
      if (version.number != 1) {
        errorCode = TSR_UNSUPPORTED;
        return fail(std::string("the kernels have ") + (isCpu ? "CPU" : "GPU") +
                    " ABI version " + std::to_string(version.number) +
                    ", this runtime calls version 1");
      }
      leave = true;
      break;
    }
    case Header:
      if (!parseHeaderLine(lexer, leave))
        return false;
      break;
    case Body:
      if (!parseStep(lexer, leave))
        return false;
      break;
    case Done:
      return fail("unexpected " + describe(lexer.peek()) +
                  " behind the end of the plan");
    }
    if (!finishLine(lexer))
      return false;
    if (state == Header && leave && !finishHeader())
      return false;
    if (leave)
      state = static_cast<decltype(state)>(state + 1);
  }
  if (state != Done)
    return fail("the plan is cut off: its last 'end' is missing");
  return true;
}

//===-- Header ------------------------------------------------------------===//

bool PlanParser::parseHeaderLine(LineLexer &lexer, bool &isBody) {
  if (lexer.accept("arg"))
    return parseArgument(lexer);
  if (lexer.accept("result"))
    return parseHeaderTensor(lexer, lexer.take(), TSR_RESULT);
  if (lexer.accept("message")) {
    Token token = lexer.take();
    if (token.kind != Token::Kind::String)
      return fail("expected a string, found " + describe(token));
    pendingMessages.push_back({line, token.text});
    return true;
  }
  if (lexer.accept("requires")) {
    do {
      Token token = lexer.take();
      if (token.kind != Token::Kind::String)
        return fail("expected a string, found " + describe(token));
      plan.features.emplace_back(token.text);
    } while (lexer.peek().kind != Token::Kind::EndOfLine);
    return true;
  }
  isBody = lexer.accept("body");
  return isBody ||
         refuse(lexer.peek(), Reserved::Header,
                "expected arg, result, message, requires or body, found " +
                    describe(lexer.peek()));
}

bool PlanParser::parseArgument(LineLexer &lexer) {
  Token name = lexer.take();
  if (name.kind == Token::Kind::Integer)
    return parseScalarArgument(lexer, name.text);
  static constexpr std::pair<std::string_view, int32_t> modes[] = {
      {"in", TSR_IN},
      {"out", TSR_OUT},
      {"inout", TSR_INOUT},
      {"reduce", TSR_REDUCE}};
  for (auto [word, mode] : modes)
    if (lexer.accept(word))
      return parseHeaderTensor(lexer, name, mode);
  return fail("expected in, out, inout or reduce, found " +
              describe(lexer.peek()));
}

bool PlanParser::parseScalarArgument(LineLexer &lexer, std::string_view name) {
  static constexpr std::pair<std::string_view, ScalarType> types[] = {
      {"i64", ScalarType::Int},
      {"f64", ScalarType::Float},
      {"bool", ScalarType::Bool}};
  for (auto [word, type] : types)
    if (lexer.accept(word)) {
      if (names.integers.count(name))
        return fail(quotedInteger(name) + " is defined twice");
      // Scalars come first in the frame; finishHeader gives tensors theirs.
      auto slot = static_cast<int32_t>(plan.scalars.size());
      names.integers[name] = {slot, type, false};
      plan.scalars.push_back({std::string(name), type});
      return plan.scalars.size() <= maxHeaderTensors ||
             fail("more than 4096 scalar arguments");
    }
  return fail("expected i64, f64 or bool, found " + describe(lexer.peek()));
}

/// Splits `[a, f(b, c), d]` at its outer commas and keeps the pieces for later.
static bool splitAxes(LineLexer &lexer, std::vector<std::string_view> &axes) {
  if (lexer.accept("]"))
    return true;
  int depth = 0;
  const char *start = lexer.position();
  for (;;) {
    const Token &token = lexer.peek();
    const char *here = lexer.position();
    if (token.kind == Token::Kind::EndOfLine || token.kind == Token::Kind::Bad)
      return false;
    bool ends = depth == 0 && (token.is(",") || token.is("]"));
    if (ends) {
      axes.emplace_back(start, static_cast<size_t>(here - start));
      if (lexer.take().is("]"))
        return true;
      start = lexer.position();
      continue;
    }
    depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
    lexer.take();
  }
}

bool PlanParser::parseHeaderTensor(LineLexer &lexer, Token name, int32_t mode) {
  if (name.kind != Token::Kind::Tensor)
    return fail("expected a tensor or scalar name, found " + describe(name));
  if (header.size() >= maxHeaderTensors)
    return fail("more than 4096 arguments and results");
  HeaderTensor entry;
  entry.line = line;
  entry.name = name.text;
  entry.tensor.name = std::string(name.text);
  entry.tensor.mode = mode;
  entry.tensor.kind =
      mode == TSR_RESULT ? Tensor::Kind::Result : Tensor::Kind::Argument;
  if (!expectDtype(lexer, entry.tensor.dtype) || !expect(lexer, "["))
    return false;
  if (!splitAxes(lexer, entry.axes))
    return fail("expected ']', found " + describe(lexer.peek()));
  if (entry.axes.size() > TSR_MAX_RANK)
    return fail(describe(name) + " has rank " +
                std::to_string(entry.axes.size()) + ", at most 16 is allowed");
  entry.tensor.rank = static_cast<int32_t>(entry.axes.size());
  if (!names.tensors.emplace(name.text, 0).second)
    return fail(describe(name) + " is defined twice");
  header.push_back(std::move(entry));
  return true;
}

static std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The dim's name if the axis is a plain `$name`.
static std::string_view plainDim(std::string_view axis) {
  LineLexer lexer(axis);
  Token first = lexer.take();
  bool isPlain = first.kind == Token::Kind::Integer &&
                 lexer.peek().kind == Token::Kind::EndOfLine;
  return isPlain ? first.text : std::string_view();
}

/// Gives each argument and result its index and slots.
void PlanParser::placeHeaderTensors() {
  // Callers pass all arguments before all results.
  std::vector<HeaderTensor> sorted;
  for (Tensor::Kind kind : {Tensor::Kind::Argument, Tensor::Kind::Result})
    for (HeaderTensor &entry : header)
      if (entry.tensor.kind == kind)
        sorted.push_back(std::move(entry));
  header = std::move(sorted);
  plan.numSlots = static_cast<int32_t>(plan.scalars.size());
  for (HeaderTensor &entry : header) {
    auto index = static_cast<int32_t>(plan.tensors.size());
    entry.tensor.sizes = plan.numSlots;
    plan.numSlots += 2 * entry.tensor.rank;
    if (entry.tensor.mode != TSR_IN)
      plan.written.push_back(index);
    states.push_back({index, 0, true, 0, {}});
    plan.tensors.push_back(std::move(entry.tensor));
  }
  plan.numArguments = static_cast<int32_t>(plan.tensors.size());
}

/// The first axis that is a plain `$M` binds M: the name means its size.
void PlanParser::bindDims() {
  for (size_t i = 0; i < header.size(); ++i) {
    const Tensor &tensor = plan.tensors[i];
    if (tensor.kind == Tensor::Kind::Result)
      continue;
    for (size_t axis = 0; axis < header[i].axes.size(); ++axis) {
      std::string_view dim = plainDim(header[i].axes[axis]);
      if (dim.empty())
        continue;
      int32_t slot = tensor.sizes + static_cast<int32_t>(axis);
      bool isNew =
          names.integers.emplace(dim, IntegerName{slot, ScalarType::Int, false})
              .second;
      if (isNew)
        dimOrigin[slot] = static_cast<int32_t>(i);
    }
  }
}

bool PlanParser::resolveAxis(std::string_view axisText, int32_t ownSlot,
                             Axis &axis) {
  LineLexer lexer(axisText);
  if (lexer.accept("?"))
    return finishLine(lexer);
  if (!expressions.parse(lexer, axis.expr) || !finishLine(lexer))
    return false;
  for (char c : trim(axisText))
    if (c != '$')
      axis.text += c;
  axis.kind = Axis::Kind::Computed;
  auto origin = dimOrigin.find(axis.expr.begin);
  if (plainDim(axisText).empty() || origin == dimOrigin.end())
    return true;
  axis.originTensor = origin->second;
  axis.kind =
      axis.expr.begin == ownSlot ? Axis::Kind::Binds : Axis::Kind::SameDim;
  return true;
}

bool PlanParser::resolveAxes() {
  for (size_t i = 0; i < header.size(); ++i) {
    line = header[i].line;
    Tensor &tensor = plan.tensors[i];
    tensor.firstAxis = static_cast<int32_t>(plan.axes.size());
    bool isKnown = true, hasAny = false;
    for (size_t a = 0; a < header[i].axes.size(); ++a) {
      Axis axis;
      if (!resolveAxis(header[i].axes[a],
                       tensor.sizes + static_cast<int32_t>(a), axis))
        return false;
      hasAny |= axis.kind == Axis::Kind::Any;
      isKnown &=
          axis.kind == Axis::Kind::Computed || axis.kind == Axis::Kind::SameDim;
      plan.axes.push_back(std::move(axis));
    }
    bool isResult = tensor.kind == Tensor::Kind::Result;
    tensor.sizedInBody = isResult && hasAny;
    tensor.mayBeAbsent = isResult || (tensor.mode == TSR_OUT && isKnown);
  }
  return true;
}

bool PlanParser::finishHeader() {
  int32_t bodyLine = line;
  placeHeaderTensors();
  names.tensors.clear(); // axes may not speak of tensors
  bindDims();
  if (!resolveAxes())
    return false;
  for (size_t i = 0; i < header.size(); ++i) {
    if (plan.tensors[i].sizedInBody)
      unsizedResults.emplace(header[i].name, static_cast<int32_t>(i));
    else
      names.tensors.emplace(header[i].name, static_cast<int32_t>(i));
  }
  for (const PendingMessage &pending : pendingMessages) {
    line = pending.line;
    plan.messages.emplace_back();
    if (!expressions.parseMessage(pending.raw, plan.messages.back()))
      return false;
  }
  line = bodyLine;
  blocks.emplace_back();
  blocks.back().line = line;
  return true;
}

} // namespace tessera::runtime
