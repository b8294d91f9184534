//===- SemaImpl.h - The evaluator: Python without the operations -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks one program and emits IR as it goes. Constants are folded; what is left
// goes to the OpLibrary of the level. A variable is a SemaValue in a scope; a
// loop carries the variables its body assigns, an `if` merges them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_SEMAIMPL_H
#define TESSERA_COMPILER_FRONTEND_SEMAIMPL_H

#include "compiler/Frontend/SemaValue.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Region.h"

#include <functional>
#include <set>

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// Shared by the parts of the analyser
//===----------------------------------------------------------------------===//

/// "a.b.c" of a chain of attributes on a name; empty for anything else.
std::string getDottedName(const Expr *expr);

/// Folds an expression of constants; `lookup` gives the value of a dotted name.
/// Never reports anything.
std::optional<ConstantData>
tryFold(const Expr *expr,
        const std::function<std::optional<ConstantData>(const std::string &)>
            &lookup);

/// The constant a value is: a dim of known size, a tuple of constants too.
std::optional<ConstantData> toConstant(const SemaValue &value);

/// The name of tessera that an expression refers to ("Tensor" for `Tensor`,
/// `tsr.Tensor` or an alias), or an empty string.
std::string resolveBuiltin(const Expr *expr, const CapturedNames &captured);

/// Names of Python that programs may call.
llvm::ArrayRef<const char *> getPythonBuiltins();

/// "line 7".
std::string describeLine(const SourceRange &where);

/// One text for all ways to write the same dim expression: "D*H".
std::string getCanonicalDim(const Expr *expr);
/// A module of arrays or tiles by the name that it is imported under.
bool isForeignModule(llvm::StringRef name);
/// "(x, 1)" of the text behind a name, if that is a call.
std::string getCallText(const std::string &text);

/// The variables a body may assign, with the first place of each. `isDead`
/// tells which arm of an `if` is never run (-1 neither, 0 the body, 1 `else`).
void collectAssigned(const Body &body,
                     std::vector<std::pair<std::string, SourceRange>> &names,
                     const std::function<int(const If &)> &deadArm = {});

/// Calls `visit` on each statement of a body, those inside others too.
void walkStatements(const Body &body,
                    llvm::function_ref<void(const Stmt *)> visit);

/// Calls `visit` on each expression of a body, parents first; what is inside
/// one is skipped where it returns false.
void walkExpressions(const Body &body,
                     const std::function<bool(const Expr *)> &visit);

/// `text` with each of its words as `change(word, before, after)` makes it, the
/// characters beside it given.
std::string changeWords(
    llvm::StringRef text,
    llvm::function_ref<std::string(llvm::StringRef, char, char)> change);

/// Where a body reads a variable before it has surely assigned it; an invalid
/// range if it never does.
SourceRange findReadBeforeAssigned(const Body &body, const std::string &name);

/// "X.shape[0]": the dim of an axis without a name.
bool isUnnamed(const Dim &dim);
/// "Tensor[M, K]", as messages show an annotation.
std::string getAnnotationText(const ParameterDescription &parameter);

//===----------------------------------------------------------------------===//
// Analyzer
//===----------------------------------------------------------------------===//

enum class Flow : uint8_t { Normal, Returned, Failed };

class KernelState;

/// "N", "BLOCK" of "tsr.cdiv(N, BLOCK)" and of "N // BLOCK"; else the second is
/// empty.
std::pair<std::string, std::string> getBlocks(llvm::StringRef extent);

class Analyzer;

/// Does a value use any of these names?
bool mentionsAny(const Analyzer &analyzer, const Expr *value,
                 const std::set<std::string> &names);

class Analyzer : public SemaContext {
public:
  Analyzer(mlir::ModuleOp module, const SemaRequest &request,
           DiagnosticEngine &diags);

  mlir::LogicalResult run();
  const std::string &getSymbol() const { return symbol; }

