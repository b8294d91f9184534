#!/usr/bin/env python3
# Plants the miscompiles of test/oracle/planted in our passes, rebuilds, and asks check and bisect.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Miscompiles planted by hand in the source of our passes: does `fn.check` see each, does `fn.bisect` name its pass?

    python test/oracle/planted.py                       # all, in a copy of the repository in the temporary folder
    python test/oracle/planted.py --only tail-mask      # one; repeatable
    python test/oracle/planted.py --json out.json

Each patch is applied to the copy, `_core` and `_runtime` are rebuilt (some seconds each with ccache), its program of planted/shown_by.py runs,
and the patch is taken back. Not part of CI, which checks that the patches apply and that their programs are right without them.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
PATCHES = HERE / "planted"
# What the copy's build takes over from the developer's.
_KEPT = ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_EXE_LINKER_FLAGS",
         "CMAKE_SHARED_LINKER_FLAGS", "CMAKE_MODULE_LINKER_FLAGS", "CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS_RELWITHDEBINFO", "Python_EXECUTABLE")


def names() -> list[str]:
    return sorted(path.stem for path in PATCHES.glob("*.patch"))


def pass_of(name: str) -> str:
    """"tile-value schedule-to-tile": the stage and the pass a patch makes wrong."""
    text = (PATCHES / f"{name}.patch").read_text()
    return next(line.removeprefix("# pass: ") for line in text.splitlines() if line.startswith("# pass: "))


class Copy:
    """The repository in another folder, with its own build."""

    def __init__(self, folder: pathlib.Path, developer: pathlib.Path):
        self.folder, self.build = folder, folder / "build" / "dev"
        self.sync()
        if not (self.build / "build.ninja").exists():
            settings = [f"-D{line}" for line in (developer / "CMakeCache.txt").read_text().splitlines() if line.partition(":")[0] in _KEPT]
            self.run("cmake", "-S", folder, "-B", self.build, "-G", "Ninja", "-DTESSERA_PYTHON=ON", *settings)

    def sync(self) -> None:
        """Files that differ are copied: the others keep their time, so that ninja leaves them alone."""
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            source, target = REPOSITORY / name, self.folder / name
            if not source.is_file():
                continue
            if not target.is_file() or source.read_bytes() != target.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
                shutil.copymode(source, target)

    def run(self, *command, **options) -> str:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.stdout

    def make(self, jobs: int) -> None:
        self.run("ninja", "-C", self.build, f"-j{jobs}", "_core", "_runtime")

    def apply(self, name: str, *more: str) -> None:
        self.run("git", "apply", *more, PATCHES / f"{name}.patch", cwd=self.folder, env=os.environ | {"GIT_CEILING_DIRECTORIES": str(self.folder)})

    def ask(self, name: str, verb: str) -> dict:
        """What `verb` says of the program, in a process of its own: wrong machine code may do anything."""
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"PYTHONPATH": str(self.folder / "python"), "XDG_CACHE_HOME": cache}
            script = self.folder / HERE.relative_to(REPOSITORY) / "planted.py"
            done = subprocess.run([sys.executable, script, "--ask", name, verb], capture_output=True, text=True, env=environment, timeout=600)
        if done.returncode < 0:
            return {"wrong": f"ends by signal {-done.returncode}", "where": "(a crash)"}
        try:
            return json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            return {"wrong": f"fails: {done.stderr.strip()[-300:]}", "where": "(no answer)"}


def ask(name: str, verb: str) -> dict:
    """In the copy: {"wrong": what is, or "", "where": the row of check, or stage and pass of bisect}."""
    import warnings

    sys.path.insert(0, str(PATCHES))
    import shown_by

    import tessera as tsr

    warnings.simplefilter("ignore")
    fn, arguments = shown_by.PROGRAMS[name]
    try:
        if verb == "check":
            fn.check(*arguments, show=False)
            return {"wrong": "", "where": ""}
        culprit = fn.bisect(*arguments).culprit
        return {"wrong": culprit.verdict, "where": f"{culprit.stage} {culprit.name}"} if culprit else {"wrong": "", "where": ""}
    except tsr.CheckError as error:
        row = error.report.first_wrong
        return {"wrong": row.wrong, "where": row.stage}
    except tsr.TesseraError as error:  # a contract or a verifier refuses the program
        return {"wrong": str(error).strip(), "where": "(refused)"}


def plant(copy: Copy, name: str, jobs: int) -> dict:
    copy.apply(name)
    try:
        copy.make(jobs)
        checked, bisected = copy.ask(name, "check"), copy.ask(name, "bisect")
    finally:
        copy.apply(name, "--reverse")
    wanted = pass_of(name)
    return {"name": name, "pass": wanted, "caught": bool(checked["wrong"]), "row": checked["where"], "why": checked["wrong"].splitlines()[0] if checked["wrong"] else "",
            "located": bisected["where"] == wanted, "culprit": bisected["where"], "verdict": bisected["wrong"].splitlines()[0] if bisected["wrong"] else ""}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", choices=names(), metavar="NAME")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "tessera-planted", help="of the copy; kept for the next time")
    parser.add_argument("--developer", type=pathlib.Path, default=REPOSITORY / "build" / "dev", help="a build folder whose compiler and flags are taken")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--ask", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ask:
        print(json.dumps(ask(*given.ask)))
        return 0
    begin = time.monotonic()
    copy = Copy(given.folder.resolve(), given.developer)
    copy.make(given.jobs)
    print(f"built in {time.monotonic() - begin:.0f} s: {given.folder}", flush=True)
    rows = []
    for name in given.only or names():
        begin = time.monotonic()
        row = plant(copy, name, given.jobs)
        rows.append(row)
        seen = f"check: {row['row']}" if row["caught"] else "SURVIVES check"
        found = f"bisect: {row['culprit']}" + ("" if row["located"] else f", NOT {row['pass']}")
        print(f"{len(rows):2} {name:22} {seen:24} {found} ({time.monotonic() - begin:.0f} s)", flush=True)
        if not (row["caught"] and row["located"]):
            print(f"   {row['why'][:300]}\n   {row['verdict'][:300]}", flush=True)
    caught, located = sum(row["caught"] for row in rows), sum(row["located"] for row in rows)
    print(f"{caught} of {len(rows)} caught by check, {located} located by bisect")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if caught >= 0.9 * len(rows) and located == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
