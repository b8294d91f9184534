//===- Interpreter.h - Executes any stage on plain arrays -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a function op by op. Each op has a handler, registered by the op's
// name in a file per theme (Elementwise.cpp, Movement.cpp ...); a handler reads
// its operands' data, computes in the domain at hand and sets its results.
// Errors are diagnostics at the op's location, the user's line.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_INTERPRETER_H
#define TESSERA_COMPILER_INTERPRETER_INTERPRETER_H

#include "compiler/Interpreter/Domain.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"

#include <functional>
#include <random>
#include <set>

namespace tessera::interpreter {

class Interpreter;
using Data = llvm::SmallVector<DatumRef>;
using Handler = llvm::LogicalResult (*)(mlir::Operation *, Interpreter &);
/// Runs a function-like op. func.func: arguments and results as they are.
/// gir.kernel and plan.func (what a module at a tile stage is entered by): one
/// argument per parameter, null for an `out` one that was left out (a given one
/// only says its shape); results are the written arguments (out, inout, reduce)
/// in order, then the plan's results.
using Callable = llvm::LogicalResult (*)(mlir::Operation *, Interpreter &,
                                         llvm::ArrayRef<DatumRef> arguments,
                                         Data &results);

/// The handlers by op name.
class Handlers {
public:
  void add(llvm::StringRef op, Handler handler) { ops[op] = handler; }
  void addCallable(llvm::StringRef op, Callable callable) {
    callables[op] = callable;
  }
  Handler find(mlir::Operation *op) const {
    return ops.lookup(op->getName().getStringRef());
  }
  Callable findCallable(mlir::Operation *op) const {
    return callables.lookup(op->getName().getStringRef());
  }
  /// For the coverage check: every op that can be executed.
  std::vector<std::string> names() const;

private:
  llvm::StringMap<Handler> ops;
  llvm::StringMap<Callable> callables;
};

/// All of them; a file's function per theme.
const Handlers &allHandlers();
void registerElementwise(Handlers &handlers);
void registerMovement(Handlers &handlers);
void registerReductions(Handlers &handlers);
void registerContractions(Handlers &handlers);
void registerComposites(Handlers &handlers);
void registerControl(Handlers &handlers);
void registerSchedule(Handlers &handlers);
void registerArith(Handlers &handlers);
void registerTileAccess(Handlers &handlers);
void registerTileBuffers(Handlers &handlers);
void registerTileKernels(Handlers &handlers);
void registerPlan(Handlers &handlers);
void registerTileValues(Handlers &handlers);

struct RunOptions {
  /// Elements computed (a product of k terms counts k); more is an error.
  uint64_t maxWork = uint64_t(1) << 36;
  /// Cells alive at once, roughly; more is an error.
  uint64_t maxCells = uint64_t(1) << 28;
  /// Chooses among legal orders where the language leaves them open
  /// (programs of a grid, the moments at which copies complete).
  uint64_t seed = 0;
  /// Of the entry's arguments in memory, by name, in elements; positive. Those
  /// not here are chosen by what their kernels need.
  llvm::StringMap<llvm::SmallVector<int64_t>> strides;
  /// Called after each op with its results.
  std::function<void(mlir::Operation *, Interpreter &)> observer;
  /// Called with each printed line, without its end; default: discarded.
  std::function<void(llvm::StringRef)> print;
};

class Interpreter {
public:
  Interpreter(mlir::ModuleOp module, Domain &domain, RunOptions options = {});

  /// Runs the function (or kernel, or plan) of that name.
  llvm::LogicalResult call(llvm::StringRef name,
                           llvm::ArrayRef<DatumRef> arguments, Data &results);
  /// The name of the one entry point: the public function that no other op
  /// of the module calls, else the only function; empty if that is not one.
  std::string findEntry();

  //===--- For handlers -----------------------------------------------------//

  Domain &domain;
  RunOptions options;
  std::mt19937_64 random;

  mlir::ModuleOp getModule() const { return module; }
  mlir::SymbolTableCollection &getSymbols() { return symbols; }

