//===- TileOps.h - Operations on tiles and views ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The OpLibrary of kernels: sections 3 to 7 of docs/language.md. Element-wise
// ops line axes up by identity: every operand is transposed and broadcast to
// the axes of the result, then one arith or math op does the work.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_TILEOPS_H
#define TESSERA_COMPILER_FRONTEND_TILEOPS_H

#include "compiler/Frontend/SemaImpl.h"
#include "compiler/Frontend/SemaValue.h"
#include "compiler/Tile/IR/Tile.h"

namespace tessera::frontend {

class TileOps : public OpLibrary, public KernelState {
public:
  explicit TileOps(SemaContext &context) : context(context) {}

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
  bool fusesAccumulator() const override { return true; }
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
  /// As makeScalar, of a number whose dtype is that of what it meets.
  mlir::Value makeFitting(const SemaValue &value, DType dtype,
                          mlir::Location location);
  /// Adds a check that `value`, the i64 of a number, fits in the dtype it
  /// meets.
  void checkFits(const SemaValue &number, mlir::Value value, DType dtype,
                 mlir::Location location);
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

private:
  using Value = mlir::Value;
  using Location = mlir::Location;

  //===--------------------------------------------------------------------===//
  // TileOps.cpp: types, conversion, alignment, element-wise ops
  //===--------------------------------------------------------------------===//

  std::string describeProgram(llvm::SmallVectorImpl<Value> &ids,
                              Location location); // TileOpsControl.cpp

  /// The SSA type of a scalar or tile of this dtype (an i64 scalar is index).
  mlir::Type getType(DType dtype, llvm::ArrayRef<Axis *> axes);
  /// Converts elements; `value` is a scalar or a tile.
  Value castElements(Value value, DType from, DType to, Location location);
  Value saturateToInt(Value value, DType to, Location location);
  /// A constant of this type (scalar or tile).
  Value makeConstant(const ConstantData &data, DType dtype, mlir::Type type,
                     Location location);
  mlir::TypedAttr makeElement(const ConstantData &data, mlir::Type type);
  ValueResult convert(const SemaValue &value, DType dtype, Location location);

  /// Axes of the result of an element-wise op, and which are complete.
  struct Alignment {
    llvm::SmallVector<Axis *, 4> axes;
    llvm::SmallVector<bool, 4> complete;
  };
  mlir::FailureOr<Alignment> align(llvm::ArrayRef<const SemaValue *> operands,
                                   const OpSite &site);
  /// The operand with the axes and dtype of the result.
  Value spread(const SemaValue &value, DType dtype, const Alignment &alignment,
               Location location);
  /// Ranges for axes, to fill or broadcast along; fresh ones where the axis is
  /// complete in the tile but not by itself.
  Value getRange(Axis *axis, bool complete, Location location);

  std::string getRangesOfSizes(const SemaValue &value) const;
  std::string getFilled(SourceRange where) const;
  std::string getTypedStart(const SemaValue &value, const Expr *expr,
                            DType dtype) const;
  std::string getZeros(const SemaValue &value, const Expr *expr,
                       DType dtype) const;
  /// The common dtype of operands, or an error that names the fix.
  mlir::FailureOr<Promotion>
  promoteAll(llvm::StringRef what, llvm::ArrayRef<const SemaValue *> values,
             const OpSite &site);
  bool reportStartedPosition(const OpSite &site);
  std::string getIndicesFor(const SemaValue &view) const;
  /// Refuses ranges, views, None ... as operands.
  std::string rewriteRanges(const Expr *expr, const SourceRange &where);
  mlir::LogicalResult checkOperand(const SemaValue &value, const Expr *expr,
                                   const SourceRange &where,
                                   llvm::StringRef what,
                                   const std::string &other = {});
  /// Element-wise op over aligned operands of one dtype.
  using Emit = llvm::function_ref<Value(llvm::ArrayRef<Value>, Location)>;
  ValueResult elementwise(llvm::ArrayRef<const SemaValue *> operands,
                          DType dtype, bool weak, DType resultDType,
                          const OpSite &site, Emit emit);
  Value emitBinary(BinaryOperator op, DType dtype, Value left, Value right,
                   Location location);
  Value roundToOdd(Value value, Location at);
  Value emitCeilDiv(DType dtype, Value left, Value right, Location at);
  Value emitFloorDiv(DType dtype, Value left, Value right, Location at);
  Value emitMod(DType dtype, Value left, Value right, Location location);
  Value emitIntPower(Value base, Value exponent, Location at);
  Value emitShift(bool left, DType dtype, Value value, Value count,
                  Location at);
  Value emitCompare(CompareOperator op, DType dtype, Value left, Value right,
                    Location location);
  Value emitExtremum(bool max, DType dtype, Value left, Value right,
                     Location location);
  std::string nameOf(const SemaValue &value, const Expr *expr);

