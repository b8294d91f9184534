"""The disk cache: one file per object, verified when read, published by rename.

A file holds what it was made from (its key, in full) and what was made, behind a digest of both;
a file that is damaged, cut off or somebody else's is as good as none. No pickle, no JSON, no
hashlib: a warm first call takes a few milliseconds, of which loading those alone would be half.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import sys
import time
import warnings

from .dtypes import by_name, dtype
from .errors import CacheWarning
from .knobs import knobs

try:
    from _sha256 import sha256  # what hashlib has inside, without OpenSSL
except ImportError:
    try:
        from _sha2 import sha256
    except ImportError:
        from hashlib import sha256

FORMAT = 1
_MAGIC = b"tessera.artifact %d\n" % FORMAT
_DIGEST = 32
_MAX_FILE = 1 << 30
_LEASE = 10.0  # seconds to wait for who compiles the same; then we do it, too
_ORPHAN = 60.0  # seconds after which a temporary file has been left behind


# ---- values as bytes: equal bytes if and only if equal values of equal types --------------------


def pack(value) -> bytes:
    """None, bool, int, float, str, bytes, dtype, and tuples, lists and dicts of them; TypeError for others."""
    parts: list[bytes] = []
    _pack(value, parts.append)
    return b"".join(parts)


def _pack(value, add) -> None:
    if value is None:
        add(b"n")
    elif value is True or value is False:
        add(b"t" if value else b"f")
    elif isinstance(value, str):
        _pack_text(b"s", value.encode("utf-8", "surrogatepass"), add)
    elif isinstance(value, int):
        _pack_text(b"i", b"%d" % value, add)
    elif isinstance(value, float):
        add(b"d" + struct.pack("<d", value))
    elif isinstance(value, bytes):
        _pack_text(b"b", value, add)
    elif isinstance(value, dtype):
        _pack_text(b"y", value.name.encode(), add)
    elif isinstance(value, (tuple, list)):
        add(b"(" if isinstance(value, tuple) else b"[")
        add(struct.pack("<I", len(value)))
        for item in value:
            _pack(item, add)
    elif isinstance(value, dict):
        add(b"{" + struct.pack("<I", len(value)))
        for key, item in value.items():
            _pack(key, add)
            _pack(item, add)
    else:
        raise TypeError(f"{type(value).__name__} has no form on disk")


def _pack_text(tag: bytes, data: bytes, add) -> None:
    add(tag + struct.pack("<I", len(data)))
    add(data)


def unpack(data: bytes):
    """What `pack` was given; ValueError if it was not `pack` that wrote this."""
    try:
        value, end = _unpack(data, 0, 0)
    except (KeyError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise ValueError(str(error)) from None
    if end != len(data):
        raise ValueError("bytes are left")
    return value


def _unpack(data: bytes, at: int, depth: int):
    tag = data[at : at + 1]
    at += 1
    if tag in b"ntf" and tag:
        return {b"n": None, b"t": True, b"f": False}[tag], at
    if tag == b"d":
        return struct.unpack_from("<d", data, at)[0], at + 8
    (length,) = struct.unpack_from("<I", data, at)
    at += 4
    if tag in b"siby" and tag:
        if at + length > len(data):
            raise ValueError("cut off")
        text = data[at : at + length]
        at += length
        if tag == b"b":
            return text, at
        if tag == b"i":
            return int(text), at
        if tag == b"y":
            return by_name(text.decode()), at
        return text.decode("utf-8", "surrogatepass"), at
    if tag not in (b"(", b"[", b"{") or length > len(data) or depth > 100:
        raise ValueError("not packed by us")
    items = []
    for _ in range(2 * length if tag == b"{" else length):
        item, at = _unpack(data, at, depth + 1)
        items.append(item)
    if tag == b"{":
        return dict(zip(items[::2], items[1::2])), at
    return (tuple(items) if tag == b"(" else items), at


# ---- the folder --------------------------------------------------------------------------------


class Refused(Exception):
    """The folder is not the user's alone."""


