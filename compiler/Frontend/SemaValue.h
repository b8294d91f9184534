//===- SemaValue.h - What an expression of the program is -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values the analyser computes with, and the interface through which it
// calls operations. The evaluator (SemaExpr.cpp, SemaStmt.cpp) knows Python:
// names, constants, tuples, control flow. What an operator, an attribute or
// `tsr.max(...)` does with tiles is TileOps*.cpp, with tensors TensorOps*.cpp:
// two implementations of OpLibrary.
//
// The evaluator folds operations whose operands are all constants before it
// asks the library, so a library sees at least one non-constant operand (Dim
// counts as one only if its size is not known), except in `call`.
//
// SSA conventions.
//   kernel:   an i64 scalar is `index`; other scalars have their storage type;
//             a tile is a tensor of static shape, a range `!tile.range<n>`, a
//             view a memref.
//   function: a scalar is a tensor of rank 0 (tensor<i64>, tensor<f64>,
//             tensor<i1>); a tensor any other ranked tensor.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_SEMAVALUE_H
#define TESSERA_COMPILER_FRONTEND_SEMAVALUE_H

#include "compiler/Frontend/AST.h"
#include "compiler/Frontend/Constants.h"
#include "compiler/Frontend/Diagnostics.h"
#include "compiler/Frontend/ForeignNames.h"
#include "compiler/Frontend/Promotion.h"
#include "compiler/Frontend/Sema.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace tessera::frontend {

class OpLibrary;
class SemaContext;

/// A dim of the signature; two axes have the same dim if the names agree. An
/// integer in an annotation is the dim of that name ("128"), an expression the
/// dim of its canonical text ("D*H"), an axis without a name its own dim
/// ("X.shape[0]").
struct Dim {
  std::string name;
  /// -1 if the size is known only at run time.
  int64_t size = -1;
  /// Where it gets its size: an argument of the entry block, and its axis.
  /// Null for an expression or an integer.
  mlir::Value source;
  int axis = -1;
  SourceRange where;
  /// The size as an SSA value (index in kernels, tensor<i64> in functions);
  /// made on first use by SemaContext::getSize.
  mlir::Value value;
  /// An expression: the tree, to be evaluated among the dims.
  const Expr *expression = nullptr;
};

/// Positions in a tile are 32-bit numbers.
constexpr int64_t maxAxisSize = (int64_t(1) << 31) - 1;

/// The identity of an axis of a tile: two tiles have an axis in common if they
/// point at the same object.
struct Axis {
  enum class Kind : uint8_t {
    Range, // of tsr.grid, tsr.tile, tsr.range_at or .copy()
    Whole, // `:`, or a dim used as an axis; one per dim
    Own,   // tsr.arange, reshape, cat
    Unit,  // `None` in a subscript: of size 1
  };

  Kind kind = Kind::Range;
  /// "m", "D"; for messages. The text of a tsr.range_at until it is assigned.
  std::string name;
  bool isNamed() const { return name.empty() || name.back() != ')'; }
  int64_t size = 0;
  Dim *dim = nullptr; // may be null: arange, or a range over a number
  /// The !tile.range<size>; null for Unit axes.
  mlir::Value range;
  /// No element of it is ever absent (a whole dim, an arange).
  bool complete = false;
  SourceRange where;

  // Range only.
  mlir::Value extent;    // positions at or past it are absent (index)
  mlir::Value loopStart; // first position of the whole loop; null: 0
};

enum class ValueKind : uint8_t {
  Constant, // `constant`
  Dim,      // `dim`: a weak i64 that also names an axis
  Scalar,   // `ssa`, `dtype`, `weak`
  Range,    // `axis`
  Tile,     // `ssa`, `dtype`, `axes`
  View,     // `ssa` (memref), `dtype`, `dims`, `parameter`
  Tensor,   // `ssa`, `dtype`, `dims` (entries may be null)
  Tuple,    // `elements`
  Function, // `function`: a tessera function or kernel
  Module,   // `text`: "tessera" or "math"
  Builtin,  // `text`: tsr.<text>; also "range", "print", "len", ...
  Method,   // `text` of `elements[0]`, not called yet
  Slice,    // `:`, only in a subscript; `elements`: lower, upper, step
  Iterable, // what `for` runs over: `text` is range, tile, grid or unroll
};