  //===--------------------------------------------------------------------===//
  // TileOpsMemory.cpp: loads, stores, atomics
  //===--------------------------------------------------------------------===//

  struct Access {
    llvm::SmallVector<Value, 4> indices;
    Alignment alignment;
    /// Per index, the axes of the result it spans.
    llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 4> spans;
    bool zipped = false;
  };
  mlir::FailureOr<Access> getAccess(const SemaValue &view,
                                    llvm::ArrayRef<SemaValue> indices,
                                    const OpSite &site);
  /// The reduction whose axis is looked for, for messages.
  std::string reducing;
  mlir::LogicalResult reportSameDim(const SemaValue &view, size_t first,
                                    size_t second, SourceRange where);
  /// A store of a value with the axis `extra`, which `stored` lacks.
  /// A float into ints, or a number into bools.
  mlir::LogicalResult reportStoredKind(const SemaValue &view, DType dtype,
                                       const Expr *value, const OpSite &site);
  mlir::LogicalResult reportExtraAxis(const SemaValue &value,
                                      const Expr *valueExpr, Axis &extra,
                                      llvm::ArrayRef<Axis *> stored,
                                      const OpSite &site);
  mlir::LogicalResult reportSlice(const SemaValue &view,
                                  llvm::ArrayRef<SemaValue> indices,
                                  size_t axis, const OpSite &site);
  void reportIndexCount(const SemaValue &view,
                        llvm::ArrayRef<SemaValue> indices, const OpSite &site);
  void reportIndex(const SemaValue &view, llvm::ArrayRef<SemaValue> indices,
                   size_t axis, const SourceRange &where);
  void reportTileIndex(const SemaValue &tile, const SemaValue &index,
                       const Expr *expr, const OpSite &site);
  mlir::LogicalResult reportNotIndexable(const SemaValue &object,
                                         const OpSite &site);
  ValueResult reportMethod(const SemaValue &object, llvm::StringRef name,
                           const CallArguments &arguments, const OpSite &site);
  ValueResult reportAttribute(const SemaValue &object, llvm::StringRef name,
                              const OpSite &site);
  /// The call of `callee` on a tile instead of `argument`.
  std::string getTileFixFor(const CallArgument &argument,
                            const std::string &callee);
  bool reportWrongLoop(const SemaValue &view, const SemaValue &index,
                       size_t axis, const Expr *expr);
  mlir::LogicalResult checkStoreIndex(const CallArguments &arguments,
                                      const OpSite &site);
  bool reportIndicesSwapped(const SemaValue &view, const SemaValue &index,
                            size_t axis, const Expr *expr);
  bool reportLonelyDim(const SemaValue &view, const SemaValue &index,
                       size_t axis, const Expr *expr);
  bool findDimText(llvm::StringRef name) const;
  mlir::LogicalResult reportWrongDim(const SemaValue &view,
                                     llvm::ArrayRef<SemaValue> indices,
                                     size_t axis, const OpSite &site);
  mlir::ArrayAttr getIndexAxes(const Access &access);
  ValueResult loadTile(const SemaValue &view, llvm::ArrayRef<SemaValue> indices,
                       const SemaValue *mask, const ConstantData *pad,
                       mlir::DictionaryAttr hints, const OpSite &site);
  mlir::LogicalResult
  storeTile(const SemaValue &view, llvm::ArrayRef<SemaValue> indices,
            const SemaValue &value, const Expr *valueExpr,
            const SemaValue *mask, mlir::DictionaryAttr hints,
            std::optional<tile::ReduceKind> atomic, const OpSite &site);
  std::string getAnnotationFix(int parameter, llvm::StringRef open,
                               llvm::StringRef close) const;

