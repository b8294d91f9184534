// Reads the text of a plan line by line and validates it: the steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/PlanParser.h"

#include <algorithm>
#include <utility>

namespace tessera::runtime {

static constexpr size_t maxSteps = 1000000;

Step &PlanParser::addStep(Step::Kind kind) {
  Step step;
  step.kind = kind;
  step.line = line;
  plan.steps.push_back(step);
  return plan.steps.back();
}

bool PlanParser::defineInteger(std::string_view name, ScalarType type,
                               int32_t &slot) {
  slot = plan.numSlots++;
  if (!names.integers.emplace(name, IntegerName{slot, type, true}).second)
    return fail("'$" + std::string(name) + "' is defined twice");
  blocks.back().integers.push_back(name);
  return true;
}

bool PlanParser::defineTensor(std::string_view name, Tensor tensor,
                              int32_t root, int32_t &index) {
  index = static_cast<int32_t>(plan.tensors.size());
  tensor.name = std::string(name);
  tensor.sizes = plan.numSlots;
  plan.numSlots += 2 * tensor.rank;
  if (unsizedResults.count(name) || !names.tensors.emplace(name, index).second)
    return fail("'%" + tensor.name + "' is defined twice");
  blocks.back().tensors.emplace_back(name, index);
  states.push_back({root < 0 ? index : root, blocks.size(), true, 0, {}});
  if (root >= 0)
    stateOf(root).views.emplace_back(name, index);
  plan.tensors.push_back(std::move(tensor));
  return true;
}

bool PlanParser::parseList(LineLexer &lexer, int32_t &first, int32_t &count) {
  if (!expect(lexer, "["))
    return false;
  first = static_cast<int32_t>(plan.expressions.size());
  count = 0;
  if (lexer.accept("]"))
    return true;
  do {
    Expression expr;
    if (!expressions.parse(lexer, expr))
      return false;
    plan.expressions.push_back(expr);
    if (++count > TSR_MAX_RANK)
      return fail("a list of more than 16 axes");
  } while (lexer.accept(","));
  return expect(lexer, "]");
}

bool PlanParser::parseStep(LineLexer &lexer, bool &isLast) {
  if (plan.steps.size() > maxSteps)
    return fail("more than a million steps");
  if (lexer.accept("let"))
    return parseLet(lexer);
  if (lexer.accept("set"))
    return parseSet(lexer);
  if (lexer.accept("load"))
    return parseLoad(lexer);
  if (lexer.accept("check"))
    return parseCheck(lexer);
  if (lexer.accept("expect"))
    return parseExpect(lexer);
  if (lexer.accept("alloc"))
    return parseAlloc(lexer);
  if (lexer.accept("view"))
    return parseView(lexer);
  if (lexer.accept("launch"))
    return parseLaunch(lexer);
  if (lexer.accept("swap"))
    return parseSwap(lexer);
  if (lexer.accept("free"))
    return parseFree(lexer);
  if (lexer.accept("return"))
    return parseReturn();
  if (lexer.accept("if"))
    return parseIf(lexer);
  if (lexer.accept("else"))
    return parseElse();
  if (lexer.accept("loop"))
    return parseLoop();
  if (lexer.accept("while"))
    return parseWhile(lexer);
  if (lexer.accept("end"))
    return parseEnd(isLast);
  return refuse(lexer.peek(), Reserved::Step,
                "expected a step, found " + describe(lexer.peek()));
}

bool PlanParser::parseLet(LineLexer &lexer) {
  Token name = lexer.take();
  if (name.kind != Token::Kind::Integer)
    return fail("expected a '$' name, found " + describe(name));
  Expression expr;
  int32_t slot;
  // The name is not visible in its own definition.
  if (!expect(lexer, "=") || !expressions.parse(lexer, expr) ||
      !defineInteger(name.text, ScalarType::Int, slot))
    return false;
  Step &step = addStep(Step::Kind::Set);
  step.a = slot;
  step.expr = expr;
  return true;
}

bool PlanParser::parseSet(LineLexer &lexer) {
  Token name = lexer.take();
  auto it = name.kind == Token::Kind::Integer ? names.integers.find(name.text)
                                              : names.integers.end();
  if (it == names.integers.end())
    return fail("expected a '$' name that is defined here, found " +
                describe(name));
  if (!it->second.isLocal || it->second.type != ScalarType::Int)
    return fail(describe(name) + " is not an integer made by let or load");
  Expression expr;
  if (!expect(lexer, "=") || !expressions.parse(lexer, expr))
    return false;
  Step &step = addStep(Step::Kind::Set);
  step.a = it->second.slot;
  step.expr = expr;
  return true;
}

bool PlanParser::parseLoad(LineLexer &lexer) {
  Token name = lexer.take();
  if (name.kind != Token::Kind::Integer)
    return fail("expected a '$' name, found " + describe(name));
  int32_t index, first, count, slot;
  if (!expect(lexer, "=") || !expressions.findTensor(lexer.take(), index) ||
      !parseList(lexer, first, count))
    return false;
  const Tensor &tensor = tensorAt(index);
  if (count != tensor.rank)
    return fail("'%" + tensor.name + "' has rank " +
                std::to_string(tensor.rank) + ", but there are " +
                std::to_string(count) + " indices");
  bool isFloat = tensor.dtype == TSR_F32 || tensor.dtype == TSR_F64;
  bool isInteger = tensor.dtype >= TSR_I8 && tensor.dtype <= TSR_BOOL;
  if (!isFloat && !isInteger)
    return fail(std::string("load doesn't read ") +
                dtypeInfo(tensor.dtype).name);
  if (!defineInteger(name.text, isFloat ? ScalarType::Float : ScalarType::Int,
                     slot))
    return false;
  Step &step = addStep(Step::Kind::Load);
  step.a = slot;
  step.b = index;
  step.c = first;
  return true;
}

bool PlanParser::parseCheck(LineLexer &lexer) {
  Expression expr;
  if (!expressions.parse(lexer, expr) || !expect(lexer, ":"))
    return false;
  Token token = lexer.take();
  if (token.kind != Token::Kind::String)
    return fail("expected a string, found " + describe(token));
  Message message;
  if (!expressions.parseMessage(token.text, message))
    return false;
  Step &step = addStep(Step::Kind::Check);
  step.a = static_cast<int32_t>(plan.checks.size());
  step.expr = expr;
  plan.checks.push_back(std::move(message));
  return true;
}

bool PlanParser::parseExpect(LineLexer &lexer) {
  Token name = lexer.take();
  if (name.kind != Token::Kind::Integer)
    return fail("expected a '$' name, found " + describe(name));
  int32_t index, slot;
  if (!expect(lexer, "=") || !expressions.findTensor(lexer.take(), index) ||
      !expect(lexer, ":"))
    return false;
  const Tensor &tensor = tensorAt(index);
  if (tensor.rank != 0 || tensor.dtype != TSR_I64)
    return fail("expect reads an i64 of rank 0; '%" + tensor.name + "' is " +
                dtypeInfo(tensor.dtype).name + " of rank " +
                std::to_string(tensor.rank));
  if (!defineInteger(name.text, ScalarType::Int, slot) || !parseCheck(lexer))
    return false;
  Step &step = plan.steps.back();
  step.kind = Step::Kind::Expect;
  step.b = index;
  step.c = slot;
  return true;
}

bool PlanParser::parseAlloc(LineLexer &lexer) {
  Token name = lexer.take();
  if (name.kind != Token::Kind::Tensor)
    return fail("expected a '%' name, found " + describe(name));
  Tensor tensor;
  int32_t first, index;
  if (!expectDtype(lexer, tensor.dtype) ||
      !parseList(lexer, first, tensor.rank))
    return false;
  auto result = unsizedResults.find(name.text);
  if (result == unsizedResults.end()) {
    tensor.kind = Tensor::Kind::Temporary;
    if (lexer.accept("of")) {
      if (!expressions.findTensor(lexer.take(), tensor.source))
        return false;
      tensor.fresh = plan.numSlots++;
    }
    if (!defineTensor(name.text, std::move(tensor), -1, index))
      return false;
    stateOf(index).place = blocks.back().temporaries.size();
    blocks.back().temporaries.push_back(index);
    plan.temporaries.push_back(index);
    Step &step = addStep(Step::Kind::Alloc);
    step.a = index;
    step.b = first;
    return true;
  }
  index = result->second;
  if (blocks.size() > 1)
    return fail("the alloc of result " + describe(name) +
                " can't stand inside if or loop");
  if (tensor.dtype != tensorAt(index).dtype ||
      tensor.rank != tensorAt(index).rank)
    return fail("the alloc of result " + describe(name) +
                " has another dtype or rank than its declaration");
  names.tensors.emplace(name.text, index);
  unsizedResults.erase(result);
  Step &step = addStep(Step::Kind::AllocResult);
  step.a = index;
  step.b = first;
  return true;
}

bool PlanParser::parseView(LineLexer &lexer) {
  Token name = lexer.take();
  if (name.kind != Token::Kind::Tensor)
    return fail("expected a '%' name, found " + describe(name));
  int32_t source, first, ignored, numStrides, index;
  Expression offset;
  if (!expect(lexer, "=") || !expressions.findTensor(lexer.take(), source) ||
      !expect(lexer, "offset") || !expressions.parse(lexer, offset))
    return false;
  auto list = static_cast<int32_t>(plan.expressions.size());
  plan.expressions.push_back(offset);
  Tensor tensor;
  tensor.kind = Tensor::Kind::View;
  tensor.dtype = tensorAt(source).dtype;
  if (!expect(lexer, "sizes") || !parseList(lexer, first, tensor.rank) ||
      !expect(lexer, "strides") || !parseList(lexer, ignored, numStrides))
    return false;
  if (numStrides != tensor.rank)
    return fail("a view with " + std::to_string(tensor.rank) + " sizes and " +
                std::to_string(numStrides) + " strides");
  if (!defineTensor(name.text, std::move(tensor), stateOf(source).root, index))
    return false;
  Step &step = addStep(Step::Kind::View);
  step.a = index;
  step.b = source;
  step.c = list;
  return true;
}

bool PlanParser::parseLaunchOperands(LineLexer &lexer, Launch &launch) {
  launch.firstOperand = static_cast<int32_t>(plan.operands.size());
  launch.firstScalar = static_cast<int32_t>(plan.expressions.size());
  if (!expect(lexer, "("))
    return false;
  int32_t integers = 0;
  if (!lexer.peek().is(")") && !lexer.peek().is(";"))
    do {
      int32_t tensor;
      if (!expressions.findTensor(lexer.take(), tensor))
        return false;
      plan.operands.push_back(tensor);
      ++launch.numOperands;
      integers += 2 * tensorAt(tensor).rank;
    } while (lexer.accept(","));
  if (lexer.accept(";"))
    do {
      Expression expr;
      if (!expressions.parseOperand(lexer, expr))
        return false;
      plan.expressions.push_back(expr);
      ++launch.numScalars;
      ++integers;
    } while (lexer.accept(","));
  // A GPU's kernel takes the pointers among the integers.
  launch.numWords = launch.numOperands + integers;
  if (!plan.chip.empty())
    integers = launch.numWords;
  plan.maxLaunchPointers = std::max(plan.maxLaunchPointers, launch.numOperands);
  plan.maxLaunchIntegers = std::max(plan.maxLaunchIntegers, integers);
  return expect(lexer, ")");
}

/// " block 256 shared 32768", the end of a launch on a GPU.
bool PlanParser::parseBlock(LineLexer &lexer, Launch &launch) {
  auto number = [&](std::string_view word, int64_t low, int64_t high,
                    int32_t &value) {
    if (!expect(lexer, word))
      return false;
    Token token = lexer.take();
    if (token.kind != Token::Kind::Number || token.number < low ||
        token.number > high)
      return fail(std::string(word) + " takes a number from " +
                  std::to_string(low) + " to " + std::to_string(high) +
                  ", found " + describe(token));
    value = static_cast<int32_t>(token.number);
    return true;
  };
  return number("block", 1, 1024, launch.block) &&
         number("shared", 0, 1 << 20, launch.shared);
}

/// A kernel is compiled for the dtypes and ranks of its operands, so all
/// launches of it must agree.
bool PlanParser::bindKernel(std::string_view name, Launch &launch) {
  auto [it, isNew] = firstLaunch.emplace(name, plan.launches.size());
  if (isNew) {
    launch.kernel = static_cast<int32_t>(plan.kernels.size());
    plan.kernels.emplace_back(name);
    return true;
  }
  const Launch &first = plan.launches[it->second];
  launch.kernel = first.kernel;
  bool agrees = first.numOperands == launch.numOperands &&
                first.numScalars == launch.numScalars;
  for (int32_t i = 0; agrees && i < launch.numOperands; ++i) {
    auto at = [&](const Launch &which) -> const Tensor & {
      return tensorAt(
          plan.operands[static_cast<size_t>(which.firstOperand + i)]);
    };
    agrees = at(first).dtype == at(launch).dtype &&
             at(first).rank == at(launch).rank;
  }
  return agrees || fail("'@" + std::string(name) +
                        "' was launched with other operand types before");
}

bool PlanParser::parseLaunch(LineLexer &lexer) {
  Token name = lexer.take();
  if (name.kind != Token::Kind::Kernel)
    return fail("expected a '@' name, found " + describe(name));
  Launch launch;
  if (!parseLaunchOperands(lexer, launch) || !bindKernel(name.text, launch) ||
      !expect(lexer, "grid") || !expressions.parse(lexer, launch.grid))
    return false;
  if (lexer.accept("scratch") && !expressions.parse(lexer, launch.scratch))
    return false;
  launch.hasThreads = lexer.accept("threads");
  if (launch.hasThreads && !expressions.parse(lexer, launch.threads))
    return false;
  launch.hasWork = lexer.accept("work");
  if (launch.hasWork && !expressions.parse(lexer, launch.work))
    return false;
  if (!plan.chip.empty() && !parseBlock(lexer, launch))
    return false;
  addStep(Step::Kind::Launch).a = static_cast<int32_t>(plan.launches.size());
  plan.launches.push_back(launch);
  return true;
}

bool PlanParser::findTemporary(LineLexer &lexer, Token &token,
                               int32_t &tensor) {
  token = lexer.take();
  if (!expressions.findTensor(token, tensor))
    return false;
  if (tensorAt(tensor).source >= 0)
    return fail(describe(token) + " may be kept: it can't be swapped or freed");
  return tensorAt(tensor).kind == Tensor::Kind::Temporary ||
         fail(describe(token) + " is not a temporary made by alloc");
}

/// The name no longer means the tensor.
void PlanParser::forget(std::string_view name, int32_t tensor) {
  if (!std::exchange(stateOf(tensor).isAlive, false))
    return;
  names.tensors.erase(name);
}

void PlanParser::endViews(int32_t root) {
  for (const auto &[name, view] : stateOf(root).views)
    forget(name, view);
  stateOf(root).views.clear();
}

bool PlanParser::parseSwap(LineLexer &lexer) {
  Token tokenA, tokenB;
  int32_t a, b;
  if (!findTemporary(lexer, tokenA, a) || !findTemporary(lexer, tokenB, b))
    return false;
  if (tensorAt(a).dtype != tensorAt(b).dtype ||
      tensorAt(a).rank != tensorAt(b).rank)
    return fail(describe(tokenA) + " and " + describe(tokenB) +
                " can't be swapped: dtype or rank differ");
  // A view from outside would show the other memory after the first pass of a
  // loop, or after one arm of an if.
  for (int32_t root : {a, b})
    for (const auto &[name, view] : stateOf(root).views)
      if (stateOf(view).isAlive && stateOf(view).depth < blocks.size())
        return fail("'%" + std::string(name) + "' is a view of '%" +
                    tensorAt(root).name +
                    "' from an enclosing block, so that can't be swapped here");
  endViews(a);
  endViews(b);
  Step &step = addStep(Step::Kind::Swap);
  step.a = a;
  step.b = b;
  return true;
}

bool PlanParser::parseFree(LineLexer &lexer) {
  Token token;
  int32_t tensor;
  if (!findTemporary(lexer, token, tensor))
    return false;
  if (stateOf(tensor).depth != blocks.size())
    return fail(describe(token) +
                " was made in an enclosing block and can't be freed here");
  // The order of the list doesn't matter, so the last one fills the gap.
  std::vector<int32_t> &temporaries = blocks.back().temporaries;
  size_t place = stateOf(tensor).place;
  temporaries[place] = temporaries.back();
  stateOf(temporaries[place]).place = place;
  temporaries.pop_back();
  endViews(tensor);
  forget(token.text, tensor);
  addStep(Step::Kind::Free).a = tensor;
  return true;
}

bool PlanParser::parseReturn() {
  if (!unsizedResults.empty())
    return fail("return before the alloc of result '%" +
                std::string(unsizedResults.begin()->first) + "'");
  addStep(Step::Kind::Return);
  return true;
}

bool PlanParser::parseIf(LineLexer &lexer) {
  Expression expr;
  if (!expressions.parse(lexer, expr))
    return false;
  blocks.emplace_back();
  Block &block = blocks.back();
  block.kind = Block::Kind::If;
  block.line = line;
  block.toElse = plan.steps.size();
  addStep(Step::Kind::JumpIfZero).expr = expr;
  return true;
}

void PlanParser::freeTemporaries(const Block &block) {
  for (int32_t tensor : block.temporaries)
    addStep(Step::Kind::Free).a = tensor;
}

void PlanParser::closeBlock() {
  Block &block = blocks.back();
  freeTemporaries(block);
  for (std::string_view name : block.integers)
    names.integers.erase(name);
  for (const auto &[name, tensor] : block.tensors)
    forget(name, tensor);
  block.integers.clear();
  block.tensors.clear();
  block.temporaries.clear();
}

bool PlanParser::parseElse() {
  if (blocks.back().kind != Block::Kind::If)
    return fail("else without if");
  closeBlock();
  Block &block = blocks.back();
  block.kind = Block::Kind::Else;
  block.toEnd.push_back(plan.steps.size());
  addStep(Step::Kind::Jump);
  plan.steps[block.toElse].a = static_cast<int32_t>(plan.steps.size());
  return true;
}

bool PlanParser::parseLoop() {
  blocks.emplace_back();
  blocks.back().kind = Block::Kind::Loop;
  blocks.back().line = line;
  blocks.back().start = plan.steps.size();
  return true;
}

bool PlanParser::parseWhile(LineLexer &lexer) {
  Block &block = blocks.back();
  if (block.kind != Block::Kind::Loop)
    return fail("while stands directly inside loop only");
  Expression expr;
  if (!expressions.parse(lexer, expr))
    return false;
  block.hasWhile = true;
  if (block.temporaries.empty()) {
    block.toEnd.push_back(plan.steps.size());
    addStep(Step::Kind::JumpIfZero).expr = expr;
    return true;
  }
  // Leaving gives back what this pass of the loop has allocated so far.
  size_t stay = plan.steps.size();
  addStep(Step::Kind::JumpIfNonzero).expr = expr;
  freeTemporaries(block);
  block.toEnd.push_back(plan.steps.size());
  addStep(Step::Kind::Jump);
  plan.steps[stay].a = static_cast<int32_t>(plan.steps.size());
  return true;
}

bool PlanParser::parseEnd(bool &isLast) {
  closeBlock();
  Block block = std::move(blocks.back());
  blocks.pop_back();
  if (block.kind == Block::Kind::Body) {
    isLast = true;
    return parseReturn();
  }
  if (block.kind == Block::Kind::Loop) {
    if (!block.hasWhile)
      return fail("the loop of line " + std::to_string(block.line) +
                  " has no while and would never end");
    addStep(Step::Kind::Jump).a = static_cast<int32_t>(block.start);
  }
  auto here = static_cast<int32_t>(plan.steps.size());
  if (block.kind == Block::Kind::If)
    plan.steps[block.toElse].a = here;
  for (size_t jump : block.toEnd)
    plan.steps[jump].a = here;
  return true;
}

} // namespace tessera::runtime
