// What the CPU's passes assume of a core, and what was measured on one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code for a CPU is compiled for a feature set (AVX2, AVX-512, AMX), not for a
// model: sizes of caches are those of the smallest server core that has
// AVX-512. What follows from them is derived; what does not was measured, and
// says when, by which commit and where it is written down. Processors were
// Xeons with AVX-512, most with AMX, two cores, shared; models were not always
// noted.

#ifndef TESSERA_SUPPORT_ARCHITECTURES_X86_H
#define TESSERA_SUPPORT_ARCHITECTURES_X86_H

#include <cstdint>

namespace tessera::x86 {

//===----------------------------------------------------------------------===//
// The core
//===----------------------------------------------------------------------===//

/// Bytes, of all x86-64 cores.
inline constexpr int64_t cacheLine = 64, page = 4096;
/// Bytes of one core's first- and second-level data caches: 32 KiB and 1 MiB of
/// Skylake-SP (48 KiB since Ice Lake, 2 MiB since Sapphire Rapids; Intel 64 and
/// IA-32 Architectures Optimization Reference Manual, cache parameters).
inline constexpr int64_t level1 = 32 << 10, level2 = 1 << 20;

//===----------------------------------------------------------------------===//
// Derived
//===----------------------------------------------------------------------===//

/// A right operand up to this size is read where it lies: it stays in the
/// second-level cache beside what else is used. Measured: 8f3e80f, 2026-11-15
/// (docs/decisions/2026-11-15-matrix-shortcuts.md).
inline constexpr int64_t nearOperand = level2 / 4 * 3;
/// Rows so many bytes apart share two sets of the first-level cache, whose sets
/// cover a page.
inline constexpr int64_t aliasedStride = page / 2;
/// Elements (of 4 bytes) of a row that are kept from one loop to the next: an
/// eighth of the second-level cache
/// (docs/decisions/2026-11-15-kept-rows.md).
inline constexpr int64_t keptElements = level2 / 8 / 4;
/// fp32 rows up to this size are written beside the next row, longer ones four
/// at a time. Measured: 67fd85e, 2026-11-16
/// (docs/decisions/2026-11-15-kept-rows.md).
inline constexpr int64_t shortRow = level1 / 4;
/// Results from this size on are written past the caches: it is quicker, and
/// what reads them next is no slower. Measured: 066eb9b, 2026-11-15
/// (benchmarks/cost_model.py, docs/cost-model.md).
inline constexpr int64_t nontemporalFrom = 8 * level2;

//===----------------------------------------------------------------------===//
// Measured
//===----------------------------------------------------------------------===//

/// A product of at most so many programs is summed in parts of at least so many
/// positions of k. Measured: dce4910, 2026-11-16.
inline constexpr int64_t splitPrograms = 8, splitPositions = 2048;
/// A left operand of AMX is packed where its rows are read for so many columns;
/// one whose rows alias, for so many. Measured: 2e0cf4e, 2026-11-16.
inline constexpr int64_t packColumns = 256, packAliasedColumns = 1024;
/// Rows of a wide matrix that packing prefetches ahead. Measured: f3ed7f8,
/// 2026-11-16 (docs/decisions/2026-11-16-few-rows-and-columns.md).
inline constexpr int64_t prefetchedRows = 64;

} // namespace tessera::x86

#endif // TESSERA_SUPPORT_ARCHITECTURES_X86_H
