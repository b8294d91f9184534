// NVIDIA's architectures as data: what each has, and how much of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that asks "may I?" about a GPU asks here. The data stand in
// NvidiaTable.cpp and nowhere else; docs/reference/architectures.md is written
// from them.
//
// A name is (major, minor, suffix). Instructions are of three kinds:
//
//     sm_90    has what every later machine has too
//     sm_100f  has besides what its family has (the same major, this minor or
//              a later one)
//     sm_90a   has besides what no other machine has; and what sm_90f would
//
// so "has it?" is never a comparison of strings: "sm_100" < "sm_90".

#ifndef TESSERA_SUPPORT_ARCHITECTURES_NVIDIA_H
#define TESSERA_SUPPORT_ARCHITECTURES_NVIDIA_H

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::nvidia {

/// An architecture's name. Order is that of (major, minor); the suffix says
/// which of the machine's instructions code may use, not how new it is.
struct Arch {
  int major = 0, minor = 0;
  char suffix = 0; ///< 0, 'a' or 'f'

  std::string name() const; ///< "sm_90a"
  /// 90 for sm_90a.
  int number() const { return major * 10 + minor; }

  friend bool operator==(const Arch &, const Arch &) = default;
  friend std::weak_ordering operator<=>(const Arch &a, const Arch &b) {
    return a.number() <=> b.number();
  }
};

/// What "sm_90a" means; nullopt for a text that is no such name, or for a
/// machine or suffix that is not in the table.
std::optional<Arch> parseArch(std::string_view name);

/// As users write it to as it is compiled: sm_90 becomes sm_90a, because its
/// products (wgmma) exist only there.
Arch promoted(const Arch &arch);

/// Where an instruction exists.
struct Availability {
  enum Kind {
    From,   ///< on this machine and all later ones
    Family, ///< sm_XYf and sm_XYa of these families
    Only,   ///< sm_XYa of these machines
  };
  Kind kind = From;
  /// Up to four machines as 10 * major + minor; 0 ends the list. For `From`
  /// one, for `Family` the first of each family.
  int machines[4] = {0, 0, 0, 0};

  bool on(const Arch &arch) const;
  std::string text() const; ///< "sm_80 and newer", "sm_90a only"
};

/// An instruction, or a use of one.
enum class Feature {
  Ldmatrix,
  CpAsync,
  Bf16Arithmetic,
  MmaSparse,
  Mbarrier,
  Fp8Conversions,
  Stmatrix,
  Clusters,
  Tma,
  SetMaxNReg,
  Wgmma,
  Tcgen05,
  Fp4Conversions,
  MmaBlockScale,
};

struct FeatureRow {
  Feature feature;
  const char *name; ///< as PTX, or the ISA's text, calls it
  Availability where;
  const char *source;
};
std::span<const FeatureRow> features();
const FeatureRow &featureRow(Feature feature);
bool has(const Arch &arch, Feature feature);

/// One form of mma.sync, wgmma or tcgen05.mma. Types as PTX spells them.
struct MmaRow {
  enum Instruction { Sync, SyncSparse, SyncBlockScale, Wgmma, Tcgen05 };
  Instruction instruction;
  const char *a, *b, *d; ///< d is also the accumulator's type
  int m, n, k;           ///< n: for wgmma and tcgen05 the largest
  Availability where;
  const char *source;

  std::string text() const; ///< "m16n8k16.f32.f16.f16.f32"
};
std::span<const MmaRow> mmaRows();

/// The form of mma.sync for a product of these types: the one with the largest
/// k; null if the machine has none.
const MmaRow *findMma(const Arch &arch, std::string_view a, std::string_view b,
                      std::string_view d,
                      MmaRow::Instruction kind = MmaRow::Sync);
/// Does any machine have it? Then the first such row.
const MmaRow *findMmaAnywhere(std::string_view a, std::string_view b,
                              std::string_view d,
                              MmaRow::Instruction kind = MmaRow::Sync);

/// Dense peak rates of one product of the architecture, 10^12 operations per
/// second (a fused multiply-add is two); 0 where it has no such unit, negative
/// where NVIDIA publishes no figure.
struct Peak {
  const char *product;
  double f64, f32, tf32, f16, bf16, fp8, int8, fp4;
  double bandwidth; ///< of memory, 10^9 bytes per second
  const char *source;
};

/// Resources of one machine; sizes in bytes.
struct Machine {
  int number;           ///< 10 * major + minor
  const char *family;   ///< NVIDIA's name
  const char *suffixes; ///< "", "a" or "af"
  /// First PTX version that knows sm_XY, sm_XYa, sm_XYf; 10 * major + minor.
  int ptx, ptxA, ptxF;
  /// The least version that has the instructions we use there.
  int ptxUsed;
  bool assembles; ///< ptxas of CUDA 13 makes machine code for it
  int sharedPerBlock, sharedPerSm;
  int registersPerSm, registersPerThread;
  int warpsPerSm, blocksPerSm;
  int cluster;             ///< most blocks of a cluster on every such machine
  int clusterNonPortable;  ///< with the launch's permission
  int tensorMemoryColumns; ///< of 128 x 32 bits
  Peak peak;
  int multiprocessors; ///< of peak.product; 0: not published
};
std::span<const Machine> machines();
const Machine &machine(const Arch &arch);

/// What a block may have without asking at the launch, on every machine.
constexpr int staticSharedLimit = 48 * 1024;
/// Threads of a block.
constexpr int threadsPerBlock = 1024;

/// First PTX version that knows the name.
int ptxVersion(const Arch &arch);
/// The version we write for it.
int ptxEmitted(const Arch &arch);

/// Blocks of one kernel that fit an SM, and what limits them.
struct Occupancy {
  int blocks = 0, warps = 0;
  double fraction = 0;
  const char *limiter = ""; ///< "registers", "shared memory", "warps", "blocks"
};
Occupancy occupancy(const Arch &arch, int threads, int registers, int shared);

/// "sm_70, sm_75, ..." for messages.
std::string archNames();

/// The table as a page of documentation.
std::string archPage();

} // namespace tessera::nvidia

#endif // TESSERA_SUPPORT_ARCHITECTURES_NVIDIA_H
