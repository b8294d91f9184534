#!/usr/bin/env bash
# Runs the whole suite under the address and undefined-behaviour sanitizers:
# tools/sanitize.sh [arguments of pytest]
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The preset leaves out -fsanitize=function, which reads the bytes before a
# function: kernels compiled in the process have none.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x build/venv/bin/python ] || tools/install-deps.sh
# A copy, in a folder whose name says nothing of LLVM: tests look for that word.
runtime=$PWD/build/asan/runtime/libclang_rt.asan-x86_64.so
mkdir -p "$(dirname "$runtime")"
cp "$(clang-22 -print-file-name=libclang_rt.asan-x86_64.so)" "$runtime"
cmake --preset asan -DTESSERA_PCH=ON \
  -DPython_EXECUTABLE="$PWD/build/venv/bin/python" \
  -DCMAKE_BUILD_RPATH="$(dirname "$runtime")"
cmake --build --preset asan

python=$(tools/instrumented-python.sh asan)

# LLVM's containers are not instrumented, so what they hand over would look like
# an overflow, and memory that our instrumented copies of their allocators poison
# would never be opened by theirs. What Python and LLVM keep until exit is no leak.
export ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0:allocator_may_return_null=1:allow_user_poisoning=0
export UBSAN_OPTIONS=print_stacktrace=1
# The strangers' projects that tests build link the same sanitizers.
flags="-fsanitize=address,undefined -fno-sanitize=function -shared-libsan"
export CC=clang-22 CXX=clang++-22 CFLAGS=$flags CXXFLAGS=$flags
export LDFLAGS="$flags -Wl,-rpath,$(dirname "$runtime")"
export PATH=$PWD/build/venv/bin:$PATH

# NVIDIA's programs end by a signal with a sanitizer preloaded: they run without.
mkdir -p build/asan/plain
for tool in nvcc ptxas nvdisasm cuobjdump tileiras tileirdisasm; do
  found=$(command -v $tool) || continue
  printf '#!/bin/sh\nLD_PRELOAD= exec %s "$@"\n' "$found" > build/asan/plain/$tool
  chmod +x build/asan/plain/$tool
done
export PATH=$PWD/build/asan/plain:$PATH
ctest --test-dir build/asan --output-on-failure -j2
TESSERA_BIN=$PWD/build/asan/bin LD_PRELOAD=$runtime "$python" -m pytest test --ignore=test/install "$@"
echo "test/install is left out: it installs the wheel, whose build is not instrumented"
