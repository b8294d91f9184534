# Breaks the synchronisation of correct Hopper and Blackwell kernels and counts what the checker reports.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: pipeline_mutants.py [--seed N] [--count N] [--kernel PART] [--ours] [--verbose] [--tries N]

The kernels are ours (wgmma, tcgen05, pairs, clusters) and, without --ours, the PTX of Triton's and Gluon's. An
operator takes one statement and says beforehand which rule its loss breaks: the kinds of report that count, and where.
"Reported with the right line" means: a report of such a kind, which the correct kernel does not have under this schedule, names

  * for a deadlock, and for an mbarrier that is not initialised, an operation on an mbarrier or a barrier;
  * otherwise a line from which control flow reaches the changed statement or the other way round, that is, of the role (of
    the warps) that was changed; or such a line of an operation on the same mbarrier, which this statement orders.

Statements that the correct kernel never executes, waits that wait for nothing, and arrivals and initialisations of mbarriers
whose phases nobody waits for, are left alone: there the timeline of the correct kernel is the argument. Without --count all mutants; the floor is 95 %. What
nobody reports counts as missed, unless HARMLESS has a happens-before argument for it."""

import argparse
import collections
import ctypes
import pathlib
import random
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import conftest  # noqa: E402,F401
import tessera.sim as sim  # noqa: E402

EARLY = "async-copy uninitialised race expect-tx illegal-instruction tensor-async mbarrier-misuse proxy-fence async-register"
LATE = "deadlock limit " + EARLY
GUARD = r"(?:(?<!/)@!?%?\w+[ \t]+)?"


def parity(m):
    return f"{{ .reg .b32 other; xor.b32 other, {m[3]}, 1; {m[0].replace(m[3] + ';', 'other;').replace(m[3] + ',', 'other,')} }}"


def more_bytes(by):
    return lambda m: m[0].replace(m[1] + ";", str(int(m[1]) + by) + ";") if m[1].isdigit() and int(m[1]) + by >= 0 else None


def count_by(by):
    return lambda m: m[0].replace(m[1] + ";", str(int(m[1]) + by) + ";") if int(m[1]) + by > 0 else None


def group_by_one(m):
    return m[0].replace(m[1] + ";", str(int(m[1]) + 1) + ";")


def relaxed(m):
    scope = "cluster" if "shared::cluster" in m[0] else "cta"
    if ".relaxed" in m[0]:
        return None
    text = re.sub(r"\.(release|acquire)\.(cta|cluster)", "", m[0])
    return re.sub(r"(mbarrier\.(?:arrive|try_wait\.parity|test_wait\.parity))", rf"\1.relaxed.{scope}", text, count=1)


WAIT = r"mbarrier\.(?:try|test)_wait\.parity[\w.:]*\s+(%?\w+),\s*\[([^\]]+)\],\s*([%\w]+)[^;]*;"
ARRIVE = GUARD + r"mbarrier\.arrive\.(?!expect_tx|noComplete)[\w.:]*\s+[^;]*;"
EXPECT = GUARD + r"mbarrier\.arrive\.expect_tx[\w.:]*\s+[^;]*?,\s*(%?\w+);"
# name: (statement, what takes its place, kinds that count)
OPERATORS = {
    "drop the wait": (WAIT, lambda m: f"setp.eq.u32 {m[1]}, {m[3]}, {m[3]};", EARLY + " exited-block"),
    "wait for the other phase": (WAIT, parity, LATE + " remark exited-block"),
    "relaxed wait": (WAIT, relaxed, EARLY),
    "drop the arrival": (ARRIVE, "", "deadlock"),
    "relaxed arrival": (ARRIVE, relaxed, EARLY),
    "drop the arrival that expects bytes": (EXPECT, "", "deadlock expect-tx " + EARLY),
    "expect 16 bytes more": (EXPECT, more_bytes(16), "deadlock"),
    "expect 16 bytes less": (EXPECT, more_bytes(-16), "deadlock " + EARLY),
    "expect a kilobyte more": (EXPECT, more_bytes(1024), "deadlock"),
    "drop the copy": (GUARD + r"cp\.async\.bulk[^;]*mbarrier::complete_tx[^;]*;", "", "deadlock"),
    "drop the proxy fence": (GUARD + r"fence\.proxy\.async[^;]*;", "", "proxy-fence remark"),
    "drop the fence of tensor maps": (GUARD + r"fence\.proxy\.tensormap[^;]*;", "", "proxy-fence"),
    "drop the wait for bulk copies": (GUARD + r"cp\.async\.bulk\.wait_group[^;]*;", "", "async-copy race"),
    "wait for a bulk group less": (GUARD + r"cp\.async\.bulk\.wait_group(?:\.read)?\s+(\d+);", group_by_one, "async-copy race"),
    "drop the commit of bulk copies": (GUARD + r"cp\.async\.bulk\.commit_group;", "", "async-copy"),
    "drop the wait for wgmma": (GUARD + r"wgmma\.wait_group[^;]*;", "", "async-register async-copy"),
    "wait for a group of wgmma less": (GUARD + r"wgmma\.wait_group\S*\s+(\d+);", group_by_one, "async-register async-copy"),
    "drop the commit of wgmma": (GUARD + r"wgmma\.commit_group[^;]*;", "", "async-register async-copy"),
    "drop the fence of wgmma": (GUARD + r"wgmma\.fence[^;]*;", "", "async-register"),
    "drop the commit of tcgen05": (GUARD + r"tcgen05\.commit[^;]*;", "", "deadlock tensor-async async-copy"),
    "drop tcgen05.wait::ld": (GUARD + r"tcgen05\.wait::ld[^;]*;", "", "tensor-async"),
    "drop tcgen05.wait::st": (GUARD + r"tcgen05\.wait::st[^;]*;", "", "tensor-async"),
    "drop the deallocation": (GUARD + r"tcgen05\.dealloc[^;]*;", "", "tensor-memory-leak deadlock"),
    "drop the initialisation": (GUARD + r"mbarrier\.init[^;]*;", "", "illegal-instruction"),
    "an arrival too many is needed": (GUARD + r"mbarrier\.init[\w.:]*\s+\[[^\]]*\],\s*(\d+);", count_by(1), "deadlock"),
    "an arrival less is needed": (GUARD + r"mbarrier\.init[\w.:]*\s+\[[^\]]*\],\s*(\d+);", count_by(-1),
                                  LATE + " remark"),
    "drop the wait for cp.async": (GUARD + r"cp\.async\.wait_group[^;]*;", "", "async-copy uninitialised race"),
    "drop the arrival at the cluster": (GUARD + r"barrier\.cluster\.arrive[^;]*;", "", "barrier-misuse deadlock unstarted-block race"),
    "drop the wait for the cluster": (GUARD + r"barrier\.cluster\.wait[^;]*;", "",
                                      "barrier-misuse unstarted-block exited-block race illegal-instruction async-copy"),
}
BARRIER = re.compile(r"mbarrier\.|barrier\.|bar\.|tcgen05\.(commit|alloc|dealloc)|cp\.async\.bulk")

# Operators whose loss does no harm if the checker makes this remark, and no report, in any schedule: why.
REMARKED = {"drop tcgen05.wait::ld": ("the register is there", "its thread reads what it loaded before it tells anybody: the load has ended")}
# Kernels, operators and statements whose loss does no harm if nothing is reported: why.
HARMLESS = [
    ("triton (specialised|flat) sm_90", "drop the wait$|relaxed (wait|arrival)$", "mbarrier",
     "each warp group releases A and B in one turn after the same wgmma.wait_group, and the copying warps wait for both"),
    ("triton (specialised|flat|attention) sm_100|gluon", "drop the proxy fence", "fence.proxy.async",
     "all operands of the product are written by copies, the result's threads have a fence of their own"),
    ("gluon pair", "drop the wait for the cluster", "barrier.cluster.wait",
     "tcgen05.dealloc of the pair behind it waits for the other block")]


class Flow:
    """Which line of a text can run after which other one."""

    def __init__(self, text):
        self.lines = re.sub(r"//[^\n]*", "", text).split("\n")
        places = collections.defaultdict(list)
        for n, line in enumerate(self.lines):
            for label in re.findall(r"(?:^|[;\s])([\w$]+):(?=\s|$)", line):
                places[label].append(n)
        self.next = []
        for n, line in enumerate(self.lines):
            after = {n + 1}
            for guard, label in re.findall(r"(@!?%?\w+\s+)?bra(?:\.uni)?\s+([\w$]+)", line):
                if label in places:
                    after.add(min(places[label], key=lambda p: abs(p - n)))
                if not guard and re.search(rf"(?<!\w )bra(\.uni)?\s+{re.escape(label)};\s*$", line):
                    after.discard(n + 1)
            if m := re.search(r"brx\.idx\S*\s+%?\w+,\s*([\w$]+)", line):
                table = next(k for k, other in enumerate(self.lines) if re.match(rf"\s*{re.escape(m[1])}\s*:", other))
                targets = re.search(r"branchtargets\s+([^;]*);", " ".join(self.lines[table:table + 40]))[1]
                after = {places[t.strip()][0] for t in targets.split(",")}
            if re.match(r"\s*(ret|exit)\s*;", line):
                after = set()
            self.next.append({a for a in after if a < len(self.lines)})
        self.known = {}

    def reached(self, line):
        """All lines that come after this one."""
        if line not in self.known:
            seen, todo = set(), [line]
            while todo:
                for n in self.next[todo.pop()]:
                    if n not in seen:
                        seen.add(n)
                        todo.append(n)
            self.known[line] = seen
        return self.known[line]

    def connects(self, a, b):
        """Lines from 1."""
        return a == b or b - 1 in self.reached(a - 1) or a - 1 in self.reached(b - 1)


def named(error):
    return {int(n) for n in re.findall(r"PTX line (\d+)", error["message"])} | {error["ptx_line"]}


def signature(error):
    return error["kind"], tuple(sorted(named(error)))


class Kernel:
    """A correct text and run(text, seed), which gives a report."""

    def __init__(self, name, text, run):
        self.name, self.text, self.launch = name, text, run
        self.flow = Flow(text)
        self.before = {}
        report = run(text, 0, count=True)
        counts = report.counts
        self.executed = {c["ptx_line"] for c in counts["lines"] if c["threads"]}
        timeline = counts.get("timeline", {"events": [], "left_out": 0, "mbarriers": []})
        events = timeline["events"]
        waited = {(e["owner"], e["mbarrier"], e["phase"]) for e in events if e["kind"] == "wait" and e["phase"] >= 0}
        last = collections.defaultdict(lambda: -1)
        for owner, mbarrier, phase in waited:
            last[owner, mbarrier] = max(phase, last[owner, mbarrier])
        self.waits = {e["ptx_line"] for e in events if e["kind"] == "wait" and e["phase"] >= 0}
        self.arrives = {e["ptx_line"] for e in events if "mbarrier" in e and e["kind"] != "wait"
                        and e["phase"] <= last[e["owner"], e["mbarrier"]]}
        self.known = {e["ptx_line"] for e in events if "mbarrier" in e}
        self.uses = collections.defaultdict(set)  # of a line: mbarriers; of an mbarrier: lines
        for e in events:
            if "mbarrier" in e:
                self.uses[e["ptx_line"]].add(-1 - e["mbarrier"])
                self.uses[-1 - e["mbarrier"]].add(e["ptx_line"])
        self.waited = {mbarrier for _, mbarrier, _ in waited}
        self.groups = {e["ptx_line"] for e in events if e["kind"] == "wait" and "mbarrier" not in e}
        self.complete = not timeline["left_out"]
        if not self.complete:
            self.known = set()

    def run(self, text, seed):
        try:
            return self.launch(text, seed, count=False).errors
        except sim.SimError as error:
            raise SystemExit(f"{self.name}: {error}")

    def original(self, seed):
        if seed not in self.before:
            errors = self.run(self.text, seed)
            assert all(e["kind"] == "remark" for e in errors), (self.name, errors)
            self.before[seed] = {signature(e) for e in errors}
        return self.before[seed]

    def is_waited_for(self, without, line):
        """The mbarrier that this text does not initialise in this line; it is one of those that the line uses from then on."""
        for error in self.run(without, 0):
            if (at := re.search(r"mbarrier (?:'[^']*' )?at shared address (\d+)(?: of block.*?)? is not init", error["message"])) and self.complete:
                self.uses[line] = {-1 - int(at[1])}
                return int(at[1]) in self.waited
        return True

    def mutants(self):
        # Nothing is lost in what the linker or the debugger reads.
        end = self.text.find("\t.section")
        for name, (pattern, new, kinds) in OPERATORS.items():
            for m in re.finditer(pattern, self.text[:end] if end > 0 else self.text):
                if "//" in self.text[self.text.rfind("\n", 0, m.start()) + 1:m.start()]:
                    continue
                text = new if isinstance(new, str) else new(m)
                if text is None:
                    continue
                start = m.start() + len(m[0]) - len(m[0].lstrip())
                line = self.text.count("\n", 0, start) + 1
                if "mbarrier.init" in m[0] and not self.is_waited_for(self.text[:start] + self.text[m.end():], line):
                    continue
                if "wait_group" in m[0] and "bulk" in m[0] and self.complete and line not in self.groups:
                    continue
                if line not in self.executed or (line in self.known and line not in self.waits | self.arrives):
                    continue
                yield Mutant(self, name, kinds, line, m[0].strip(), self.text[:start] + text + self.text[m.end():])


class Mutant:
    def __init__(self, kernel, operator, kinds, line, was, text):
        self.kernel, self.operator, self.kinds, self.line, self.was, self.text = kernel, operator, kinds.split(), line, was, text

    def __str__(self):
        return f"{self.kernel.name}: {self.operator} at PTX line {self.line}: {self.was}"

    def is_right(self, error):
        if error["kind"] not in self.kinds:
            return False
        if error["kind"] == "deadlock" or self.operator == "drop the initialisation":
            return any(BARRIER.search(self.kernel.flow.lines[n - 1]) for n in named(error) if n)
        uses = self.kernel.uses
        places = {self.line}.union(*(uses[mbarrier] for mbarrier in uses.get(self.line, ())))
        return any(self.kernel.flow.connects(place, n) for place in places for n in named(error) if n)

    def judge(self, tries):
        """The seed that shows it, or None; what else was reported; why it is harmless."""
        seen, remarks = [], ""
        for seed in range(tries):
            old = self.kernel.original(seed)
            new = [e for e in self.kernel.run(self.text, seed) if signature(e) not in old]
            if any(self.is_right(e) for e in new):
                return seed, "", ""
            remarks += " ".join(e["message"] for e in new if e["kind"] == "remark")
            seen += [f"{e['kind']}: {e['message'][:300]}" for e in new if e["kind"] != "remark"]
        remark, why = REMARKED.get(self.operator, (None, ""))
        if remark not in remarks if remark else True:
            why = next((why for kernel, operator, statement, why in HARMLESS if re.match(kernel, self.kernel.name)
                        and re.match(operator, self.operator) and statement in self.was), "")
        return None, seen[0] if seen else "", "" if seen else why


def ours():
    import cluster_kernels
    import hopper_kernels
    import tcgen05_kernels
    import tcgen05_pair_kernels
    import tensor_memory_kernels
    import test_bulk_copy
    import test_clusters
    import test_tcgen05
    import test_tcgen05_pairs
    import test_tensor_memory
    import test_wgmma
    import wgmma_kernels

    def kernel(name, text, run, *args, **options):
        return Kernel(name, text, lambda text, seed, count: run(text, *args, check=True, count=count, seed=seed,
                                                                 adversarial=seed > 0, **options)[0])

    cluster = dict(arch="sm_90a", max_instructions=200000)
    yield kernel("bulk pipeline", hopper_kernels.PIPELINE, test_bulk_copy.run, 96)
    yield kernel("bulk store", hopper_kernels.STORE, test_bulk_copy.run, 64)
    yield kernel("cluster exchange", cluster_kernels.EXCHANGE, test_clusters.exchange, 4, **cluster)
    yield kernel("multicast 2", cluster_kernels.pipeline(2), test_clusters.fetch, 2, **cluster)
    yield kernel("multicast 4", cluster_kernels.pipeline(4), test_clusters.fetch, 4, **cluster)
    yield kernel("cluster send", cluster_kernels.SEND, test_clusters.send, 2, **cluster)
    yield kernel("wgmma", wgmma_kernels.GEMM, test_wgmma.run_gemm)
    yield kernel("wgmma registers", wgmma_kernels.REGISTERS, test_wgmma.run_registers)
    yield kernel("tcgen05", tcgen05_kernels.GEMM, test_tcgen05.run_gemm)
    yield kernel("tcgen05 scales", tcgen05_kernels.CROSS, test_tcgen05.run_cross)
    yield kernel("tensor memory", tensor_memory_kernels.EXCHANGE, test_tensor_memory.run_exchange)
    yield kernel("tcgen05 pair", tcgen05_pair_kernels.GEMM, test_tcgen05_pairs.run_gemm, grid=2)


class Captured:
    """The last launch of a test with Triton's driver, to be repeated with another text."""

    def __init__(self, test, *args):
        import tessera.sim.host as host
        launches, execute, show = [], host.TensorHost.execute, host.TensorHost.show

        def keep(driver, name, module, ptx, params, **launch):
            launches.append((driver.arch, name, ptx, params, dict(launch), [driver.tensors[a] for a in driver._shown]))
            execute(driver, name, module, ptx, params, **launch)

        def shown(driver, tensor, name):
            if not hasattr(driver, "tensors"):
                driver.tensors = {}
            storage = tensor.untyped_storage()
            driver.tensors[storage.data_ptr()] = storage
            show(driver, tensor, name)

        host.TensorHost.execute, host.TensorHost.show = keep, shown
        try:
            test(*args)
        finally:
            host.TensorHost.execute, host.TensorHost.show = execute, show
        self.arch, self.name, self.text, self.params, self.options, self.tensors = launches[0]
        self.contents = [bytes(t) for t in self.tensors]

    def __call__(self, text, seed, count=False):
        device = sim.Device()
        for tensor, content in zip(self.tensors, self.contents):
            ctypes.memmove(tensor.data_ptr(), content, len(content))
            device.expose(tensor.data_ptr(), tensor.nbytes(), "tensor")
        options = dict(self.options)
        return device.load(text).launch(self.name, options.pop("grid"), options.pop("block"), self.params, arch=self.arch,
                                        check=True, count=count, seed=seed, adversarial=seed > 0,
                                        max_instructions=200000, **options)


