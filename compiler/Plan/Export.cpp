//===- Export.cpp - A plan as the text that the runtime reads -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Export.h"

#include "compiler/Plan/Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera::plan;

namespace {

/// How strongly an expression binds; section 3.1 has the grammar.
enum class Level { Or, And, Not, Compare, Sum, Product, Unary, Primary };

struct Expression {
  std::string text;
  Level level = Level::Primary;
};

/// "a sign b". Both sides of a sign that does not associate bind more strongly.
Expression infix(const Expression &lhs, StringRef sign, const Expression &rhs,
                 Level level) {
  auto wrap = [](const Expression &side, bool strong) {
    return strong ? side.text : "(" + side.text + ")";
  };
  bool chains = level != Level::Compare;
  return {wrap(lhs, chains ? lhs.level >= level : lhs.level > level) + " " +
              sign.str() + " " + wrap(rhs, rhs.level > level),
          level};
}

Expression call(StringRef name, ArrayRef<Expression> operands) {
  std::string text = name.str() + "(";
  for (auto [i, operand] : llvm::enumerate(operands))
    text += (i ? ", " : "") + operand.text;
  return {text + ")", Level::Primary};
}

Expression number(int64_t value) {
  if (value == std::numeric_limits<int64_t>::min())
    return {"0x8000000000000000", Level::Primary};
  return {std::to_string(value), value < 0 ? Level::Unary : Level::Primary};
}

class Exporter {
public:
  Exporter(FuncOp func, llvm::function_ref<LaunchNeeds(Operation *)> needsOf)
      : func(func), needsOf(needsOf) {}

  std::string run();

private:
  // -- Integers --------------------------------------------------------------

  /// A value that is named or was computed before; else it is computed here.
  const Expression &textOf(Value value);
  Expression compute(Operation *op);
  std::string list(ValueRange values);
  std::string message(StringRef text, ValueRange values);

  // -- Steps -----------------------------------------------------------------

  void writeHeader();
  void writeBlock(Block &block);
  void write(Operation *op);
  void write(LaunchOp launch);
  void write(scf::IfOp branch);
  void write(scf::WhileOp loop);
  void set(ValueRange targets, ValueRange values);
  void line(const Twine &text) {
    body += std::string(2 * depth, ' ') + text.str() + "\n";
  }

  StringRef tensorName(Value tensor) { return tensors.find(tensor)->second; }
  /// "%t f32 [a, b]"
  std::string declare(Value tensor, StringRef hint, StringRef mode,
                      const std::string &axes);
  void name(Value integer, StringRef hint) {
    expressions[integer] = {"$" + names.integer(hint), Level::Primary};
  }

  FuncOp func;
  llvm::function_ref<LaunchNeeds(Operation *)> needsOf;
  PlanNames names;
  llvm::DenseMap<Value, std::string> tensors;
  llvm::DenseMap<Value, Expression> expressions;
  std::string header, body;
  int depth = 1;
};

} // namespace

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

const Expression &Exporter::textOf(Value value) {
  auto known = expressions.find(value);
  if (known != expressions.end())
    return known->second;
  // Operands first, without recursion: chains may be long.
  SmallVector<Value> stack = {value};
  while (!stack.empty()) {
    Operation *op = stack.back().getDefiningOp();
    size_t before = stack.size();
    for (Value operand : op->getOperands())
      if (!isa<PlanTensorType>(operand.getType()) &&
          !expressions.contains(operand))
        stack.push_back(operand);
    if (stack.size() > before)
      continue;
    Value next = stack.pop_back_val();
    if (!expressions.contains(next)) {
      Expression made = compute(op);
      expressions[next] = std::move(made);
    }
  }
  return expressions[value];
}

static Expression constantText(arith::ConstantOp constant) {
  if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
    return {"0x" +
                llvm::utohexstr(real.getValue().bitcastToAPInt().getZExtValue(),
                                /*LowerCase=*/true, /*Width=*/16),
            Level::Primary};
  APInt value = cast<IntegerAttr>(constant.getValue()).getValue();
  return number(value.getBitWidth() == 1 ? int64_t(value.getZExtValue())
                                         : value.getSExtValue());
}

