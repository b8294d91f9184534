// Loops that do one thing as fast as this machine can, for Roofline.cpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compute loops are assembly, so that every build and compiler measures the
// same instructions. Their accumulators stay finite: half of the vector
// instructions add a product that the other half subtracts.
#ifndef TESSERA_RUNTIME_ROOFLINEKERNELS_H
#define TESSERA_RUNTIME_ROOFLINEKERNELS_H

#include <cstddef>
#include <cstdint>

namespace tessera::runtime::roofline {

/// Repeats its unit of work `count` times.
using ComputeLoop = void (*)(int64_t count);

/// Operations of one unit.
constexpr int64_t fmaUnit(int64_t lanes) { return 24 * lanes * 2; }
constexpr int64_t amxBf16Unit = 4 * 16 * 16 * 32 * 2;
constexpr int64_t amxI8Unit = 4 * 16 * 16 * 64 * 2;

/// Memory loops work on multiples of this many bytes, aligned to 64.
constexpr size_t memoryUnit = 1024;

#if defined(__x86_64__)
void fmaF32Avx2(int64_t count);
void fmaF32Avx512(int64_t count);
void fmaF16Avx512(int64_t count);
void amxBf16(int64_t count);
void amxI8(int64_t count);
/// Units of amxBf16 whose tiles come from the L1 cache; the seconds they took.
double amxBf16FromL1(int64_t count);

void readSse(const char *from, size_t bytes);
void readAvx(const char *from, size_t bytes);
void readAvx512(const char *from, size_t bytes);
void copySse(char *to, const char *from, size_t bytes);
void copyAvx(char *to, const char *from, size_t bytes);
void copyAvx512(char *to, const char *from, size_t bytes);
void streamSse(char *to, const char *from, size_t bytes);
void streamAvx(char *to, const char *from, size_t bytes);
void streamAvx512(char *to, const char *from, size_t bytes);
#endif

} // namespace tessera::runtime::roofline

#endif
