//===- Program.h - Analyses one small function for a test -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_TEST_UNIT_TENSORS_PROGRAM_H
#define TESSERA_TEST_UNIT_TENSORS_PROGRAM_H

#include <string>
#include <vector>

/// What became of a function: its IR, or the errors as the user reads them.
struct Outcome {
  std::string ir; // empty after an error
  std::string errors;

  /// The IR has this text.
  bool has(const std::string &text) const {
    return ir.find(text) != std::string::npos;
  }
  /// How often the IR has it.
  size_t count(const std::string &text) const;
};

/// Analyses the last function of `source`, which may call those above it. One
/// argument text per parameter: "f32[?,64]", "i64[4]", "f64" (a run-time
/// scalar), "=128" (a constant). Annotated parameters have their dims from the
/// source.
Outcome analyzeText(const std::string &source,
                    const std::vector<std::string> &arguments);

/// def f(<parameters>): return <expression>, on fp32 tensors.
/// `parameters` is "x: [M, N], y: [?, 4] f16, n: i64": a name, its dims (a
/// name, a size or ?) and dtype.
Outcome analyzeExpression(const std::string &parameters,
                          const std::string &expression);

/// The same with statements, the last of which returns.
Outcome analyzeBody(const std::string &parameters,
                    const std::vector<std::string> &statements);

#endif // TESSERA_TEST_UNIT_TENSORS_PROGRAM_H