  /// Axes without names that are the same dim as another axis, by the names of
  /// dims ("B.shape[0]" is "K"), and where the body says so.
  struct Merge {
    std::string into;
    SourceRange where;
  };
  using Merges = std::map<std::string, Merge, std::less<>>;
  Merges merges;
  /// Whether `unify` was asked for something that `merges` does not have yet;
  /// adds it.
  bool addAsked(Merges &known) const;

  const Body &getBody() const override {
    return scopes.back()->definition->body;
  }
  Dim *dimOf(const CallArgument &extent) override;
  std::string findRange(const Dim &dim) const override;
  std::string findRangeOfSize(int64_t size) const override;
  const Expr *findAssigned(const std::string &name) const override;
  std::string getLoopWithout(const SourceRange &line) const override;
  bool isRange(llvm::StringRef name) const override;
  std::string suggestGrid() const override;
  bool isInLoop() const override { return loopDepth > 0; }
  /// "Y[m, n] = y": a store that the kernel lacks.
  std::string suggestStore(const ParameterDescription &parameter) const;
  /// "acc = tsr.zeros(m, n)": a start that leaves a value like this as it is.
  std::string getNeutralStart(const std::string &name, const SemaValue &like,
                              BinaryOperator op, llvm::StringRef where,
                              SourceRange loop = {}) const;
  bool isKnown(const std::string &name);
  /// How a name that has no value at `where` gets one.
  std::string getFirstValueFix(const std::string &name, std::string fix,
                               const SourceRange &where) const;
  /// "best = tsr.full(tsr.lowest, m)" for a None before a loop.
  std::string suggestFirst(const std::string &name,
                           const SemaValue &later) const;
  /// What a name that is not defined could be before it is used.
  std::string suggestStart(const std::string &name, const SourceRange &where);
  /// "y = incr(y)" for a line incr(y) in a function.
  std::string suggestUpdate(const Call &call);
  /// acc += x, where there is no acc yet.
  void reportUndefinedSum(const Name &name, const AugAssign &stmt);
  std::vector<Note> findOrigins(const SourceRange &where) const override;
  bool unify(const Dim &first, const Dim &second,
             const SourceRange &where) override;
  std::optional<SemaValue> tryFix(const std::string &text) override;
  ValueResult evaluateDimExpression(const Expr *expr) override;
  mlir::FailureOr<std::string>
  analyzeKernel(const CapturedFunction &callee,
                const std::vector<ArgumentSpec> &arguments,
                SourceRange site) override;

private:
  struct Scope {
    const FunctionDef *definition = nullptr;
    const CapturedNames *captured = nullptr;
    const std::map<std::string, ConstantData, std::less<>> *constants = nullptr;
    std::map<std::string, SemaValue, std::less<>> variables;
    /// Names that a loop or one arm of an `if` assigned, and that one.
    struct Gone {
      SourceRange where;
      std::string why;
      std::string fix;
    };
    std::map<std::string, Gone, std::less<>> gone;
    /// Per variable, what it was last assigned from; `op` is "+" for +=.
    struct Source {
      const Expr *value = nullptr;
      std::string op;
    };
    std::map<std::string, Source, std::less<>> sources;
    std::optional<SemaValue> returned;
    SourceRange returnRange;
    /// What is run after the statement at hand, innermost first from the back:
    /// bodies and where they go on. A null body: turns of a loop.
    std::vector<std::pair<const Body *, size_t>> rest;
    bool hasDims = false;
  };

  // SemaProgram.cpp: signatures, entry blocks, modules.
  mlir::LogicalResult checkIsKernel();
  mlir::LogicalResult runKernel();
  mlir::LogicalResult runFunction();
  mlir::LogicalResult settleArguments();
  mlir::LogicalResult declareDims();
  mlir::LogicalResult checkDType(SourceRange where, DType dtype);
  mlir::FailureOr<llvm::SmallVector<int64_t>> getShape(size_t parameter);
  /// Null for a constant, which is not passed.
  mlir::FailureOr<mlir::Type> getArgumentType(size_t index, bool kernel);
  mlir::LogicalResult bindParameters(mlir::Block &entry, bool kernel);
  std::string getDimAttribute(const Dim &dim) const;
  mlir::DictionaryAttr getArgumentAttributes(size_t parameter, bool kernel);
  void addProgramAttributes(mlir::Operation *op);

