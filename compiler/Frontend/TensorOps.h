//===- TensorOps.h - The operations of a @tsr.function ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the operations on tensors into `gir` ops. Private to TensorOps*.cpp:
//   TensorOps.cpp            names, dispatch, attributes, scalars
//   TensorOpsShape.cpp       extents, broadcasting, checks and their errors
//   TensorOpsElementwise.cpp operators, math functions, where, casts
//   TensorOpsReduce.cpp      reductions, scans, softmax, norms, losses
//   TensorOpsMatmul.cpp      products and attention
//   TensorOpsMove.cpp        transpose, reshape, cat, creation
//   TensorOpsIndex.cpp       x[...], take, gather
//   TensorOpsProgram.cpp     calls of kernels
//   TensorOpsControl.cpp     loops, branches, print, assert
//
// A number of any kind takes part as a tensor of rank 0. What is known about
// sizes is asked of graph::getExtent; where two extents must be equal and are
// neither proved so nor proved different, a `gir.check_equal` is left behind.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_TENSOROPS_H
#define TESSERA_COMPILER_FRONTEND_TENSOROPS_H

#include "compiler/Frontend/Operations.h"
#include "compiler/Frontend/SemaValue.h"
#include "compiler/Graph/IR/Extents.h"
#include "compiler/Graph/IR/Graph.h"
#include "compiler/Support/Messages.h"

namespace tessera::frontend {

/// The axes of a tensor: the extent of each, and its dim where it has one.
struct TensorShape {
  llvm::SmallVector<graph::Extent, 4> extents;
  llvm::SmallVector<Dim *, 4> dims;

  size_t rank() const { return extents.size(); }
  void push_back(const graph::Extent &extent, Dim *dim = nullptr) {
    extents.push_back(extent);
    dims.push_back(dim);
  }
  void append(const TensorShape &other, size_t axis) {
    push_back(other.extents[axis], other.dims[axis]);
  }
};

/// Which indices beside 0 to size - 1 an op accepts.
struct IndexRules {
  bool wraps = false;             // negative ones count from the end
  std::optional<int64_t> ignored; // stands for none
};

class TensorOps : public OpLibrary {
public:
  explicit TensorOps(SemaContext &context) : context(context) {}

  ValueResult binary(BinaryOperator op, const SemaValue &left,
                     const SemaValue &right, const OpSite &site) override;
  ValueResult unary(UnaryOperator op, const SemaValue &operand,
                    const OpSite &site) override;
  ValueResult compare(CompareOperator op, const SemaValue &left,
                      const SemaValue &right, const OpSite &site) override;
  ValueResult boolean(BoolOperator op, const SemaValue &left,
                      const SemaValue &right, const OpSite &site) override;
  ValueResult matmul(const SemaValue &left, const SemaValue &right,
                     const SemaValue *acc, const OpSite &site) override;
  bool fusesAccumulator() const override { return false; }
  ValueResult attribute(const SemaValue &object, llvm::StringRef name,
                        const OpSite &site) override;
  ValueResult method(const SemaValue &object, llvm::StringRef name,
                     const CallArguments &arguments,
                     const OpSite &site) override;
  ValueResult call(llvm::StringRef name, const CallArguments &arguments,
                   const OpSite &site) override;
  ValueResult subscript(const SemaValue &object,
                        llvm::ArrayRef<SemaValue> indices,
                        const OpSite &site) override;
  mlir::LogicalResult store(const SemaValue &object,
                            llvm::ArrayRef<SemaValue> indices,
                            const SemaValue &value,
                            const OpSite &site) override;
  std::vector<std::string> getCallNames() const override;
  mlir::Value makeDimSize(Dim &dim, mlir::Location location) override;
  mlir::Value makeScalar(const SemaValue &value, DType dtype,
                         mlir::Location location) override;
  mlir::Type getCounterType() override;
  void yield(mlir::Location location, mlir::ValueRange values) override;
  void condition(mlir::Location location, mlir::Value holds,
                 mlir::ValueRange carried) override;
  mlir::Operation *makeFor(mlir::Location location, mlir::Value start,
                           mlir::Value stop, int64_t step,
                           mlir::ValueRange inits, mlir::Region &body) override;
  mlir::Operation *makeWhile(mlir::Location location, mlir::ValueRange inits,
                             mlir::Region &test, mlir::Region &body) override;
  mlir::Operation *makeIf(mlir::Location location, mlir::Value condition,
                          mlir::Region &then, mlir::Region &orelse) override;
  mlir::Value conform(const SemaValue &before, const SemaValue &after,
                      llvm::StringRef name, mlir::Location location) override;
  ValueResult conformArms(SemaValue &first, SemaValue &second,
                          mlir::Block *const *arms, llvm::StringRef name,
                          mlir::Location location) override;
  mlir::LogicalResult print(llvm::StringRef text,
                            llvm::ArrayRef<SemaValue> values,
                            const OpSite &site) override;
  mlir::LogicalResult breakpoint(llvm::StringRef label,
                                 const OpSite &site) override;
  mlir::LogicalResult assertTrue(const SemaValue &condition,
                                 llvm::StringRef message,
                                 const OpSite &site) override;
  ValueResult callProgram(const CapturedFunction &callee,
                          const CallArguments &arguments,
                          const OpSite &site) override;

