// C++17 interface of the Tessera runtime: a thin layer over
// tessera-c/runtime.h. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   tessera::Executable gemm;
//   tessera::Status st = tessera::Executable::create(plan, {{"gemm_0",
//   gemm_0}},
//                                                    gemm);
//   auto a = tessera::view(aData, {m, k});
//   if (st)
//     st = gemm.run({a, b, c}, {1.0});
//   if (!st)
//     log(st.message());
//
// Needs neither exceptions nor RTTI.
#ifndef TESSERA_RUNTIME_H
#define TESSERA_RUNTIME_H

#include "tessera-c/runtime.h"
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace tessera {

/// Success, or an error with a text. Moves, doesn't copy.
class [[nodiscard]] Status {
public:
  Status() = default;
  /// Takes ownership.
  explicit Status(tsr_status status) : raw(status) {}
  Status(Status &&other) noexcept : raw(std::exchange(other.raw, nullptr)) {}
  Status &operator=(Status &&other) noexcept {
    std::swap(raw, other.raw);
    return *this;
  }
  ~Status() {
    if (raw)
      tsr_status_free(raw);
  }

  bool ok() const { return !raw; }
  explicit operator bool() const { return ok(); }
  int32_t code() const { return tsr_status_code(raw); }
  const char *message() const { return tsr_status_message(raw); }

private:
  tsr_status raw = nullptr;
};

// Storage of the types C++ has no name for.
struct fp16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
struct fp8_e4m3 {
  uint8_t bits;
};
struct fp8_e5m2 {
  uint8_t bits;
};
struct complex64 {
  float real, imaginary;
};

template <typename T> struct DtypeOf;
template <> struct DtypeOf<double> {
  static constexpr int32_t value = TSR_F64;
};
template <> struct DtypeOf<float> {
  static constexpr int32_t value = TSR_F32;
};
template <> struct DtypeOf<fp16> {
  static constexpr int32_t value = TSR_F16;
};
template <> struct DtypeOf<bf16> {
  static constexpr int32_t value = TSR_BF16;
};
template <> struct DtypeOf<fp8_e4m3> {
  static constexpr int32_t value = TSR_F8E4M3;
};
template <> struct DtypeOf<fp8_e5m2> {
  static constexpr int32_t value = TSR_F8E5M2;
};
template <> struct DtypeOf<int8_t> {
  static constexpr int32_t value = TSR_I8;
};
template <> struct DtypeOf<int16_t> {
  static constexpr int32_t value = TSR_I16;
};
template <> struct DtypeOf<int32_t> {
  static constexpr int32_t value = TSR_I32;
};
template <> struct DtypeOf<int64_t> {
  static constexpr int32_t value = TSR_I64;
};
template <> struct DtypeOf<uint8_t> {
  static constexpr int32_t value = TSR_U8;
};
template <> struct DtypeOf<uint16_t> {
  static constexpr int32_t value = TSR_U16;
};
template <> struct DtypeOf<uint32_t> {
  static constexpr int32_t value = TSR_U32;
};
template <> struct DtypeOf<uint64_t> {
  static constexpr int32_t value = TSR_U64;
};
template <> struct DtypeOf<bool> {
  static constexpr int32_t value = TSR_BOOL;
};
template <> struct DtypeOf<complex64> {
  static constexpr int32_t value = TSR_C64;
};

/// A tensor in the caller's memory, with its own copy of sizes and strides.
class View {
public:
  /// A result that the runtime should obtain from the allocator.
  View() = default;

  View(void *elements, int32_t elementType,
       std::initializer_list<int64_t> sizes)
      : data(elements), dtype(elementType),
        rank(static_cast<int32_t>(sizes.size())) {
    assert(sizes.size() <= TSR_MAX_RANK);
    size_t axis = sizes.size();
    int64_t stride = 1;
    for (const int64_t *size = sizes.end(); size != sizes.begin();) {
      --size;
      --axis;
      sizeArray[axis] = *size;
      strideArray[axis] = stride;
      stride *= *size ? *size : 1;
    }
  }

  /// Strides are counted in elements.
  View(void *elements, int32_t elementType,
       std::initializer_list<int64_t> sizes,
       std::initializer_list<int64_t> strides)
      : View(elements, elementType, sizes) {
    assert(sizes.size() == strides.size());
    size_t axis = 0;
    for (int64_t stride : strides)
      strideArray[axis++] = stride;
  }

  /// Points into this object.
  tsr_tensor tensor() const {
    return {data, sizeArray.data(), strideArray.data(), dtype, rank};
  }

private:
  void *data = nullptr;
  int32_t dtype = 0;
  int32_t rank = TSR_ABSENT;
  std::array<int64_t, TSR_MAX_RANK> sizeArray{};
  std::array<int64_t, TSR_MAX_RANK> strideArray{};
};

template <typename T> View view(T *data, std::initializer_list<int64_t> sizes) {
  return View(data, DtypeOf<T>::value, sizes);
}

/// For what is only read. Which arguments those are, the plan says.
template <typename T>
View view(const T *data, std::initializer_list<int64_t> sizes) {
  return View(const_cast<T *>(data), DtypeOf<T>::value, sizes);
}

template <typename T>
View view(T *data, std::initializer_list<int64_t> sizes,
          std::initializer_list<int64_t> strides) {
  return View(data, DtypeOf<T>::value, sizes, strides);
}

/// A scalar argument as its 64-bit pattern.
struct Scalar {
  Scalar(double value) { std::memcpy(&bits, &value, sizeof bits); }
  Scalar(int64_t value) : bits(value) {}
  Scalar(int value) : bits(value) {}
  Scalar(bool value) : bits(value) {}

  int64_t bits;
};

inline tsr_call makeCall(const tsr_tensor *tensors, size_t numTensors,
                         const int64_t *scalars, size_t numScalars) {
  tsr_call call{};
  call.struct_size = sizeof call;
  call.tensors = tensors;
  call.scalars = scalars;
  call.num_tensors = static_cast<int32_t>(numTensors);
  call.num_scalars = static_cast<int32_t>(numScalars);
  return call;
}

class Executable {
public:
  Executable() = default;
  Executable(Executable &&other) noexcept
      : raw(std::exchange(other.raw, nullptr)) {}
  Executable &operator=(Executable &&other) noexcept {
    std::swap(raw, other.raw);
    return *this;
  }
  ~Executable() { tsr_executable_free(raw); }

  static Status create(std::string_view plan, const tsr_symbol *symbols,
                       size_t numSymbols, Executable &result) {
    tsr_plan *parsed = nullptr;
    tsr_status status = tsr_plan_parse(plan.data(), plan.size(), &parsed);
    if (!status) {
      tsr_executable_free(std::exchange(result.raw, nullptr));
      status = tsr_executable_create(parsed, symbols, numSymbols, &result.raw);
    }
    tsr_plan_free(parsed);
    return Status(status);
  }
  static Status create(std::string_view plan,
                       std::initializer_list<tsr_symbol> symbols,
                       Executable &result) {
    return create(plan, symbols.begin(), symbols.size(), result);
  }

  /// The arguments in order, then the results. Pass `View()` for a result that
  /// `allocate` should provide.
  Status run(std::initializer_list<View> tensors,
             std::initializer_list<Scalar> scalars = {},
             tsr_allocate_fn allocate = nullptr,
             void *allocateContext = nullptr) const {
    constexpr size_t most = 64;
    assert(raw && tensors.size() <= most && scalars.size() <= most);
    tsr_tensor rawTensors[most];
    int64_t rawScalars[most];
    size_t numTensors = 0, numScalars = 0;
    for (const View &tensor : tensors)
      rawTensors[numTensors++] = tensor.tensor();
    for (const Scalar &scalar : scalars)
      rawScalars[numScalars++] = scalar.bits;
    return run(rawTensors, numTensors, rawScalars, numScalars, allocate,
               allocateContext);
  }

  /// The form for generated code: nothing is copied.
  Status run(const tsr_tensor *tensors, size_t numTensors,
             const int64_t *scalars, size_t numScalars,
             tsr_allocate_fn allocate = nullptr,
             void *allocateContext = nullptr) const {
    tsr_call call = makeCall(tensors, numTensors, scalars, numScalars);
    call.allocate = allocate;
    call.allocate_context = allocateContext;
    return Status(tsr_executable_run(raw, &call));
  }

  explicit operator bool() const { return raw; }

private:
  tsr_executable *raw = nullptr;
};

/// Runs a function of a library built ahead of time; for its header.
inline Status run(const tsr_function &function, const tsr_tensor *tensors,
                  size_t numTensors, const int64_t *scalars, size_t numScalars,
                  tsr_device *device = nullptr, void *stream = nullptr) {
  tsr_call call = makeCall(tensors, numTensors, scalars, numScalars);
  call.device = device;
  call.stream = stream;
  return Status(tsr_function_run(&function, &call));
}

} // namespace tessera

#endif
