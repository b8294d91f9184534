// The predefined read-only registers (%tid.x, %clock64, ...).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/ptx/Types.h"
#include <optional>
#include <string_view>

namespace tessera::sim::ptx {

// X(enumerator, spelling, type)
#define TESSERA_SIM_SPECIALS(X)                                                \
  X(TidX, "%tid.x", U32)                                                       \
  X(TidY, "%tid.y", U32)                                                       \
  X(TidZ, "%tid.z", U32)                                                       \
  X(NtidX, "%ntid.x", U32)                                                     \
  X(NtidY, "%ntid.y", U32)                                                     \
  X(NtidZ, "%ntid.z", U32)                                                     \
  X(CtaidX, "%ctaid.x", U32)                                                   \
  X(CtaidY, "%ctaid.y", U32)                                                   \
  X(CtaidZ, "%ctaid.z", U32)                                                   \
  X(NctaidX, "%nctaid.x", U32)                                                 \
  X(NctaidY, "%nctaid.y", U32)                                                 \
  X(NctaidZ, "%nctaid.z", U32)                                                 \
  X(LaneId, "%laneid", U32)                                                    \
  X(WarpId, "%warpid", U32)                                                    \
  X(NwarpId, "%nwarpid", U32)                                                  \
  X(SmId, "%smid", U32)                                                        \
  X(NsmId, "%nsmid", U32)                                                      \
  X(GridId, "%gridid", U64)                                                    \
  X(LaneMaskEq, "%lanemask_eq", U32)                                           \
  X(LaneMaskLe, "%lanemask_le", U32)                                           \
  X(LaneMaskLt, "%lanemask_lt", U32)                                           \
  X(LaneMaskGe, "%lanemask_ge", U32)                                           \
  X(LaneMaskGt, "%lanemask_gt", U32)                                           \
  X(ClusterCtaidX, "%cluster_ctaid.x", U32)                                    \
  X(ClusterCtaidY, "%cluster_ctaid.y", U32)                                    \
  X(ClusterCtaidZ, "%cluster_ctaid.z", U32)                                    \
  X(ClusterNctaidX, "%cluster_nctaid.x", U32)                                  \
  X(ClusterNctaidY, "%cluster_nctaid.y", U32)                                  \
  X(ClusterNctaidZ, "%cluster_nctaid.z", U32)                                  \
  X(ClusterIdX, "%clusterid.x", U32)                                           \
  X(ClusterIdY, "%clusterid.y", U32)                                           \
  X(ClusterIdZ, "%clusterid.z", U32)                                           \
  X(NclusterIdX, "%nclusterid.x", U32)                                         \
  X(NclusterIdY, "%nclusterid.y", U32)                                         \
  X(NclusterIdZ, "%nclusterid.z", U32)                                         \
  X(ClusterCtaRank, "%cluster_ctarank", U32)                                   \
  X(ClusterNctaRank, "%cluster_nctarank", U32)                                 \
  X(IsExplicitCluster, "%is_explicit_cluster", Pred)                           \
  X(EnvReg1, "%envreg1", B32)                                                  \
  X(EnvReg2, "%envreg2", B32)                                                  \
  X(DynamicSmemSize, "%dynamic_smem_size", U32)                                \
  X(TotalSmemSize, "%total_smem_size", U32)                                    \
  X(AggrSmemSize, "%aggr_smem_size", U32)                                      \
  X(ReservedSmemBegin, "%reserved_smem_offset_begin", B32)                     \
  X(ReservedSmemEnd, "%reserved_smem_offset_end", B32)                         \
  X(ReservedSmemCap, "%reserved_smem_offset_cap", B32)                         \
  X(ReservedSmem0, "%reserved_smem_offset_0", B32)                             \
  X(ReservedSmem1, "%reserved_smem_offset_1", B32)                             \
  X(Clock, "%clock", U32)                                                      \
  X(ClockHi, "%clock_hi", U32)                                                 \
  X(Clock64, "%clock64", U64)                                                  \
  X(GlobalTimer, "%globaltimer", U64)                                          \
  X(GlobalTimerLo, "%globaltimer_lo", U32)                                     \
  X(GlobalTimerHi, "%globaltimer_hi", U32)                                     \
  X(Pm0, "%pm0", U32)                                                          \
  X(Pm1, "%pm1", U32)                                                          \
  X(Pm2, "%pm2", U32)                                                          \
  X(Pm3, "%pm3", U32)

enum class Special : uint8_t {
#define X(name, text, type) name,
  TESSERA_SIM_SPECIALS(X)
#undef X
};

std::optional<unsigned> findSpecialRegister(std::string_view name);
std::string_view specialName(unsigned special);
Type specialType(unsigned special);
constexpr unsigned firstDynamicSpecial = unsigned(Special::Clock);

} // namespace tessera::sim::ptx