  /// Checks a result against its annotation `Tensor["M", 4, fp16]` and gives
  /// its axes those names. Anything but a Tensor[...] is left alone.
  mlir::LogicalResult checkResult(SemaValue &result, const Expr *annotation,
                                  SourceRange where);

private:
  /// A call of a named operation, as function or method: the object of a
  /// method is its first argument.
  struct NamedCall {
    std::string name;
    CallArguments arguments;
    const OpSite &site;
  };
  using Handler = ValueResult (TensorOps::*)(const NamedCall &);
  struct Entry {
    Handler handler;
    bool function; // tsr.name(...)
    bool method;   // x.name(...)
  };
  static const std::map<std::string, Entry, std::less<>> &getEntries();
  friend std::vector<Callable> listTensorOperations();
  ValueResult dispatch(const Entry &entry, llvm::StringRef name,
                       CallArguments arguments, const OpSite &site);

  // TensorOps.cpp: small things every operation needs.
  mlir::Location loc(const OpSite &site) { return context.loc(site.range); }
  mlir::LogicalResult fail(SourceRange where, std::string message,
                           std::string fix = {});
  /// Creates a `gir` op of one result; arithmetic on constants is folded.
  mlir::Value emit(llvm::StringRef name, mlir::Location location,
                   mlir::Type type, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value);
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute unit(llvm::StringRef name);
  mlir::Type elementType(DType dtype);
  mlir::FailureOr<BoundArguments>
  bind(const NamedCall &call, llvm::ArrayRef<llvm::StringRef> parameters,
       unsigned required);
  /// A tensor or run-time scalar with its dims decayed; anything else is an
  /// error that names the operation.
  /// What could stand where a tensor is needed.
  std::string getTensorFix(const CallArgument &argument,
                           llvm::StringRef callee) const;
  ValueResult operand(const CallArgument &argument, llvm::StringRef callee);
  mlir::FailureOr<SemaValue> tensorOperand(const CallArgument &argument,
                                           llvm::StringRef callee);
  mlir::FailureOr<bool> flag(const CallArgument *argument, bool otherwise,
                             llvm::StringRef what);
  mlir::FailureOr<double> number(const CallArgument *argument, double otherwise,
                                 llvm::StringRef what);
  /// The axis an argument names: an int (negative from the end) or a dim.
  mlir::FailureOr<int64_t> axis(const CallArgument &argument,
                                const SemaValue &tensor, int64_t extra = 0);
  mlir::FailureOr<llvm::SmallVector<int64_t>> axes(const CallArgument *argument,
                                                   const SemaValue &tensor);
  /// The value converted to a tensor of this dtype (rank 0 for a number).
  mlir::Value convert(const SemaValue &value, DType dtype,
                      mlir::Location location);
  /// A tensor, or a scalar if `tensor` is false.
  SemaValue makeResult(mlir::Value ssa, DType dtype, const TensorShape &shape,
                       bool tensor = true, bool weak = false);
  mlir::Value constant(mlir::Location location, DType dtype, double value);
  mlir::Value constant(mlir::Location location, int64_t value);
  std::string nameOf(const SemaValue &value, const Expr *expr);
  /// "x is [M, N] fp32", where it came from.
  void noteOrigin(Diagnostic &diagnostic, const SemaValue &value,
                  const std::string &name);

