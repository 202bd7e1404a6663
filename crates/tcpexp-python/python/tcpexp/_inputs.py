"""Captures and options as arguments of the command."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import IO, TypeAlias

from tcpexp._native import Held

StrPath: TypeAlias = "str | os.PathLike[str]"
Capture: TypeAlias = "StrPath | bytes | IO[bytes] | Sequence[StrPath]"
"""A capture: a path, a folder or a pattern such as `"src*.pcap"`, the URL of an object such as
`"s3://bucket/src.pcap"`, its bytes, a file object that is read to its end, or a list of the paths of
rotated files."""
Span: TypeAlias = "str | timedelta"
"""A length of time: a `timedelta`, or text with its unit, such as `"250ms"`."""
Moment: TypeAlias = "str | datetime | timedelta"
"""A moment of a capture: a `timedelta` after its first record (before its last, if negative), a
`datetime` with a time zone, or text as of the command's `--from`."""
Flow: TypeAlias = "int | str"
"""A flow: its number or port, or a part of `"address:port > address:port"`."""
Value: TypeAlias = "bool | int | float | StrPath | Moment | None"
_SCHEMES = ("s3://", "gs://", "az://", "http://", "https://")

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Inputs:
    """Paths of inputs, and the temporary folders of those that have none."""

    def __init__(self) -> None:
        self.held: list[Held] = []

    def capture(self, capture: Capture) -> str:
        """The path of a capture. Bytes and file objects are copied to a temporary file."""
        if isinstance(capture, str) and is_url(capture):
            return capture
        if isinstance(capture, (str, os.PathLike)):
            return path(capture)
        if isinstance(capture, (bytes, bytearray, memoryview)):
            place = self._folder() / "bytes"
            place.write_bytes(capture)
            return str(place)
        if isinstance(capture, Sequence):
            return self._set(capture)  # type: ignore[arg-type]  # bytes are handled above
        if hasattr(capture, "read"):
            name = getattr(capture, "name", None)
            # Files without a name have a number, or none.
            place = self._folder() / (os.path.basename(name) if isinstance(name, str) else "file")
            with place.open("wb") as file:
                shutil.copyfileobj(capture, file)
            return str(place)
        kind = type(capture).__name__
        raise TypeError(f"a capture is a path, bytes, a file object or a list of paths, not {kind}")

    def _set(self, parts: Sequence[StrPath]) -> str:
        """A folder with links to the files of one capture."""
        if not parts:
            raise ValueError("an empty list of captures")
        folder = self._folder()
        for part in parts:
            target = os.path.abspath(path(part))
            link = folder / os.path.basename(target)
            if link.is_symlink():
                # Numbers in names show missing files, so the name is kept where it can be.
                link = folder / f"{target.strip(os.sep).replace(os.sep, '_')}"
            link.symlink_to(target)
        return str(folder)

    def _folder(self) -> Path:
        held = Held()
        self.held.append(held)
        return Path(held.path)


def is_url(place: StrPath) -> bool:
    """Whether a place is an object in a store, and not a path."""
    return isinstance(place, str) and place.startswith(_SCHEMES)


def local(place: StrPath) -> Path:
    """The path of an output that this package reads again."""
    if is_url(place):
        raise ValueError(f"cannot write {place} from Python: use the command tcpexp")
    return Path(place)


def path(place: StrPath) -> str:
    """The path of an input that exists."""
    text = os.fspath(place)
    if "://" in text:
        raise ValueError(f"cannot read {text}: download it, and give its path or its bytes")
    if text == "-":
        raise ValueError("standard input belongs to the interpreter: use sys.stdin.buffer")
    # A name with these characters may be a pattern.
    if not any(mark in os.path.basename(text) for mark in "*?["):
        os.stat(text)
    # A path never looks like an option.
    return os.path.join(os.curdir, text) if text.startswith("-") else text


def flags(options: Iterable[tuple[str, Value | Sequence[Value] | Mapping[str, Value]]]) -> list[str]:
    """The arguments of options: `max_owd="5s"` is `--max-owd=5s`, and `storage_options={"timeout":
    "9s"}` is `--storage-option=timeout=9s`."""
    arguments: list[str] = []
    for name, value in options:
        flag = "--" + name.strip("_").replace("_", "-")
        several: Sequence[Value]
        if isinstance(value, Mapping):
            flag = flag.removesuffix("s")
            several = [f"{key}={_setting(one)}" for key, one in value.items()]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            several = value
        else:
            several = [value]
        for one in several:
            if one is True:
                arguments.append(flag)
            elif one is not None and one is not False:
                arguments.append(f"{flag}={_text(one)}")
    return arguments


def _setting(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else _text(value)


def _text(value: Value) -> str:
    if isinstance(value, timedelta):
        return f"{value // _MICROSECOND}us"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        since = (value - _EPOCH) // _MICROSECOND
        if since < 0:
            raise ValueError(f"{value} is before 1970")
        return f"{since // 10**6}.{since % 10**6:06}"
    return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)
