// Integer expressions: every operator against a reference in 128 bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RunPlan.h"
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <random>

using namespace tessera;
using namespace tessera::test;

using Wide = __int128;
using Value = std::optional<int64_t>; // none: overflow or division by zero

static const int64_t smallest = std::numeric_limits<int64_t>::min();
static const int64_t largest = std::numeric_limits<int64_t>::max();

static int64_t received;
static int32_t receive(void *const *, const int64_t *integers, int64_t, int64_t,
                       void *) {
  received = integers[0];
  return 0;
}

/// The value of an expression over $a and $b.
static Value evaluate(const std::string &expr, int64_t a = 0, int64_t b = 0,
                      std::string *error = nullptr) {
  std::string message =
      runPlan(head + "arg $a i64\narg $b i64\nbody\nlaunch @k(; " + expr +
                  ") grid 1\nend\n",
              {{"k", receive}}, {}, {a, b});
  if (error)
    *error = message;
  if (message.empty())
    return received;
  EXPECT_TRUE(message == "f, plan line 7: division by zero" ||
              message == "f, plan line 7: an integer overflows 64 bits")
      << message;
  return std::nullopt;
}

static Value narrow(Wide value) {
  if (value < smallest || value > largest)
    return std::nullopt;
  return static_cast<int64_t>(value);
}

