// The table of NVIDIA's architectures: data only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources, cited by their letters:
//   [G]  CUDA C++ Programming Guide 13, "Compute Capabilities", table
//        "Technical Specifications per Compute Capability"
//   [P]  PTX ISA 9.0, the "Target ISA Notes" of the instruction, and table
//        "PTX Release History" for the first version of a target
//   [T]  tried: ptxas 13.0 and 13.4 accept it there and refuse it before
//   [W]  the white paper or datasheet named beside it

#include "compiler/Support/Architectures/Nvidia.h"

namespace tessera::nvidia {

// clang-format off
using enum Availability::Kind;
constexpr double unknown = -1;

// Columns: number, family, suffixes, PTX of sm_XY, XYa, XYf, least PTX we
// write, assembles,
// shared per block, per SM, registers per SM, per thread, warps, blocks,
// cluster, non-portable, tensor memory, peak {product, f64, f32, tf32, f16,
// bf16, fp8, int8, fp4, GB/s, source}, multiprocessors of that product (cores
// of the same source / 128, or / 64 up to sm_80; 0: not published).
static constexpr int K = 1024;
static constexpr Machine table[] = {
    {70, "Volta", "", 60, 0, 0, 64, false,
     96 * K, 96 * K, 65536, 255, 64, 32, 0, 0, 0,
     {"V100 SXM2", 7.8, 15.7, 0, 125, 0, 0, 0, 0, 900,
      "[W] Tesla V100 GPU architecture, table 1"}, 80},
    {75, "Turing", "", 63, 0, 0, 65, true,
     64 * K, 64 * K, 65536, 255, 32, 16, 0, 0, 0,
     {"T4", unknown, 8.1, 0, 65, 0, 0, 130, 0, 320,
      "[W] T4 datasheet"}, 40},
    {80, "Ampere", "", 70, 0, 0, 71, true,
     163 * K, 164 * K, 65536, 255, 64, 32, 0, 0, 0,
     {"A100 SXM4 80GB", 19.5, 19.5, 156, 312, 312, 0, 624, 0, 2039,
      "[W] A100 datasheet"}, 108},
    {86, "Ampere", "", 71, 0, 0, 71, true,
     99 * K, 100 * K, 65536, 255, 48, 16, 0, 0, 0,
     {"A40", unknown, 37.4, 74.8, 149.7, 149.7, 0, 299.3, 0, 696,
      "[W] A40 datasheet"}, 84},
    {87, "Ampere", "", 74, 0, 0, 74, true,
     163 * K, 164 * K, 65536, 255, 48, 16, 0, 0, 0,
     {"Jetson AGX Orin 64GB", unknown, 5.3, unknown, unknown, unknown, 0, 85, 0, 204.8,
      "[W] Jetson AGX Orin technical brief"}, 16},
    // [G] does not list 8.8: cuda_occupancy.h of CUDA 13.4.
    {88, "Ampere", "", 90, 0, 0, 90, true,
     99 * K, 100 * K, 65536, 255, 48, 16, 0, 0, 0,
     {"", unknown, unknown, unknown, unknown, unknown, 0, unknown, 0, unknown,
      "no product with published rates"}, 0},
    {89, "Ada", "", 78, 0, 0, 84, true,
     99 * K, 100 * K, 65536, 255, 48, 24, 0, 0, 0,
     {"L40S", unknown, 91.6, 183, 362, 362, 733, 733, 0, 864,
      "[W] L40S datasheet"}, 142},
    {90, "Hopper", "a", 78, 80, 0, 80, true,
     227 * K, 228 * K, 65536, 255, 64, 32, 8, 16, 0,
     {"H100 SXM5", 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9, 0, 3352,
      "[W] H100 Tensor Core GPU architecture, table 2"}, 132},
    {100, "Blackwell", "af", 86, 86, 88, 86, true,
     227 * K, 228 * K, 65536, 255, 64, 32, 8, 16, 512,
     {"B200", 37, 75, 1125, 2250, 2250, 4500, 4500, 9000, 8000,
      "[W] HGX B200 datasheet, per GPU, dense"}, 148},
    {103, "Blackwell", "af", 88, 88, 88, 88, true,
     227 * K, 228 * K, 65536, 255, 64, 32, 8, 16, 512,
     {"B300", unknown, 75, 1125, 2250, 2250, 4500, unknown, 13500, 8000,
      "[W] DGX B300 datasheet, per GPU, dense"}, 0},
    {110, "Blackwell", "af", 90, 90, 90, 90, true,
     227 * K, 228 * K, 65536, 255, 48, 24, 8, 16, 512,
     {"Jetson T5000", unknown, 8.1, unknown, unknown, unknown, 517, unknown, 1035, 273,
      "[W] Jetson Thor datasheet, dense"}, 20},
    {120, "Blackwell", "af", 87, 87, 88, 87, true,
     99 * K, 100 * K, 65536, 255, 48, 24, 8, 8, 0,
     {"RTX 5090", unknown, 104.8, 104.8, 209.5, 209.5, 419, 838, 1676, 1792,
      "[W] RTX Blackwell GPU architecture, appendix A, fp32 accumulation"}, 170},
    {121, "Blackwell", "af", 88, 88, 88, 88, true,
     99 * K, 100 * K, 65536, 255, 48, 24, 8, 8, 0,
     {"GB10", unknown, 31, unknown, unknown, unknown, unknown, unknown, 500, 273,
      "[W] DGX Spark datasheet, dense"}, 48},
};

static constexpr FeatureRow featureTable[] = {
    {Feature::Ldmatrix, "ldmatrix", {From, {75}}, "[P] [T]"},
    {Feature::CpAsync, "cp.async", {From, {80}}, "[P] [T]"},
    {Feature::Bf16Arithmetic, "fma.rn.bf16", {From, {80}}, "[P] [T]"},
    {Feature::MmaSparse, "mma.sp", {From, {80}}, "[P] [T]"},
    {Feature::Mbarrier, "mbarrier", {From, {80}}, "[P] [T]"},
    {Feature::Fp8Conversions, "cvt.rn.satfinite.e4m3x2.f32", {From, {89}}, "[P] [T]"},
    {Feature::Stmatrix, "stmatrix", {From, {90}}, "[P] [T]"},
    {Feature::Clusters, "barrier.cluster, mapa", {From, {90}}, "[P] [T]"},
    {Feature::Tma, "cp.async.bulk.tensor", {From, {90}}, "[P] [T]"},
    {Feature::SetMaxNReg, "setmaxnreg", {Family, {90, 100, 110, 120}}, "[P] [T]"},
    {Feature::Wgmma, "wgmma", {Only, {90}}, "[P] [T]"},
    {Feature::Tcgen05, "tcgen05", {Family, {100, 110}}, "[P] [T]"},
    {Feature::Fp4Conversions, "cvt.rn.satfinite.e2m1x2.f32", {Family, {100, 110, 120}}, "[P] [T]"},
    {Feature::MmaBlockScale, "mma.block_scale", {Family, {120}}, "[P] [T]"},
};

// Forms that do the same with half the k are left out, unless a machine has no
// other.
static constexpr MmaRow mmaTable[] = {
    // mma.sync [P 9.7.14.5.14, "Target ISA Notes"]
    {MmaRow::Sync, "f16", "f16", "f32", 16, 8, 8, {From, {75}}, "[P] [T]"},
    {MmaRow::Sync, "f16", "f16", "f16", 16, 8, 8, {From, {75}}, "[P] [T]"},
    {MmaRow::Sync, "s8", "s8", "s32", 8, 8, 16, {From, {75}}, "[P] [T]"},
    {MmaRow::Sync, "u8", "u8", "s32", 8, 8, 16, {From, {75}}, "[P] [T]"},
    {MmaRow::Sync, "f16", "f16", "f32", 16, 8, 16, {From, {80}}, "[P] [T]"},
    {MmaRow::Sync, "f16", "f16", "f16", 16, 8, 16, {From, {80}}, "[P] [T]"},
    {MmaRow::Sync, "bf16", "bf16", "f32", 16, 8, 16, {From, {80}}, "[P] [T]"},
    {MmaRow::Sync, "tf32", "tf32", "f32", 16, 8, 8, {From, {80}}, "[P] [T]"},
    {MmaRow::Sync, "s8", "s8", "s32", 16, 8, 32, {From, {80}}, "[P] [T]"},
    {MmaRow::Sync, "u8", "u8", "s32", 16, 8, 32, {From, {80}}, "[P] [T]"},
    {MmaRow::Sync, "f64", "f64", "f64", 8, 8, 4, {From, {80}}, "[P] [T]"},
    {MmaRow::Sync, "e4m3", "e4m3", "f32", 16, 8, 32, {From, {89}}, "[P] [T]"},
    {MmaRow::Sync, "e5m2", "e5m2", "f32", 16, 8, 32, {From, {89}}, "[P] [T]"},
    {MmaRow::Sync, "e4m3", "e5m2", "f32", 16, 8, 32, {From, {89}}, "[P] [T]"},
    {MmaRow::Sync, "e5m2", "e4m3", "f32", 16, 8, 32, {From, {89}}, "[P] [T]"},
    {MmaRow::Sync, "f64", "f64", "f64", 16, 8, 16, {From, {90}}, "[P] [T]"},
    // kind::f8f6f4, without scales
    {MmaRow::Sync, "e3m2", "e3m2", "f32", 16, 8, 32, {Family, {120}}, "[P] [T]"},
    {MmaRow::Sync, "e2m3", "e2m3", "f32", 16, 8, 32, {Family, {120}}, "[P] [T]"},
    {MmaRow::Sync, "e2m1", "e2m1", "f32", 16, 8, 32, {Family, {120}}, "[P] [T]"},
    // mma.sp [P 9.7.14.6]
    {MmaRow::SyncSparse, "f16", "f16", "f32", 16, 8, 32, {From, {80}}, "[P] [T]"},
    {MmaRow::SyncSparse, "bf16", "bf16", "f32", 16, 8, 32, {From, {80}}, "[P] [T]"},
    {MmaRow::SyncSparse, "tf32", "tf32", "f32", 16, 8, 16, {From, {80}}, "[P] [T]"},
    {MmaRow::SyncSparse, "s8", "s8", "s32", 16, 8, 64, {From, {80}}, "[P] [T]"},
    {MmaRow::SyncSparse, "e4m3", "e4m3", "f32", 16, 8, 64, {From, {89}}, "[P] [T]"},
    // mma.block_scale: kind::mxf8f6f4, kind::mxf4, kind::mxf4nvf4
    {MmaRow::SyncBlockScale, "e4m3", "e4m3", "f32", 16, 8, 32, {Family, {120}}, "[P] [T]"},
    {MmaRow::SyncBlockScale, "e5m2", "e5m2", "f32", 16, 8, 32, {Family, {120}}, "[P] [T]"},
    {MmaRow::SyncBlockScale, "e2m3", "e2m3", "f32", 16, 8, 32, {Family, {120}}, "[P] [T]"},
    {MmaRow::SyncBlockScale, "e2m1", "e2m1", "f32", 16, 8, 64, {Family, {120}}, "[P] [T]"},
    // wgmma [P 9.7.15.2]: n is any multiple of 8 up to 256
    {MmaRow::Wgmma, "f16", "f16", "f32", 64, 256, 16, {Only, {90}}, "[P] [T]"},
    {MmaRow::Wgmma, "f16", "f16", "f16", 64, 256, 16, {Only, {90}}, "[P] [T]"},
    {MmaRow::Wgmma, "bf16", "bf16", "f32", 64, 256, 16, {Only, {90}}, "[P] [T]"},
    {MmaRow::Wgmma, "tf32", "tf32", "f32", 64, 256, 8, {Only, {90}}, "[P] [T]"},
    {MmaRow::Wgmma, "e4m3", "e4m3", "f32", 64, 256, 32, {Only, {90}}, "[P] [T]"},
    {MmaRow::Wgmma, "e5m2", "e5m2", "f32", 64, 256, 32, {Only, {90}}, "[P] [T]"},
    {MmaRow::Wgmma, "s8", "s8", "s32", 64, 256, 32, {Only, {90}}, "[P] [T]"},
    // tcgen05.mma [P 9.7.16.2.1], one CTA: m 64 or 128, n up to 256
    {MmaRow::Tcgen05, "f16", "f16", "f32", 128, 256, 16, {Family, {100, 110}}, "[P]"},
    {MmaRow::Tcgen05, "bf16", "bf16", "f32", 128, 256, 16, {Family, {100, 110}}, "[P]"},
    {MmaRow::Tcgen05, "tf32", "tf32", "f32", 128, 256, 8, {Family, {100, 110}}, "[P]"},
    {MmaRow::Tcgen05, "e4m3", "e4m3", "f32", 128, 256, 32, {Family, {100, 110}}, "[P]"},
    {MmaRow::Tcgen05, "e2m1", "e2m1", "f32", 128, 256, 64, {Family, {100, 110}}, "[P]"},
    {MmaRow::Tcgen05, "s8", "s8", "s32", 128, 256, 32, {Only, {100, 110}}, "[P]"},
};
// clang-format on

std::span<const Machine> machines() { return table; }
std::span<const FeatureRow> features() { return featureTable; }
std::span<const MmaRow> mmaRows() { return mmaTable; }

} // namespace tessera::nvidia