  // SemaExpr.cpp
  ValueResult evaluate(const Expr *expr);
  ValueResult evaluateName(const Name &name);
  ValueResult getCaptured(const CapturedValue &captured,
                          const std::string &dotted, const SourceRange &where);
  ValueResult evaluateAttribute(const Attribute &attribute);
  bool reportHiddenRange(const std::string &name, const SourceRange &where);
  bool reportPair(const Subscript &subscript);
  ValueResult evaluateSubscript(const Subscript &subscript);
  ValueResult evaluateBinary(const BinOp &binary);
  ValueResult combine(BinaryOperator op, const SemaValue &left,
                      const SemaValue &right, const OpSite &site);
  ValueResult addProduct(const SemaValue &acc, const BinOp &product,
                         const OpSite &site);
  ValueResult evaluateUnary(const UnaryOp &unary);
  ValueResult evaluateBoolean(const BoolOp &boolean);
  ValueResult evaluateCompare(const Compare &compare);
  ValueResult evaluateConditional(const IfExp &conditional);
  ValueResult evaluateModuleAttribute(const SemaValue &module,
                                      const Attribute &attribute);
  mlir::FailureOr<std::vector<SemaValue>> evaluateIndices(const Expr *slice);
  /// A constant or run-time truth value; tiles are an error.
  ValueResult evaluateCondition(const Expr *expr, const char *what,
                                const std::string &fix = {});
  ValueResult toBool(const SemaValue &value, const Expr *expr, const char *what,
                     const std::string &fix = {});
  ValueResult unknownName(const std::string &name, const SourceRange &where);
  ValueResult reportNamespace(const Attribute &attribute);
  /// True, with an error, for np.foo or conf.scale that Python has not.
  bool reportMissingAttribute(const Attribute &attribute,
                              const std::string &dotted);

  // SemaFixes.cpp: what to write instead, in the user's own words.
  std::string suggestForCapital(const std::string &name,
                                const SourceRange &where);
  std::string getWhereFix(const If &stmt);
  std::string getGridFix(const For &stmt, const SemaValue &iterable);
  std::string findMissingStore() const;
  std::string getElement(const ParameterDescription &array) const;
  bool reportStoreByName(const Assign &stmt, const SemaValue &value);
  bool reportCopyInto(const Attribute &method, const Call &call);
  bool reportBare(const Dim &dim);
  void reportTileOfShape(const CallArguments &arguments, const OpSite &site);
  mlir::LogicalResult checkTileDim(const CallArguments &arguments,
                                   const OpSite &site);
  std::string getReturnFix(const Return &stmt,
                           const std::string &place = "here");
  std::string getGuardFix(const Stmt &stmt);
  std::string getWhileFix(const Stmt &stmt);
  std::string quoteLines(llvm::ArrayRef<Stmt *> stmts,
                         const std::string &indent) const;
  /// The lines of two bodies, as one.
  std::string joinLines(const Body &first, const Body &second) const;
  std::string negate(const Expr &test) const;
  std::string getCastFix(const std::string &name, DType dtype);
  std::string describeStatement(const Stmt &stmt);
  /// A name as our calls or the table of foreign names spell it.
  std::string getOurSpelling(const std::string &name);
  bool reportUnknownCall(const Name &name, const Call &call);
  bool reportFormat(const Expr *format, llvm::ArrayRef<Expr *> values,
                    const SourceRange &where);
  std::string getFillFix(const std::string &name, const Call &call);
  void reportForeign(const CapturedValue &captured, const std::string &dotted,
                     const SourceRange &where, const Call *call);
  mlir::LogicalResult checkGridCarries(const For &stmt);
  void reportNotCallable(const Call &call, const SemaValue &callee);
  /// True, with an error, for tsr.atomic_add(Y[m], x): a tile, not the tensor.
  bool reportElementArgument(const Call &call, llvm::StringRef callee);
  void reportAttributeTarget(const Attribute &target, const Expr *value);
  void reportUnpack(const Expr *target, const std::vector<Expr *> &targets,
                    const SemaValue &value, const Expr *valueExpr);
  void reportFold(const std::string &message, const SourceRange &where,
                  const Expr *left, const Expr *right, BinaryOperator op);
  void reportNotIterable(const For &stmt, const SemaValue &value);
  /// A loop at the top of a kernel that has no grid.
  mlir::LogicalResult checkHasGrid(const For &stmt, const SemaValue &iterable);

