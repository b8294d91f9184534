//===- Sema.h - From a syntax tree to Graph and Tile IR ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The semantic analyser. Who calls a kernel does, in this order:
//   1. `describeSignature`: what the parameters are, to bind the arguments;
//   2. `collectFreeNames`: the outside names, to be resolved (by Python) into
//      CapturedValues;
//   3. `wholeDims`: the axes whose sizes are constants of the version, to put
//      them in the key and into the ArgumentSpecs;
//   4. `analyze`: one version of the program as a module, or errors.
//
// A kernel becomes a `gir.kernel` of its name; a function a `func.func` (and a
// `gir.kernel` for each kernel it calls).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_SEMA_H
#define TESSERA_COMPILER_FRONTEND_SEMA_H

#include "compiler/Frontend/AST.h"
#include "compiler/Frontend/Constants.h"
#include "compiler/Frontend/Diagnostics.h"
#include "compiler/Frontend/Promotion.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tessera::frontend {

enum class ProgramKind : uint8_t { Function, Kernel };

//===----------------------------------------------------------------------===//
// What the caller knows
//===----------------------------------------------------------------------===//

/// What one parameter gets in this version.
struct ArgumentSpec {
  enum class Kind : uint8_t {
    Tensor,
    Scalar,   // run-time: i64, fp64, bool, or what the annotation narrows to
    Constant, // `const` parameter, or a default the caller keeps
    Omitted,  // an Out the caller left out: allocated and returned
  };

  Kind kind = Kind::Omitted;
  DType dtype = DType::FP32;  // Tensor, Scalar
  std::vector<int64_t> sizes; // Tensor: per axis, -1 if not part of the key
  int unitAxis = -1;          // Tensor: the axis with stride 1, if known
  ConstantData constant;      // Constant

  static ArgumentSpec tensor(DType dtype, std::vector<int64_t> sizes,
                             int unitAxis = -1);
  static ArgumentSpec scalar(DType dtype);
  static ArgumentSpec value(ConstantData constant);
  static ArgumentSpec omitted() { return {}; }
};

struct CapturedValue;
/// Dotted names of the outside world: "BLOCK", "self.scale", "tsr", "math".
using CapturedNames = std::map<std::string, CapturedValue, std::less<>>;

/// Another tessera function or kernel, as called from this one.
struct CapturedFunction {
  ProgramKind kind = ProgramKind::Function;
  const FunctionDef *definition = nullptr;
  CapturedNames captured;
  ConstantData accum;             // None, or the dtype of @tsr.accum
  std::string precision = "ieee"; // of fp32 products
  std::string policy;             // empty: the caller's
  /// Constants for `const` parameters and free names (schedule, autotune).
  std::map<std::string, ConstantData, std::less<>> constants;
  /// Schedule keys that are no parameters; of a kernel.
  std::map<std::string, ConstantData, std::less<>> schedule;
};

/// What an outside name stands for.
struct CapturedValue {
  enum class Kind : uint8_t {
    Constant, // int, float, bool, str, None, dtype, tuple of them
    Module,   // `text`: "tessera" or "math"
    Builtin,  // `text`: a name of tessera ("zeros", "Tensor", "fp16") that was
              // imported by itself
    DimName,  // `text`: from tsr.dims
    Function, // `function`
    Array,    // a captured array: hidden argument `text`, of `array`'s type
    Other,    // anything else: an error that names it; `text` is its type
  };

  Kind kind = Kind::Constant;
  ConstantData constant;
  std::string text;
  std::shared_ptr<const CapturedFunction> function;
  ArgumentSpec array;

  static CapturedValue value(ConstantData constant);
  static CapturedValue module(std::string name);
  static CapturedValue builtin(std::string name);
  static CapturedValue dimName(std::string name);
  static CapturedValue other(std::string typeName);
};

/// An axis whose size must be a constant of the version.
struct WholeDim {
  int parameter = 0;
  int axis = 0;

  auto operator<=>(const WholeDim &) const = default;
};

/// What @autotune opened: names and their values, the dims whose sizes ask for
/// another choice.
struct TuningSpace {
  std::map<std::string, ConstantData, std::less<>> space; // tuples
  std::vector<std::string> key;
  int64_t budget = 100;
  std::string numerics = "fixed";
};

