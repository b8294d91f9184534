// A plan, parsed and validated: flat arrays that the executable walks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/abi.md section 3 is the specification. A `Plan` that parsePlan returned
// is valid: all indices are in range, every name is defined before use, so the
// executable checks only what depends on the values of a run.
//
// A run has a frame with three arrays. `slots` holds all integers: scalar
// arguments, the sizes and strides of every tensor, locals. A dim has no slot
// of its own: `$M` of `arg %A in f32 [$M, $K]` *is* the slot of A's size 0.
// `pointers` holds one data pointer per tensor (on a GPU, an address there),
// `owners` the block of each temporary.
#ifndef TESSERA_RUNTIME_PLAN_H
#define TESSERA_RUNTIME_PLAN_H

#include "runtime/Dtype.h"
#include "runtime/Expression.h"

#include "tessera-c/runtime.h"
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

enum class ScalarType : uint8_t { Int, Float, Bool };

/// A part of a message: text, or a value to insert.
struct MessagePart {
  enum class Kind : uint8_t { Text, Integer, Float, Bool, Sizes };
  Kind kind = Kind::Text;
  std::string text;
  Expression expr;    // of Integer, Float, Bool
  int32_t tensor = 0; // of Sizes
};
using Message = std::vector<MessagePart>;

/// One axis of an argument or result.
struct Axis {
  enum class Kind : uint8_t {
    Any,      // any size
    Binds,    // names a dim: any size
    SameDim,  // a dim that another axis bound
    Computed, // the value of an expression
  };
  Kind kind = Kind::Any;
  int32_t originTensor = 0; // of SameDim
  Expression expr;          // of SameDim and Computed
  std::string text;         // "K", "H*D", for messages
};

struct Tensor {
  enum class Kind : uint8_t { Argument, Result, Temporary, View };
  std::string name;
  Kind kind = Kind::Argument;
  Dtype dtype = 0;
  int32_t rank = 0;
  int32_t sizes = 0; // slot of size 0; the strides follow the sizes
  int32_t mode = TSR_IN;
  int32_t fresh = -1;  // of an alloc with `of`: slot, must it be filled
  int32_t source = -1; // of such an alloc: the tensor it is made of
  bool mayBeAbsent = false;
  bool sizedInBody = false; // a result with a `?`
  int32_t firstAxis = 0;    // in Plan::axes

  int32_t strides() const { return sizes + rank; }
};

struct Scalar {
  std::string name;
  ScalarType type;
};

struct Launch {
  int32_t kernel = 0;
  int32_t firstOperand = 0; // in Plan::operands
  int32_t numOperands = 0;
  int32_t firstScalar = 0; // in Plan::expressions
  int32_t numScalars = 0;
  bool hasThreads = false;
  bool hasWork = false;
  Expression grid, scratch, threads, work;
  // On a GPU.
  int32_t block = 0;    // threads
  int32_t shared = 0;   // bytes of shared memory
  int32_t numWords = 0; // parameters: pointers, sizes, strides, scalars
};

struct Step {
  enum class Kind : uint8_t {
    Set,         // slot a = expr
    Load,        // slot a = element of tensor b
    Check,       // expr, or the message a
    Expect,      // slot c = element of tensor b; then expr, or the message a
    Alloc,       // temporary a with sizes list[b ...]
    AllocResult, // result a with sizes list[b ...]
    View,        // a of b with list[c ...]: offset, sizes, strides
    Launch,      // launch a
    Swap,        // temporaries a and b
    Free,        // temporary a
    JumpIfZero,  // to step a if expr is 0
    JumpIfNonzero,
    Jump, // to step a
    Return,
  };
  Kind kind = Kind::Return;
  int32_t a = 0, b = 0, c = 0;
  int32_t line = 0; // in the text
  Expression expr;
};

struct Plan {
  std::string function;
  std::string chip;                  // "sm_80"; empty for the CPU
  std::vector<std::string> features; // of the processor, that kernels use
  std::vector<Tensor> tensors;  // the arguments, the results, then the others
  int32_t numArguments = 0;     // arguments and results
  std::vector<int32_t> written; // arguments and results that are written
  std::vector<int32_t> temporaries;
  std::vector<Scalar> scalars; // slots 0 ... n-1
  std::vector<Axis> axes;
  std::vector<Message> messages; // of kernels
  std::vector<Message> checks;   // of check steps
  std::vector<std::string> kernels;
  std::vector<Launch> launches;
  std::vector<int32_t> operands;
  std::vector<Expression> expressions;
  std::vector<ExprInstruction> code;
  std::vector<Step> steps; // ends with Return
  int32_t numSlots = 0;
  int32_t maxLaunchPointers = 0;
  int32_t maxLaunchIntegers = 0;
};

/// Reads a plan. On failure returns an error that names the line.
tsr_status parsePlan(std::string_view text, Plan &plan);

/// "16 x 64", or "scalar".
std::string sizesToString(const int64_t *sizes, int32_t rank);

/// The text of a message with the values of a run.
std::string renderMessage(const Plan &plan, const Message &message,
                          ExprInputs inputs);

} // namespace tessera::runtime

#endif
