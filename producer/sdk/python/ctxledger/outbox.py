"""The outbox keeps batches on disk until the gateway has answered.

    <folder>/<time>-<number>-<process>.json   one batch: a JSON array of CloudEvents
    <folder>/owner-<host>-<process>-<start>   the process that uses the folder

A batch is written to a file that ends in .json.new, synced and renamed. A crash loses no batch
and shows no half of one. The next owner removes the half. A batch that is sent twice counts once, so a crash between the
answer and the removal is harmless. The SDK for TypeScript uses the same files.

A process writes its own owner file and then looks for others. So of two processes that begin
together at least one sees the other. An owner is gone if its process has ended. Where that
cannot be known, as on another host, an owner is gone if its file is older than a minute; a
live owner touches its file.
"""
from __future__ import annotations

import itertools
import json
import os
import re
import socket
import threading
import time
from typing import List, Set

_numbers = itertools.count()
_open: Set[str] = set()
_open_lock = threading.Lock()
_STALE = 60  # seconds without a touch, on another host
TOUCH = 15  # seconds between two touches


class OutboxInUse(RuntimeError):
    """OutboxInUse means that another client or process uses the folder of the outbox."""


class Outbox:
    """Outbox is a folder that one client owns until close."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.folder = os.path.realpath(folder)
        host = re.sub("[^A-Za-z0-9.]", "_", socket.gethostname())
        self._owner = os.path.join(self.folder, f"owner-{host}-{os.getpid()}-{_start(os.getpid())}")
        with _open_lock:
            if self.folder in _open:
                raise OutboxInUse(f"another client of this process uses the outbox {folder}; give each client a folder of its own")
            _open.add(self.folder)
        try:
            with open(self._owner, "w"):
                pass
            for name in os.listdir(self.folder):
                path = os.path.join(self.folder, name)
                if not name.startswith("owner-") or path == self._owner:
                    continue
                if _alive(path, name, host):
                    raise OutboxInUse(f"process {name.split('-')[-2]} uses the outbox {folder}; give each process a folder of its own")
                _remove(path)
            for name in os.listdir(self.folder):
                if name.endswith(".json.new"):
                    _remove(os.path.join(self.folder, name))
        except BaseException:
            self.close()
            raise

    def touch(self) -> None:
        """touch shows processes of other hosts that the owner is alive."""
        try:
            os.utime(self._owner)
        except OSError:
            pass

    def close(self) -> None:
        """close gives the folder to the next client."""
        _remove(self._owner)
        with _open_lock:
            _open.discard(self.folder)

    def waiting(self) -> List[str]:
        """waiting returns the names of the batches of earlier processes, oldest first."""
        return sorted(name for name in os.listdir(self.folder) if name.endswith(".json"))

    def keep(self, documents: List[bytes]) -> str:
        """keep returns the name of a batch when the batch is durable on this machine."""
        name = f"{time.time_ns() // 1_000_000:014d}-{next(_numbers):08d}-{os.getpid()}.json"
        path = os.path.join(self.folder, name)
        descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(b"[" + b",".join(documents) + b"]")
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)
        if os.name == "posix":
            descriptor = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        return name

    def read(self, name: str) -> List[bytes]:
        """read returns the events of a batch as JSON texts."""
        with open(os.path.join(self.folder, name), "rb") as file:
            return [json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() for event in json.load(file)]

    def set_aside(self, name: str) -> None:
        """set_aside keeps a batch that cannot be read under another name."""
        os.replace(os.path.join(self.folder, name), os.path.join(self.folder, name + ".unreadable"))

    def remove(self, name: str) -> None:
        _remove(os.path.join(self.folder, name))


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


def _start(process: int) -> str:
    """_start returns the start of a process, which tells it from an earlier one with its id."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return "0"


def _alive(path: str, name: str, host: str) -> bool:
    match = re.fullmatch("owner-([^-]*)-([0-9]+)-([0-9]+)", name)
    if not match:
        return False
    if match[1] != host or os.name != "posix":  # elsewhere, signal 0 is not a question
        try:
            return time.time() - os.stat(path).st_mtime < _STALE
        except FileNotFoundError:
            return False
    process = int(match[2])
    if process == os.getpid():
        return False  # an earlier process with this id
    try:
        os.kill(process, 0)
    except PermissionError:
        pass
    except OSError:
        return False
    return match[3] == _start(process)