  // TensorOpsShape.cpp
  static int64_t rankOf(const SemaValue &value);
  TensorShape shapeOf(const SemaValue &value);
  std::string axisText(const graph::Extent &extent, const Dim *dim);
  std::string shapeText(const TensorShape &shape);
  std::string describeShape(const SemaValue &value);
  mlir::RankedTensorType typeOf(const TensorShape &shape, DType dtype);
  llvm::SmallVector<mlir::Value> sizesOf(const TensorShape &shape,
                                         mlir::Location location);
  bool isProvedEqual(const graph::Extent &a, const Dim *aDim,
                     const graph::Extent &b, const Dim *bDim);
  enum class Agreement { Equal, Checked, Differ };
  /// Whether all are ints, none of them a tensor.
  static bool areInts(llvm::ArrayRef<SemaValue> numbers);
  /// base ** exponent, both ints of the call; `name` is the exponent's.
  ValueResult powerOfInts(const SemaValue &base, const SemaValue &exponent,
                          const std::string &name, const OpSite &site);
  std::string getSlicesFix(const SemaValue &object, llvm::StringRef name,
                           const CallArguments &arguments,
                           const std::string &text);
  /// A check at the call; the message begins with the place of `location`.
  void checkEqual(mlir::Value lhs, mlir::Value rhs, const std::string &message,
                  mlir::Location location);
  void checkFits(const SemaValue &number, const std::string &name, DType dtype,
                 mlir::Location location);
  /// Proves that two axes are equal, or leaves a check behind, or says that
  /// they differ.
  Agreement agree(const graph::Extent &a, const Dim *aDim,
                  const graph::Extent &b, const Dim *bDim,
                  const std::string &message, mlir::Location location);
  /// The shape all of `shapes` (whole operands, or their batch axes) broadcast
  /// to. `what` is the operation as the user wrote it.
  mlir::FailureOr<TensorShape>
  broadcastShape(llvm::ArrayRef<TensorShape> shapes,
                 llvm::ArrayRef<SemaValue> operands,
                 llvm::ArrayRef<std::string> names, llvm::StringRef what,
                 const OpSite &site);
  void remarkOneNumber(const NamedCall &call, const Expr *expr);
  void suggestOtherNone(Diagnostic &diagnostic, const std::string &what,
                        const OpSite &site);
  void suggestColumnOrSlice(Diagnostic &diagnostic,
                            llvm::ArrayRef<TensorShape> shapes,
                            const OpSite &site);
  std::string findBroadcast(const TensorShape &whole, const Expr *expr);
  /// `value`, whose axes are `axes` of `shape`, repeated to that shape.
  mlir::Value broadcastTo(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                          const TensorShape &shape, mlir::Location location);
  /// The same, its axes being the last ones.
  mlir::Value broadcastTo(mlir::Value value, const TensorShape &shape,
                          mlir::Location location);
  mlir::Value reshapeTo(mlir::Value value, const TensorShape &shape,
                        mlir::Location location);
  mlir::Value product(llvm::ArrayRef<graph::Extent> extents,
                      mlir::Location location);
  graph::Extent productExtent(llvm::ArrayRef<graph::Extent> extents,
                              mlir::Location location);
  /// Sizes given as arguments: ints, dims, run-time ints, one tuple of them.
  struct SizeArgument {
    graph::Extent extent;
    Dim *dim = nullptr;
    bool inferred = false; // -1
    SourceRange where;
  };
  mlir::FailureOr<llvm::SmallVector<SizeArgument>>
  sizeArguments(llvm::ArrayRef<CallArgument> arguments, llvm::StringRef callee);
  static std::vector<CallArgument>
  flattenTuple(llvm::ArrayRef<CallArgument> arguments);

