#!/usr/bin/env bash
# Runs the arithmetic tests with many samples, within a time budget.
# usage: test/sim/arithmetic.sh BUILD [SAMPLES, default 10000000] [SECONDS, default 3600] [FILTER ...]
# BUILD is a build folder that holds tessera_sim_tests. CI runs the same tests
# with 4,096 samples through ctest.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -eu
build=$1 samples=${2:-10000000} budget=${3:-3600}
shift; shift || true; shift || true
filters=("${@:-Arithmetic.*:Integer.*:Approximation.*}")
tests=$(find "$build" -name tessera_sim_tests -type f -perm -u+x | head -1)
[ -n "$tests" ] || { echo "tessera_sim_tests is not in $build"; exit 1; }
start=$SECONDS
failed=0
for test in $(for filter in "${filters[@]}"; do "$tests" --gtest_filter="$filter" --gtest_list_tests; done |
              awk '/^[A-Z].*\.$/ {suite = $1} /^  / {print suite $1}'); do
  left=$((budget - (SECONDS - start)))
  if [ "$left" -le 0 ]; then
    echo "$test: not run, the $budget s are over"
    failed=1
    continue
  fi
  began=$SECONDS
  if TESSERA_SIM_SAMPLES=$samples timeout "$left" "$tests" --gtest_filter="$test" > /tmp/arithmetic.$$ 2>&1; then
    echo "$test: $samples samples per instruction, 0 differences, $((SECONDS - began)) s"
  else
    echo "$test: FAILED or out of time after $((SECONDS - began)) s"
    tail -n 20 /tmp/arithmetic.$$
    failed=1
  fi
done
rm -f /tmp/arithmetic.$$
echo "total $((SECONDS - start)) s"
exit $failed
