"""Captures and options as arguments of the command."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from numbers import Integral
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias

from tcpexp._native import Held
from tcpexp._objects import Object

StrPath: TypeAlias = "str | os.PathLike[str]"
"""A path, or the URL of an object such as `"s3://bucket/rtt.parquet"`."""


class Readable(Protocol):
    """A file object of bytes, such as those of `open(..., "rb")` and `gzip.open(...)`."""

    def read(self, size: int = ..., /) -> bytes | None: ...


Capture: TypeAlias = "StrPath | bytes | bytearray | memoryview | Readable | Object | Sequence[StrPath]"
"""A capture: a path, a folder or a pattern such as `"src*.pcap"`, the URL of an object such as
`"s3://bucket/src.pcap"`, an `Object` of a store of obstore, its bytes, a file object that is read to
its end, or a list of the paths or URLs of rotated files."""
Span: TypeAlias = "str | timedelta"
"""A length of time: a `timedelta`, or text with its unit, such as `"250ms"`."""
Moment: TypeAlias = "str | datetime | timedelta"
"""A moment of a capture: a `timedelta` after its first record (before its last, if negative), a
`datetime` with a time zone, or text as of the command's `--from`."""
Flow: TypeAlias = "int | str"
"""A flow: its number or port, or a part of `"address:port > address:port"`."""
Value: TypeAlias = "bool | int | float | StrPath | Moment | None"
Place: TypeAlias = "Path | str"
"""The place of a result: a path, or a URL as text."""
FLAGS = (
    "control", "empty_bins", "inner", "labels", "no_mmap", "one_clock", "symmetric", "x_log", "y_log",
)  # fmt: skip
"""Options without a value, which are true or false."""
_SCHEMES = ("s3://", "gs://", "az://", "http://", "https://")

_PART_BYTES = 1 << 20
"""Bytes that one read of a file object asks for."""
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Inputs:
    """Paths of inputs, and the temporary folders of those that have none."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        self.store_options: dict[str, str] = {}

    def capture(self, capture: Capture) -> str:
        """The path of a capture. Bytes and file objects are copied to a temporary file."""
        if isinstance(capture, Object):
            return self._object(capture)
        if isinstance(capture, (str, os.PathLike)):
            return path(capture)
        if isinstance(capture, (bytes, bytearray, memoryview)):
            place = self._folder() / "bytes"
            place.write_bytes(capture)
            return str(place)
        if isinstance(capture, Sequence):
            return self._set(capture)  # type: ignore[arg-type]  # bytes are handled above
        if hasattr(capture, "read"):
            place = self._folder() / _file_name(capture)
            with place.open("wb") as file:
                _copy(capture, file)
            return str(place)
        kind = type(capture).__name__
        raise TypeError(f"a capture is a path, bytes, a file object or a list of paths, not {kind}")

    def _set(self, parts: Sequence[StrPath]) -> str:
        """A list of the files of one capture."""
        if not parts:
            raise ValueError("an empty list of captures")
        places = [path(part) for part in parts]
        lines = [place if is_url(place) else os.path.abspath(place) for place in places]
        for line in lines:
            # A list has a path per line in UTF-8, without the space around it.
            if line != line.strip() or len(line.splitlines()) != 1 or not _is_utf8(line):
                raise ValueError(f"a list of captures cannot contain {line!r}: rename the file")
        listed = self._folder() / "list.txt"
        listed.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return f"@{listed}"

    def _object(self, capture: Object) -> str:
        """The URL of an object. The options of its store become those of the command."""
        url, options = capture.place()
        for name, value in options.items():
            if self.store_options.setdefault(name, value) != value:
                raise ValueError(f"two stores with different options {name}: give URLs")
        return url

    def _folder(self) -> Path:
        held = Held()
        self.held.append(held)
        return Path(held.path)


def _file_name(file: Readable) -> str:
    """The name of the copy of a file object."""
    name = getattr(file, "name", None)
    # Files without a name have a number, or none. That of an archive may be that of a folder.
    name = os.path.basename(name) if isinstance(name, str) else ""
    return "file" if name in ("", os.curdir, os.pardir) else name


def _copy(source: Readable, target: BinaryIO) -> None:
    while True:
        part = source.read(_PART_BYTES)
        # A file object that does not block has nothing now, which is not its end.
        if part is None:
            raise BlockingIOError("the file object has no data yet: make it blocking")
        if not part:
            return
        target.write(part)


def _is_utf8(text: str) -> bool:
    """Whether a path is UTF-8: Python has surrogates in place of other bytes (PEP 383)."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def is_url(place: StrPath) -> bool:
    """Whether a place is an object in a store, and not a path."""
    return isinstance(place, str) and place.startswith(_SCHEMES)


