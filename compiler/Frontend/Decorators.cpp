//===- Decorators.cpp - What stands above a program -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Decorators.h"

#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::frontend {

/// Keys of a schedule that are no parameters of the program (docs/language.md,
/// section 8); python/tessera/options.py has the same.
static const char *const scheduleKeys[] = {
    "threads", "vector",       "unroll",     "num_warps",       "num_stages",
    "cluster", "consumers",    "persistent", "group",           "pack",
    "stream",  "fuse",         "split_k",    "warp_specialize", "swizzle",
    "tile",    "max_registers"};
static const char *const policies[] = {"deterministic", "strict", "fast"};

namespace {

class DecoratorReader {
public:
  DecoratorReader(const FunctionDef &definition, const CapturedNames &captured,
                  llvm::StringRef target, std::optional<DType> dtype,
                  DiagnosticEngine &diags)
      : definition(definition), captured(captured), target(target),
        dtype(dtype), diags(diags) {}

  FailureOr<ProgramOptions> run() {
    for (const Expr *decorator : definition.decorators)
      if (failed(read(decorator)))
        return failure();
    // Less specific targets first.
    llvm::stable_sort(schedules, [](const auto &a, const auto &b) {
      return std::pair(a.target.size(), a.dtype.has_value()) <
             std::pair(b.target.size(), b.dtype.has_value());
    });
    for (const Schedule &only : schedules)
      if ((only.target.empty() || target == only.target ||
           target.starts_with(only.target + ":")) &&
          (!only.dtype || only.dtype == dtype))
        if (failed(apply(*only.call)))
          return failure();
    return options;
  }

private:
  LogicalResult fail(SourceRange where, std::string message,
                     std::string fix = {}) {
    diags.error(where, std::move(message)).setFix(std::move(fix));
    return failure();
  }

  std::optional<ConstantData> fold(const Expr *expr) {
    return tryFold(expr, [&](const std::string &name) {
      std::optional<ConstantData> result;
      auto found = captured.find(name);
      llvm::StringRef last = llvm::StringRef(name).rsplit('.').second;
      if (found != captured.end() &&
          found->second.kind == CapturedValue::Kind::Constant)
        result = found->second.constant;
      else if (auto dtype = parseDType(last.empty() ? name : last.str()))
        result = ConstantData(*dtype);
      return result;
    });
  }

  LogicalResult read(const Expr *decorator) {
    auto *call = dynCast<Call>(decorator);
    std::string name = getDottedName(call ? call->func : decorator);
    llvm::StringRef path = name;
    path.consume_front("tsr.");
    path.consume_front("tessera.");
    auto [first, rest] = path.split('.');
    if (first == "function" || first == "kernel") {
      options.kind =
          first == "kernel" ? ProgramKind::Kernel : ProgramKind::Function;
      if (rest == "schedule" && call)
        return noteSchedule(*call);
      // Without a device to measure on, the parameters keep their defaults.
      if (rest == "autotune" && call)
        noteTuning(*call);
      if (rest.empty() || rest == "autotune")
        return success();
    }
    if (path == "policy" && call && call->args.size() == 1) {
      auto value = fold(call->args[0]);
      if (value && value->isString() &&
          llvm::is_contained(policies, value->asString())) {
        options.policy = value->asString();
        return success();
      }
      return fail(call->args[0]->range,
                  "a policy is \"deterministic\", \"strict\" or \"fast\"",
                  "@tsr.policy(\"deterministic\")");
    }
    if (path == "accum" && call && call->args.size() == 1) {
      auto value = fold(call->args[0]);
      if (value && value->isDType() &&
          (value->asDType() == DType::FP32 ||
           value->asDType() == DType::FP64)) {
        options.accum = *value;
        return success();
      }
      if (value && value->isDType())
        return fail(call->args[0]->range,
                    std::string("not yet: sums in ") +
                        getDTypeName(value->asDType()),
                    "@tsr.accum(fp32)");
      return fail(call->args[0]->range, "@tsr.accum takes a dtype",
                  "@tsr.accum(fp32)");
    }
    if (path == "precision" && call && call->args.size() == 1) {
      auto value = fold(call->args[0]);
      if (value && value->isString() &&
          (value->asString() == "ieee" || value->asString() == "tf32")) {
        options.precision = value->asString();
        return success();
      }
      return fail(call->args[0]->range,
                  "@tsr.precision takes \"ieee\" or \"tf32\"",
                  "@tsr.precision(\"tf32\")");
    }
    return fail(decorator->range, "tessera has no such decorator",
                "@tsr.function or @tsr.kernel");
  }