def _open_own(path: str, parent: int | None = None) -> int:
    """Opens a folder that is ours alone, made if it is missing; never through a symbolic link."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700, dir_fd=parent)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        opened = os.open(path, flags, dir_fd=parent)
    except NotADirectoryError:
        raise Refused("is not a folder, or a symbolic link") from None
    except OSError as error:
        if stat.S_ISLNK(os.lstat(path, dir_fd=parent).st_mode):
            raise Refused("is a symbolic link") from None
        raise error
    info = os.fstat(opened)
    problem = ""
    if info.st_uid != os.geteuid():
        problem = f"belongs to user {info.st_uid}, not to {os.geteuid()}"
    elif info.st_mode & 0o077:
        problem = f"is open to other users (mode {stat.S_IMODE(info.st_mode):04o}); chmod 700 it"
    if problem:
        os.close(opened)
        raise Refused(problem)
    return opened


class Store:
    """Entries by the bytes they were made from. All paths are below one open folder, whatever happens to its name."""

    def __init__(self, folder: str):
        os.makedirs(os.path.dirname(folder) or ".", mode=0o700, exist_ok=True)
        root = _open_own(folder)
        try:
            self.fd = _open_own("jit", root)
        finally:
            os.close(root)
        self.folder = os.path.join(folder, "jit")
        self.stats = dict.fromkeys(("hits", "misses", "damaged", "compiles", "published", "evicted", "failed"), 0)
        self._size: int | None = None  # bytes in the folder, as of the last look plus what we added
        self._since = 0

    def read(self, name: str, inputs: bytes) -> dict | None:
        """The entry; None if there is none that is whole and made from `inputs`."""
        try:
            opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=self.fd)
        except OSError:
            self.stats["misses"] += 1
            return None
        try:
            info = os.fstat(opened)
            usable = stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid() and info.st_size <= _MAX_FILE
            data = b""
            while usable and len(data) < info.st_size:
                more = os.read(opened, info.st_size - len(data))
                if not more:
                    break
                data += more
            if usable:
                with contextlib.suppress(OSError):
                    os.utime(opened)  # the least recently used go first
        except OSError:
            data = b""
        finally:
            os.close(opened)
        fields = _decode(data, inputs)
        self.stats["damaged" if fields is None else "hits"] += 1
        return fields

    def write(self, name: str, inputs: bytes, fields: dict) -> None:
        """Publishes an entry. A full or read-only disk costs compiling again, nothing else."""
        data = _encode(inputs, fields)
        temporary = f".{name[:16]}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
        try:
            opened = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self.fd)
        except OSError:
            self.stats["failed"] += 1
            return
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(opened, view) :]
                os.fsync(opened)
            finally:
                os.close(opened)
            os.rename(temporary, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except OSError:
            self.stats["failed"] += 1
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=self.fd)
            return
        self.stats["published"] += 1
        self._since += 1
        if self._size is not None:
            self._size += len(data)
        if self._size is None or self._size > self.limit or self._since >= 64:
            self.evict()

    @property
    def limit(self) -> int:
        return max(0, knobs.cache_size) << 20

    def entries(self) -> list[tuple[float, int, str]]:
        """(last used, bytes, name) of every entry; what was left behind is removed on the way."""
        found, now = [], time.time()
        with contextlib.suppress(OSError), os.scandir(self.fd) as files:
            for file in files:
                try:
                    info = file.stat(follow_symlinks=False)
                    if file.name.endswith((".tmp", ".lock")):
                        if now - info.st_mtime > _ORPHAN and (file.name.endswith(".tmp") or not self._is_locked(file.name)):
                            os.unlink(file.name, dir_fd=self.fd)
                    elif not file.is_dir(follow_symlinks=False):
                        found.append((info.st_mtime, info.st_size, file.name))
                except OSError:
                    continue  # another process was faster
        return sorted(found)

    def _is_locked(self, name: str) -> bool:
        import fcntl

        opened = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.fd)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(opened)
        return False

    def evict(self) -> None:
        """Removes the least recently used entries until nine tenths of the limit are left."""
        entries = self.entries()
        size, self._since = sum(entry[1] for entry in entries), 0
        if size > self.limit:
            for _, length, name in entries:
                if size <= self.limit * 9 // 10:
                    break
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=self.fd)
                    size -= length
                    self.stats["evicted"] += 1
        self._size = size

    def clear(self) -> int:
        """Removes every entry; how many there were."""
        entries = self.entries()
        for _, _, name in entries:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self.fd)
        self._size = None
        return len(entries)

    @contextlib.contextmanager
    def lock(self, name: str):
        """One at a time per entry, over threads and processes. Who dies lets go; who sleeps is not waited for for long."""
        import fcntl

        deadline, pause, opened = time.monotonic() + _LEASE, 0.0005, -1
        path = name + ".lock"
        try:
            while opened < 0:
                try:
                    candidate = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self.fd)
                except OSError:
                    break  # no locks here: compile twice rather than not at all
                try:
                    fcntl.flock(candidate, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    # Who had it removes the file; then this is a lock on nothing.
                    if os.fstat(candidate).st_ino == os.stat(path, dir_fd=self.fd, follow_symlinks=False).st_ino:
                        opened = candidate
                        break
                except OSError:
                    pass
                os.close(candidate)
                if time.monotonic() > deadline:
                    break
                time.sleep(pause)
                pause = min(pause * 1.5, 0.02)
            yield
        finally:
            if opened >= 0:
                with contextlib.suppress(OSError):
                    os.unlink(path, dir_fd=self.fd)
                    fcntl.flock(opened, fcntl.LOCK_UN)  # a forked child has it open, too
                os.close(opened)

    def find(self, inputs: bytes, make):
        """A small thing made from `inputs`, which may be made twice at a time."""
        name = sha256(inputs).hexdigest()
        fields = self.read(name, inputs)
        if fields is not None:
            return fields["value"]
        value = make()
        with contextlib.suppress(TypeError):
            self.write(name, inputs, {"value": value})
        return value

    def get(self, inputs: bytes, make):
        """The entry made from `inputs`: read, or made by `make()` by one process alone, and published."""
        name = sha256(inputs).hexdigest()
        fields = self.read(name, inputs)
        if fields is not None:
            return fields
        with self.lock(name):
            fields = self.read(name, inputs)
            if fields is None:
                fields = make()
                self.stats["compiles"] += 1
                self.write(name, inputs, fields)
        return fields


def _encode(inputs: bytes, fields: dict) -> bytes:
    body = pack((inputs, fields))
    return _MAGIC + sha256(body).digest() + body


def _decode(data: bytes, inputs: bytes) -> dict | None:
    if not data.startswith(_MAGIC):
        return None
    begin = len(_MAGIC) + _DIGEST
    body = data[begin:]
    if sha256(body).digest() != data[len(_MAGIC) : begin]:
        return None
    try:
        found, fields = unpack(body)
    except (ValueError, TypeError):
        return None
    return fields if found == inputs and isinstance(fields, dict) else None


_stores: dict[str, Store | None] = {}


def folder() -> str:
    """Where the cache is, or "" if it is off."""
    chosen = knobs.cache
    if chosen in ("off", "0", "no", "false"):
        return ""
    if not chosen:
        home = os.environ.get("XDG_CACHE_HOME", "")
        chosen = os.path.join(home if os.path.isabs(home) else "~/.cache", "tessera")
    return os.path.abspath(os.path.expanduser(chosen))


def store() -> Store | None:
    """The cache, or None if it is off or its folder cannot be used; that is said once."""
    place = folder()
    if not place:
        return None
    try:
        return _stores[place]
    except KeyError:
        pass
    found = None
    try:
        found = Store(place)
    except Refused as refused:
        _warn(f"the cache folder {place} {refused}; nothing is read from it or written to it")
    except OSError as error:
        _warn(f"the cache folder {place} cannot be used: {error.strerror}")
    _stores[place] = found
    return found


def _warn(text: str) -> None:
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tessera":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text + '\n fix:  TESSERA_CACHE="a folder of yours", or TESSERA_CACHE=off', CacheWarning, stacklevel=depth)


def main(arguments: list[str]) -> int:
    """`tessera cache`."""
    if arguments not in ([], ["--clear"]):
        print("usage: tessera cache [--clear]", file=sys.stderr)
        return 2
    found = store()
    if found is None:
        print("the disk cache is off" if not folder() else f"{folder()} is not used")
        return 0 if not folder() else 1
    if arguments:
        print(f"{found.clear()} entries of {found.folder} removed")
        return 0
    entries = found.entries()
    print(f"{found.folder}: {len(entries)} entries, {sum(entry[1] for entry in entries) / 1e6:.1f} of {found.limit / 1e6:.0f} MB")
    return 0
