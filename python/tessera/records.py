"""What tuning found, on disk: one file per key, one line per configuration, shared by processes.

A line says what came of a configuration, or that a process is about to measure it. Lines are appended under a lock, so that
processes never measure the same configuration twice and lose nothing of each other. A damaged line counts for nothing.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import time

from .space import name_of

CLAIM_SECONDS = 60.0  # after which a process that promised to measure is taken for dead


def is_ours_alone(folder: pathlib.Path) -> bool:
    info = folder.stat()
    return info.st_uid == os.getuid() and not info.st_mode & 0o022


class Records:
    """The configurations of one key: `known` by name; memory only if the folder is not ours or cannot be written."""

    def __init__(self, folder: str, identity: str):
        self.folder = pathlib.Path(folder).expanduser()
        self.digest = hashlib.sha256(identity.encode()).hexdigest()[:32]
        self.identity, self.path = identity, self.folder / f"{self.digest}.jsonl"
        self.known: dict[str, dict] = {}
        self.spent: dict[str, float] = {}  # seconds of search by space
        self._claims: dict[str, tuple] = {}
        self._read = 0
        self._usable = True
        self.refresh()

    @contextlib.contextmanager
    def _locked(self):
        """The open file under its lock; None if it cannot be had."""
        file = None
        try:
            if self._usable:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._usable = is_ours_alone(self.folder)
            if self._usable:
                file = open(os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b")
                fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            self._usable, file = False, None
        try:
            yield file
        finally:
            if file is not None:
                file.close()  # unlocks

    def _take(self, file) -> None:
        file.seek(self._read)
        for line in file.read().split(b"\n")[:-1]:
            self._read += len(line) + 1
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue

    def _apply(self, entry: dict) -> None:
        if entry["identity"] != self.digest:
            return
        if "spent" in entry:
            self.spent[entry["space"]] = self.spent.get(entry["space"], 0.0) + float(entry["spent"])
            return
        name = name_of(entry["config"])
        if entry["state"] == "claimed":
            self._claims[name] = (int(entry["process"]), float(entry["at"]))
        elif entry["state"] == "given up":
            self._claims.pop(name, None)
        else:
            if entry["state"] == "ok":
                float(entry["seconds"]), float(entry["ratio"])
            self.known[name] = entry
            self._claims.pop(name, None)

    def _append(self, file, entry: dict) -> None:
        entry = {"identity": self.digest, **entry}
        if file is not None:
            try:
                data = json.dumps(entry).encode() + b"\n"
                file.seek(0, os.SEEK_END)
                if file.tell() and self._ends_torn(file):
                    data = b"\n" + data
                os.write(file.fileno(), data)
                self._take(file)
                return
            except OSError:  # a full disk costs tuning again, nothing else
                pass
        self._apply(entry)

    @staticmethod
    def _ends_torn(file) -> bool:
        """Whether the last line was never finished: its process died."""
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"

    def prepare(self) -> bool:
        """Makes the folder and the file; whether they can be used."""
        with self._locked() as file:
            return file is not None

    def refresh(self) -> None:
        if not self.path.exists():
            return
        with self._locked() as file:
            if file is not None:
                self._take(file)

    def _is_claimed(self, name: str) -> bool:
        process, at = self._claims.get(name, (0, 0.0))
        if not process or time.time() - at > CLAIM_SECONDS:
            return False
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def claim(self, config: dict) -> bool:
        """True if this process is the one to measure it."""
        name = name_of(config)
        with self._locked() as file:
            if file is not None:
                self._take(file)
            if name in self.known or self._is_claimed(name):
                return False
            self._append(file, {"state": "claimed", "config": config, "process": os.getpid(), "at": time.time()})
        return True

    def give_up(self, config: dict) -> None:
        with self._locked() as file:
            self._append(file, {"state": "given up", "config": config})

    def publish(self, config: dict, state: str, **more) -> None:
        with self._locked() as file:
            self._append(file, {"state": state, "config": config, **more})

    def add_time(self, space: str, seconds: float) -> None:
        with self._locked() as file:
            self._append(file, {"space": space, "spent": seconds})

    def wait(self, names, seconds: float = 5.0) -> None:
        """Until other processes have told what they claimed of these."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.refresh()
            if not any(self._is_claimed(name) and name not in self.known for name in names):
                return
            time.sleep(0.05)