  // TileOpsRaces.cpp
  /// A store as the user wrote it.
  struct WriteSite {
    int parameter;
    SourceRange where;
    std::string arguments; // "(m, n), x", of an atomic in its place
    mlir::Value value;     // before it is repeated along these
    llvm::SmallVector<Axis *> repeated;
  };
  /// By location: of the ops themselves some are made twice.
  llvm::DenseMap<mlir::Location, WriteSite> writes;
  /// Reductions over one tile of a dim, with the call, and the same call along
  /// the one axis of the tile that is whole, if there is one.
  struct PartialReduction {
    Axis *along = nullptr;
    std::string callee, alongWhole;
    std::string mean; // what to say of a mean of the part
  };
  llvm::DenseMap<mlir::Location, PartialReduction> partialReductions;
  /// Scans along one tile of a dim, and what to say of them.
  struct PartialScan {
    Axis *along;
    SourceRange where;
    std::string otherAxis; // the same call along the other axis
    std::string remark;
  };
  llvm::DenseMap<mlir::Location, PartialScan> partialScans;
  mlir::LogicalResult
  checkPartsOfRows(mlir::Operation *kernel); // TileOpsParts.cpp
  /// Loads of one element near the start of a range.
  llvm::DenseMap<mlir::Location, SourceRange> elementReads;
  void remarkStarts(mlir::Operation *kernel); // TileOpsStarts.cpp
  void remarkStartsCompared(const CallArgument &condition, const SemaValue &a,
                            const SemaValue &b);
  mlir::LogicalResult checkTileSize(llvm::ArrayRef<Axis *> axes,
                                    SourceRange where);
  std::string getJoinedLoop(tile::StoreOp store, const WriteSite &site,
                            llvm::StringRef place, llvm::StringRef joiner,
                            llvm::StringRef stored) const;
  std::string getRaceFix(const WriteSite &site, const GridAxis &axis,
                         tile::StoreOp store);
  mlir::LogicalResult checkRaces(mlir::Operation *kernel) override;
  /// Refuses a reduction over a tile of the grid that is stored along it: the
  /// result would depend on the size of the tile.
  mlir::LogicalResult checkRepeated(const WriteSite &site);
  /// Refuses stores that every turn of a loop makes anew.
  mlir::LogicalResult checkOverwrites(tile::StoreOp store,
                                      const WriteSite &site,
                                      mlir::Operation *kernel);

  mlir::LogicalResult checkRunningAtomics(mlir::Operation *kernel);
  mlir::LogicalResult checkWrittenTwice(tile::StoreOp store,
                                        const WriteSite &site);

  std::string getUpdateFix(const SemaValue &view, const OpSite &site);
  mlir::LogicalResult checkUpdate(const SemaValue &loaded,
                                  const Subscript &target,
                                  const SourceRange &where) override;
  std::string getLastTurnFix(mlir::OpResult result, const std::string &name,
                             const std::string &value) override;
  void nameCallOfPart(mlir::Location at, const std::string &callee,
                      const CallArgument &argument, const SemaValue &x);
  bool isOfGrid(const Axis &axis) const;
  bool isWholeRow(const Axis &axis) const;
  std::string getWholeRow(const CallArgument &argument,
                          const Axis &along) const;
  mlir::LogicalResult checkWholeRow(const Axis &axis, const OpSite &site);
  void reportPartOfRow(const Axis &axis, bool isOfGrid, const OpSite &site);
  /// Refuses tsr.range_at(start, 64).
  mlir::LogicalResult checkRangeStart(const CallArguments &arguments,
                                      const OpSite &site);
  mlir::LogicalResult checkRangeDim(const CallArguments &arguments,
                                    const OpSite &site);
  /// Refuses tsr.range_at(start, N, 64).
  mlir::LogicalResult checkRangeOrder(const CallArgument &dim,
                                      const CallArgument &start,
                                      const CallArgument &size);
  ValueResult reportAppend(const CallArguments &arguments, const OpSite &site);
  mlir::LogicalResult checkRead(const SemaValue &view, const OpSite &site);
  mlir::LogicalResult checkWrite(const SemaValue &view, bool atomic,
                                 const OpSite &site);
  mlir::LogicalResult checkInsideGrid(const OpSite &site, llvm::StringRef what);
  ValueResult callLoad(const CallArguments &arguments, const OpSite &site);
  ValueResult callStore(const CallArguments &arguments, const OpSite &site);
  ValueResult callAtomic(llvm::StringRef name, const CallArguments &arguments,
                         const OpSite &site);
  mlir::FailureOr<mlir::DictionaryAttr>
      getHints(llvm::ArrayRef<std::pair<const char *, const CallArgument *>>);
  ValueResult subscriptTile(const SemaValue &tile,
                            llvm::ArrayRef<SemaValue> indices,
                            const OpSite &site);

  //===--------------------------------------------------------------------===//
  // TileOpsMath.cpp: functions
  //===--------------------------------------------------------------------===//

  ValueResult callUnary(llvm::StringRef name, const CallArguments &arguments,
                        const OpSite &site);
  Value emitUnary(llvm::StringRef name, DType dtype, Value operand,
                  Location location);
  /// gelu, silu, sigmoid: computed in fp32 (fp64) and rounded once.
  Value emitActivation(llvm::StringRef name, DType dtype, Value operand,
                       Location location);
  ValueResult callExtremum(bool max, const CallArguments &arguments,
                           const OpSite &site);
  ValueResult callWhere(const CallArguments &arguments, const OpSite &site);
  ValueResult callClamp(const CallArguments &arguments, const OpSite &site);
  ValueResult callFma(const CallArguments &arguments, const OpSite &site);
  ValueResult callCdiv(const CallArguments &arguments, const OpSite &site);
  ValueResult callRand(const CallArguments &arguments, const OpSite &site);
  ValueResult callPow(const CallArguments &arguments, const OpSite &site);