def tritons(wanted):
    import torch
    import gluon_kernels
    import test_gluon
    import test_triton_tma_kernels as tests
    import test_triton_wgmma as wgmma

    def on(arch, test):
        wgmma.drivers = lambda *_: drivers(arch)
        test()

    def drivers(arch):
        import tessera.sim.triton as sim_triton
        import triton
        triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
        torch.manual_seed(5)
        yield sim_triton.activate(arch, check=True)

    cases = {"gluon wgmma": (test_gluon.test_matmul, gluon_kernels.matmul_wgmma, "sm_90", "wgmma"),
             "gluon tcgen05": (test_gluon.test_matmul, gluon_kernels.matmul_tcgen05, "sm_100", "tcgen05.mma"),
             "gluon pair": (test_gluon.test_pair,), "gluon claimed": (test_gluon.test_claimed,),
             "gluon convolution": (test_gluon.test_convolution,),
             "triton matmul sm_90": (on, "sm_90", wgmma.test_matmul_with_descriptors),
             "triton matmul sm_100": (on, "sm_100", wgmma.test_matmul_with_descriptors),
             "triton persistent sm_90": (on, "sm_90", wgmma.test_matmul_persistent),
             "triton specialised sm_90": (on, "sm_90", wgmma.test_matmul_warp_specialised),
             "triton specialised sm_100": (on, "sm_100", wgmma.test_matmul_warp_specialised),
             "triton pointers sm_90": (on, "sm_90", wgmma.test_two_warp_groups),
             "triton pointers sm_100": (on, "sm_100", wgmma.test_two_warp_groups),
             "triton flat sm_90": (tests.test_matmul_flat, "sm_90", 1, True),
             "triton flat sm_100": (tests.test_matmul_flat, "sm_100", 1, True),
             "triton attention sm_90": (tests.test_attention, "sm_90", False, True, 64, torch.float16),
             "triton attention sm_100": (tests.test_attention, "sm_100", False, True, 64, torch.float16),
             "triton nvfp4": (tests.test_scaled, "sm_100", "nvfp4")}
    for name, (test, *args) in cases.items():
        if wanted in name:
            launch = Captured(test, *args)
            yield Kernel(name, launch.text, launch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int)
    parser.add_argument("--kernel", default="", help="kernels whose name has this in it")
    parser.add_argument("--ours", action="store_true", help="without Triton's")
    parser.add_argument("--tries", type=int, default=12, help="schedules for each mutant")
    parser.add_argument("--verbose", action="store_true", help="what was seen of those that are missed")
    options = parser.parse_args()
    kernels = list(ours())
    if not options.ours:
        kernels += tritons(options.kernel)
    kernels = [k for k in kernels if options.kernel in k.name]
    pool = [m for k in kernels for m in k.mutants()]
    total = len(pool)
    random.Random(options.seed).shuffle(pool)
    found, missed, harmless, by_operator, first = 0, [], [], collections.Counter(), 0
    for m in pool[:options.count]:
        seed, seen, why = m.judge(options.tries)
        found += seed is not None
        first += seed == 0
        by_operator[m.operator, seed is not None] += 1
        if seed is None:
            (harmless if why else missed).append(m)
            print(f"{'elsewhere' if seen else f'harmless ({why})' if why else 'missed'}: {m}" + (f"\n    {seen}" if seen and options.verbose else ""), flush=True)
    for name in OPERATORS:
        if by_operator[name, True] + by_operator[name, False]:
            print(f"{name:40} {by_operator[name, True]:4} of {by_operator[name, True] + by_operator[name, False]}")
    n = found + len(missed) + len(harmless)
    share = 100 * found / max(1, n - len(harmless))
    print(f"{n} of {total} mutants of {len(kernels)} kernels: {share:.1f} % reported "
          f"with the right line (floor 95 %), {100 * first / max(1, n):.1f} % in the plain schedule; {len(harmless)} harmless, "
          f"{len(missed)} missed")
    return share < 95


if __name__ == "__main__":
    sys.exit(main())