/// Any value. Copied freely; fields that do not belong to the kind are empty.
struct SemaValue {
  ValueKind kind = ValueKind::Constant;
  ConstantData constant;
  mlir::Value ssa;
  DType dtype = DType::FP32;
  bool weak = false;
  Dim *dim = nullptr;
  Axis *axis = nullptr;
  llvm::SmallVector<Axis *, 4> axes;
  /// Tile: per axis, whether its elements are all real (see Axis::complete;
  /// `.filled` sets it).
  llvm::SmallVector<bool, 4> complete;
  llvm::SmallVector<Dim *, 4> dims;
  int parameter = -1;
  std::vector<SemaValue> elements;
  std::shared_ptr<const CapturedFunction> function;
  std::string text;
  /// Iterable: keyword options (start, stop, stages, group, persistent).
  std::map<std::string, SemaValue, std::less<>> options;

  /// The variable it was last assigned to ("" if none) and where.
  std::string name;
  SourceRange origin;

  static SemaValue makeConstant(ConstantData data);
  static SemaValue makeScalar(mlir::Value ssa, DType dtype, bool weak = false);
  static SemaValue makeTile(mlir::Value ssa, DType dtype,
                            llvm::ArrayRef<Axis *> axes,
                            llvm::ArrayRef<bool> complete = {});
  static SemaValue makeTensor(mlir::Value ssa, DType dtype,
                              llvm::ArrayRef<Dim *> dims);
  static SemaValue makeTuple(std::vector<SemaValue> elements);
  static SemaValue makeBuiltin(std::string name);

  bool isConstant() const { return kind == ValueKind::Constant; }
  bool isNone() const { return isConstant() && constant.isNone(); }
  bool isTile() const { return kind == ValueKind::Tile; }
  bool isScalar() const { return kind == ValueKind::Scalar; }
  bool isTensor() const { return kind == ValueKind::Tensor; }
  /// A number in the widest sense: constant number, dim, scalar.
  bool isNumber() const;
  /// The constant integer (a bool or a dim of known size too), if it is one.
  std::optional<int64_t> getConstantInt() const;
  /// The dtype and weakness with which it takes part in promotion; a constant
  /// is weak bool, i64 or fp64.
  PromotionOperand getPromotionOperand() const;
};

/// "[m, n] fp32", "i64", "the int 128": what a value is, for messages.
std::string describe(const SemaValue &value);
/// The text of an expression before a method or an index: "(a + b)", but
/// "X[m, n]".
std::string asObject(llvm::StringRef text);
/// "[m, n]".
std::string describeAxes(llvm::ArrayRef<Axis *> axes);
/// How a message refers to an operand: its variable, the parameter it was
/// loaded from, or the source text.
std::string describeOperand(const SemaContext &context, const Expr *expr);

/// One argument of a call, already evaluated.
struct CallArgument {
  std::string keyword; // empty if positional
  SemaValue value;
  const Expr *expr = nullptr;
  SourceRange where;
};

struct CallArguments {
  std::vector<CallArgument> arguments; // positional ones first
};

/// Where an operation stands in the source. `operands` are the expressions of
/// its operands, for carets and quotes (null where there is none).
struct OpSite {
  SourceRange range;
  /// The operator, the attribute or the callee's name: where carets go.
  SourceRange nameRange;
  llvm::SmallVector<const Expr *, 2> operands;
};

using ValueResult = mlir::FailureOr<SemaValue>;

/// The operations of one level. Every method either returns a value or reports
/// an error through SemaContext::error and fails.
class OpLibrary {
public:
  virtual ~OpLibrary() = default;

