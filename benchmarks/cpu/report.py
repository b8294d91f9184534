"""Results as people read them: a summary against the floors, tables, plots; every number from the JSON.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import pathlib
import re
import statistics
import types

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKED = ("onednn_packed", "torch_packed")  # they don't pack in the call
ONEDNN = ("onednn", "onednn_packed", "onednn_reorder")
QUIET = 0.25  # processors that others used: more, and a row says more of them than of us
COLOURS = ("#0b5fa5", "#d1495b", "#3a7d44", "#8d6a9f", "#e09f3e", "#5c677d")


def geomean(values) -> float | None:
    values = list(values)
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


# ---- the summary --------------------------------------------------------------------------------------
#
# A line: text, family, which rows, against which peers (the fastest of them in each row), what is made of the ratios, floor, goal.


def _in(group: str):
    return lambda row: row["group"] == group


def _large_1t(row: dict) -> bool:
    return row["group"] == "gemm bfloat16" and row["threads"] == 1 and not row["batch"] and min(row["m"], row["n"], row["k"]) >= 1000


def _given(name: str, dtype: str):
    return lambda row: row["group"] == f"{name} {dtype} given" and row["case"].startswith(f"{name} 4096x4096")


def _how(how: str):
    return lambda row: row["group"].endswith(f" {how}") and "4096x4096" in row["case"] and row["group"].split()[0] in ("softmax", "layer_norm", "rms_norm")


LINES = (
    ("1. f32 gemm, the best of torch, oneDNN, OpenBLAS: geomean", "gemm", _in("gemm float32"), ("torch", "onednn", "onednn_reorder", "openblas"), geomean, 0.95, 1.05),
    ("1. the same: the worst shape", "gemm", _in("gemm float32"), ("torch", "onednn", "onednn_reorder", "openblas"), min, 0.8, None),
    ("2. bf16 gemm, torch: geomean", "gemm", _in("gemm bfloat16"), ("torch",), geomean, 1.2, 1.5),
    ("2. the same, all of m, n, k >= 1000, 1 thread: the worst", "gemm", _large_1t, ("torch",), min, 1.0, 1.15),
    ("2. bf16 gemm, oneDNN with packed weights: geomean", "gemm", _in("gemm bfloat16"), ("onednn_packed",), geomean, 0.95, 1.1),
    ("3. attention bf16, SDPA: geomean", "attention", _in("attention bfloat16"), ("sdpa",), geomean, 1.8, 2.5),
    ("3. attention f32, SDPA: geomean", "attention", _in("attention float32"), ("sdpa",), geomean, 1.3, 1.6),
    ("3. attention, SDPA: the worst case", "attention", lambda row: row["group"] in ("attention float32", "attention bfloat16"), ("sdpa",), min, 1.0, None),
    ("3. attention, unfused torch: geomean", "attention", lambda row: row["group"] in ("attention float32", "attention bfloat16"), ("unfused",), geomean, 5.0, 8.0),
    ("3. attention backward, torch: geomean", "attention", lambda row: "backward" in row["group"], ("sdpa",), geomean, 1.2, 1.7),
    ("4. layer_norm f32 of the non-temporal copy", "rows", _given("layer_norm", "float32"), ("copy_stream",), geomean, 0.88, 0.95),
    ("4. rms_norm f32 of the non-temporal copy", "rows", _given("rms_norm", "float32"), ("copy_stream",), geomean, 0.88, 0.95),
    ("4. softmax f32 of the non-temporal copy", "rows", _given("softmax", "float32"), ("copy_stream",), geomean, 0.78, 0.90),
    ("4. layer_norm bf16 of the non-temporal copy", "rows", _given("layer_norm", "bfloat16"), ("copy_stream",), geomean, 0.55, 0.75),
    ("4. rms_norm bf16 of the non-temporal copy", "rows", _given("rms_norm", "bfloat16"), ("copy_stream",), geomean, 0.55, 0.75),
    ("4. softmax bf16 of the non-temporal copy", "rows", _given("softmax", "bfloat16"), ("copy_stream",), geomean, 0.55, 0.75),
    ("4. rows as a user calls them, torch: the worst", "rows", _how("user"), ("torch",), min, 4.0, None),
    ("4. rows as a user calls them, torch.compile: the worst", "rows", _how("user"), ("torch.compile",), min, 3.0, None),
    ("4. rows into fresh pages, torch: the worst", "rows", _how("fresh"), ("torch",), min, 1.1, None),
    ("5. element-wise and reduction chains, torch.compile: geomean", "chains", lambda row: row["group"].startswith("chain "), ("torch.compile",), geomean, 2.0, None),
    ("5. bf16 MLP, torch.compile: geomean", "chains", _in("mlp bfloat16"), ("torch.compile",), geomean, 1.5, 2.0),
    ("5. f32 MLP, torch.compile: geomean", "chains", _in("mlp float32"), ("torch.compile",), geomean, 1.05, 1.2),
    ("5. transformer layer bf16, torch.compile: geomean", "chains", lambda row: row["group"].startswith("layer "), ("torch.compile",), geomean, 1.4, 2.0),
    ("5. bf16 MLP, frozen torch.compile (its weights packed once, as those of `constant`): geomean", "chains", _in("mlp bfloat16"), ("torch.compile frozen",),
     geomean, 1.5, 2.0),
    ("5. f32 MLP, frozen torch.compile: geomean", "chains", _in("mlp float32"), ("torch.compile frozen",), geomean, 1.05, 1.2),
    ("5. transformer layer bf16, frozen torch.compile: geomean", "chains", lambda row: row["group"].startswith("layer "), ("torch.compile frozen",), geomean, 1.4, 2.0),
    ("5. 2-D FFT, torch: geomean", "chains", lambda row: row["group"].startswith("fft2"), ("torch",), geomean, 0.8, 1.1),
    ("5. i8 gemm, the best of oneDNN that is given the weights as they are, as `kernel` is: geomean", "gemm", _in("gemm int8"), ("onednn", "onednn_reorder"),
     geomean, 0.9, None),
    ("5. i8 gemm, the best of oneDNN, with weights packed once, as those of `constant`: geomean", "gemm", _in("gemm int8"), ONEDNN, geomean, 0.9, None),
)


def ratios(rows: list[dict], peers: tuple, mine: str) -> list[float]:
    found = []
    for row in rows:
        peer = harness.best_peer(row, peers)
        value = harness.versus(row, peer, mine) if peer and mine in row["ours"] else None
        if value:
            found.append(value["ratio"])
    return found


def best_roofs(results: dict) -> dict[tuple[str, int], dict]:
    """Every roof at its best over all runs: others can only have taken away from it."""
    best: dict = {}
    for tree in results.values():
        for roofline in ((tree or {}).get("rooflines") or {}).values():
            for roof in roofline["roofs"]:
                key = roof["name"], roof["threads"]
                if key not in best or roof["best"] > best[key]["best"]:
                    best[key] = roof
    return best


def under_best_roofs(results: dict) -> dict:
    """The rows with their fractions of the best roofs, instead of those of their own run."""
    from tessera import roofline

    best = best_roofs(results)
    if not best:
        return results
    whole = roofline.Roofline("", "", tuple(roofline.Roof(**roof) for roof in best.values()))
    for tree in results.values():
        for row in (tree or {"rows": []})["rows"]:
            if "roof" not in row:
                continue
            row["roof"] = harness.roof_of(types.SimpleNamespace(**row), whole, row["threads"])
            for entry in (*row["ours"].values(), *row["peers"].values()):
                for one in (entry, entry.get("fast")):
                    if one:
                        one["of_roof"] = row["roof"]["seconds"] / one["seconds"]
    return results


def peak_scaling(results: dict, dtype: str) -> float | None:
    """How much faster two threads are at the register peak of a dtype."""
    best = best_roofs(results)
    name = {"bfloat16": "amx_bf16", "int8": "amx_i8", "float16": "fma_f16_avx512"}.get(dtype, "fma_f32_avx512")
    one, two = best.get((name, 1)), best.get((name, 2))
    return two["best"] / one["best"] if one and two and one["best"] else None


def scaling(results: dict) -> list[tuple[dict, float, float]]:
    """(row, its speed-up from one thread in the same rounds, that of the register peak)"""
    found = []
    for tree in results.values():
        for row in (tree or {"rows": []})["rows"]:
            value, peak = harness.pick(row.get("scaling")), peak_scaling(results, row["dtype"])
            if value and peak and row["foreign"] < QUIET:  # else there was no second processor to be had
                found.append((row, value["ratio"], peak))
    return found


def summary(results: dict) -> str:
    lines = ["| what (ratio = peer's time / ours) | floor | goal | 1 thread | 2 threads | rows |", "|---|---|---|---|---|---|"]
    for text, family, wanted, peers, make, floor, goal in LINES:
        rows = [row for row in (results.get(family) or {"rows": []})["rows"] if wanted(row)]
        cells, count = [], 0
        for threads in (1, 2):
            some = [row for row in rows if row["threads"] == threads]
            parts = []
            for mine in dict.fromkeys(name for row in some for name in row["ours"]):
                values = ratios(some, peers, mine)
                if values:
                    value = make(values)
                    count = max(count, len(values))
                    calm = ratios([row for row in some if row.get("foreign", 1) < QUIET], peers, mine)
                    calmly = f"; {make(calm):.2f} in {len(calm)} quiet rows" if 0 < len(calm) < len(values) else ""
                    parts.append(f"{'**' if value >= floor else ''}{value:.2f}{'**' if value >= floor else ''} ({mine}{calmly})")
            missing = not parts and (("not applicable" if rows else "not measured"))
            cells.append(", ".join(parts) or missing)
        lines.append(f"| {text} | {floor} | {goal or ''} | {cells[0]} | {cells[1]} | {count} |")
    cells = []
    for threads in (1, 2):
        row = next((row for row in (results.get("gemm") or {"rows": []})["rows"] if row["case"] == "2048 constant" and row["dtype"] == "bfloat16"
                    and row["threads"] == threads and row["ours"]), None)
        peak = best_roofs(results).get(("amx_bf16", threads))
        if row and peak:
            entry = row["ours"][harness.headline(row)]
            fast = entry.get("fast") if entry.get("fast_rounds", 0) >= 3 else None
            value = (fast or entry)["gflops"] * 1e9 / peak["best"]
            cells.append(f"{'**' if value >= 0.45 else ''}{value:.2f}{'**' if value >= 0.45 else ''} ({'fast' if fast else 'all'} samples)")
        else:
            cells.append("not measured")
    lines.insert(7, f"| 2. bf16 2048 with a constant operand, of the AMX peak | 0.45 | 0.6 | {cells[0]} | {cells[1]} | 1 |")
    speedups = scaling(results)
    if speedups:
        value = geomean(up / peak for _, up, peak in speedups)
        lines.append(f"| 7. speed-up from 1 to 2 threads / that of the register peak, rows on a quiet machine: geomean | 0.9 | | | {'**' if value >= 0.9 else ''}{value:.2f}"
                     f"{'**' if value >= 0.9 else ''} | {len(speedups)} |")
    return "\n".join(lines) + "\n\nBold: the floor is reached, over all rows; a quiet row is one during which others used less than a quarter of a processor. AMX rows count fast samples where there are at least three, else all.\n"


# ---- tables ----------------------------------------------------------------------------------------------


def table(tree: dict, family: str) -> str:
    peers = list(dict.fromkeys(name for row in tree["rows"] for name in row["peers"]))
    lines = ["| case | dtype | thr | ours | ms | speed | of roof | " + " | ".join(peers) + " |", "|---|---|---|---|---|---|---|" + "---|" * len(peers)]
    for row in tree["rows"]:
        start = f"| {row['case']} | {row['dtype']} | {row['threads']} |"
        for name, reason in row["missing"].items():
            if reason.startswith("not there yet"):
                lines.append(f"{start} {name} | {reason.replace('|', '/')} | | | " + " | " * len(peers))
        for mine, entry in row["ours"].items():
            speed = f"{entry['gflops']:.0f} GF/s" if row["flops"] else f"{entry['gbytes']:.1f} GB/s"
            cells = []
            for peer in peers:
                pair = (row["peers"].get(peer) or {"versus": {}})["versus"].get(mine)
                if not pair:
                    cells.append("-")
                    continue
                one = pair["all"]
                text = f"{one['ratio']:.2f} [{one['low']:.2f}, {one['high']:.2f}]"
                if pair.get("fast"):
                    text += f"; fast {pair['fast']['ratio']:.2f} ({pair['fast']['n']})"
                cells.append(text)
            of_roof = f"{entry['of_roof'] * 100:.0f} % of {row['roof']['by']}"
            lines.append(f"{start} {mine} | {entry['seconds'] * 1e3:.3g} | {speed} | {of_roof} | " + " | ".join(cells) + " |")
    reasons = sorted({f"`{name}`: {reason}" for row in tree["rows"] for name, reason in row["missing"].items() if not reason.startswith("not there yet")})
    return "\n".join(lines) + "\n" + ("\nNot measured in some rows: " + "; ".join(reasons) + ".\n" if reasons else "")


def compact(tree: dict, family: str) -> str:
    """A line per case: ours against the fastest peer that does the same work, and of the roof."""
    columns = list(dict.fromkeys((row["dtype"], row["threads"]) for row in tree["rows"]))
    cells: dict = {}
    for row in tree["rows"]:
        mine = harness.headline(row)
        if mine is None:
            cells[row["case"], row["dtype"], row["threads"]] = "not there yet" if any(r.startswith("not there yet") for r in row["missing"].values()) else "-"
            continue
        named = tuple(name for name in row["peers"] if name not in (*PACKED, "copy_stream"))
        peer = harness.best_peer(row, named) if named else None
        value = harness.versus(row, peer, mine) if peer else None
        copy = harness.versus(row, "copy_stream", mine)
        of = f"{copy['ratio'] * 100:.0f} % of copy" if copy else f"{row['ours'][mine]['of_roof'] * 100:.0f} %"
        cells[row["case"], row["dtype"], row["threads"]] = (f"{value['ratio']:.2f} {peer}" if value else "-") + f"; {of}"
    lines = ["| case | " + " | ".join(f"{dtype} {threads}t" for dtype, threads in columns) + " |", "|---|" + "---|" * len(columns)]
    for case in dict.fromkeys(row["case"] for row in tree["rows"]):
        lines.append(f"| {case} | " + " | ".join(cells.get((case, *column), "") for column in columns) + " |")
    return "\n".join(lines) + "\n"


def losses(results: dict, most: int = 10**6) -> str:
    """Cases that are slower than their fastest peer that does the same work, the worst first."""
    lines = []
    for family, tree in results.items():
        for row in (tree or {"rows": []})["rows"]:
            named = tuple(name for name in row["peers"] if name not in (*PACKED, "copy_stream"))
            peer, mine = harness.best_peer(row, named) if named else None, harness.headline(row)
            value = harness.versus(row, peer, mine) if peer and mine else None
            if value and value["high"] < 1:
                lines.append((value["ratio"], f"| {family} | {row['case']} | {row['dtype']} | {row['threads']} | {peer} | {value['ratio']:.2f} [{value['low']:.2f}, {value['high']:.2f}] |"))
    total = sum(len((tree or {"rows": []})["rows"]) for tree in results.values())
    shown = f" The worst {most}:" if len(lines) > most else ""
    head = f"{len(lines)} of {total} rows are slower than their fastest peer, beyond their confidence interval.{shown}\n\n" if lines else "None.\n"
    return head + ("\n".join(["| family | case | dtype | thr | fastest peer | its time / ours |", "|---|---|---|---|---|---|"] + [text for _, text in sorted(lines)[:most]]) + "\n" if lines else "")


def roofs(results: dict) -> str:
    best = {key: (roof["best"], roof["unit"]) for key, roof in best_roofs(results).items()}
    counts = sorted({threads for _, threads in best})
    lines = ["| roof | " + " | ".join(f"{n} thread{'s' * (n > 1)}" for n in counts) + " |", "|---|" + "---|" * len(counts)]
    for name in dict.fromkeys(name for name, _ in best):
        cells = [f"{best[name, n][0] / 1e9:.1f} {'GFLOP/s' if best[name, n][1] == 'flop/s' else 'GB/s'}" if best.get((name, n), (0,))[0] else "not measured" for n in counts]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


# ---- plots -----------------------------------------------------------------------------------------------


def _save(plt, figure, path: pathlib.Path) -> None:
    """As few bytes as a plot needs: 48 colours."""
    from PIL import Image

    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(48)
    small.save(path, optimize=True)


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25, "savefig.dpi": 80})
    return plt


def plot_roofline(results: dict, path: pathlib.Path, threads: int = 2) -> None:
    """Operations per second over operations per byte, with the roofs above."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8.5, 5))
    rows = [row for tree in results.values() for row in (tree or {"rows": []})["rows"] if row["threads"] == threads and row["flops"] and row["ours"]]
    best = {name: roof["best"] for (name, count), roof in best_roofs(results).items() if count == threads}
    xs = [10 ** (e / 20) for e in range(-10, 80)]
    memory = best.get("copy_stream", 0)
    for name, colour in zip(("amx_i8", "amx_bf16", "fma_f16_avx512", "fma_f32_avx512"), COLOURS):
        if best.get(name):
            axes.plot(xs, [min(best[name], memory * x) / 1e9 for x in xs], color=colour, lw=1.2)
            axes.text(xs[-1], best[name] / 1e9 * 1.06, f"{name} {best[name] / 1e9:.0f}", ha="right", color=colour, fontsize=8)
    axes.plot(xs, [best.get("read_l2", 0) * x / 1e9 for x in xs], color="0.6", lw=0.8, ls="--")
    axes.text(1.1, best.get("read_l2", 0) * 1.3 / 1e9, "L2 reads", color="0.4", fontsize=8, rotation=38, ha="left")
    axes.text(1.1, memory * 1.35 / 1e9, "non-temporal copy", color="0.4", fontsize=8, rotation=38, ha="left")
    colour_of = {"int8": COLOURS[0], "bfloat16": COLOURS[1], "float16": COLOURS[2], "float32": COLOURS[3]}
    marks = {"gemm": "o", "attention": "^", "chains": "s", "rows": "D"}
    for row in rows:
        entry = row["ours"][harness.headline(row)]
        axes.plot(row["flops"] / row["bytes"], entry["gflops"], marks[row["family"]], color=colour_of.get(row["dtype"], "0.3"), ms=4.5, alpha=0.75, mec="white", mew=0.4)
    for family in ("gemm", "attention", "chains"):
        axes.plot([], [], marks[family], color="0.4", label=family)
    axes.set(xscale="log", yscale="log", xlim=(xs[0], xs[-1]), ylim=(5, 2e4), xlabel="operations per byte moved once", ylabel="GFLOP/s",
             title=f"Ours under the measured roofs, {threads} thread{'s' * (threads > 1)} (colour: dtype)")
    axes.legend(loc="lower right", frameon=False)
    _save(plt, figure, path)