  // TensorOpsControl.cpp
  enum class Fit { Equal, Unknown, Differ };
  Fit fits(const graph::Extent &a, const Dim *aDim, const graph::Extent &b,
           const Dim *bDim);
  /// `value` as a tensor of this shape, with checks for what is not known.
  mlir::Value fitTo(const SemaValue &value, const TensorShape &shape,
                    llvm::StringRef name, llvm::StringRef when,
                    mlir::Location location);
  /// An extent that is computed inside a region, as one that is computed at
  /// the builder's position; nothing if it depends on more than sizes.
  std::optional<graph::Extent> hoist(const graph::Extent &extent,
                                     mlir::Region &region);
  mlir::Value hoist(mlir::Value value, mlir::Region &region);

  // TensorOpsProgram.cpp
  /// Notes the arguments whose sizes a kernel needs as constants; fails if
  /// there are any.
  mlir::LogicalResult askForWhole(const CapturedFunction &callee,
                                  const Signature &signature,
                                  const BoundArguments &bound);
  /// Notes that the version needs this size as a constant; false if it is one,
  /// or no parameter gives it.
  bool askForSize(mlir::Value tensor, int64_t axis);

  // TensorOpsElementwise.cpp
  struct Prepared {
    std::vector<SemaValue> operands;      // dims decayed
    llvm::SmallVector<std::string> names; // as the user wrote them
  };
  mlir::FailureOr<Prepared>
  prepare(std::initializer_list<const SemaValue *> values, const OpSite &site);
  mlir::FailureOr<Promotion> promoteAll(llvm::ArrayRef<SemaValue> operands,
                                        llvm::ArrayRef<std::string> names,
                                        llvm::StringRef what,
                                        const OpSite &site);
  /// Operands of one dtype and shape; `shape` is the common one.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  unify(llvm::ArrayRef<SemaValue> operands, llvm::ArrayRef<std::string> names,
        llvm::ArrayRef<DType> dtypes, llvm::StringRef what, const OpSite &site,
        TensorShape &shape);
  ValueResult elementwise(llvm::StringRef op, llvm::StringRef what,
                          llvm::ArrayRef<SemaValue> operands,
                          llvm::ArrayRef<std::string> names,
                          const OpSite &site);
  mlir::Value contract(llvm::StringRef op, DType dtype,
                       llvm::ArrayRef<mlir::Value> values,
                       mlir::Location location);
  ValueResult power(const SemaValue &base, const SemaValue &exponent,
                    const OpSite &site);
  mlir::LogicalResult checkDivisor(llvm::ArrayRef<SemaValue> operands,
                                   const std::string &divisor,
                                   const OpSite &site);
  /// Int values that are weak become fp64; other ints are an error.
  ValueResult requireFloat(const SemaValue &value, const std::string &name,
                           llvm::StringRef callee, const OpSite &site);
  ValueResult cast(const SemaValue &value, DType dtype,
                   llvm::StringRef rounding, const OpSite &site);
  ValueResult callUnary(const NamedCall &call);
  ValueResult callRounding(const NamedCall &call);
  ValueResult callPredicate(const NamedCall &call);
  ValueResult callBinary(const NamedCall &call);
  ValueResult callWhere(const NamedCall &call);
  ValueResult callClamp(const NamedCall &call);
  ValueResult callFma(const NamedCall &call);
  ValueResult callGelu(const NamedCall &call);
  ValueResult callTo(const NamedCall &call);
  ValueResult callNamedCast(const NamedCall &call);

