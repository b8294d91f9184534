// Which instructions this machine and its operating system allow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_CPUFEATURES_H
#define TESSERA_RUNTIME_CPUFEATURES_H

#include <string>
#include <string_view>

namespace tessera::runtime {

/// Empty if code that uses the feature (LLVM's name, e.g. "avx512f") may run in
/// this process, else what is missing. Asks the kernel for the permission that
/// AMX needs. Names in TESSERA_HIDE_CPU_FEATURES (comma separated) count as
/// missing, to test a machine without them.
std::string missingCpuFeature(std::string_view feature);

/// What of this machine decides which code LLVM makes for it: vendor, family
/// and model, the bits of CPUID that name instructions, and the registers that
/// the system saves. Equal texts: the same code. For keys of caches.
std::string cpuSignature();

} // namespace tessera::runtime

#endif
