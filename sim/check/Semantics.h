// Memory order and scope of an access, packed in Inst::semantics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace tessera::sim::check {
constexpr uint8_t weak = 0, relaxed = 1, acquire = 2, release = 3,
                  acquireRelease = 4;
constexpr uint8_t orderMask = 0x0f;
constexpr uint8_t scopeBlock = 0x00, scopeCluster = 0x10, scopeDevice = 0x20,
                  scopeSystem = 0x30;
constexpr uint8_t scopeMask = 0x30;
/// What a proxy fence covers: the async proxy by state space, and tensor maps.
constexpr uint8_t proxyShared = 1, proxyGlobal = 2, proxyTensorMap = 4;
/// What tcgen05.fence::before_thread_sync and then ::after_thread_sync covered
/// is kept in the same way.
constexpr unsigned tensorBefore = 3, tensorAfter = 4;
constexpr unsigned proxyCount = 5;
} // namespace tessera::sim::check