  virtual ValueResult binary(BinaryOperator op, const SemaValue &left,
                             const SemaValue &right, const OpSite &site) = 0;
  virtual ValueResult unary(UnaryOperator op, const SemaValue &operand,
                            const OpSite &site) = 0;
  virtual ValueResult compare(CompareOperator op, const SemaValue &left,
                              const SemaValue &right, const OpSite &site) = 0;
  /// `a and b`, `a or b` on run-time scalars.
  virtual ValueResult boolean(BoolOperator op, const SemaValue &left,
                              const SemaValue &right, const OpSite &site) = 0;
  /// left @ right, with `acc` (may be null) added in the same op.
  virtual ValueResult matmul(const SemaValue &left, const SemaValue &right,
                             const SemaValue *acc, const OpSite &site) = 0;
  /// Whether `acc + left @ right` is one op at this level.
  virtual bool fusesAccumulator() const = 0;

  /// object.name; a method that is called comes to `method` instead.
  virtual ValueResult attribute(const SemaValue &object, llvm::StringRef name,
                                const OpSite &site) = 0;
  virtual ValueResult method(const SemaValue &object, llvm::StringRef name,
                             const CallArguments &arguments,
                             const OpSite &site) = 0;
  /// tsr.name(...). Iteration (range, tile, grid, unroll), print and assert are
  /// the evaluator's; everything else comes here.
  virtual ValueResult call(llvm::StringRef name, const CallArguments &arguments,
                           const OpSite &site) = 0;
  /// object[indices]; site.operands are the expressions of the indices.
  virtual ValueResult subscript(const SemaValue &object,
                                llvm::ArrayRef<SemaValue> indices,
                                const OpSite &site) = 0;
  /// object[indices] = value; the last of site.operands is the value's.
  virtual mlir::LogicalResult store(const SemaValue &object,
                                    llvm::ArrayRef<SemaValue> indices,
                                    const SemaValue &value,
                                    const OpSite &site) = 0;

  /// The names `call` knows, for suggestions.
  virtual std::vector<std::string> getCallNames() const = 0;

  /// The size of a dim whose `source` is set and whose size is not known.
  virtual mlir::Value makeDimSize(Dim &dim, mlir::Location location) = 0;
  /// An SSA value of this dtype for a constant or dim or scalar (at this
  /// level's convention for scalars), converting a weak one as needed.
  virtual mlir::Value makeScalar(const SemaValue &value, DType dtype,
                                 mlir::Location location) = 0;

  // Run-time control flow. Regions are evaluated first; they hold all but
  // the terminator when `yield` and `condition` end them, and become regions of
  // the op that the others make.
  virtual mlir::Type getCounterType() = 0;
  virtual void yield(mlir::Location location, mlir::ValueRange values) = 0;
  virtual void condition(mlir::Location location, mlir::Value holds,
                         mlir::ValueRange carried) = 0;
  virtual mlir::Operation *makeFor(mlir::Location location, mlir::Value start,
                                   mlir::Value stop, int64_t step,
                                   mlir::ValueRange inits,
                                   mlir::Region &body) = 0;
  virtual mlir::Operation *makeWhile(mlir::Location location,
                                     mlir::ValueRange inits, mlir::Region &test,
                                     mlir::Region &body) = 0;
  virtual mlir::Operation *makeIf(mlir::Location location,
                                  mlir::Value condition, mlir::Region &then,
                                  mlir::Region &orelse) = 0;
  /// `after` with the type and shape of `before`, which a loop carries: checked
  /// at run time where nothing is known. Null if they differ.
  virtual mlir::Value conform(const SemaValue &before, const SemaValue &after,
                              llvm::StringRef name,
                              mlir::Location location) = 0;
  /// The same for what two arms (blocks that are not ended yet) make of a
  /// variable: what it is after the `if`, or failure if they differ. Changes
  /// both to what the arms yield.
  virtual ValueResult conformArms(SemaValue &first, SemaValue &second,
                                  mlir::Block *const *arms,
                                  llvm::StringRef name,
                                  mlir::Location location) = 0;
  /// print and a run-time assert.
  virtual mlir::LogicalResult print(llvm::StringRef text,
                                    llvm::ArrayRef<SemaValue> values,
                                    const OpSite &site) = 0;
  virtual mlir::LogicalResult breakpoint(llvm::StringRef label,
                                         const OpSite &site) = 0;
  virtual mlir::LogicalResult assertTrue(const SemaValue &condition,
                                         llvm::StringRef message,
                                         const OpSite &site) = 0;
  /// A call of another kernel, and of a function with annotations; a function
  /// without any is inlined by the evaluator.
  virtual ValueResult callProgram(const CapturedFunction &callee,
                                  const CallArguments &arguments,
                                  const OpSite &site) = 0;
};

