// Parsing and packing of command-line arguments.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/tools/Arguments.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

namespace tessera::sim {

namespace {

void append(std::vector<uint8_t> &out, const std::string &type, double value,
            int64_t integer) {
  auto put = [&](auto v) {
    const auto *p = reinterpret_cast<const uint8_t *>(&v);
    out.insert(out.end(), p, p + sizeof v);
  };
  if (type == "f32")
    put(float(value));
  else if (type == "f64")
    put(value);
  else if (type == "i8" || type == "u8")
    put(uint8_t(integer));
  else if (type == "i16" || type == "u16")
    put(uint16_t(integer));
  else if (type == "i32" || type == "u32")
    put(uint32_t(integer));
  else if (type == "i64" || type == "u64")
    put(uint64_t(integer));
  else
    throw std::runtime_error("unknown type '" + type +
                             "'; expected i8 to u64, f32 or f64");
}

} // namespace

Argument parseArgument(const std::string &text) {
  Argument a;
  a.text = text;
  size_t colon = text.find(':');
  if (colon == std::string::npos)
    throw std::runtime_error("argument '" + text +
                             "' has no type; write "
                             "e.g. i32:7 or zeros:f32:1024");
  std::string head = text.substr(0, colon), rest = text.substr(colon + 1);
  if (head == "file") {
    std::ifstream in(rest, std::ios::binary);
    if (!in)
      throw std::runtime_error(rest + ": cannot be read");
    std::stringstream buffer;
    buffer << in.rdbuf();
    std::string data = buffer.str();
    a.bytes.assign(data.begin(), data.end());
    a.isArray = true;
    a.type = "u8";
    return a;
  }
  if (head == "zeros" || head == "range" || head == "random") {
    size_t second = rest.find(':');
    if (second == std::string::npos)
      throw std::runtime_error("argument '" + text + "' needs a length");
    a.type = rest.substr(0, second);
    size_t n = std::stoull(rest.substr(second + 1));
    std::mt19937 random(1);
    for (size_t k = 0; k < n; ++k) {
      double r = std::uniform_real_distribution<>(0, 1)(random);
      double v = head == "zeros" ? 0 : head == "range" ? double(k) : r;
      append(a.bytes, a.type, v,
             head == "random" ? int64_t(r * 100) : int64_t(v));
    }
    a.isArray = true;
    return a;
  }
  a.type = head;
  bool isFloat = head[0] == 'f';
  append(a.bytes, head, isFloat ? std::stod(rest) : 0,
         isFloat ? 0 : std::stoll(rest, nullptr, 0));
  return a;
}

std::vector<uint8_t> packArguments(const Program &program,
                                   std::vector<Argument> &arguments,
                                   Device &device) {
  if (arguments.size() != program.paramBytes.size())
    throw std::runtime_error(
        "kernel takes " + std::to_string(program.paramBytes.size()) +
        " arguments, given " + std::to_string(arguments.size()));
  std::vector<uint8_t> out(program.paramSize);
  for (size_t k = 0; k < arguments.size(); ++k) {
    Argument &a = arguments[k];
    std::vector<uint8_t> raw = a.bytes;
    if (a.isArray) {
      a.address = device.memory.allocate(a.bytes.size(), Allocation::Managed,
                                         "argument " + std::to_string(k));
      std::memcpy(reinterpret_cast<void *>(a.address), a.bytes.data(),
                  a.bytes.size());
      raw.resize(8);
      std::memcpy(raw.data(), &a.address, 8);
    }
    if (raw.size() > program.paramBytes[k])
      throw std::runtime_error("argument " + std::to_string(k) + " has " +
                               std::to_string(raw.size()) +
                               " bytes, the parameter has " +
                               std::to_string(program.paramBytes[k]));
    std::memcpy(out.data() + program.paramOffsets[k], raw.data(), raw.size());
  }
  return out;
}

void printArgument(const Argument &a) {
  if (!a.isArray)
    return;
  std::printf("%s =", a.text.c_str());
  const auto *p = reinterpret_cast<const uint8_t *>(a.address);
  size_t width = a.type == "f64" || a.type == "i64" || a.type == "u64"   ? 8
                 : a.type == "f32" || a.type == "i32" || a.type == "u32" ? 4
                 : a.type == "i16" || a.type == "u16"                    ? 2
                                                                         : 1;
  size_t n = a.bytes.size() / width;
  for (size_t k = 0; k < n && k < 8; ++k) {
    if (a.type == "f32") {
      float v;
      std::memcpy(&v, p + 4 * k, 4);
      std::printf(" %g", v);
    } else if (a.type == "f64") {
      double v;
      std::memcpy(&v, p + 8 * k, 8);
      std::printf(" %g", v);
    } else {
      int64_t v = 0;
      std::memcpy(&v, p + width * k, width);
      if (a.type[0] == 'i')
        v = v << (64 - 8 * width) >> (64 - 8 * width);
      std::printf(" %lld", (long long)v);
    }
  }
  std::printf(n > 8 ? " ...\n" : "\n");
}

uint64_t parseNumber(const std::string &option, const std::string &text,
                     uint64_t most) {
  uint64_t value = 0;
  const char *end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value > most)
    throw std::runtime_error(option + " is '" + text +
                             "'; expected a whole number from 0 to " +
                             std::to_string(most));
  return value;
}

void parseDims(const std::string &option, const std::string &text,
               uint32_t *dims) {
  std::stringstream in(text);
  std::string part;
  int d = 0;
  while (std::getline(in, part, ',')) {
    if (d == 3)
      throw std::runtime_error(option + " is '" + text +
                               "'; there are three dimensions");
    dims[d++] = uint32_t(parseNumber(option, part, ~0u));
  }
}

} // namespace tessera::sim