struct SemaRequest {
  ProgramKind kind = ProgramKind::Kernel;
  const FunctionDef *definition = nullptr;
  /// One per parameter, in order.
  std::vector<ArgumentSpec> arguments;
  /// Outside names. `tsr`, `math` and the names of tessera are known without
  /// being here (a `.tessera` file has them); an entry here wins.
  CapturedNames captured;
  /// From schedule and autotune: values of `const` parameters (they win over
  /// the default, `arguments` over them) and new names in the body.
  std::map<std::string, ConstantData, std::less<>> constants;
  std::string policy = "deterministic";
  ConstantData accum;             // None, or a dtype
  std::string precision = "ieee"; // of fp32 products: @tsr.precision
  /// Whether the head size of attention is a constant of each version
  /// (Target/Machine.h).
  bool versionPerHead = false;
  /// Run-time asserts and breakpoints are compiled in.
  bool debug = false;
  /// Schedule keys that are no parameters (num_warps, threads, ...): passed on
  /// as `gir.schedule`.
  std::map<std::string, ConstantData, std::less<>> schedule;
  /// For people and tools, as `gir.autotune`; the values of one point of it are
  /// in `constants` and `schedule`.
  std::optional<TuningSpace> tuning;
  /// If given: axes that a called kernel needs as constants, when that is all
  /// that `analyze` fails for. To be tried again with their sizes in the key.
  std::vector<WholeDim> *wanted = nullptr;
};

//===----------------------------------------------------------------------===//
// The analyser
//===----------------------------------------------------------------------===//

/// The program as a verified module, or failure with errors in `diags`. Loads
/// the dialects it needs into `context`.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
analyze(mlir::MLIRContext &context, const SemaRequest &request,
        DiagnosticEngine &diags);

/// An outside name and where it is first used.
struct FreeName {
  std::string name; // "BLOCK", "self.scale", "tsr.zeros"
  SourceRange where;
};

/// The dotted chains in signature and body that begin with a name that is
/// neither parameter, dim nor local, in order of appearance. Chains are as long
/// as they are written: the resolver stops where it has a value.
std::vector<FreeName> collectFreeNames(const FunctionDef &definition);

/// What a parameter is, as far as its annotation says.
struct ParameterDescription {
  enum class Kind : uint8_t {
    Any,    // no annotation: tensor or scalar, as called
    Tensor, // Tensor[...]: read, or what the body does
    Out,
    InOut,
    Region, // `mode`: reduce_sum, reduce_max, reduce_min, read, ...
    Const,
    Scalar, // annotated with a dtype
  };

  std::string name;
  ParameterKind passing = ParameterKind::Regular;
  Kind kind = Kind::Any;
  std::string mode; // "in", "out", "inout", "reduce_sum", ...; "" if not known
  bool hasDims = false;
  std::vector<std::string> dims; // "M", "H*D", "128"; "" without a name
  std::optional<DType> dtype;
  bool hasDefault = false;
  /// The default, where it is a constant expression.
  ConstantData defaultValue;
  SourceRange where;
};

struct Signature {
  std::vector<ParameterDescription> parameters;
  /// Named dims in order of appearance, each with the parameter and axis that
  /// give its size (the axis is exactly the name); -1 if only expressions do.
  struct DimSource {
    std::string name;
    int parameter = -1;
    int axis = -1;
  };
  std::vector<DimSource> dims;
};

/// Reads annotations and defaults; errors (an unknown dtype, a dim twice in one
/// place) go to `diags`.
mlir::FailureOr<Signature> describeSignature(const FunctionDef &definition,
                                             const CapturedNames &captured,
                                             DiagnosticEngine &diags);

/// The axes indexed by `:` or used where only a constant can stand (a size of
/// `tsr.zeros`, an argument of `math.sqrt`), and all axes of the same name;
/// sorted.
std::vector<WholeDim> wholeDims(const FunctionDef &definition,
                                const Signature &signature);

/// The names that the body stores to: targets of subscripts, stores, atomics.
/// A parameter among them that has no privilege of its own is written.
std::set<std::string> writtenNames(const FunctionDef &definition);

/// Up to three of `known` that `name` may be meant to be, nearest first.
std::vector<std::string> nearestNames(std::string_view name,
                                      const std::vector<std::string> &known);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_SEMA_H
