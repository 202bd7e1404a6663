"""The extension module: calls of the command, and their rows."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

class Error(Exception):
    """A measurement failed. The text names the file and the place; `__cause__` is the cause."""

class CaptureWarning(UserWarning):
    """What may limit the use of a result, such as packets that a capture missed."""

class Held:
    """A temporary directory that exists as long as a table or a stream reads from it."""

    @property
    def path(self) -> str: ...

class Batch:
    """Rows in memory, which libraries read through the Arrow PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

class Call:
    """A call of the command: its arguments, and the table to take from it."""

    def __new__(
        cls,
        arguments: Sequence[str],
        rows: Literal["main", "side", "none"],
        held: Sequence[Held],
        columns: Sequence[str] | None = None,
    ) -> Call: ...
    def schema(self) -> object:
        """The schema of the table, as an `arrow_schema` capsule."""

    def stream(self) -> object:
        """The rows of a new run, as an `arrow_array_stream` capsule."""

    def batches(self) -> Iterator[Batch]:
        """The rows of a new run, batch by batch. Dropping the iterator stops the run."""

    def text(self) -> str:
        """What the command prints. Runs it, unless a stream was read to its end."""

    def pairs(self) -> list[tuple[int, str, str, Literal["analysed", "already there", "failed"], int]]:
        """The pairs of `analyze --pairs`: number, name, part, how its task ended, and records read."""

def read_pairs(table: str, storage_options: Sequence[str]) -> list[tuple[int, str, int]]:
    """Number, name and bytes of each pair in a table of `tcpexp pairs`. Options are NAME=VALUE."""

def fetch(url: str, storage_options: Sequence[str], path: str) -> None:
    """Copies an object to a file."""

def count_runs(plan: str) -> int:
    """Number of runs of a plan."""

def on_progress(show: Callable[[int, int], None] | None) -> None:
    """Sets what is called with the bytes that were read, and all bytes, during long commands."""

def main(arguments: Sequence[str]) -> int:
    """Runs the command with the arguments of a process, and returns its exit code."""