Expression Exporter::compute(Operation *op) {
  auto operand = [&](unsigned i) -> const Expression & {
    return expressions.find(op->getOperand(i))->second;
  };
  auto between = [&](StringRef sign, Level level) {
    return infix(operand(0), sign, operand(1), level);
  };
  auto ofTensor = [&](StringRef what, Value tensor,
                      int64_t axis = -1) -> Expression {
    return {(what + "(" + tensorName(tensor) +
             (axis < 0 ? Twine("") : ", " + Twine(axis)) + ")")
                .str(),
            Level::Primary};
  };
  return llvm::TypeSwitch<Operation *, Expression>(op)
      .Case([&](arith::ConstantOp constant) { return constantText(constant); })
      .Case([&](SizeOp size) {
        return ofTensor("size", size.getTensor(), size.getAxis());
      })
      .Case([&](StrideOp stride) {
        return ofTensor("stride", stride.getTensor(), stride.getAxis());
      })
      .Case([&](AddressOp address) {
        return ofTensor("address", address.getTensor());
      })
      .Case([&](IsConstantOp constant) {
        return ofTensor("constant", constant.getTensor());
      })
      .Case([&](FreshOp fresh) { return ofTensor("fresh", fresh.getTensor()); })
      .Case([&](ModOp) { return between("mod", Level::Product); })
      .Case([&](arith::AddIOp) { return between("+", Level::Sum); })
      .Case([&](arith::SubIOp) { return between("-", Level::Sum); })
      .Case([&](arith::MulIOp) { return between("*", Level::Product); })
      .Case([&](arith::FloorDivSIOp) {
        return between("floordiv", Level::Product);
      })
      .Case([&](arith::CeilDivSIOp) {
        return between("ceildiv", Level::Product);
      })
      .Case(
          [&](arith::MinSIOp) { return call("min", {operand(0), operand(1)}); })
      .Case(
          [&](arith::MaxSIOp) { return call("max", {operand(0), operand(1)}); })
      .Case([&](arith::SelectOp) {
        return call("select", {operand(0), operand(1), operand(2)});
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [&](auto) { return operand(0); })
      .Case([&](arith::CmpIOp compare) -> Expression {
        static constexpr StringRef signs[] = {"==", "!=", "<", "<=", ">", ">="};
        return between(signs[unsigned(compare.getPredicate())], Level::Compare);
      })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          [&](Operation *) -> Expression {
            if (isa<arith::AndIOp>(op))
              return between("and", Level::And);
            if (isa<arith::OrIOp>(op))
              return between("or", Level::Or);
            if (matchPattern(op->getOperand(1), m_One()))
              return {"not " + (operand(0).level >= Level::Not
                                    ? operand(0).text
                                    : "(" + operand(0).text + ")"),
                      Level::Not};
            return between("!=", Level::Compare);
          });
}

std::string Exporter::list(ValueRange values) {
  std::string text = "[";
  for (auto [i, value] : llvm::enumerate(values))
    text += (i ? ", " : "") + textOf(value).text;
  return text + "]";
}