  // SemaCall.cpp
  ValueResult evaluateCall(const Call &call);
  mlir::FailureOr<CallArguments> evaluateArguments(const Call &call);
  ValueResult callPython(const std::string &name, const CallArguments &args,
                         const OpSite &site);
  ValueResult callMath(const std::string &name, const CallArguments &args,
                       const OpSite &site);
  ValueResult makeIterable(const std::string &name, const CallArguments &args,
                           const OpSite &site);
  mlir::LogicalResult
  bindAnnotation(const ParameterDescription &parameter, const SemaValue &value,
                 const SourceRange &where, const Signature &signature,
                 std::map<std::string, SemaValue, std::less<>> &dims);
  ValueResult inlineFunction(const CapturedFunction &callee,
                             const CallArguments &args, const OpSite &site);
  ValueResult callFunction(const SemaValue &callee, const CallArguments &args,
                           const OpSite &site);

  // SemaStmt.cpp
  Flow execute(const Body &body, size_t first = 0);
  Flow execute(const Stmt *stmt);
  Flow executeAssign(const Assign &assign);
  Flow executeAugAssign(const AugAssign &assign);
  Flow executeAnnAssign(const AnnAssign &assign);
  Flow executeAssert(const Assert &assertion);
  Flow executeExpr(const ExprStmt &stmt);
  Flow executeReturn(const Return &stmt);
  mlir::LogicalResult assign(const Expr *target, SemaValue value,
                             const Expr *valueExpr);
  mlir::LogicalResult storeTo(const Subscript &target, const SemaValue &value,
                              const Expr *valueExpr);
  void setVariable(const std::string &name, SemaValue value,
                   const SourceRange &where);

  // SemaControl.cpp, SemaBranch.cpp, SemaCarried.cpp
  Flow executeIf(const If &stmt);
  Flow executeRest(std::vector<std::pair<const Body *, size_t>> rest);
  /// What two arms of an `if` make of a variable.
  struct Merged {
    SemaValue value;           // after the `if`, but for its SSA value
    int result = -1;           // of the op; -1: the same in both arms
    std::vector<Merged> parts; // of a tuple
  };
  struct Arms {
    const If &stmt;
    mlir::Region regions[2];
    mlir::Block *blocks[2];
    llvm::SmallVector<mlir::Value> yields[2];
  };
  mlir::FailureOr<Merged> merge(Arms &arms, const std::string &name,
                                SemaValue first, SemaValue second);
  mlir::LogicalResult reportArms(const If &stmt, const std::string &name,
                                 const SemaValue &first,
                                 const SemaValue &second);
  static SemaValue getMerged(const Merged &merged, mlir::Operation *op);
  Flow executeReturningIf(const If &stmt, const SemaValue &condition);
  mlir::Operation *finishIf(Arms &arms, const SemaValue &condition,
                            const std::string &name);
  Flow executeFor(const For &stmt);
  Flow executeWhile(const While &stmt);
  Flow executeGrid(const For &stmt, const SemaValue &iterable);
  Flow executeTileLoop(const For &stmt, const SemaValue &iterable);
  Flow executeRange(const For &stmt, const SemaValue &iterable);
  ValueResult countTurns(const For &stmt, const std::vector<SemaValue> &bounds);
  /// One turn for each of these, which are known when compiling.
  Flow executeTurns(const For &stmt, llvm::ArrayRef<SemaValue> values);
  Flow executeUnrolled(const For &stmt, int64_t start, int64_t step,
                       int64_t count);
  int getDeadArm(const If &stmt, const std::set<std::string> &assigned);

