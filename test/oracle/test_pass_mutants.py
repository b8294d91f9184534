"""What a CPU pass made, made wrong: bisect names the pass, or its lit test fails. All of it: pass_mutants.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pass_mutants
import pytest


def test_every_cpu_pass_is_in_the_campaign():
    names = pass_mutants.cpu_passes()
    assert {"cpu-elide-packing", "cpu-fuse-epilogue", "cpu-narrow-panels", "cpu-pair-bf16", "cpu-prefetch"} <= set(names)
    assert [name for name in names if not pass_mutants.lit_runs(name)] == []


@pytest.mark.parametrize("name", ["cpu-elide-zero-init", "cpu-elide-copy"])
def test_bisect_names_a_pass_that_was_made_wrong(name):
    programs = [program for program in pass_mutants.programs() if program[0] is pass_mutants.product][:1]
    tried = [pass_mutants.try_calls(fn, target, calls, name, seed) for fn, target, calls in programs for seed in range(3)]
    wrong = [(planted, found, at) for planted, found, at, _ in tried if planted and not pass_mutants.changes_speed_only(name, planted, pass_mutants.product)]
    assert wrong, "no mutant that changes a result"
    assert [row for row in wrong if not row[1]] == []


@pytest.mark.parametrize("name", ["cpu-prefetch", "cpu-nontemporal-stores", "cpu-pair-bf16"])
def test_lit_notices_what_changes_speed_only(name):
    found = {what: noticed for what, noticed in (pass_mutants.lit_mutant(name, 0, seed) for seed in range(9)) if what}
    assert len(found) >= 3
    assert [what for what, noticed in found.items() if not noticed] == []


def test_loads_two_apart_are_checked_by_the_strides_of_the_call():
    fn, target, calls = next(program for program in pass_mutants.programs() if program[0] is pass_mutants.apart)
    found = {planted: found for planted, found, *_ in (pass_mutants.try_calls(fn, target, calls, "cpu-version-strides", seed) for seed in range(2))}
    assert len(found) == 2
    assert all(found.values())