  /// The constants of a list or tuple; nothing if one is none.
  std::optional<ConstantData> foldList(const Expr *expr) {
    auto *list = dynCast<List>(expr);
    auto *tuple = dynCast<Tuple>(expr);
    if (!list && !tuple)
      return std::nullopt;
    std::vector<ConstantData> values;
    for (const Expr *element : list ? list->elts : tuple->elts) {
      std::optional<ConstantData> value = fold(element);
      if (!value)
        return std::nullopt;
      values.push_back(*value);
    }
    return ConstantData::tuple(std::move(values));
  }

  /// The space, as far as it is made of constants; Python has the rest.
  void noteTuning(const Call &call) {
    TuningSpace tuning;
    for (const Keyword &keyword : call.keywords) {
      std::optional<ConstantData> value = fold(keyword.value);
      auto *space = dynCast<Call>(keyword.value);
      if (keyword.name == "space" && space &&
          getDottedName(space->func) == "dict") {
        for (const Keyword &one : space->keywords)
          if (auto values = foldList(one.value))
            tuning.space[one.name] = *values;
      } else if (keyword.name == "key") {
        if (auto names = foldList(keyword.value))
          for (const ConstantData &name : names->asTuple())
            if (name.isString())
              tuning.key.push_back(name.asString());
      } else if (keyword.name == "budget" && value && value->isInt()) {
        tuning.budget = value->asInt();
      } else if (keyword.name == "numerics" && value && value->isString()) {
        tuning.numerics = value->asString();
      }
    }
    if (!tuning.space.empty())
      options.tuning = std::move(tuning);
  }

  /// When a schedule is followed, not what it says.
  static bool isCondition(const Keyword &keyword) {
    return keyword.name == "target" || keyword.name == "dtype";
  }

  LogicalResult noteSchedule(const Call &call) {
    Schedule only{&call, {}, {}};
    for (const Keyword &keyword : call.keywords) {
      if (!isCondition(keyword))
        continue;
      auto value = fold(keyword.value);
      if (keyword.name == "target") {
        if (!value || !value->isString())
          return fail(keyword.value->range, "a target is a string",
                      "target=\"cpu\"");
        only.target = value->asString();
      } else {
        if (!value || !value->isDType())
          return fail(keyword.value->range,
                      "dtype of a schedule is a dtype, that of the first array",
                      "dtype=i8");
        only.dtype = value->asDType();
      }
    }
    schedules.push_back(only);
    return success();
  }

  LogicalResult apply(const Call &call) {
    for (const Keyword &keyword : call.keywords) {
      if (isCondition(keyword))
        continue;
      if (keyword.name == "tile") {
        auto *sizes = dynCast<Call>(keyword.value);
        if (!sizes || getDottedName(sizes->func) != "dict")
          return fail(keyword.value->range, "tile takes sizes by dim",
                      "tile=dict(M=128)");
        for (const Keyword &size : sizes->keywords)
          if (failed(set(options.schedule, "tile." + size.name, size)))
            return failure();
        continue;
      }
      bool isParameter =
          llvm::any_of(definition.parameters, [&](const Parameter &parameter) {
            return parameter.name == keyword.name;
          });
      if (!isParameter && !llvm::is_contained(scheduleKeys, keyword.name))
        return unknownKey(keyword);
      if (failed(set(isParameter ? options.constants : options.schedule,
                     keyword.name, keyword)))
        return failure();
    }
    return success();
  }

  LogicalResult set(std::map<std::string, ConstantData, std::less<>> &where,
                    const std::string &name, const Keyword &keyword) {
    auto value = fold(keyword.value);
    if (!value)
      return fail(keyword.value->range, name + " must be a constant");
    where[name] = *value;
    return success();
  }

  LogicalResult unknownKey(const Keyword &keyword) {
    std::vector<std::string> known(std::begin(scheduleKeys),
                                   std::end(scheduleKeys));
    for (const Parameter &parameter : definition.parameters)
      known.push_back(parameter.name);
    std::vector<std::string> near = nearestNames(keyword.name, known);
    return fail(keyword.range,
                definition.name + " has no schedule key '" + keyword.name + "'",
                near.empty() ? std::string() : near.front() + "=...");
  }

  const FunctionDef &definition;
  const CapturedNames &captured;
  llvm::StringRef target;
  std::optional<DType> dtype;
  DiagnosticEngine &diags;
  ProgramOptions options;
  struct Schedule {
    const Call *call;
    std::string target;
    std::optional<DType> dtype;
  };
  std::vector<Schedule> schedules;
};

} // namespace

FailureOr<ProgramOptions> readDecorators(const FunctionDef &definition,
                                         const CapturedNames &captured,
                                         llvm::StringRef target,
                                         std::optional<DType> dtype,
                                         DiagnosticEngine &diags) {
  return DecoratorReader(definition, captured, target, dtype, diags).run();
}

} // namespace tessera::frontend