std::string Exporter::message(StringRef text, ValueRange values) {
  std::string result;
  for (Value value : values) {
    // `{{` is a brace; `{}` is the place of the next value.
    size_t at = 0;
    while (text[at] != '{' || text[at + 1] != '}')
      at += text[at] == '{' || text[at] == '}' ? 2 : 1;
    result += text.take_front(at);
    result += "{" +
              (isa<PlanTensorType>(value.getType()) ? tensorName(value).str()
                                                    : textOf(value).text) +
              "}";
    text = text.drop_front(at + 2);
  }
  return quoted(result + text.str());
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

std::string Exporter::run() {
  writeHeader();
  writeBlock(func.getBody().front());
  return "tessera.plan 1\nfunction " + func.getName().str() + "\ntarget " +
         func.getTarget().str() + " 1\n" + header + "body\n" + body + "end\n";
}

std::string Exporter::declare(Value tensor, StringRef hint, StringRef mode,
                              const std::string &axes) {
  std::string name = "%" + names.tensor(hint);
  tensors[tensor] = name;
  Type element = cast<PlanTensorType>(tensor.getType()).getElement();
  return (name + mode + " " + nameOf(element) + " " + axes).str();
}

void Exporter::writeHeader() {
  Block &block = func.getBody().front();
  // Numbers first: a dim of the same name steps aside.
  for (auto scalar : block.getOps<ScalarOp>())
    name(scalar, scalar.getName());
  for (auto dim : block.getOps<DimOp>())
    name(dim, dim.getName());
  for (Operation &op : block) {
    if (auto scalar = dyn_cast<ScalarOp>(op)) {
      Type type = scalar.getType();
      header += "arg " + textOf(scalar).text +
                (type.isF64()        ? " f64"
                 : type.isInteger(1) ? " bool"
                                     : " i64") +
                "\n";
    } else if (auto argument = dyn_cast<ArgOp>(op)) {
      header += "arg " +
                declare(argument, argument.getName(),
                        " " + stringifyMode(argument.getMode()).str(),
                        list(argument.getAxes())) +
                "\n";
    } else if (auto result = dyn_cast<ResultOp>(op)) {
      std::string axes = list(result.getAxes());
      if (result.getLate())
        axes =
            "[" +
            llvm::join(SmallVector<StringRef>(result.getType().getRank(), "?"),
                       ", ") +
            "]";
      header += "result " + declare(result, result.getName(), "", axes) + "\n";
    }
  }
  if (std::optional<ArrayAttr> features = func.getFeatures()) {
    header += "requires";
    for (auto feature : features->getAsRange<StringAttr>())
      header += " " + quoted(feature);
    header += "\n";
  }
  if (std::optional<ArrayAttr> messages = func.getMessages())
    for (auto text : messages->getAsRange<StringAttr>())
      header += "message " + quoted(text) + "\n";
}

void Exporter::writeBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    write(&op);
}

void Exporter::write(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<DimOp, ArgOp, ScalarOp, ResultOp>([](Operation *) {})
      .Case([&](LoadOp load) {
        std::string from =
            tensorName(load.getTensor()).str() + " " + list(load.getIndices());
        name(load, "v");
        line("load " + textOf(load).text + " = " + from);
      })
      .Case([&](CheckOp check) {
        line("check " + textOf(check.getCondition()).text + " : " +
             message(check.getMessage(), check.getValues()));
      })
      .Case([&](ExpectOp expect) {
        Block &inside = expect.getBody().front();
        auto holds = cast<HoldsOp>(inside.getTerminator());
        name(inside.getArgument(0), "v");
        line("expect " + textOf(inside.getArgument(0)).text + " = " +
             tensorName(expect.getTensor()) + " : " +
             textOf(holds.getCondition()).text + " : " +
             message(holds.getMessage(), holds.getValues()));
      })
      .Case([&](AllocOp alloc) {
        std::string text =
            declare(alloc, alloc.getName(), "", list(alloc.getSizes()));
        line("alloc " + text +
             (alloc.getSource() ? " of " + tensorName(alloc.getSource()).str()
                                : ""));
      })
      .Case([&](AllocResultOp alloc) {
        line("alloc " + tensorName(alloc.getTensor()) + " " +
             nameOf(alloc.getTensor().getType().getElement()) + " " +
             list(alloc.getSizes()));
      })
      .Case([&](ViewOp view) {
        std::string name = "%" + names.tensor(view.getName());
        tensors[view] = name;
        line("view " + name + " = " + tensorName(view.getSource()) +
             " offset " + textOf(view.getOffset()).text + " sizes " +
             list(view.getSizes()) + " strides " + list(view.getStrides()));
      })
      .Case([&](SwapOp swap) {
        line("swap " + tensorName(swap.getLhs()) + " " +
             tensorName(swap.getRhs()));
      })
      .Case([&](FreeOp free) { line("free " + tensorName(free.getTensor())); })
      .Case<LaunchOp, scf::IfOp, scf::WhileOp>([&](auto step) { write(step); })
      .Default([&](Operation *expression) {
        // Computed where it is used; a long one once.
        constexpr size_t mostText = 200;
        if (textOf(expression->getResult(0)).text.size() <= mostText)
          return;
        std::string text = textOf(expression->getResult(0)).text;
        name(expression->getResult(0), "s");
        line("let " + textOf(expression->getResult(0)).text + " = " + text);
      });
}

