#!/usr/bin/env bash
# Makes build/PRESET/venv and prints its Python: the packages of build/venv, but
# the extension and the sources of that build: tools/instrumented-python.sh PRESET
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/build/$1/venv/bin/python
[ -x "$python" ] || build/venv/bin/python -m venv --without-pip "build/$1/venv"
site=$("$python" -c 'import site; print(site.getsitepackages()[0])')
packages=$(build/venv/bin/python -c 'import site; print(site.getsitepackages()[0])')
printf '%s\n' "$PWD/build/$1/python" "$packages" > "$site/instrumented.pth"
for file in python/tessera/*; do
  case $file in *.so) ;; *) ln -sfn "$PWD/$file" "build/$1/$file" ;; esac
done
echo "$python"