/// What libraries share with the evaluator.
class SemaContext {
public:
  SemaContext(mlir::MLIRContext &context, const SemaRequest &request,
              DiagnosticEngine &diags);
  virtual ~SemaContext();

  mlir::OpBuilder builder;
  const SemaRequest &request;
  DiagnosticEngine &diags;

  mlir::MLIRContext *getContext() { return builder.getContext(); }
  const SourceManager &getSources() const { return diags.getSources(); }

  /// An error at `where`; inside an inlined function, notes say from where it
  /// was called. Always returns a diagnostic to add notes and a fix to.
  Diagnostic &error(SourceRange where, std::string message);
  /// "not yet: <what>".
  mlir::LogicalResult notYet(SourceRange where, const std::string &what,
                             std::string fix = {});
  std::string quote(const SourceRange &range) const;
  /// What stands before, and behind, a place on its line.
  std::string quoteBefore(const SourceRange &where) const {
    return quote({where.file, {where.begin.line, 1}, where.begin});
  }
  std::string quoteBehind(const SourceRange &where) const {
    return quote(
        {where.file, where.end, {where.end.line, where.end.column + 200}});
  }
  /// The text of an expression as an operand: in parentheses where it needs
  /// them before a method or beside an operator.
  std::string parenthesize(const Expr *expr) const;

  /// NameLoc(name) around the place; without a name, that of the variable being
  /// assigned (`nameHint`).
  mlir::Location loc(const SourceRange &where, llvm::StringRef name = {});
  std::string nameHint;
  /// @tsr.accum and @tsr.precision where we are: those of a function that is
  /// called hold for its body.
  ConstantData accum;
  std::string precision;
  /// Per variable that counts in steps, the loop over tiles that may be meant:
  /// "for k in tsr.tile(K, 64):" for range(0, K, 64).
  struct TileLoop {
    std::string text;
    SourceRange where;
  };
  /// What makes the loop at hand one whose turns are known; empty if nothing.
  std::string unrollFix;
  std::map<std::string, TileLoop, std::less<>> tileLoops;

  /// The body of the program, for fixes that look at all of it.
  virtual const Body &getBody() const = 0;

  /// The dim of this name, or null.
  Dim *findDim(llvm::StringRef name) const;
  Dim *addDim(std::string name, SourceRange where);
  const std::vector<std::unique_ptr<Dim>> &getDims() const { return dims; }
  /// The size: a constant if known, else a weak scalar; made once, in the entry
  /// block. Fails for an expression that cannot be evaluated.
  ValueResult getSize(Dim &dim, SourceRange where);
  /// A Dim value as what it is in arithmetic; any other value as it is.
  ValueResult decay(const SemaValue &value, SourceRange where);

  Axis *addAxis(Axis axis);
  /// The axis of the whole of a dim (kernels). An error unless its size is
  /// known.
  mlir::FailureOr<Axis *> getWholeAxis(Dim &dim, SourceRange where);