  //===--------------------------------------------------------------------===//
  // TileOpsReduce.cpp: reductions, scans, softmax
  //===--------------------------------------------------------------------===//

  ValueResult callReduction(llvm::StringRef name,
                            const CallArguments &arguments, const OpSite &site);
  ValueResult callScan(llvm::StringRef name, const CallArguments &arguments,
                       const OpSite &site);
  ValueResult callSoftmax(const CallArguments &arguments, const OpSite &site);
  /// The axis an argument means: a range, a dim, a tile's own axis, a number.
  mlir::FailureOr<int64_t> findAxis(const SemaValue &tile,
                                    const CallArgument &axis,
                                    const Expr *tileExpr);
  mlir::FailureOr<std::optional<int64_t>>
  getAxisArgument(const SemaValue &tile, const CallArgument *axis,
                  const CallArgument *dim, const CallArgument *axisKeyword,
                  const Expr *tileExpr);
  SemaValue reduce(tile::ReduceKind kind, const SemaValue &input, int64_t axis,
                   Location location);
  /// How many elements of an axis exist, as a number of this dtype.
  Value countElements(const SemaValue &input, int64_t axis, DType dtype,
                      Location location);
  /// binary() on values made by the library itself.
  SemaValue apply(BinaryOperator op, const SemaValue &left,
                  const SemaValue &right, Location location);
  SemaValue applyUnary(llvm::StringRef name, const SemaValue &operand,
                       Location location);
  /// The dtype that sums are taken in: that of @tsr.accum, or our own.
  DType getAccumulate(DType dtype) const {
    if (isFloat(dtype) && context.accum.isDType())
      return context.accum.asDType();
    return getAccumulateDType(dtype);
  }
  SemaValue shiftByMax(const SemaValue &input, int64_t axis, SemaValue &maximum,
                       bool anyInfinity, Location location);

  //===--------------------------------------------------------------------===//
  // TileOpsShape.cpp: attributes, methods, new tiles
  //===--------------------------------------------------------------------===//

  ValueResult rangeAttribute(const SemaValue &range, llvm::StringRef name,
                             const OpSite &site);
  ValueResult transpose(const SemaValue &tile,
                        llvm::ArrayRef<int64_t> permutation, Location location);
  ValueResult callFull(llvm::StringRef name, const CallArguments &arguments,
                       const OpSite &site);
  ValueResult callArange(const CallArguments &arguments, const OpSite &site);
  ValueResult callRangeAt(const CallArguments &arguments, const OpSite &site);
  ValueResult callCat(const CallArguments &arguments, const OpSite &site);
  ValueResult callProgramId(llvm::StringRef name,
                            const CallArguments &arguments, const OpSite &site);
  ValueResult callExtendedMma(llvm::StringRef name,
                              const CallArguments &arguments,
                              const OpSite &site);
  ValueResult callMma(const CallArguments &arguments, const OpSite &site);
  ValueResult multiply(const SemaValue &left, const SemaValue &right,
                       const SemaValue *acc, llvm::StringRef precision,
                       const OpSite &site);
  ValueResult methodTo(const SemaValue &value, const CallArguments &arguments,
                       const OpSite &site);
  ValueResult methodPermute(const SemaValue &value,
                            const CallArguments &arguments, const OpSite &site);
  ValueResult methodExpand(const SemaValue &value,
                           const CallArguments &arguments, const OpSite &site);
  ValueResult methodReshape(const SemaValue &value,
                            const CallArguments &arguments, const OpSite &site);
  ValueResult methodFilled(const SemaValue &value,
                           const CallArguments &arguments, const OpSite &site);
  std::string getSizeOfTiles(const std::string &dim) const;
  std::string getPointerLoad(const SemaValue &view, SourceRange &where) const;
  bool reportRandAxes(const CallArguments &arguments, const OpSite &site);
  std::pair<std::string, SourceRange>
  getOtherAxis(const Expr *value, llvm::ArrayRef<Axis *> stored);
  std::pair<std::string, SourceRange> getTiledGrid(const Expr *counter) const;
  mlir::FailureOr<Axis *> getAxisOperand(const CallArgument &argument,
                                         llvm::StringRef what);
  mlir::LogicalResult checkComplete(const SemaValue &value, const Expr *expr,
                                    const SourceRange &where,
                                    llvm::StringRef what);
  ValueResult unknownCall(llvm::StringRef name, const CallArguments &arguments,
                          const OpSite &site);

  mlir::OpBuilder &builder() { return context.builder; }

  SemaContext &context;
};

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_TILEOPS_H
