# The command `tessera-sim` of the wheel: starts the tool that lies beside this file.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import sys

from ..knobs import knobs


def find():
    """Of the wheel, of $TESSERA_BIN, or the newest build of a source tree."""
    here = pathlib.Path(__file__).resolve().parent
    places = [here / "tessera-sim"]
    if knobs.bin:
        places.append(pathlib.Path(knobs.bin) / "tessera-sim")
    built = [path for pattern in ("build/*/bin/", "build/*/sim/", "build/*/", "build*/")
             for path in here.parents[2].glob(pattern + "tessera-sim")]
    places += sorted(built, key=lambda p: -p.stat().st_mtime)
    return next((place for place in places if os.access(place, os.X_OK) and place.is_file()), None)


def main():
    tool = find()
    if tool is None:
        print("tessera-sim is not built; run `cmake -S sim -B build-sim && cmake --build build-sim`", file=sys.stderr)
        return 1
    # `python3` of this environment runs scripts for `tessera-sim triton`.
    os.environ["PATH"] = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.execv(tool, ["tessera-sim", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