  /// The dim that an extent names: K, an expression of the signature (K // 2),
  /// an integer of it; or null.
  virtual Dim *dimOf(const CallArgument &extent) = 0;
  /// The name of the range in scope that covers this dim, for a fix; empty if
  /// there is none or more than one.
  virtual std::string findRange(const Dim &dim) const = 0;
  /// The name of a range in scope with this many elements; empty if there is
  /// none.
  virtual std::string findRangeOfSize(int64_t size) const = 0;
  /// Whether a variable of this name is a range.
  virtual bool isRange(llvm::StringRef name) const = 0;
  /// "for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):" for the dims of
  /// this signature.
  virtual std::string suggestGrid() const = 0;
  /// Whether the statement at hand is one of a run-time loop.
  virtual bool isInLoop() const = 0;
  /// Where the variables under `where` were last assigned, and what they are;
  /// ranges are left out: errors about them name their loop.
  virtual std::vector<Note> findOrigins(const SourceRange &where) const = 0;
  /// The innermost loop around a line, without that line.
  virtual std::string getLoopWithout(const SourceRange &line) const = 0;
  /// What a name was assigned last; null if that is not one expression.
  virtual const Expr *findAssigned(const std::string &name) const = 0;
  /// Asks for two dims to be one, where the body relates an axis without a name
  /// to another one. True: the caller fails without a message, and the program
  /// is analysed again with one dim. False: both have names, or are one
  /// already.
  virtual bool unify(const Dim &first, const Dim &second,
                     const SourceRange &where) = 0;
  /// The same for whole axes of a tile that should have the axes `wanted` and
  /// has others of the same size.
  bool unifyWhole(llvm::ArrayRef<Axis *> axes, llvm::ArrayRef<Axis *> wanted,
                  const SourceRange &where);
  /// What `text`, an expression, is at this place; nothing if it is refused.
  /// Leaves no message behind. For fixes, before they are proposed: the program
  /// is wrong already, so what this does to the module does not matter.
  virtual std::optional<SemaValue> tryFix(const std::string &text) = 0;
  /// The names of the dims of a parameter of a kernel; empty for other names.
  llvm::SmallVector<std::string> dimNamesOf(llvm::StringRef name);
  /// Evaluates a dim expression ("H*D") among the dims.
  virtual ValueResult evaluateDimExpression(const Expr *expr) = 0;
  /// Analyses a kernel for these arguments into the module being built, once
  /// per distinct arguments; the symbol's name.
  virtual mlir::FailureOr<std::string>
  analyzeKernel(const CapturedFunction &callee,
                const std::vector<ArgumentSpec> &arguments,
                SourceRange site) = 0;

  OpLibrary *library = nullptr;
  /// Code that must dominate everything (sizes of dims) is put at the end of
  /// this list of ops at the start of the entry block.
  mlir::Block *entryBlock = nullptr;
  mlir::Operation *lastEntryOp = nullptr;
  /// Sets the insertion point behind `lastEntryOp`.
  void setInsertionPointToEntry();

  /// Calls being inlined, outermost first.
  struct InlineFrame {
    std::string callee;
    SourceRange call;
  };
  std::vector<InlineFrame> inlineFrames;

private:
  std::vector<std::unique_ptr<Dim>> dims;
  std::vector<std::unique_ptr<Axis>> axisStorage;
  std::map<Dim *, Axis *> wholeAxes;
};

//===----------------------------------------------------------------------===//
// Arguments of calls
//===----------------------------------------------------------------------===//

/// Arguments by parameter name; null where one was not given.
using BoundArguments = llvm::SmallVector<const CallArgument *, 8>;

/// Refuses a product whose sums @tsr.accum wants narrower than its operands.
mlir::LogicalResult checkAccumulate(SemaContext &context, DType operand,
                                    const OpSite &site);
/// "(tsr.arange(x.shape[0]) == 3)[:, None]": one place along an axis of x.
std::string getPlaceMask(const std::string &name, size_t rank, size_t axis,
                         int64_t place);
/// The fix of a product of two dtypes that a conversion of one operand parts:
/// that operand without it.
void leaveOutConversion(SemaContext &context, Diagnostic &diagnostic,
                        const Expr *const exprs[2], const DType dtypes[2]);
/// "x = tsr.where(x < 0, 0.0, x)" for x[x < 0] = 0.0 of a value that is not
/// written into.
std::string getStoreFix(const SemaContext &context, const SemaValue &object,
                        const std::string &name, const SemaValue &given,
                        llvm::ArrayRef<SemaValue> indices, const OpSite &site);

/// Matches the arguments with `parameters` (names; the first `required` must be
/// given; one that starts with '*' is keyword-only, without the star). An error
/// says what there is; its fix is the call as it should be.
mlir::FailureOr<BoundArguments>
bindArguments(SemaContext &context, llvm::StringRef callee,
              const CallArguments &arguments,
              llvm::ArrayRef<llvm::StringRef> parameters, unsigned required,
              const OpSite &site);

/// The constant an option must be; reports an error that names the option.
mlir::FailureOr<int64_t> getConstantInt(SemaContext &context,
                                        const CallArgument &argument,
                                        llvm::StringRef what);
