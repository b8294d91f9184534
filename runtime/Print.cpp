// Lines that kernels print: collects values, formats them, orders the lines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel makes a line by calls in this order, all on one thread:
//   tsr_print_begin(text, length, program)
//   per value: tsr_print_value, tsr_print_axis once per axis (none: a scalar),
//              then tsr_print_int or tsr_print_float for each element that
//              exists, row by row
//   tsr_print_end()
// Each "{}" of the text is replaced by the next value.
#include "runtime/Print.h"

#include "tessera-c/runtime.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace tessera::runtime {
namespace {

/// Arrays of more elements show the first and last few along each axis.
constexpr int64_t maxShown = 1000;
constexpr int64_t edge = 3;
constexpr size_t maxWidth = 100;

struct Axis {
  int64_t size;   // with the absent elements
  int64_t length; // without
};

struct Line {
  std::string text;
  int64_t program = 0;
  std::vector<std::string> values;
  // The value at hand.
  bool isOpen = false;
  std::vector<Axis> axes;
  std::vector<std::string> elements;
};

thread_local Line line;
thread_local PrintQueue *current = nullptr;

std::mutex sinkMutex; // guards `sink`, `sinkContext`
tsr_print_fn sink = nullptr;
void *sinkContext = nullptr;

void write(const std::string &text) {
  tsr_print_fn function;
  void *context;
  {
    std::lock_guard lock(sinkMutex);
    function = sink;
    context = sinkContext;
  }
  if (function) {
    function(context, text.data(), text.size());
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// [a, b, --], rows of matrices under each other if they are long.
std::string formatArray(const std::vector<Axis> &axes,
                        const std::vector<std::string> &elements, size_t axis,
                        int64_t offset, bool present, bool shorten,
                        size_t indent) {
  if (axis == axes.size()) {
    if (!present || offset >= static_cast<int64_t>(elements.size()))
      return "--";
    return elements[static_cast<size_t>(offset)];
  }
  int64_t stride = 1;
  for (size_t i = axis + 1; i < axes.size(); ++i)
    stride *= axes[i].length;
  std::vector<std::string> parts;
  int64_t size = axes[axis].size;
  for (int64_t i = 0; i < size; ++i) {
    if (shorten && size > 2 * edge && i == edge) {
      parts.push_back("...");
      i = size - edge;
    }
    parts.push_back(formatArray(axes, elements, axis + 1, offset + i * stride,
                                present && i < axes[axis].length, shorten,
                                indent + 1));
  }
  size_t width = 0;
  for (const std::string &part : parts)
    width += part.size() + 2;
  bool lines = axis + 1 < axes.size() && parts.size() > 1 && width > maxWidth;
  std::string text = "[";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i)
      text += lines ? ",\n" + std::string(indent + 1, ' ') : ", ";
    text += parts[i];
  }
  return text + "]";
}

/// The value at hand is complete.
void finishValue() {
  if (!std::exchange(line.isOpen, false))
    return;
  int64_t count = 1;
  for (const Axis &axis : line.axes)
    count *= axis.size;
  line.values.push_back(
      formatArray(line.axes, line.elements, 0, 0, true, count > maxShown, 0));
  line.axes.clear();
  line.elements.clear();
}

template <typename T> std::string shortest(T value) {
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  (void)error;
  return std::string(buffer, end);
}

} // namespace

void PrintQueue::add(int64_t program, std::string text) {
  std::lock_guard lock(mutex);
  lines.emplace_back(program, std::move(text));
}

void PrintQueue::flush() {
  std::stable_sort(
      lines.begin(), lines.end(),
      [](const auto &a, const auto &b) { return a.first < b.first; });
  for (const auto &[program, text] : lines)
    write(text);
  lines.clear();
}

PrintScope::PrintScope(PrintQueue &queue) : outer(current) { current = &queue; }
PrintScope::~PrintScope() { current = outer; }

} // namespace tessera::runtime

using namespace tessera::runtime;

void tsr_print_begin(const char *text, int64_t length, int64_t program) {
  line = Line();
  line.text.assign(text, static_cast<size_t>(length));
  line.program = program;
}

void tsr_print_value(void) {
  finishValue();
  line.isOpen = true;
}

void tsr_print_axis(int64_t size, int64_t length) {
  line.axes.push_back({size, std::clamp<int64_t>(length, 0, size)});
}

void tsr_print_int(int64_t value, int64_t bits) {
  line.elements.push_back(bits == 1 ? (value ? "True" : "False")
                                    : std::to_string(value));
}

void tsr_print_float(double value, int64_t bits) {
  if (std::isnan(value))
    return line.elements.push_back("nan");
  if (std::isinf(value))
    return line.elements.push_back(value < 0 ? "-inf" : "inf");
  if (bits == 64)
    return line.elements.push_back(shortest(value));
  if (bits == 32)
    return line.elements.push_back(shortest(static_cast<float>(value)));
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.5g", value);
  line.elements.push_back(buffer);
}

void tsr_print_end(void) {
  finishValue();
  std::string text;
  std::string_view rest = line.text;
  for (const std::string &value : line.values) {
    size_t at = rest.find("{}");
    text += rest.substr(0, at);
    // Rows of a matrix stand under each other.
    size_t start = text.rfind('\n');
    size_t column = text.size() - (start == std::string::npos ? 0 : start + 1);
    for (char c : value) {
      text += c;
      if (c == '\n')
        text.append(column, ' ');
    }
    rest =
        at == std::string_view::npos ? std::string_view() : rest.substr(at + 2);
  }
  text += rest;
  text += '\n';
  int64_t program = line.program;
  line = Line();
  if (current)
    current->add(program, std::move(text));
  else
    write(text);
}

void tsr_set_print(tsr_print_fn function, void *context) {
  std::lock_guard lock(sinkMutex);
  sink = function;
  sinkContext = context;
}