def plot_speedups(tree: dict, family: str, path: pathlib.Path) -> None:
    """Every case against its fastest peer and the most usual one, one panel per dtype and number of threads."""
    plt = _pyplot()
    groups = list(dict.fromkeys((row["dtype"], row["threads"]) for row in tree["rows"] if row["ours"]))
    if not groups:
        return
    names = list(dict.fromkeys(row["case"] for row in tree["rows"]))
    columns = min(4, len(groups))
    lines = -(-len(groups) // columns)
    figure, panels = plt.subplots(lines, columns, figsize=(3.1 * columns + 1.6, (0.145 * len(names) + 1.0) * lines), squeeze=False, sharey=False)
    usual = "sdpa" if family == "attention" else "torch"
    for panel, (dtype, threads) in zip(panels.flat, groups):
        rows = [row for row in tree["rows"] if (row["dtype"], row["threads"]) == (dtype, threads) and row["ours"]]
        for at, row in enumerate(rows):
            named = tuple(name for name in row["peers"] if name not in (*PACKED, "copy_stream"))
            best = harness.best_peer(row, named) if named else None
            for peer, colour, size in ((usual, COLOURS[4], 3.5), (best, COLOURS[0], 5)):
                value = harness.versus(row, peer) if peer else None
                if value:
                    panel.plot([value["low"], value["high"]], [at, at], color=colour, lw=1, alpha=0.6)
                    panel.plot(value["ratio"], at, "o", color=colour, ms=size, mec="white", mew=0.4)
        panel.axvline(1, color="0.2", lw=0.9)
        panel.set(xscale="log", title=f"{dtype}, {threads} thread{'s' * (threads > 1)}", ylim=(len(rows) - 0.4, -0.6))
        panel.set_yticks(range(len(rows)), [row["case"] for row in rows], fontsize=6.5)
        low, high = max(panel.get_xlim()[0], 2.0**-6), min(panel.get_xlim()[1], 2.0**7)
        step = 1 if high / low < 40 else 2 if high / low < 1000 else 3
        ticks = [e * step for e in range(-9, 10) if low <= 2.0 ** (e * step) <= high] or [0]
        panel.set_xlim(low, high)
        panel.set_xticks([2.0**e for e in ticks], [f"{2**e}x" if e >= 0 else f"1/{2**-e}" for e in ticks])
        panel.minorticks_off()
    for panel in list(panels.flat)[len(groups):]:
        panel.axis("off")
    figure.suptitle(f"{family}: peer's time / ours, right of 1 ours is faster. Blue: fastest peer, yellow: {usual}; lines: 95 % intervals", fontsize=9)
    _save(plt, figure, path)


def plot_scaling(results: dict, path: pathlib.Path) -> None:
    plt = _pyplot()
    found = scaling(results)
    if not found:
        return
    figure, axes = plt.subplots(figsize=(8.5, 3.6))
    families = [family for family in results if any(row["family"] == family for row, _, _ in found)]
    for at, family in enumerate(families):
        values = [(row, up) for row, up, _ in found if row["family"] == family]
        for index, (row, up) in enumerate(values):
            spread = (index / max(len(values) - 1, 1) - 0.5) * 0.7
            colour = COLOURS[1] if row["dtype"] == "bfloat16" else COLOURS[3] if row["dtype"] == "float32" else COLOURS[2]
            axes.plot(at + spread, up, "o", color=colour, ms=4, alpha=0.7, mec="white", mew=0.4)
    peak = geomean(peak for _, _, peak in found)
    axes.axhline(peak, color="0.2", lw=0.9)
    axes.axhline(0.9 * peak, color="0.5", lw=0.8, ls="--")
    axes.text(len(families) - 0.55, peak + 0.03, "register peak", ha="right", fontsize=8)
    axes.text(len(families) - 0.55, 0.9 * peak - 0.03, "floor", ha="right", va="top", fontsize=8, color="0.4")
    axes.set_xlim(-0.5, len(families) - 0.5)
    axes.set_xticks(range(len(families)), families)
    axes.set(ylabel="speed-up from 1 to 2 threads", title="Scaling on a quiet machine (red bf16, violet f32, green others)", ylim=(0, max(2.6, min(4, max(up for _, up, _ in found) * 1.05))))
    _save(plt, figure, path)


def plots(results: dict, folder: pathlib.Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    plot_roofline(results, folder / "cpu-roofline.png")
    names = ["cpu-roofline.png"]
    for family, tree in results.items():
        if tree:
            plot_speedups(tree, family, folder / f"cpu-{family}.png")
            names.append(f"cpu-{family}.png")
    plot_scaling(results, folder / "cpu-scaling.png")
    return [*names, "cpu-scaling.png"]


# ---- pages -----------------------------------------------------------------------------------------------


def sections(results: dict) -> dict[str, str]:
    results = under_best_roofs(results)
    any_tree = next((tree for tree in results.values() if tree), None)
    if any_tree is None:
        return {}
    machine, versions = any_tree["machine"], any_tree["versions"]
    dates = sorted(row["date"][:10] for tree in results.values() for row in (tree or {"rows": []})["rows"] if "date" in row)
    busy = [row["foreign"] for tree in results.values() for row in (tree or {"rows": []})["rows"] if "foreign" in row]
    about = (f"{machine['cpu']}, {machine['cores']} processors, {dates[0]} to {dates[-1]}; " + ", ".join(f"{name} {value}" for name, value in versions.items())
             + f". Others used a quarter of a processor or more during {sum(x >= QUIET for x in busy)} of {len(busy)} rows.\n")
    found = {"machine": about, "roofs": roofs(results), "summary": summary(results), "losses": losses(results, 25), "all_losses": losses(results)}
    for family, tree in results.items():
        found[family] = compact(tree, family) if tree else "Not measured yet.\n"
        found[f"all_{family}"] = table(tree, family) if tree else "Not measured yet.\n"
    return found


def write(results: dict, folder: pathlib.Path) -> int:
    parts = sections(results)
    if not parts:
        print("no results yet: python benchmarks/cpu/run.py")
        return 1
    images = plots(results, folder)
    text = "# CPU benchmarks\n\n" + parts["machine"] + "\n## Summary\n\n" + parts["summary"] + "\n## Roofs\n\n" + parts["roofs"]
    text += "\n" + "\n".join(f"![{name}]({name})" for name in images) + "\n\n## Losses\n\n" + parts["all_losses"]
    for family in results:
        text += f"\n## {family}\n\n{parts[f'all_{family}']}"
    (folder / "report.md").write_text(text)
    print(f"written: {folder / 'report.md'}")
    return 0


def filled(page: str, parts: dict[str, str]) -> str:
    """The page with each `<!-- begin name -->` ... `<!-- end name -->` replaced."""
    def replace(match):
        return f"<!-- begin {match[1]} -->\n{parts.get(match[1], match[2]).strip()}\n<!-- end {match[1]} -->"

    return re.sub(r"<!-- begin (\w+) -->\n(.*?)\n?<!-- end \1 -->", replace, page, flags=re.S)


def docs(results: dict) -> int:
    page, tables = ROOT / "docs" / "performance.md", ROOT / "docs" / "performance-tables.md"
    parts = sections(results)
    if not parts:
        print("no results yet: python benchmarks/cpu/run.py")
        return 1
    plots(results, ROOT / "docs" / "images")
    page.write_text(filled(page.read_text(), parts))
    text = "# Every CPU measurement\n<!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->\n"
    text += "Written by `python benchmarks/cpu/run.py --docs`; [performance.md](performance.md) says what the columns are. A ratio is the peer's time / ours.\n\n"
    text += "## Losses\n\n" + parts["all_losses"] + "".join(f"\n## {family}\n\n{parts[f'all_{family}']}" for family in results)
    tables.write_text(text)
    print(f"written: {page}, {tables}")
    return 0
