#!/usr/bin/env bash
# Line coverage of compiler/ by the suite: tools/coverage.sh [arguments of pytest]
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Ends with llvm-cov's table, the files that are covered least first.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x build/venv/bin/python ] || tools/install-deps.sh
cmake --preset coverage -DPython_EXECUTABLE="$PWD/build/venv/bin/python"
cmake --build --preset coverage

python=$(tools/instrumented-python.sh coverage)

profiles=$PWD/build/coverage/profiles
rm -rf "$profiles" && mkdir "$profiles"
# Processes of one program merge into few files.
export LLVM_PROFILE_FILE=$profiles/%4m.profraw
ctest --test-dir build/coverage -j2 || true
TESSERA_BIN=$PWD/build/coverage/bin "$python" -m pytest test --ignore=test/install "$@" || true

tools=$(llvm-config-22 --bindir)
"$tools/llvm-profdata" merge -sparse "$profiles"/*.profraw -o build/coverage/all.profdata
binaries=(build/coverage/python/tessera/_core*.so)
for program in build/coverage/bin/*; do
  [ -x "$program" ] && [ -f "$program" ] && binaries+=(-object "$program")
done
"$tools/llvm-cov" report "${binaries[@]}" -instr-profile build/coverage/all.profdata \
  -show-region-summary=false -show-branch-summary=false -show-instantiation-summary=false \
  -ignore-filename-regex='(test/|\.inc$|^/usr/|build/|sim/|runtime/|python/|tools/)' \
  > build/coverage/report.txt
grep -E '^[^ ]+\.(cpp|h|def)' build/coverage/report.txt | awk '{print $NF, $1}' | sort -n | head -30
tail -1 build/coverage/report.txt