  /// A variable on its way through a loop or an `if`.
  struct Carried {
    std::string name;
    SemaValue before;
    mlir::Value init;
    mlir::BlockArgument argument;
    SourceRange assigned;
    mlir::Value yielded;
  };
  /// A variable that no turn of a loop reads, but all assign.
  struct Replaced {
    mlir::OpResult result;
    std::string name;
    SourceRange before, assigned;
    const Expr *value;
    bool isUpdate; // carry += value
  };
  std::vector<Replaced> replaced;
  mlir::LogicalResult checkReplaced(KernelState &state);
  std::string findRescale(const SourceRange &line) const;
  // SemaAccumulators.cpp
  std::string getLineInLoop(const std::string &name,
                            const SourceRange &where) const;
  std::string getNestedLoops(const For &grid) const;
  std::string getUnreturned() const;
  std::string
  getOtherReturn(const SemaValue &returned,
                 const std::map<std::string, SemaValue, std::less<>> &before);
  const Stmt *findZeroProduct(const Body &body, const Assign &start,
                              const std::string &name) const;
  mlir::LogicalResult checkRunningMaximum(const For &loop);
  mlir::LogicalResult checkRunningTotal(const For &loop);
  void remarkMeansOfTiles(const For &kernel);
  mlir::LogicalResult checkRescaledSums(const For &loop);
  mlir::LogicalResult checkGridAxes(const For &grid);
  mlir::LogicalResult checkGridCounts(const For &grid);
  void remarkUnread();
  mlir::LogicalResult checkRunningValues(const For &grid);
  void reportDict(Diagnostic &diagnostic, const std::string &dotted);
  bool reportNoStart(const std::string &name, const SourceRange &where);
  bool reportBitsInCompare(const Compare &compare);
  mlir::LogicalResult checkLastTurn(const For &loop);
  mlir::LogicalResult checkMadeAnew(const Stmt &loop);
  std::string getLoopInGrid(const For &loop, const Assign &start,
                            const Stmt &update) const;
  const Stmt *findLostUpdate(const Stmt &loop, const Body &body,
                             const Assign &start,
                             const std::string &name) const;
  /// The last `name = value` before a place; null if there is none.
  const Assign *findPlainAssign(const std::string &name,
                                SourcePosition end) const;
  mlir::FailureOr<std::vector<Carried>>
  startLoop(const Body &body, const std::set<std::string> &targets,
            mlir::Block &block);
  mlir::LogicalResult
  finishTurn(std::vector<Carried> &carried,
             const std::map<std::string, SemaValue, std::less<>> &before);
  static SemaValue withSsa(const SemaValue &before, mlir::Value ssa);
  static bool isCompatible(const SemaValue &before, const SemaValue &after);
  mlir::Location getLoopLocation(const std::vector<Carried> &carried,
                                 mlir::Location loop);
  void dropUnchanged(std::vector<Carried> &carried, mlir::Block &block);
  void finishLoop(const std::vector<Carried> &carried, mlir::ValueRange results,
                  const std::map<std::string, SemaValue, std::less<>> &before,
                  const SourceRange &loop);
  /// The value as an SSA value that can be carried; null if it cannot be.
  mlir::Value materialize(const SemaValue &value, mlir::Location location);
  /// "s += tsr.sum(x, m)" where a sum would grow by an axis of its loop.
  std::string suggestReduction(const Carried &carried,
                               const SemaValue &after) const;
  mlir::LogicalResult reportCarried(const Carried &carried,
                                    const SemaValue &after);
  Scope &scope() { return *scopes.back(); }