  // TensorOpsReduce.cpp
  /// What @tsr.accum says, for an op that adds up floats.
  void addAccumulate(llvm::SmallVectorImpl<mlir::NamedAttribute> &attributes,
                     DType input);
  ValueResult reduce(llvm::StringRef kind, const SemaValue &input,
                     llvm::ArrayRef<int64_t> axes, bool keep, DType result,
                     int64_t correction, const OpSite &site);
  ValueResult callReduce(const NamedCall &call);
  ValueResult callScan(const NamedCall &call);
  ValueResult callSoftmax(const NamedCall &call);
  ValueResult callNorm(const NamedCall &call);
  ValueResult callCrossEntropy(const NamedCall &call);
  ValueResult perCounted(const SemaValue &sum, const SemaValue &targets,
                         int64_t ignored, llvm::ArrayRef<int64_t> axes,
                         const OpSite &site);

  // TensorOpsMatmul.cpp
  ValueResult callMatmul(const NamedCall &call);
  ValueResult callLinear(const NamedCall &call);
  ValueResult callAttention(const NamedCall &call);
  bool askForHeads(mlir::Value probabilities, mlir::Value values);
  mlir::FailureOr<mlir::Value> gemm(mlir::Value lhs, mlir::Value rhs,
                                    const TensorShape &shape, DType dtype,
                                    const OpSite &site);

  // TensorOpsMove.cpp
  ValueResult permute(const SemaValue &input,
                      llvm::ArrayRef<int64_t> permutation, const OpSite &site);
  ValueResult callTranspose(const NamedCall &call);
  ValueResult callPermute(const NamedCall &call);
  ValueResult callReshape(const NamedCall &call);
  ValueResult callFlatten(const NamedCall &call);
  ValueResult callUnsqueeze(const NamedCall &call);
  ValueResult callSqueeze(const NamedCall &call);
  ValueResult callExpand(const NamedCall &call);
  mlir::LogicalResult checkOneTuple(const NamedCall &call);
  ValueResult callCat(const NamedCall &call);
  ValueResult callTake(const NamedCall &call);
  ValueResult callGather(const NamedCall &call);
  ValueResult callFull(const NamedCall &call);
  ValueResult callFullLike(const NamedCall &call);
  mlir::LogicalResult checkFill(const SemaValue &fill, DType dtype,
                                const NamedCall &call);
  ValueResult callArange(const NamedCall &call);
  ValueResult callSize(const NamedCall &call);
  ValueResult callCdiv(const NamedCall &call);
  ValueResult take(const SemaValue &input, const SemaValue &indices,
                   int64_t axis, const OpSite &site);
  void checkIndices(const SemaValue &object, llvm::StringRef name,
                    const SemaValue &indices, llvm::StringRef indexName,
                    int64_t axis, SourceRange where, IndexRules rules = {});
  ValueResult sizeValue(const SemaValue &tensor, int64_t axis,
                        mlir::Location location);

  // TensorOpsIndex.cpp
  /// One axis of a gir.slice.
  struct SliceAxis {
    graph::Extent start;
    int64_t step = 1;
    graph::Extent size;
    Dim *dim = nullptr;
    bool dropped = false; // an int index
  };
  mlir::Value fromStart(mlir::Value index, mlir::Value size,
                        const TensorShape &shape, mlir::Location location);
  void checkIndex(const SemaValue &object, mlir::Value index,
                  std::optional<int64_t> number, mlir::Value size, int64_t axis,
                  SourceRange where);
  mlir::FailureOr<SliceAxis> indexAxis(const SemaValue &object,
                                       const SemaValue &index, int64_t axis,
                                       SourceRange where, const OpSite &site);
  mlir::FailureOr<SliceAxis> sliceAxis(const SemaValue &object,
                                       const SemaValue &index, int64_t axis,
                                       SourceRange where, const OpSite &site);
  graph::Extent clampBound(const SemaValue &bound, const graph::Extent &size,
                           int64_t low, int64_t highOffset,
                           mlir::Location location);

  SemaContext &context;
};

/// TensorOps::checkResult of a library made by createTensorOps; to be called
/// on each returned value with its part of `definition.returns`.
mlir::LogicalResult checkResultAnnotation(OpLibrary &library, SemaValue &result,
                                          const Expr *annotation,
                                          SourceRange where);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_TENSOROPS_H
