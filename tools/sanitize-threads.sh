#!/usr/bin/env bash
# Runs the runtime's and all other C++ tests under the thread sanitizer.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset tsan -DTESSERA_PCH=ON
cmake --build --preset tsan
export TSAN_OPTIONS=suppressions=$PWD/tools/tsan.supp
ctest --test-dir build/tsan --output-on-failure -j2 "$@"
