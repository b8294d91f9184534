#!/usr/bin/env bash
# Runs clang-tidy on the C++ files changed since a commit, or on all:
# tools/tidy.sh [build directory] [commit | --all]
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/dev}
since=${2:-HEAD~1}
if [ "$since" = --all ]; then
  mapfile -t files < <(git ls-files 'compiler/*.cpp' 'runtime/*.cpp' 'sim/*.cpp' 'jit/*.cpp' 'tools/*.cpp' 'python/*.cpp')
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- 'compiler/*.cpp' 'runtime/*.cpp' 'sim/*.cpp' 'jit/*.cpp' 'tools/*.cpp' 'python/*.cpp')
fi
printf '%d files\n' ${#files[@]}
[ ${#files[@]} -eq 0 ] || printf '%s\0' "${files[@]}" |
  xargs -0 -n1 -P2 clang-tidy-22 -p "$build" --quiet --warnings-as-errors='*'