static Wide floorDivide(Wide a, Wide b) {
  Wide quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// What docs/abi.md says an operator means.
static Value reference(const std::string &op, int64_t left, int64_t right) {
  Wide a = left, b = right;
  if (op == "+")
    return narrow(a + b);
  if (op == "-")
    return narrow(a - b);
  if (op == "*")
    return narrow(a * b);
  if (op == "floordiv" || op == "ceildiv" || op == "mod") {
    if (b == 0)
      return std::nullopt;
    if (op == "floordiv")
      return narrow(floorDivide(a, b));
    if (op == "ceildiv")
      return narrow(-floorDivide(-a, b));
    return narrow(a - floorDivide(a, b) * b);
  }
  if (op == "==")
    return a == b;
  if (op == "!=")
    return a != b;
  if (op == "<")
    return a < b;
  if (op == "<=")
    return a <= b;
  if (op == ">")
    return a > b;
  if (op == ">=")
    return a >= b;
  if (op == "and")
    return a && b;
  return a || b;
}

TEST(Expression, EveryOperatorAgreesWithTheReference) {
  const int64_t values[] = {
      0,  1,  -1,      2,        -2,           3,      -3, 7,
      -7, 63, 1000003, smallest, smallest + 1, largest};
  for (const char *op : {"+", "-", "*", "floordiv", "ceildiv", "mod",
                         "==", "!=", "<", "<=", ">", ">=", "and", "or"})
    for (int64_t a : values)
      for (int64_t b : values) {
        Value expected = reference(op, a, b);
        EXPECT_EQ(evaluate(std::string("$a ") + op + " $b", a, b), expected)
            << a << " " << op << " " << b;
        // The same folded when the plan is read. Hex spells all values.
        char text[96];
        std::snprintf(text, sizeof text, "0x%llx %s 0x%llx",
                      static_cast<unsigned long long>(a), op,
                      static_cast<unsigned long long>(b));
        EXPECT_EQ(evaluate(text), expected) << text;
      }
}

TEST(Expression, PrecedenceAndAssociation) {
  EXPECT_EQ(evaluate("2 + 3 * 4"), 14);
  EXPECT_EQ(evaluate("10 - 3 - 2"), 5);
  EXPECT_EQ(evaluate("100 floordiv 7 mod 4"), 2);
  EXPECT_EQ(evaluate("-2 * -3"), 6);
  EXPECT_EQ(evaluate("- - $a", 5), 5);
  EXPECT_EQ(evaluate("1 + 1 == 2 and 3 < 2 or 1"), 1);
  EXPECT_EQ(evaluate("not 1 == 2"), 1);
  EXPECT_EQ(evaluate("not not 5"), 1);
  EXPECT_EQ(evaluate("(2 + 3) * 4"), 20);
  EXPECT_EQ(evaluate("0 or 0 or 7"), 1);
  EXPECT_EQ(evaluate("7 and 0 and 7"), 0);
}

TEST(Expression, LongChainsNeedNoDeepStack) {
  std::string conjunction = "$a", disjunction = "$b", sum = "$a";
  for (int i = 0; i < 2000; ++i) {
    conjunction += " and $a";
    disjunction += " or $b";
    sum += " + $a";
  }
  EXPECT_EQ(evaluate(conjunction, 1, 0), 1);
  EXPECT_EQ(evaluate(disjunction, 1, 0), 0);
  EXPECT_EQ(evaluate(sum, 3, 0), 6003);
}

TEST(Expression, MinMaxSelect) {
  EXPECT_EQ(evaluate("min($a, $b, 5)", 9, 7), 5);
  EXPECT_EQ(evaluate("max($a, $b, 5, 8)", 9, 7), 9);
  EXPECT_EQ(evaluate("select($a, $b, 5)", 1, 7), 7);
  EXPECT_EQ(evaluate("select($a, $b, 5)", 0, 7), 5);
  EXPECT_EQ(evaluate("1 + select($a > 1, 10, 20) * 2", 2), 21);
}

TEST(Expression, OnlyWhatIsNeededIsEvaluated) {
  EXPECT_EQ(evaluate("select($a == 0, 0, $b floordiv $a)", 0, 5), 0);
  EXPECT_EQ(evaluate("$a != 0 and $b floordiv $a > 1", 0, 5), 0);
  EXPECT_EQ(evaluate("$a == 0 or $b floordiv $a > 1", 0, 5), 1);
  EXPECT_EQ(evaluate("select($a == 0, 0, $b floordiv $a)", 2, 5), 2);
  EXPECT_EQ(evaluate("select(1, 2, 1 floordiv 0)"), 2);
  std::string error;
  EXPECT_EQ(evaluate("1 floordiv 0", 0, 0, &error), std::nullopt);
  EXPECT_EQ(error, "f, plan line 7: division by zero");
  EXPECT_EQ(evaluate("-0x8000000000000000", 0, 0, &error), std::nullopt);
  EXPECT_EQ(error, "f, plan line 7: an integer overflows 64 bits");
}

/// A random expression as text together with its value.
static Value randomExpression(std::mt19937 &random, int depth, int64_t a,
                              int64_t b, std::string &text) {
  if (depth == 0 || random() % 5 == 0) {
    switch (random() % 3) {
    case 0:
      text += "$a";
      return a;
    case 1:
      text += "$b";
      return b;
    default:
      int64_t constant = random() % 20;
      text += std::to_string(constant);
      return constant;
    }
  }
  static const char *operators[] = {"+",   "-",  "*", "floordiv", "ceildiv",
                                    "mod", "==", "<", "and",      "or"};
  if (random() % 4 == 0) {
    text += "select(";
    Value condition = randomExpression(random, depth - 1, a, b, text);
    text += ", ";
    Value left = randomExpression(random, depth - 1, a, b, text);
    text += ", ";
    Value right = randomExpression(random, depth - 1, a, b, text);
    text += ")";
    return !condition ? condition : *condition ? left : right;
  }
  const std::string op = operators[random() % std::size(operators)];
  text += "(";
  Value left = randomExpression(random, depth - 1, a, b, text);
  text += " " + op + " ";
  Value right = randomExpression(random, depth - 1, a, b, text);
  text += ")";
  if (!left || (op == "and" && !*left) || (op == "or" && *left))
    return left ? Value(*left != 0) : left;
  return right ? reference(op, *left, *right) : right;
}

TEST(Expression, RandomOnesAgreeWithTheReference) {
  std::mt19937 random(7);
  int failures = 0;
  for (int i = 0; i < 3000; ++i) {
    int64_t a = static_cast<int64_t>(random() % 100) - 50;
    int64_t b = random() % 3 ? static_cast<int64_t>(random()) : largest;
    std::string text;
    Value expected = randomExpression(random, 5, a, b, text);
    ASSERT_EQ(evaluate(text, a, b), expected) << text;
    failures += !expected;
  }
  EXPECT_GT(failures, 100); // errors are part of the comparison
}
