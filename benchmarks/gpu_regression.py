"""What each commit did to the machine code: registers, spills, instructions and compile time of headline kernels on each architecture.

    python benchmarks/gpu_regression.py                      figures of this tree beside the last record
    python benchmarks/gpu_regression.py --check              fails where one is more than 5 % worse
    python benchmarks/gpu_regression.py --record "why"       appends a record; a note is needed where something is worse
    python benchmarks/gpu_regression.py --page out.html      all records as a page

Records are lines of benchmarks/results/gpu_regression.jsonl. Compile times are noise on a shared machine: shown, never compared.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import datetime
import html
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["TESSERA_CACHE"] = "off"

from gpu_compile_time import HEADLINE  # noqa: E402
from tessera import assemble, performance  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks/results/gpu_regression.jsonl"
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_120a")
COMPARED = ("registers", "spills", "instructions")
ALLOWED = 1.05


def tool() -> tuple[str, str]:
    """ptxas 13.0, which every machine of ours has, so that records can be compared; else the newest."""
    known = {assemble.version(path, os.path.getmtime(path)): path for path in assemble.places("ptxas")}
    version = next((v for v in sorted(known) if v[:2] == (13, 0)), max(known, default=None))
    if version is None:
        raise SystemExit("not measured: there is no ptxas")
    return known[version], ".".join(map(str, version[:2]))


def measure(ptxas: str, archs=ARCHS) -> dict:
    disassembler, found = assemble.find("nvdisasm"), {}
    for name, (fn, words) in HEADLINE.items():
        for arch in archs:
            begin = time.perf_counter()
            version = fn.compile(target=arch, **words)
            seconds = time.perf_counter() - begin
            with tempfile.TemporaryDirectory() as folder:
                ptx, cubin = pathlib.Path(folder, "k.ptx"), pathlib.Path(folder, "k.cubin")
                ptx.write_text(version.ptx)
                done = subprocess.run([ptxas, "-v", "-arch", version.chip, ptx, "-o", cubin], capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(f"{name} {arch}: {done.stderr.strip()}")
                used = assemble.resources(done.stderr + done.stdout).values()
                mix = performance.machine_mix(subprocess.run([disassembler, cubin], capture_output=True, text=True, check=True).stdout) if disassembler else None
            found[f"{name} {arch}"] = {
                "registers": max(u["registers"] for u in used), "spills": sum(u["spill_stores"] + u["spill_loads"] for u in used),
                "instructions": sum(sum(kinds.values()) for kinds in mix.values()) if mix else performance.UNKNOWN,
                "ptx_ms": round(1e3 * seconds, 1)}
            print(f"{name} {arch}: {found[f'{name} {arch}']}", file=sys.stderr, flush=True)
    return found


def records() -> list[dict]:
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def worse(now: dict, before: dict) -> list[str]:
    """Figures that grew by more than 5 %; what either side did not measure is not compared."""
    found = []
    for name, figures in now.items():
        for what in COMPARED:
            new, old = figures[what], before.get(name, {}).get(what, performance.UNKNOWN)
            if not isinstance(new, str) and not isinstance(old, str) and new > ALLOWED * old:
                found.append(f"{name}: {what} {old} -> {new}")
    return found


def commit() -> str:
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def page(history: list[dict]) -> str:
    """Figures of the last record, and each one's way there."""
    def line(values: list) -> str:
        known = [v for v in values if not isinstance(v, str)]
        if len(known) < 2:
            return ""
        low, high = min(known), max(known)
        at = [f"{4 + 112 * i / (len(known) - 1):.1f},{22 - 18 * (v - low) / ((high - low) or 1):.1f}" for i, v in enumerate(known)]
        return f'<svg width=120 height=26><polyline points="{" ".join(at)}" fill=none stroke="#3b6fb6" stroke-width=1.6 /></svg>'

    rows = []
    for name in history[-1]["figures"]:
        way = [record["figures"].get(name, {}) for record in history]
        cells = "".join(f"<td class=n>{html.escape(str(way[-1][what]))}</td><td>{line([f[what] for f in way if what in f])}</td>" for what in (*COMPARED, "ptx_ms"))
        bad = " class=bad" if isinstance(way[-1]["spills"], int) and way[-1]["spills"] else ""
        rows.append(f"<tr{bad}><td>{html.escape(name)}</td>{cells}</tr>")
    notes = "".join(f"<li><b>{html.escape(r['commit'])}</b> {r['date']}, ptxas {r['ptxas']}: {html.escape(r['note'] or 'nothing worse')}</li>" for r in reversed(history))
    heads = "".join(f"<th colspan=2>{title}</th>" for title in ("registers", "spilled bytes", "instructions", "ms to PTX (not compared)"))
    return f"""<!doctype html><meta charset=utf-8><title>GPU code, commit by commit</title><style>
body{{font:14px/1.45 system-ui,sans-serif;margin:28px;color:#1d2430;background:#fff}}h1{{font-size:21px;margin:0 0 2px}}.sub{{color:#5a6675}}
table{{border-collapse:collapse}}td,th{{padding:1px 10px;border-bottom:1px solid #e5e9ee;text-align:left;white-space:nowrap}}.n{{text-align:right;font-variant-numeric:tabular-nums}}
tr.bad td:first-child{{color:#b5301f}}</style><h1>GPU code, commit by commit</h1><p class=sub>Records: {len(history)}, the last one of
{html.escape(history[-1]['commit'])}; lines go from the first record to the last. Times on a GPU: not measured.</p>
<table><tr><th>kernel</th>{heads}</tr>{''.join(rows)}</table><h2>Notes</h2><ul>{notes}</ul>"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", metavar="NOTE", nargs="?", const="")
    parser.add_argument("--page", metavar="FILE")
    parser.add_argument("--archs", default=",".join(ARCHS))
    given = parser.parse_args()
    history = records()
    if given.page:
        pathlib.Path(given.page).write_text(page(history))
        return 0
    path, version = tool()
    now = measure(path, given.archs.split(","))
    comparable = [record for record in history if record["ptxas"] == version]
    found = worse(now, comparable[-1]["figures"]) if comparable else []
    print(f"ptxas {version}; {len(now)} kernels; compared with {comparable[-1]['commit'] if comparable else 'nothing: no record with this ptxas'}")
    for text in found:
        print("worse by more than 5 %:", text)
    if given.record is not None:
        if found and not given.record:
            print("say why: --record \"why\"")
            return 1
        with RECORDS.open("a") as file:
            file.write(json.dumps({"commit": commit(), "date": datetime.date.today().isoformat(), "ptxas": version, "note": given.record, "figures": now}) + "\n")
        return 0
    return 1 if given.check and found else 0


if __name__ == "__main__":
    sys.exit(main())