mlir::FailureOr<std::string> getConstantString(SemaContext &context,
                                               const CallArgument &argument,
                                               llvm::StringRef what);
/// One of `choices`, the default first; those in `later` are refused as not
/// there yet.
mlir::FailureOr<std::string>
getChoice(SemaContext &context, const CallArgument &argument,
          llvm::StringRef what, llvm::ArrayRef<llvm::StringRef> choices,
          llvm::ArrayRef<llvm::StringRef> later = {});
/// A dtype: a dtype value, or a string that names one. Refuses those that are
/// not supported yet.
mlir::FailureOr<DType> getDTypeArgument(SemaContext &context,
                                        const CallArgument &argument);

/// The arguments of `var` and `std` in our words: how many the divisor is less
/// by is ddof= in NumPy, where it is 0 if it is not said, and unbiased= in
/// torch.
void useCorrection(llvm::StringRef name, std::vector<std::string> &texts,
                   bool isNumPy);

/// What to write until a name that comes later is there, given the texts of its
/// arguments.
std::string getLaterFix(llvm::StringRef name,
                        const std::vector<std::string> &given);
/// "a @ b.T" for einsum("ij,kj->ik", a, b); empty if it is no product.
std::string getEinsumFix(SemaContext &context,
                         const std::vector<std::string> &given);

/// "tsr.atomic_add(S, (n,), x)" for the arguments of atomics of CUDA and
/// Triton: (S, n, x), (S[n], x), (S + n, x); empty if it is not accepted.
std::string getAtomicCall(SemaContext &context, const std::string &name,
                          llvm::ArrayRef<std::string> given);

/// The text of an argument's value, without its keyword; where it stands.
std::string quoteValue(const SemaContext &context,
                       const CallArgument &argument);
SourceRange getValueRange(const CallArgument &argument);
/// The arguments of a call as written; those of the object before the name of a
/// method are left out.
std::vector<std::string> quoteArguments(const SemaContext &context,
                                        const CallArguments &arguments,
                                        const OpSite &site);
/// The call as written, with other arguments.
std::string rewriteCall(const SemaContext &context, const OpSite &site,
                        llvm::ArrayRef<std::string> arguments);
/// If the name is one of another library, adds to the message what it is here,
/// and the fix. `object` is the expression before the dot of a method or
/// attribute.
bool explainForeign(SemaContext &context, Diagnostic &diagnostic,
                    ForeignKind kind, llvm::StringRef name,
                    const CallArguments &arguments, const OpSite &site,
                    const Expr *object = nullptr);
/// What a name of another library is here for these arguments: the first
/// alternative that means the same and is accepted, or a phrase; or nothing.
std::string findInstead(SemaContext &context, const ForeignName &entry,
                        const std::vector<std::string> &arguments,
                        const std::string &object = {});
/// Which entries of the table hold here.
ForeignLevel getLevel(const SemaContext &context);
/// The call of the operation that a misspelt name is meant to be, or only the
/// name if the arguments do not fit it; empty if nothing is near, or if another
/// library has a function of the name, which is then no misspelling.
std::string findNearest(SemaContext &context, llvm::StringRef prefix,
                        llvm::StringRef name, llvm::ArrayRef<std::string> given,
                        const std::vector<std::string> &known);
/// The fix of an operation that is not there: what a name of another library is
/// here, or the nearest of `known`; none if there is neither. `object` is that
/// of a method.
void explainUnknown(SemaContext &context, Diagnostic &diagnostic,
                    ForeignKind kind, llvm::StringRef name,
                    const CallArguments &arguments, const OpSite &site,
                    const std::vector<std::string> &known,
                    const Expr *object = nullptr);
/// tsr.breakpoint("label").
ValueResult callBreakpoint(SemaContext &context, OpLibrary &library,
                           const CallArguments &arguments, const OpSite &site);

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// Tiles and views, inside a `gir.kernel`.
std::unique_ptr<OpLibrary> createTileOps(SemaContext &context);
/// Tensors, inside a `func.func`.
std::unique_ptr<OpLibrary> createTensorOps(SemaContext &context);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_SEMAVALUE_H
