// Matrix products by bare oneDNN, for ctypes; compiled on demand by peers.py.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>
#include <cstdio>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

using dnnl::memory;

namespace {
enum Mode {
  Plain,   // all operands row-major, as oneDNN takes them
  Packed,  // weights in the layout it likes best, reordered once
  Reorder, // the same, reordered in every call
};

struct Matmul {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  Mode mode;
  memory weights, packed;
  dnnl::reorder reorder;
  dnnl::matmul matmul;
  std::unordered_map<int, memory> arguments;
};

std::string lastError;
} // namespace

static memory::data_type dataType(int32_t code) {
  switch (code) {
  case 0:
    return memory::data_type::f32;
  case 1:
    return memory::data_type::bf16;
  case 2:
    return memory::data_type::f16;
  case 3:
    return memory::data_type::s8;
  default:
    return memory::data_type::s32;
  }
}

extern "C" {

const char *peer_error() { return lastError.c_str(); }

int32_t peer_version() {
  const dnnl_version_t *version = dnnl_version();
  return version->major * 10000 + version->minor * 100 + version->patch;
}

/// c = a @ b; batch 0: two axes. Null on failure: see peer_error.
void *peer_create(int32_t mode, int32_t type, int32_t resultType, int64_t batch,
                  int64_t m, int64_t n, int64_t k, void *a, void *b, void *c) {
  try {
    auto description = [&](int64_t rows, int64_t columns, int32_t element,
                           bool any) {
      memory::dims dims = batch ? memory::dims{batch, rows, columns}
                                : memory::dims{rows, columns};
      auto tag = any     ? memory::format_tag::any
                 : batch ? memory::format_tag::abc
                         : memory::format_tag::ab;
      return memory::desc(dims, dataType(element), tag);
    };
    auto *made = new Matmul;
    made->mode = static_cast<Mode>(mode);
    auto plain = description(k, n, type, false);
    dnnl::matmul::primitive_desc primitive(
        made->engine, description(m, k, type, false),
        mode == Plain ? plain : description(k, n, type, true),
        description(m, n, resultType, false));
    made->matmul = dnnl::matmul(primitive);
    made->weights = memory(plain, made->engine, b);
    made->packed = mode == Plain
                       ? made->weights
                       : memory(primitive.weights_desc(), made->engine);
    if (mode != Plain) {
      made->reorder = dnnl::reorder(made->weights, made->packed);
      made->reorder.execute(made->stream, made->weights, made->packed);
      made->stream.wait();
    }
    made->arguments = {
        {DNNL_ARG_SRC, memory(primitive.src_desc(), made->engine, a)},
        {DNNL_ARG_WEIGHTS, made->packed},
        {DNNL_ARG_DST, memory(primitive.dst_desc(), made->engine, c)}};
    return made;
  } catch (const dnnl::error &error) {
    lastError = error.what();
    return nullptr;
  }
}

void peer_run(void *handle) {
  auto *made = static_cast<Matmul *>(handle);
  if (made->mode == Reorder)
    made->reorder.execute(made->stream, made->weights, made->packed);
  made->matmul.execute(made->stream, made->arguments);
  made->stream.wait();
}

void peer_free(void *handle) { delete static_cast<Matmul *>(handle); }
}
