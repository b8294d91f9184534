#!/usr/bin/env bash
# Formats what is changed and checks the layout; with --ci only checks.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -eu
cd "$(dirname "$0")/.."
mapfile -t sources < <(git ls-files '*.cpp' '*.h' ':!:test/sim/cuda')
if [ "${1:-}" = --ci ]; then
  clang-format-22 --dry-run --Werror "${sources[@]}"
else
  clang-format-22 -i "${sources[@]}"
fi
python3 tools/check-layout.py
python3 tools/check-names.py
python3 tools/check-knobs.py
python3 tools/check-tolerances.py