void Exporter::write(LaunchOp launch) {
  std::string text = "launch @" + launch.getKernel().str() + "(";
  for (auto [i, tensor] : llvm::enumerate(launch.getTensors()))
    text += (i ? ", " : "") + tensorName(tensor).str();
  for (auto [i, scalar] : llvm::enumerate(launch.getScalars()))
    text += (i ? ", " : "; ") + textOf(scalar).text;
  text += ") grid " + textOf(launch.getGrid()).text;
  LaunchNeeds needs = needsOf(
      SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()));
  if (needs.scratch)
    text += " scratch " + std::to_string(needs.scratch);
  if (std::optional<uint64_t> threads = launch.getThreads())
    text += " threads " + std::to_string(*threads);
  if (Value work = launch.getWork())
    text += " work " + textOf(work).text;
  if (needs.block >= 0)
    text += " block " + std::to_string(needs.block) + " shared " +
            std::to_string(needs.shared);
  line(text);
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

/// `targets` are names. All values are computed before any name changes: a, b =
/// b, a + b.
void Exporter::set(ValueRange targets, ValueRange values) {
  SmallVector<std::pair<std::string, std::string>> changes;
  for (auto [target, value] : llvm::zip(targets, values))
    if (textOf(value).text != textOf(target).text)
      changes.push_back({textOf(target).text, textOf(value).text});
  if (changes.size() > 1)
    for (auto &[target, text] : changes) {
      std::string next =
          "$" + names.integer(StringRef(target).drop_front().str() + ".next");
      line("let " + next + " = " + text);
      text = next;
    }
  for (auto &[target, text] : changes)
    line("set " + target + " = " + text);
}

static StringRef hintOf(Value value, StringRef otherwise) {
  auto name = dyn_cast<NameLoc>(value.getLoc());
  return name ? name.getName().getValue() : otherwise;
}

void Exporter::write(scf::IfOp branch) {
  std::string condition = textOf(branch.getCondition()).text;
  for (Value result : branch.getResults()) {
    name(result, hintOf(result, "n"));
    line("let " + textOf(result).text + " = 0");
  }
  auto writeArm = [&](Block &arm) {
    ++depth;
    writeBlock(arm);
    set(branch.getResults(), arm.getTerminator()->getOperands());
    --depth;
  };
  line("if " + condition);
  writeArm(*branch.thenBlock());
  if (Block *other = branch.elseBlock()) {
    std::string before = body;
    line("else");
    size_t empty = body.size();
    writeArm(*other);
    if (body.size() == empty)
      body = before;
  }
  line("end");
}

void Exporter::write(scf::WhileOp loop) {
  Block &test = *loop.getBeforeBody(), &turn = *loop.getAfterBody();
  scf::ConditionOp condition = loop.getConditionOp();
  for (auto [carried, init] : llvm::zip(test.getArguments(), loop.getInits())) {
    std::string text = textOf(init).text;
    name(carried, hintOf(carried, "n"));
    line("let " + textOf(carried).text + " = " + text);
  }
  line("loop");
  ++depth;
  writeBlock(test);
  line("while " + textOf(condition.getCondition()).text);
  for (auto [argument, result, value] :
       llvm::zip(turn.getArguments(), loop.getResults(), condition.getArgs())) {
    Expression text = textOf(value);
    expressions[argument] = text;
    expressions[result] = text;
  }
  writeBlock(turn);
  set(test.getArguments(), turn.getTerminator()->getOperands());
  --depth;
  line("end");
}

std::string tessera::plan::exportText(
    FuncOp func, llvm::function_ref<LaunchNeeds(Operation *)> needsOf) {
  return Exporter(func, needsOf).run();
}
