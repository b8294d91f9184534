// Loops that do one thing as fast as this machine can.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/RooflineKernels.h"

#if defined(__x86_64__)

#include <chrono>
#include <cstring>
#include <immintrin.h>

namespace tessera::runtime::roofline {

/// Numbers between -1 and 1 with random mantissas, always the same.
static uint32_t nextRandom(uint32_t &state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

//===-- Vector multiply-adds ----------------------------------------------===//

// Twelve accumulators: two units of latency four need eight.
#define EACH_ACCUMULATOR(op)                                                   \
  op("0") op("1") op("2") op("3") op("4") op("5") op("6") op("7") op("8")      \
      op("9") op("10") op("11")

__attribute__((target("avx2,fma"))) void fmaF32Avx2(int64_t count) {
  alignas(64) float data[32];
  uint32_t state = 1;
  for (float &x : data)
    x = static_cast<float>(nextRandom(state)) * 0x1p-31f - 1;
#define CLEAR(n) "vxorps %%ymm" n ", %%ymm" n ", %%ymm" n "\n\t"
#define ADD(n) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" n "\n\t"
#define SUBTRACT(n) "vfnmadd231ps %%ymm12, %%ymm13, %%ymm" n "\n\t"
  __asm__ volatile("vmovups (%[data]), %%ymm12\n\t"
                   "vmovups 64(%[data]), %%ymm13\n\t" EACH_ACCUMULATOR(
                       CLEAR) "1:\n\t" EACH_ACCUMULATOR(ADD)
                       EACH_ACCUMULATOR(SUBTRACT) "dec %[count]\n\t"
                                                  "jnz 1b\n\t"
                                                  "vzeroupper\n\t"
                   : [count] "+r"(count)
                   : [data] "r"(data)
                   : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
                     "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                     "xmm12", "xmm13");
#undef CLEAR
#undef ADD
#undef SUBTRACT
}

#define CLEAR(n) "vpxorq %%zmm" n ", %%zmm" n ", %%zmm" n "\n\t"
#define ADD(n) "vfmadd231" TYPE " %%zmm12, %%zmm13, %%zmm" n "\n\t"
#define SUBTRACT(n) "vfnmadd231" TYPE " %%zmm12, %%zmm13, %%zmm" n "\n\t"
#define ZMM_LOOP                                                               \
  __asm__ volatile("vmovups (%[data]), %%zmm12\n\t"                            \
                   "vmovups 64(%[data]), %%zmm13\n\t" EACH_ACCUMULATOR(        \
                       CLEAR) "1:\n\t" EACH_ACCUMULATOR(ADD)                   \
                       EACH_ACCUMULATOR(SUBTRACT) "dec %[count]\n\t"           \
                                                  "jnz 1b\n\t"                 \
                                                  "vzeroupper\n\t"             \
                   : [count] "+r"(count)                                       \
                   : [data] "r"(data)                                          \
                   : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",   \
                     "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
                     "xmm12", "xmm13")

__attribute__((target("avx512f"))) void fmaF32Avx512(int64_t count) {
  alignas(64) float data[32];
  uint32_t state = 1;
  for (float &x : data)
    x = static_cast<float>(nextRandom(state)) * 0x1p-31f - 1;
#define TYPE "ps"
  ZMM_LOOP;
#undef TYPE
}

__attribute__((target("avx512f"))) void fmaF16Avx512(int64_t count) {
  alignas(64) uint16_t data[64];
  uint32_t state = 1;
  for (uint16_t &x : data) // sign, exponent 14 (0.5 to 1), mantissa
    x = static_cast<uint16_t>((nextRandom(state) & 0x83ff) | 14 << 10);
#define TYPE "ph"
  ZMM_LOOP;
#undef TYPE
}

//===-- AMX ---------------------------------------------------------------===//

namespace {
struct TileConfig {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t bytesPerRow[16] = {};
  uint8_t rows[16] = {};

  TileConfig() {
    for (int i = 0; i < 8; ++i) {
      bytesPerRow[i] = 64;
      rows[i] = 16;
    }
  }
};
static_assert(sizeof(TileConfig) == 64);

template <size_t Size> struct alignas(64) Tiles {
  uint8_t bytes[Size];

  void fillBf16() {
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof bytes; i += 2) { // 0.5 to 1, and negative
      auto x = static_cast<uint16_t>((nextRandom(state) & 0x807f) | 126 << 7);
      std::memcpy(bytes + i, &x, 2);
    }
  }
  void fillI8() {
    uint32_t state = 1;
    for (uint8_t &x : bytes)
      x = static_cast<uint8_t>(nextRandom(state) >> 8);
  }
};
} // namespace

// Tiles 0 to 3 are sums; 4 and 5 from the left, 6 and 7 from the right.
#define CLEAR_TILES                                                            \
  "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero "         \
  "%%tmm3\n\t"
#define LOAD_TILES(base)                                                       \
  "tileloadd (" base ",%[stride]), %%tmm4\n\t"                                 \
  "tileloadd 1024(" base ",%[stride]), %%tmm5\n\t"                             \
  "tileloadd 2048(" base ",%[stride]), %%tmm6\n\t"                             \
  "tileloadd 3072(" base ",%[stride]), %%tmm7\n\t"
#define MULTIPLY_TILES(op)                                                     \
  op " %%tmm6, %%tmm4, %%tmm0\n\t" op " %%tmm7, %%tmm4, %%tmm1\n\t" op         \
     " %%tmm6, %%tmm5, %%tmm2\n\t" op " %%tmm7, %%tmm5, %%tmm3\n\t"
#define AMX_LOOP(op)                                                           \
  __asm__ volatile(                                                            \
      "ldtilecfg %[config]\n\t" CLEAR_TILES LOAD_TILES(                        \
          "%[data]") "1:\n\t" MULTIPLY_TILES(op) "dec %[count]\n\t"            \
                                                 "jnz 1b\n\t"                  \
                                                 "tilerelease\n\t"             \
      : [count] "+r"(count)                                                    \
      :                                                                        \
      [config] "m"(config), [data] "r"(tiles.bytes), [stride] "r"(int64_t{64}) \
      : "memory", "cc")

void amxBf16(int64_t count) {
  TileConfig config;
  Tiles<4096> tiles;
  tiles.fillBf16();
  AMX_LOOP("tdpbf16ps");
}

void amxI8(int64_t count) {
  TileConfig config;
  Tiles<4096> tiles;
  tiles.fillI8();
  AMX_LOOP("tdpbssd");
}

double amxBf16FromL1(int64_t count) {
  TileConfig config;
  Tiles<32768> tiles;
  tiles.fillBf16();
  int64_t offset = 0;
  const uint8_t *at = nullptr;
  auto start = std::chrono::steady_clock::now();
  __asm__ volatile(
      "ldtilecfg %[config]\n\t" CLEAR_TILES "1:\n\t"
      "lea (%[data],%[offset]), %[at]\n\t" LOAD_TILES("%[at]")
          MULTIPLY_TILES("tdpbf16ps") "add $4096, %[offset]\n\t"
                                      "and $32767, %[offset]\n\t"
                                      "dec %[count]\n\t"
                                      "jnz 1b\n\t"
                                      "tilerelease\n\t"
      : [count] "+r"(count), [offset] "+r"(offset), [at] "+r"(at)
      : [config] "m"(config), [data] "r"(tiles.bytes), [stride] "r"(int64_t{64})
      : "memory", "cc");
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return time.count();
}

//===-- Memory ------------------------------------------------------------===//

/// Makes the compiler believe that a loaded vector is used.
#define USE_VECTOR(x) __asm__ volatile("" : : "x"(x))
#define USE_ZMM(x) __asm__ volatile("" : : "v"(x))

#define READ_LOOP(vector, load, use)                                           \
  for (const char *end = from + bytes; from != end; from += memoryUnit)        \
    for (size_t i = 0; i < memoryUnit; i += 4 * sizeof(vector)) {              \
      vector a = load(from + i), b = load(from + i + sizeof(vector));          \
      vector c = load(from + i + 2 * sizeof(vector));                          \
      vector d = load(from + i + 3 * sizeof(vector));                          \
      use(a);                                                                  \
      use(b);                                                                  \
      use(c);                                                                  \
      use(d);                                                                  \
    }

#define COPY_LOOP(vector, load, store)                                         \
  for (const char *end = from + bytes; from != end;                            \
       from += 4 * sizeof(vector), to += 4 * sizeof(vector)) {                 \
    vector a = load(from), b = load(from + sizeof(vector));                    \
    vector c = load(from + 2 * sizeof(vector));                                \
    vector d = load(from + 3 * sizeof(vector));                                \
    store(to, a);                                                              \
    store(to + sizeof(vector), b);                                             \
    store(to + 2 * sizeof(vector), c);                                         \
    store(to + 3 * sizeof(vector), d);                                         \
  }                                                                            \
  _mm_sfence()

#define LOAD_SSE(p) _mm_load_ps(reinterpret_cast<const float *>(p))
#define LOAD_AVX(p) _mm256_load_ps(reinterpret_cast<const float *>(p))
#define LOAD_ZMM(p) _mm512_load_ps(reinterpret_cast<const void *>(p))
#define STORE_SSE(p, x) _mm_store_ps(reinterpret_cast<float *>(p), x)
#define STORE_AVX(p, x) _mm256_store_ps(reinterpret_cast<float *>(p), x)
#define STORE_ZMM(p, x) _mm512_store_ps(reinterpret_cast<void *>(p), x)
#define STREAM_SSE(p, x) _mm_stream_ps(reinterpret_cast<float *>(p), x)
#define STREAM_AVX(p, x) _mm256_stream_ps(reinterpret_cast<float *>(p), x)
#define STREAM_ZMM(p, x) _mm512_stream_ps(reinterpret_cast<float *>(p), x)

void readSse(const char *from, size_t bytes) {
  READ_LOOP(__m128, LOAD_SSE, USE_VECTOR)
}
__attribute__((target("avx"))) void readAvx(const char *from, size_t bytes) {
  READ_LOOP(__m256, LOAD_AVX, USE_VECTOR)
}
__attribute__((target("avx512f"))) void readAvx512(const char *from,
                                                   size_t bytes) {
  READ_LOOP(__m512, LOAD_ZMM, USE_ZMM)
}

void copySse(char *to, const char *from, size_t bytes) {
  COPY_LOOP(__m128, LOAD_SSE, STORE_SSE);
}
__attribute__((target("avx"))) void copyAvx(char *to, const char *from,
                                            size_t bytes) {
  COPY_LOOP(__m256, LOAD_AVX, STORE_AVX);
}
__attribute__((target("avx512f"))) void copyAvx512(char *to, const char *from,
                                                   size_t bytes) {
  COPY_LOOP(__m512, LOAD_ZMM, STORE_ZMM);
}

void streamSse(char *to, const char *from, size_t bytes) {
  COPY_LOOP(__m128, LOAD_SSE, STREAM_SSE);
}
__attribute__((target("avx"))) void streamAvx(char *to, const char *from,
                                              size_t bytes) {
  COPY_LOOP(__m256, LOAD_AVX, STREAM_AVX);
}
__attribute__((target("avx512f"))) void streamAvx512(char *to, const char *from,
                                                     size_t bytes) {
  COPY_LOOP(__m512, LOAD_ZMM, STREAM_ZMM);
}

} // namespace tessera::runtime::roofline

#endif