def output(place: StrPath) -> Place:
    """The place of an output: a URL, or a path."""
    return place if isinstance(place, str) and is_url(place) else Path(place)


def below(place: Place, name: str) -> Place:
    """A place in a folder."""
    return f"{place.rstrip('/')}/{name}" if isinstance(place, str) else place / name


def absolute(place: StrPath) -> str:
    """A place that means the same in each working directory."""
    return os.fspath(place) if is_url(place) else os.path.abspath(place)


def working_directory(place: str) -> contextlib.AbstractContextManager[None]:
    """Relative paths count from `place`, if the node has it: absolute paths and URLs do without."""
    return contextlib.chdir(place) if os.path.isdir(place) else contextlib.nullcontext()


def path(place: StrPath) -> str:
    """The path of an input that exists, or a URL."""
    text = os.fspath(place)
    if is_url(text):
        return text
    if text == "-":
        raise ValueError("standard input belongs to the interpreter: use sys.stdin.buffer")
    # A name with these characters may be a pattern.
    if not any(mark in os.path.basename(text) for mark in "*?["):
        os.stat(text)
    # A path never looks like an option or a list of files.
    return os.path.join(os.curdir, text) if text.startswith(("-", "@")) else text


def flags(options: Iterable[tuple[str, Value | Sequence[Value] | Mapping[str, Value]]]) -> list[str]:
    """The arguments of options: `max_owd="5s"` is `--max-owd=5s`, and `storage_options={"timeout":
    "9s"}` is `--storage-option=timeout=9s`."""
    arguments: list[str] = []
    for name, value in options:
        flag = "--" + name.strip("_").replace("_", "-")
        several: Sequence[Value]
        if isinstance(value, Mapping):
            flag = flag.removesuffix("s")
            several = settings(value)
        elif value is None:
            several = []
        elif isinstance(value, bytes):
            raise TypeError(f"{name} takes a value, not bytes")
        elif isinstance(value, str) or not isinstance(value, Sequence):
            several = [value]
        else:
            if not value and name == "flow":
                raise ValueError("an empty list of flows")
            if any(one is None for one in value):
                raise TypeError(f"{name} contains None")
            several = value
        for one in several:
            if isinstance(one, bool):
                # At the command line, the flag of an option takes the next argument as its value.
                if name not in FLAGS or value is not one:
                    raise TypeError(f"{name} takes a value, not {one}")
                if one:
                    arguments.append(flag)
            elif name == "flow" and not isinstance(one, (str, Integral)):
                kind = type(one).__name__
                raise TypeError(f"a flow is a number or a text, not {kind}")
            elif name == "flow" and not str(one).strip():
                raise ValueError("an empty text would select every flow")
            else:
                arguments.append(f"{flag}={_text(one)}")
    return arguments


def settings(options: Mapping[str, Value] | None) -> list[str]:
    """Options of object stores as NAME=VALUE."""
    return [f"{name}={_setting(value)}" for name, value in (options or {}).items()]


def _setting(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else _text(value)


def _text(value: Value) -> str:
    # The times of pandas are those of Python, with nanoseconds.
    if isinstance(value, timedelta):
        micros, nanos = value // _MICROSECOND, getattr(value, "nanoseconds", 0)
        return f"{1000 * micros + nanos}ns" if nanos else f"{micros}us"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        since = (value - _EPOCH) // _MICROSECOND
        if since < 0:
            raise ValueError(f"{value} is before 1970")
        nanos = getattr(value, "nanosecond", 0)
        return f"{since // 10**6}.{since % 10**6:06}" + (f"{nanos:03}" if nanos else "")
    return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)