  const DatumRef &get(mlir::Value value) const;
  template <typename T> T &get(mlir::Value value) const {
    return *llvm::cast<T>(get(value).get());
  }
  const Array &array(mlir::Value value) const { return get<Array>(value); }
  /// The integer of a rank-0 value (a size, a condition, an index).
  int64_t scalar(mlir::Value value) const { return array(value).scalar(); }
  void set(mlir::Value value, DatumRef datum);
  void set(mlir::Value value, Array &&array) {
    set(value, share(std::move(array)));
  }

  /// Runs the only block of `region` with these block arguments; the operands
  /// of its terminator are the result.
  llvm::LogicalResult run(mlir::Region &region,
                          llvm::ArrayRef<DatumRef> arguments, Data &yielded);
  llvm::LogicalResult run(mlir::Operation *op);
  /// Runs a callee in an environment of its own.
  llvm::LogicalResult call(mlir::Operation *callee,
                           llvm::ArrayRef<DatumRef> arguments, Data &results);

  /// Counts work; an error at `op` once it is too much.
  llvm::LogicalResult spend(mlir::Operation *op, uint64_t work);
  /// A new array, or an error at `op` if it would be too large.
  llvm::FailureOr<Array>
  allocate(mlir::Operation *op, llvm::ArrayRef<int64_t> shape, Element element);
  /// The shape of a result whose dynamic extents are `sizes`, in order.
  llvm::SmallVector<int64_t> shapeOf(mlir::Type type,
                                     mlir::ValueRange sizes) const;
  /// A poison cell that remembers why it is one, and where that was found.
  Cell poison(mlir::Operation *op, llvm::StringRef why);
  /// An error at `op`: `what` needs a cell that is poison (or absent).
  llvm::LogicalResult reject(mlir::Operation *op, const Cell &cell,
                             const llvm::Twine &what);
  /// What a program does that is allowed, or poison, but hardly meant.
  struct Remark {
    mlir::Location where;
    llvm::StringRef kind; // "race", "outside"
    std::string text;     // of the first
    int64_t count;
  };
  std::vector<Remark> remarks; // one per op and kind
  void remark(mlir::Operation *op, llvm::StringRef kind, llvm::StringRef text);
  /// The kernel that runs now (TileData.h); null outside of kernels.
  DatumRef kernel;
  /// How many kernels were launched so far, and which of them with programs.
  uint64_t launches = 0;
  std::set<std::string> launched;

  void print(llvm::StringRef line) {
    if (options.print)
      options.print(line);
  }

private:
  using Frame = llvm::DenseMap<mlir::Value, DatumRef>;
  mlir::ModuleOp module;
  mlir::SymbolTableCollection symbols;
  const Handlers &handlers;
  llvm::SmallVector<Frame> frames;
  std::vector<std::pair<mlir::Location, std::string>> reasons;
  llvm::DenseMap<mlir::Operation *, int64_t> lastReason;
  llvm::DenseMap<std::pair<mlir::Operation *, llvm::StringRef>, size_t>
      remarked;
  uint64_t work = 0;
};

/// The handler of every op in the table of scalar ops (gir, arith, math). A
/// scalar goes with an operand of any shape.
llvm::LogicalResult runElementwise(mlir::Operation *op, Interpreter &in);
/// Operand 0 in the element type of the result.
llvm::LogicalResult castElements(mlir::Operation *op, Interpreter &in,
                                 Rounding rounding = Rounding::Nearest);

/// The array of a dense, float or integer attribute, in the domain at hand.
llvm::FailureOr<Array> readConstant(mlir::Operation *op, mlir::Attribute value,
                                    Interpreter &in);

/// The element of an op's result or operand; asserts that it has one.
Element elementOf(mlir::Value value);

/// Replaces each {} of a print's text by the next value. Elements outside
/// their dim are left out.
std::string formatPrint(llvm::StringRef text, llvm::ArrayRef<DatumRef> values,
                        Domain &domain);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_INTERPRETER_H
