// Spelling of exported driver functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/driver/State.h"

#define CU extern "C" __attribute__((visibility("default"))) int
using DevicePtr = unsigned long long;
/// Calls of several threads come one after the other.
#define LOCKED std::lock_guard guard(state().mutex)
