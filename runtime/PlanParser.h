// Reads the text of a plan line by line and validates it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_PLANPARSER_H
#define TESSERA_RUNTIME_PLANPARSER_H

#include "runtime/ExpressionParser.h"

#include <unordered_map>
#include <utility>

namespace tessera::runtime {

/// All functions return false after they have set `error`.
class PlanParser {
public:
  PlanParser(std::string_view text, Plan &plan)
      : text(text), plan(plan), expressions(plan, names, error) {}

  tsr_status run();

private:
  /// An `arg` or `result` tensor; its axes wait until all dims are known.
  struct HeaderTensor {
    int32_t line = 0;
    std::string_view name;
    Tensor tensor; // moves to the plan
    std::vector<std::string_view> axes;
  };
  struct PendingMessage {
    int32_t line;
    std::string_view raw;
  };
  /// What the parser must remember of a tensor to rule out stale uses.
  struct TensorState {
    int32_t root; // whose memory it shows
    size_t depth; // of the block that made it
    bool isAlive; // its name means it
    size_t place; // of a temporary in its block's list
    std::vector<std::pair<std::string_view, int32_t>> views; // of a root
  };
  struct Block {
    enum class Kind : uint8_t { Body, If, Else, Loop };
    Kind kind = Kind::Body;
    int32_t line = 0;
    size_t start = 0;          // first step of a loop
    std::vector<size_t> toEnd; // jumps to patch at `end`
    size_t toElse = 0;         // jump to patch at `else` or `end`
    bool hasWhile = false;
    std::vector<std::string_view> integers; // names defined here
    std::vector<std::pair<std::string_view, int32_t>> tensors;
    std::vector<int32_t> temporaries;
  };

  // Lines.
  bool nextLine(std::string_view &line);
  bool parseAll();
  bool parseHeaderLine(LineLexer &lexer, bool &isBody);
  bool finishHeader();
  bool finishLine(LineLexer &lexer);

  // Header.
  bool parseArgument(LineLexer &lexer);
  bool parseScalarArgument(LineLexer &lexer, std::string_view name);
  bool parseHeaderTensor(LineLexer &lexer, Token name, int32_t mode);
  void placeHeaderTensors();
  void bindDims();
  bool resolveAxes();
  bool resolveAxis(std::string_view axisText, int32_t ownSlot, Axis &axis);

  // Steps.
  bool parseStep(LineLexer &lexer, bool &isLast);
  bool parseLet(LineLexer &lexer);
  bool parseSet(LineLexer &lexer);
  bool parseLoad(LineLexer &lexer);
  bool parseCheck(LineLexer &lexer);
  bool parseExpect(LineLexer &lexer);
  bool parseAlloc(LineLexer &lexer);
  bool parseView(LineLexer &lexer);
  bool parseLaunch(LineLexer &lexer);
  bool parseLaunchOperands(LineLexer &lexer, Launch &launch);
  bool parseBlock(LineLexer &lexer, Launch &launch);
  bool bindKernel(std::string_view name, Launch &launch);
  bool parseSwap(LineLexer &lexer);
  bool parseFree(LineLexer &lexer);
  bool parseReturn();
  bool parseIf(LineLexer &lexer);
  bool parseElse();
  bool parseLoop();
  bool parseWhile(LineLexer &lexer);
  bool parseEnd(bool &isLast);
  void closeBlock();

  // Pieces.
  bool expect(LineLexer &lexer, std::string_view symbol);
  bool expectDtype(LineLexer &lexer, Dtype &dtype);
  bool parseList(LineLexer &lexer, int32_t &first, int32_t &count);
  bool defineInteger(std::string_view name, ScalarType type, int32_t &slot);
  bool defineTensor(std::string_view name, Tensor tensor, int32_t root,
                    int32_t &index);
  bool findTemporary(LineLexer &lexer, Token &token, int32_t &tensor);
  Step &addStep(Step::Kind kind);
  const Tensor &tensorAt(int32_t index) const {
    return plan.tensors[static_cast<size_t>(index)];
  }
  void freeTemporaries(const Block &block);
  void endViews(int32_t root);
  void forget(std::string_view name, int32_t tensor);
  TensorState &stateOf(int32_t index) {
    return states[static_cast<size_t>(index)];
  }
  /// Where a word of docs/abi.md, section 3.6, stands.
  enum class Reserved : uint8_t { Header, Step, Clause };
  /// Fails: the word means something in a later version, or nothing.
  bool refuse(const Token &token, Reserved place, std::string otherwise);
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }

  std::string_view text;
  Plan &plan;
  Names names;
  std::string error;
  int32_t errorCode = TSR_INVALID_PLAN;
  int32_t line = 0;
  ExpressionParser expressions;
  std::vector<HeaderTensor> header;
  std::unordered_map<int32_t, int32_t> dimOrigin; // slot of a dim -> tensor
  std::vector<PendingMessage> pendingMessages;
  std::unordered_map<std::string_view, int32_t> unsizedResults;
  std::vector<Block> blocks;
  std::vector<TensorState> states; // per tensor of the plan
  std::unordered_map<std::string_view, size_t> firstLaunch; // of a kernel
};

} // namespace tessera::runtime

#endif