  mlir::ModuleOp module;
  std::unique_ptr<OpLibrary> ownedLibrary;
  std::vector<std::unique_ptr<Scope>> scopes;
  Signature signature;
  std::string symbol;
  mlir::Operation *program = nullptr;
  std::map<std::string, Dim *, std::less<>> dimByText;
  /// Trees of dim expressions written as strings.
  SourceManager dimSources;
  ASTContext dimTrees;
  /// One per parameter of `signature`, hidden ones included.
  std::vector<ArgumentSpec> arguments;
  /// Captured arrays: the parameter appended for them, and its value.
  std::set<std::string> impliedDTypes; ///< Outs that have the first array's
  std::map<std::string, size_t, std::less<>> hiddenParameters;
  std::map<size_t, SemaValue> hiddenValues;
  /// Per parameter and axis: its dim. Per dim: the parameter that first gave
  /// its size, -1 if the signature did.
  std::vector<llvm::SmallVector<Dim *, 4>> axisDims;
  std::map<Dim *, int> sizeOrigin;
  /// What `unify` asked for, to be tried in another analysis.
  std::optional<std::pair<std::string, Merge>> asked;
  /// Of parameters: the dim that an axis without a name is.
  const Merge *findMerge(std::string_view name) const;
  /// Texts of fixes that were tried.
  bool trying = false;
  SourceManager fixSources;
  ASTContext fixTrees;
  std::map<std::string, std::string> calledKernels;

  // Kernels.
  const For *grid = nullptr;
  bool insideGrid = false;
  unsigned executed = 0; // statements, those of inlined calls counted each time
  unsigned controlDepth = 0;
  unsigned loopDepth = 0; // run-time loops only
  /// What to write instead of the loop at hand to have it unrolled, if it can
  /// be.
};

/// What the body does with a view; kept by the tile library, read at the end.
struct ViewUse {
  SourceRange firstRead;
  SourceRange firstWrite;
  SourceRange firstAtomic;
};

/// The tile library's view of a kernel (implemented by TileOps).
class KernelState {
public:
  virtual ~KernelState() = default;
  std::map<int, ViewUse> uses;
  /// Per parameter: in, out, inout, reduce_*; empty for what the body does.
  std::vector<std::string> modes;
  /// Whether the kernel writes an argument, or says that it will.
  bool writes() const {
    auto isWritten = [](const auto &use) {
      return use.second.firstWrite.isValid() ||
             use.second.firstAtomic.isValid();
    };
    auto isOut = [](const std::string &mode) {
      return !mode.empty() && mode != "in";
    };
    return llvm::any_of(uses, isWritten) || llvm::any_of(modes, isOut);
  }
  std::vector<std::string> parameterNames;
  std::vector<SourceRange> parameterRanges;
  std::vector<bool> impliedDTypes;
  std::vector<std::string> parameterTexts;
  /// The grid's axes, for program_id and num_programs.
  struct GridAxis {
    std::string name;     // of the variable
    Axis *axis = nullptr; // null: a bare dim
    mlir::Value index;
    mlir::Value extent;
    int64_t size = 0;
    SourceRange where; // tsr.tile(M, 64), B
  };
  std::vector<GridAxis> gridAxes;
  bool insideGrid = false;
  /// Refuses stores that several programs of the grid make.
  virtual mlir::LogicalResult checkRaces(mlir::Operation *kernel) = 0;
  /// Refuses `H[I[n]] += x` of an index that may hold a place twice: `loaded`
  /// is the element before, `where` all of the statement.
  virtual mlir::LogicalResult checkUpdate(const SemaValue &loaded,
                                          const Subscript &target,
                                          const SourceRange &where) = 0;
  /// "acc += x", which joins the turns of a loop, if its result `name` is what
  /// the last turn computed, of that turn's elements alone; else empty.
  virtual std::string getLastTurnFix(mlir::OpResult result,
                                     const std::string &name,
                                     const std::string &value) = 0;
};

/// The state of a library made by createTileOps.
KernelState &getKernelState(OpLibrary &library);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_SEMAIMPL_H
