#!/usr/bin/env bash
# Installs what building and testing need, pinned: Debian's packages, then the
# Python packages into the virtual environment build/venv.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -eu
cd "$(dirname "$0")/.."
packages=(libmlir-22-dev mlir-22-tools llvm-22-dev clang-22 lld-22 clang-format-22
          clang-tidy-22 libclang-rt-22-dev cmake ninja-build ccache libgtest-dev
          libmpfr-dev libgmp-dev libzstd-dev liblz4-dev)
missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  # The project is tied to LLVM 22.1: the CMake files check the version.
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
python=${PYTHON:-python3}
[ -x build/venv/bin/python ] || "$python" -m venv build/venv
build/venv/bin/pip install -q -r tools/requirements.txt
