// The instruction table. One row per base name and required modifiers; rows
// of one base are tried in order, so the more specific one stands first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/ptx/Spec.h"

namespace tessera::sim::ptx {

namespace {

#define RND "rn rz rm rp"
#define CMP "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"
#define BOOL "and or xor"
#define INTS "s16 u16 s32 u32 s64 u64"
#define BITS "b16 b32 b64"
#define FLOATS "f16 bf16 f16x2 bf16x2 f32 f64"
#define SCOPES "cta cluster gpu sys"
#define SEM "weak relaxed acquire release acq_rel volatile mmio sc"
#define SPACES                                                                 \
  "global shared shared::cta shared::cluster local const param "               \
  "param::entry param::func"
#define CACHE                                                                  \
  "ca cg cs cv lu wb wt nc L1::evict_normal L1::evict_unchanged "              \
  "L1::evict_first L1::evict_last L1::no_allocate L2::cache_hint "             \
  "L2::64B L2::128B L2::256B L2::evict_last L2::evict_first "                  \
  "L2::evict_normal unified"
#define VEC "v2 v4 v8"
#define MEMTYPES                                                               \
  "b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 b64 u64 s64 "                 \
  "f64 b128 f16x2 bf16x2"
#define FP8S "e4m3 e5m2 e2m3 e3m2 e2m1"
#define FP8X2 "e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2 ue8m0x2"
#define FP8X4 "e4m3x4 e5m2x4 e2m3x4 e3m2x4 e2m1x4"
#define TCGEN "sm_100a, sm_103a, sm_110a"
#define MOVES                                                                  \
  "32x32b 16x64b 16x128b 16x256b 16x32bx2 x1 x2 x4 x8 x16 x32 x64 x128"
#define KINDS "kind::f16 kind::tf32 kind::f8f6f4 kind::i8"
#define WMMASHAPES                                                             \
  "m16n16k16 m8n32k16 m32n8k16 m16n16k8 m8n8k4 m8n8k32 "                       \
  "m8n8k128"

constexpr auto E = Status::Executed;
constexpr auto H = Status::Hint;
constexpr auto R = Status::Refused;
constexpr std::string_view blackwell = "bulk stores (sm_100) are not modelled";
constexpr std::string_view tensor = "im2col::w is refused";

// base, required, allowed, types, operands, arch, status, family, note
constexpr Spec table[] = {
    // clang-format off
    {"add", "", RND " ftz sat cc", INTS " s16x2 u16x2 f32x2 " FLOATS, 3, 3, 20, E, "Arithmetic", ""},
    {"addc", "", "cc", "s32 u32 s64 u64", 3, 3, 20, E, "Arithmetic", ""},
    {"sub", "", RND " ftz sat cc", INTS " f32x2 " FLOATS, 3, 3, 20, E, "Arithmetic", ""},
    {"subc", "", "cc", "s32 u32 s64 u64", 3, 3, 20, E, "Arithmetic", ""},
    {"mul", "", RND " ftz sat hi lo wide", INTS " f32x2 " FLOATS, 3, 3, 20, E, "Arithmetic", "never fused with a following add"},
    {"mul24", "", "hi lo", "s32 u32", 3, 3, 20, E, "Arithmetic", ""},
    {"mad", "", RND " ftz sat hi lo wide cc", INTS " f32 f64", 4, 4, 20, E, "Arithmetic", ""},
    {"mad24", "", "hi lo sat", "s32 u32", 4, 4, 20, E, "Arithmetic", ""},
    {"madc", "", "hi lo cc", "s32 u32 s64 u64", 4, 4, 20, E, "Arithmetic", ""},
    {"sad", "", "", INTS, 4, 4, 20, E, "Arithmetic", ""},
    {"div", "", RND " ftz approx full", INTS " f32 f64", 3, 3, 20, E, "Arithmetic", "approx and full are correctly rounded"},
    {"rem", "", "", INTS, 3, 3, 20, E, "Arithmetic", ""},
    {"abs", "", "ftz", "s16 s32 s64 " FLOATS, 2, 2, 20, E, "Arithmetic", ""},
    {"neg", "", "ftz", "s16 s32 s64 " FLOATS, 2, 2, 20, E, "Arithmetic", ""},
    {"min", "", "ftz NaN xorsign abs relu", INTS " s16x2 u16x2 " FLOATS, 3, 4, 20, E, "Arithmetic", ""},
    {"max", "", "ftz NaN xorsign abs relu", INTS " s16x2 u16x2 " FLOATS, 3, 4, 20, E, "Arithmetic", ""},
    {"fma", "", RND " ftz sat relu oob", "f32x2 " FLOATS, 4, 4, 20, E, "Arithmetic", ""},
    {"rcp", "", RND " ftz approx", "f32 f64", 2, 2, 20, E, "Arithmetic", "approx is correctly rounded"},
    {"sqrt", "", RND " ftz approx", "f32 f64", 2, 2, 20, E, "Arithmetic", "approx is correctly rounded"},
    {"rsqrt", "approx", "ftz", "f32 f64", 2, 2, 20, E, "Arithmetic", "rounded from f64"},
    {"sin", "approx", "ftz", "f32", 2, 2, 20, E, "Arithmetic", "rounded from f64"},
    {"cos", "approx", "ftz", "f32", 2, 2, 20, E, "Arithmetic", "rounded from f64"},
    {"lg2", "approx", "ftz", "f32", 2, 2, 20, E, "Arithmetic", "rounded from f64"},
    {"ex2", "approx", "ftz", "f32 f16 f16x2 bf16 bf16x2", 2, 2, 20, E, "Arithmetic", "rounded from f64"},
    {"tanh", "approx", "", "f32 f16 f16x2 bf16 bf16x2", 2, 2, 75, E, "Arithmetic", "rounded from f64"},
    {"copysign", "", "", "f32 f64", 3, 3, 20, E, "Arithmetic", ""},
    {"testp", "", "finite infinite number notanumber normal subnormal", "f32 f64", 2, 2, 20, E, "Arithmetic", ""},
    {"dp4a", "", "", "s32 u32", 4, 4, 61, E, "Arithmetic", ""},
    {"dp2a", "", "lo hi", "s32 u32", 4, 4, 61, E, "Arithmetic", ""},

    {"and", "", "", "pred " BITS, 3, 3, 20, E, "Bits", ""},
    {"or", "", "", "pred " BITS, 3, 3, 20, E, "Bits", ""},
    {"xor", "", "", "pred " BITS, 3, 3, 20, E, "Bits", ""},
    {"not", "", "", "pred " BITS, 2, 2, 20, E, "Bits", ""},
    {"cnot", "", "", BITS, 2, 2, 20, E, "Bits", ""},
    {"lop3", "", "and or", "b32", 5, 6, 50, E, "Bits", ""},
    {"shl", "", "", BITS, 3, 3, 20, E, "Bits", ""},
    {"shr", "", "", BITS " " INTS, 3, 3, 20, E, "Bits", ""},
    {"shf", "", "l r wrap clamp", "b32", 4, 4, 32, E, "Bits", ""},
    {"bfe", "", "", "s32 u32 s64 u64", 4, 4, 20, E, "Bits", ""},
    {"bfi", "", "", "b32 b64", 5, 5, 20, E, "Bits", ""},
    {"bfind", "", "shiftamt", "s32 u32 s64 u64", 2, 2, 20, E, "Bits", ""},
    {"bmsk", "", "clamp wrap", "b32", 3, 3, 70, E, "Bits", ""},
    {"szext", "", "clamp wrap", "s32 u32", 3, 3, 70, E, "Bits", ""},
    {"brev", "", "", "b32 b64", 2, 2, 20, E, "Bits", ""},
    {"popc", "", "", "b32 b64", 2, 2, 20, E, "Bits", ""},
    {"clz", "", "", "b32 b64", 2, 2, 20, E, "Bits", ""},
    {"fns", "", "", "b32", 4, 4, 30, E, "Bits", ""},
    {"prmt", "", "f4e b4e rc8 ecl ecr rc16", "b32", 4, 4, 20, E, "Bits", ""},

    {"mov", "", "", "pred b16 u16 s16 f16 bf16 b32 u32 s32 f32 b64 u64 s64 f64 b128", 2, 2, 20, E, "Move and convert", ""},
    {"cvt", "pack sat", "", "s32 b32 u16 s16 u8 s8 u4 s4", 3, 4, 72, E, "Move and convert", "to u2, s2: refused"},
    {"cvt", "", RND " rna rs rni rzi rmi rpi ftz sat satfinite relu scaled::n2::ue8m0", "u8 s8 b8 u16 s16 u32 s32 u64 s64 tf32 b16 b32 " FLOATS " " FP8X2 " " FP8X4, 2, 4, 20, E, "Move and convert", ""},
    {"cvta", "", "to " SPACES, "u32 u64", 2, 2, 20, E, "Move and convert", ""},
    {"selp", "", "", BITS " " INTS " f32 f64", 4, 4, 20, E, "Move and convert", ""},
    {"slct", "", "ftz", BITS " " INTS " f32 f64", 4, 4, 20, E, "Move and convert", ""},
    {"set", "", CMP " " BOOL " ftz", BITS " " INTS " " FLOATS, 3, 4, 20, E, "Move and convert", ""},
    {"setp", "", CMP " " BOOL " ftz", BITS " " INTS " " FLOATS, 3, 4, 20, E, "Move and convert", ""},
    {"isspacep", "", SPACES, "", 2, 2, 20, E, "Move and convert", ""},
    {"istypep", "", "", "texref surfref samplerref", 2, 2, 30, R, "Move and convert", "textures are not modelled"},
    {"alloca", "", "", "u32 u64 b32 b64", 2, 3, 52, E, "Move and convert", ""},
    {"stacksave", "", "", "u32 u64", 1, 1, 52, E, "Move and convert", ""},
    {"stackrestore", "", "", "u32 u64", 1, 1, 52, E, "Move and convert", ""},

    {"ld", "", SEM " " SCOPES " " SPACES " " CACHE " " VEC, MEMTYPES, 2, 4, 20, E, "Memory", "cache hints have no effect"},
    {"ldu", "", SPACES " " VEC, MEMTYPES, 2, 2, 20, E, "Memory", ""},
    {"st", "async", SEM " " SCOPES " global shared::cluster mbarrier::complete_tx::bytes v2 v4", MEMTYPES, 2, 3, 90, E, "Memory", ""},
    {"st", "bulk", "weak shared::cta", "", 3, 3, 100, R, "Memory", blackwell},
    {"st", "", SEM " " SCOPES " " SPACES " " CACHE " " VEC, MEMTYPES, 2, 4, 20, E, "Memory", "cache hints have no effect"},
    {"prefetch", "tensormap", "param const", "", 1, 1, 90, H, "Memory", ""},
    {"prefetch", "", "global local L1 L2 L2::evict_last L2::evict_normal", "", 1, 1, 20, H, "Memory", ""},
    {"prefetchu", "", "L1", "", 1, 1, 20, H, "Memory", ""},
    {"applypriority", "", "global L2::evict_normal", "", 2, 2, 80, H, "Memory", ""},
    {"discard", "", "global L2", "", 2, 2, 80, H, "Memory", "the destroyed contents stay readable"},
    {"createpolicy", "", "fractional range cvt L2 global L2::evict_first L2::evict_last L2::evict_normal L2::evict_unchanged", "b64", 1, 4, 80, H, "Memory", "yields 0"},
    {"atom", "", SEM " " SCOPES " " SPACES " add min max inc dec and or xor exch cas noftz L2::cache_hint " VEC, "u16 b16 u32 s32 b32 u64 s64 b64 b128 f32 f64 f16 bf16 f16x2 bf16x2", 3, 5, 20, E, "Memory", ""},
    {"red", "async", SEM " " SCOPES " global shared::cluster mbarrier::complete_tx::bytes add min max inc dec and or xor", "u32 s32 u64 s64 b32 b64", 2, 3, 90, E, "Memory", ""},
    {"red", "", SEM " " SCOPES " " SPACES " add min max inc dec and or xor noftz L2::cache_hint " VEC, "u32 s32 b32 u64 s64 b64 f32 f64 f16 bf16 f16x2 bf16x2", 2, 3, 20, E, "Memory", ""},
    {"multimem", "", SEM " " SCOPES " global ld_reduce st red add min max and or xor acc::f32 acc::f16 " VEC, "f32 f64 f16 bf16 f16x2 bf16x2 u32 s32 b32 u64 s64 b64 e4m3 e5m2 e4m3x4 e5m2x4", 2, 3, 90, R, "Memory", "multimem addresses are not modelled"},
    {"membar", "proxy async", "global shared::cta shared::cluster", "", 0, 0, 90, E, "Memory", ""},
    {"membar", "proxy", "alias", "", 0, 0, 70, R, "Memory", "alias proxies are not modelled"},
    {"membar", "", "cta gl sys gpu level", "", 0, 0, 20, E, "Memory", ""},
    {"fence", "proxy async", "global shared::cta shared::cluster", "", 0, 0, 90, E, "Memory", ""},
    {"fence", "proxy async::generic", "acquire release cluster sync_restrict::shared::cta sync_restrict::shared::cluster", "", 0, 0, 90, E, "Memory", ""},
    {"fence", "proxy alias", "", "", 0, 0, 70, R, "Memory", "alias proxies are not modelled"},
    {"fence", "proxy tensormap::generic", "acquire release " SCOPES, "", 0, 2, 90, E, "Memory", ""},
    {"fence", "mbarrier_init", "release cluster", "", 0, 0, 90, E, "Memory", ""},
    {"fence", "", "sc acq_rel acquire release sync_restrict::shared::cta sync_restrict::shared::cluster " SCOPES, "", 0, 0, 70, E, "Memory", ""},

    {"bar", "warp sync", "", "", 1, 1, 30, E, "Barriers", ""},
    {"bar", "", "cta sync arrive red popc and or aligned", "pred u32", 1, 4, 20, E, "Barriers", ""},
    {"barrier", "cluster", "arrive wait release acquire relaxed aligned", "", 0, 0, 90, E, "Barriers", ""},
    {"barrier", "", "cta sync arrive red popc and or aligned", "pred u32", 1, 4, 30, E, "Barriers", ""},
    {"mbarrier", "init", "shared shared::cta", "b64", 2, 2, 80, E, "Barriers", ""},
    {"mbarrier", "inval", "shared shared::cta", "b64", 1, 1, 80, E, "Barriers", ""},
    {"mbarrier", "pending_count", "", "b64", 2, 2, 80, E, "Barriers", ""},
    {"mbarrier", "arrive", "expect_tx noComplete release relaxed cta cluster shared shared::cta shared::cluster", "b64", 1, 3, 80, E, "Barriers", ""},
    {"mbarrier", "arrive_drop", "expect_tx noComplete release relaxed cta cluster shared shared::cta shared::cluster", "b64", 1, 3, 80, E, "Barriers", ""},
    {"mbarrier", "expect_tx", "relaxed cta cluster shared shared::cta shared::cluster", "b64", 2, 2, 90, E, "Barriers", ""},
    {"mbarrier", "complete_tx", "relaxed cta cluster shared shared::cta shared::cluster", "b64", 2, 2, 90, E, "Barriers", ""},
    {"mbarrier", "test_wait", "parity acquire relaxed cta cluster shared shared::cta", "b64", 3, 3, 80, E, "Barriers", "may take as long as try_wait"},
    {"mbarrier", "try_wait", "parity acquire relaxed cta cluster shared shared::cta", "b64", 3, 4, 90, E, "Barriers", "sleeps until the phase changes or nobody else can run"},

    {"shfl", "", "sync up down bfly idx", "b32", 4, 5, 30, E, "Warp", ""},
    {"vote", "", "sync all any uni ballot", "pred b32", 2, 3, 30, E, "Warp", ""},
    {"match", "sync", "any all", "b32 b64", 3, 3, 70, E, "Warp", ""},
    {"redux", "sync", "add min max and or xor abs NaN", "u32 s32 b32 f32", 3, 3, 80, E, "Warp", ""},
    {"activemask", "", "", "b32", 1, 1, 30, E, "Warp", ""},
    {"elect", "sync", "", "", 2, 2, 90, E, "Warp", "elects the lowest lane, or by option the one the seed picks"},

    {"bra", "", "uni", "", 1, 1, 20, E, "Control", ""},
    {"brx", "", "idx uni", "", 2, 2, 30, E, "Control", ""},
    {"call", "", "uni", "", 1, 4, 20, E, "Control", ""},
    {"ret", "", "uni", "", 0, 0, 20, E, "Control", ""},
    {"exit", "", "", "", 0, 0, 20, E, "Control", ""},
    {"trap", "", "", "", 0, 0, 20, E, "Control", ""},
    {"brkpt", "", "", "", 0, 0, 20, E, "Control", "ends the kernel like trap"},
    {"nanosleep", "", "", "u32", 1, 1, 70, E, "Control", "yields to other warps"},
    {"pmevent", "", "mask", "", 1, 1, 20, H, "Control", ""},
    {"griddepcontrol", "", "launch_dependents wait", "", 0, 0, 90, E, "Control", "grids run one after the other; the checker knows that they may overlap"},
    {"setmaxnreg", "", "inc dec sync aligned", "u32", 1, 1, 90, E, "Control", "with its pool, if .maxnreg, the launch or .minnctapersm tell the registers per thread"},
    {"getctarank", "", "shared::cluster", "u32 u64", 2, 2, 90, E, "Control", ""},
    {"mapa", "", "shared::cluster", "u32 u64", 3, 3, 90, E, "Control", ""},
    {"clusterlaunchcontrol", "", "try_cancel query_cancel async shared::cta mbarrier::complete_tx::bytes multicast::cluster::all is_canceled get_first_ctaid get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z v4", "b128 b32 pred", 2, 2, 100, E, "Control", ""},

    {"ldmatrix", "m16n16", "sync aligned x1 x2 x4 trans shared shared::cta", "b8 b8x16 b6x16_p32 b4x16_p64", 2, 2, 100, R, "Matrix", "byte order is in a figure only (ptx.md 3.14)"},
    {"ldmatrix", "m8n16", "sync aligned x1 x2 x4 shared shared::cta", "b8x16 b6x16_p32 b4x16_p64", 2, 2, 100, E, "Matrix", ""},
    {"ldmatrix", "m8n8", "sync aligned x1 x2 x4 trans shared shared::cta", "b16", 2, 2, 75, E, "Matrix", ""},
    {"stmatrix", "m16n8", "sync aligned x1 x2 x4 trans shared shared::cta", "b8", 2, 2, 100, R, "Matrix", "byte order is in a figure only (ptx.md 3.14)"},
    {"stmatrix", "m8n8", "sync aligned x1 x2 x4 trans shared shared::cta", "b16", 2, 2, 90, E, "Matrix", ""},
    {"movmatrix", "", "sync aligned m8n8 trans", "b16", 2, 2, 75, E, "Matrix", ""},
    {"mma", "sp", "sync aligned row col m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128 satfinite", "f16 f32 bf16 tf32 s32 u8 s8 u4 s4 " FP8S, 4, 6, 80, E, "Matrix", "the forms whose metadata lanes are not published are refused"},
    {"mma", "sp::ordered_metadata", "sync aligned row col m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128 satfinite kind::f8f6f4 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4 block_scale scale_vec::1X scale_vec::2X scale_vec::4X", "f16 f32 bf16 tf32 s32 u8 s8 u4 s4 ue8m0 ue4m3 " FP8S, 4, 12, 80, E, "Matrix", "block scaling with sparsity is refused"},
    {"mma", "", "sync aligned row col m8n8k4 m8n8k16 m8n8k32 m8n8k128 m16n8k4 m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128 m16n8k256 satfinite xor and popc " RND " kind::f8f6f4 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4 block_scale scale_vec::1X scale_vec::2X scale_vec::4X", "f16 f32 bf16 tf32 f64 s32 u8 s8 u4 s4 b1 ue8m0 ue4m3 " FP8S, 4, 12, 70, E, "Matrix", ""},
    {"wmma", "load", "a b c sync aligned row col global shared shared::cta " WMMASHAPES, "f16 f32 bf16 tf32 f64 s32 u8 s8 u4 s4 b1", 2, 3, 70, E, "Matrix", ""},
    {"wmma", "store", "d sync aligned row col global shared shared::cta " WMMASHAPES, "f16 f32 f64 s32", 2, 3, 70, E, "Matrix", ""},
    {"wmma", "mma", "sync aligned row col xor and popc satfinite " RND " " WMMASHAPES, "f16 f32 bf16 tf32 f64 s32 u8 s8 u4 s4 b1", 4, 4, 70, E, "Matrix", ""},
    {"wgmma", "fence", "sync aligned", "", 0, 0, 90, E, "Matrix", ""},
    {"wgmma", "commit_group", "sync aligned", "", 0, 0, 90, E, "Matrix", ""},
    {"wgmma", "wait_group", "sync aligned", "", 1, 1, 90, E, "Matrix", ""},
    {"wgmma", "mma_async sp", "sync aligned satfinite m64nNk16 m64nNk32 m64nNk64", "f16 f32 bf16 tf32 s32 u8 s8 e4m3 e5m2", 6, 10, 90, E, "Matrix", "sm_90a only"},
    {"wgmma", "mma_async", "sync aligned satfinite and popc m64nNk8 m64nNk16 m64nNk32 m64nNk256", "f16 f32 bf16 tf32 s32 u8 s8 b1 e4m3 e5m2", 4, 8, 90, E, "Matrix", "sm_90a only"},
    {"tcgen05", "alloc", "cta_group::1 cta_group::2 sync aligned shared::cta", "b32", 2, 2, 100, E, "Matrix", TCGEN},
    {"tcgen05", "dealloc", "cta_group::1 cta_group::2 sync aligned", "b32", 2, 2, 100, E, "Matrix", TCGEN},
    {"tcgen05", "relinquish_alloc_permit", "cta_group::1 cta_group::2 sync aligned", "", 0, 0, 100, E, "Matrix", TCGEN},
    {"tcgen05", "ld red", "sync aligned 32x32b 16x32bx2 x2 x4 x8 x16 x32 x64 x128 min max abs NaN", "f32 u32 s32", 3, 4, 100, E, "Matrix", ""},
    {"tcgen05", "ld", "sync aligned " MOVES " pack::16b", "b32", 2, 3, 100, E, "Matrix", ""},
    {"tcgen05", "st", "sync aligned " MOVES " unpack::16b", "b32", 2, 3, 100, E, "Matrix", ""},
    {"tcgen05", "wait::ld", "sync aligned", "", 0, 0, 100, E, "Matrix", ""},
    {"tcgen05", "wait::st", "sync aligned", "", 0, 0, 100, E, "Matrix", ""},
    {"tcgen05", "fence::before_thread_sync", "", "", 0, 0, 100, E, "Matrix", ""},
    {"tcgen05", "fence::after_thread_sync", "", "", 0, 0, 100, E, "Matrix", ""},
    {"tcgen05", "commit", "cta_group::1 cta_group::2 mbarrier::arrive::one shared::cluster multicast::cluster", "b64", 1, 2, 100, E, "Matrix", TCGEN},
    {"tcgen05", "cp", "cta_group::1 cta_group::2 128x256b 4x256b 128x128b 64x128b 32x128b warpx2::02_13 warpx2::01_23 warpx4", "b8x16 b6x16_p32 b4x16_p64", 2, 2, 100, E, "Matrix", TCGEN},
    {"tcgen05", "shift", "cta_group::1 cta_group::2 down", "", 1, 1, 100, E, "Matrix", TCGEN},
    {"tcgen05", "mma ws", "sp cta_group::1 " KINDS " collector::b0::fill collector::b0::use collector::b0::lastuse collector::b0::discard collector::b1::fill collector::b1::use collector::b1::lastuse collector::b1::discard collector::b2::fill collector::b2::use collector::b2::lastuse collector::b2::discard collector::b3::fill collector::b3::use collector::b3::lastuse collector::b3::discard", "", 5, 7, 100, E, "Matrix", "collectors have no effect; M of 32 and 64 with A in tensor memory is refused"},
    {"tcgen05", "mma", "sp cta_group::1 cta_group::2 " KINDS " kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4 block_scale block16 block32 scale_vec::1X scale_vec::2X scale_vec::4X ashift collector::a::fill collector::a::use collector::a::lastuse collector::a::discard", "", 5, 9, 100, E, "Matrix", TCGEN "; refused are .ashift, K = 96 and sparse products of 64 rows per block"},

    {"cp", "reduce async bulk tensor", "shared::cta global L2::cache_hint bulk_group add min max inc dec and or xor 1d 2d 3d 4d 5d tile im2col_no_offs", "", 2, 3, 90, E, "Asynchronous copies", tensor},
    {"cp", "reduce async bulk", "shared::cta shared::cluster global mbarrier::complete_tx::bytes L2::cache_hint bulk_group add min max inc dec and or xor noftz", "f16 bf16 f32 f64 u32 s32 u64 s64 b32 b64", 3, 4, 90, E, "Asynchronous copies", ""},
    {"cp", "async bulk commit_group", "", "", 0, 0, 90, E, "Asynchronous copies", ""},
    {"cp", "async bulk wait_group", "read", "", 1, 1, 90, E, "Asynchronous copies", ""},
    {"cp", "async bulk prefetch tensor", "L2 global L2::cache_hint 1d 2d 3d 4d 5d tile im2col im2col::w im2col::w::128 tile::gather4", "", 1, 3, 90, H, "Asynchronous copies", tensor},
    {"cp", "async bulk tensor", "shared::cta shared::cluster global mbarrier::complete_tx::bytes multicast::cluster L2::cache_hint bulk_group 1d 2d 3d 4d 5d tile im2col im2col::w im2col::w::128 im2col_no_offs tile::gather4 tile::scatter4 cta_group::1 cta_group::2", "", 2, 6, 90, E, "Asynchronous copies", tensor},
    {"cp", "async bulk prefetch", "L2 global L2::cache_hint", "", 2, 3, 90, H, "Asynchronous copies", ""},
    {"cp", "async bulk", "shared::cta shared::cluster global mbarrier::complete_tx::bytes multicast::cluster L2::cache_hint bulk_group cp_mask ignore_oob", "", 3, 7, 90, E, "Asynchronous copies", ""},
    {"cp", "async commit_group", "", "", 0, 0, 80, E, "Asynchronous copies", ""},
    {"cp", "async wait_group", "", "", 1, 1, 80, E, "Asynchronous copies", ""},
    {"cp", "async wait_all", "", "", 0, 0, 80, E, "Asynchronous copies", ""},
    {"cp", "async mbarrier arrive", "noinc shared shared::cta", "b64", 1, 1, 80, E, "Asynchronous copies", ""},
    {"cp", "async", "ca cg shared shared::cta global L2::cache_hint L2::64B L2::128B L2::256B", "", 3, 6, 80, E, "Asynchronous copies", ""},
    {"tensormap", "replace", "tile global_address rank box_dim global_dim global_stride element_stride elemtype interleave_layout swizzle_mode swizzle_atomicity fill_mode global shared::cta", "b1024 b32 b64", 2, 3, 90, E, "Asynchronous copies", "strides in 16 bytes before PTX 8.5"},
    {"tensormap", "cp_fenceproxy", "global shared::cta tensormap::generic release gpu cta cluster sys sync aligned", "", 3, 3, 90, E, "Asynchronous copies", ""},

#define VIDEO(name, types) {name, "", "sat add min max eq ne lt le gt ge", types, 3, 4, 30, E, "Video", ""}
    VIDEO("vadd2", "s32 u32"), VIDEO("vsub2", "s32 u32"), VIDEO("vavrg2", "s32 u32"), VIDEO("vabsdiff2", "s32 u32"), VIDEO("vmin2", "s32 u32"), VIDEO("vmax2", "s32 u32"), VIDEO("vset2", "s32 u32"),
    VIDEO("vadd4", "s32 u32"), VIDEO("vsub4", "s32 u32"), VIDEO("vavrg4", "s32 u32"), VIDEO("vabsdiff4", "s32 u32"), VIDEO("vmin4", "s32 u32"), VIDEO("vmax4", "s32 u32"), VIDEO("vset4", "s32 u32"),
#undef VIDEO
#define SCALARVIDEO(name) {name, "", "sat add min max eq ne lt le gt ge b0 b1 b2 b3 h0 h1 clamp wrap shr7 shr15 po", "s32 u32", 3, 5, 20, R, "Video", "scalar video instructions are not modelled"}
    SCALARVIDEO("vadd"), SCALARVIDEO("vsub"), SCALARVIDEO("vabsdiff"), SCALARVIDEO("vmin"), SCALARVIDEO("vmax"), SCALARVIDEO("vshl"), SCALARVIDEO("vshr"), SCALARVIDEO("vmad"), SCALARVIDEO("vset"),
#undef SCALARVIDEO

#define TEXTURE(name) {name, "", "1d 2d 3d a1d a2d cube acube 2dms a2dms level grad base r g b a v2 v4 p ca cg cs cv wb wt trap clamp zero width height depth channel_data_type channel_order normalized_coords add min max and or", "f32 s32 u32 f16x2 f16 b8 b16 b32 b64 u64 s64", 2, 6, 20, R, "Texture and surface", "textures and surfaces are not modelled"}
    TEXTURE("tex"), TEXTURE("tld4"), TEXTURE("txq"), TEXTURE("suld"), TEXTURE("sust"), TEXTURE("sured"), TEXTURE("suq"),
#undef TEXTURE
    // clang-format on
};

} // namespace

std::span<const Spec> allSpecs() { return table; }

} // namespace tessera::sim::ptx
