"""Results: tables and figures."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from tcpexp import _native
from tcpexp._inputs import Inputs, Place, StrPath, below, is_url
from tcpexp._shown import shown

if TYPE_CHECKING:
    import polars


class Command:
    """The arguments of a command, with the inputs that it reads."""

    def __init__(self, arguments: Sequence[str], inputs: Inputs) -> None:
        self._arguments = ["tcpexp", *arguments]
        self._inputs = inputs

    def call(
        self,
        rows: Literal["main", "side", "none"],
        *more: str,
        columns: Sequence[str] | None = None,
    ) -> _native.Call:
        """A call with more arguments, which takes these rows and columns."""
        return _native.Call([*self._arguments, *more], rows, self._inputs.held, columns)

    def write(self, flag: str, place: StrPath) -> None:
        """Runs the command with an output."""
        # An output that exists is replaced, and `-` is a name like any other.
        place = place if is_url(place) else os.path.join(".", os.fspath(place))
        self.call("none", f"--{flag}={place}").text()

    def __repr__(self) -> str:
        return " ".join(map(shown, self._arguments))


class Table:
    """Rows that are computed when they are read, as a stream of Arrow record batches.

    Any library that takes the Arrow PyCapsule interface reads it, such as `polars.DataFrame(table)`,
    `pandas.DataFrame.from_arrow(table)`, `pyarrow.table(table)` and `duckdb.sql("from table")`. Each
    reader starts a new run over the captures; memory does not grow with their length. The columns
    are those of the command: `tcpexp.schema("command:rtt")` defines them with their units.
    """

    def __init__(self, command: Command, side: str | None = None) -> None:
        self._command = command
        self._side = side
        self._call = self._taking(None)

    def _taking(self, columns: Sequence[str] | None) -> _native.Call:
        """A call that takes these columns."""
        if self._side is None:
            return self._command.call("main", columns=columns)
        # At the command line the side table has a file. No check of files applies to a device.
        return self._command.call("side", f"--{self._side}={os.devnull}", columns=columns)

    def __arrow_c_schema__(self) -> object:
        return self._call.schema()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        # A producer may ignore the requested schema.
        return self._call.stream()

    def __iter__(self) -> Iterator[_native.Batch]:
        """Iterates over the record batches of a new run, of which each library reads one."""
        return self._call.batches()

    def scan(self) -> polars.LazyFrame:
        """The rows as a lazy frame of polars, which computes and keeps only what a query needs.

        Columns that a query does not use are not computed, its filters apply to each batch of rows,
        and the run ends after the rows of a `head`. Filters by time do not become `from_` and `to`:
        a measurement that begins later gives other rows.
        """
        import polars
        from polars.io.plugins import register_io_source

        def rows(
            columns: list[str] | None,
            predicate: polars.Expr | None,
            count: int | None,
            _batch_rows: int | None,
        ) -> Iterator[polars.DataFrame]:
            left = count
            # A query of only the row index asks for no column, but selecting none loses the height.
            taken = names[:1] if columns == [] else columns
            for batch in self._taking(taken).batches():
                frame = polars.DataFrame(batch)
                if taken is not None:
                    frame = frame.select(taken)
                # The limit counts rows of the source, before the filter.
                if left is not None:
                    frame = frame.head(left)
                    left -= len(frame)
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame.drop(names[0]) if columns == [] else frame
                if left == 0:
                    return

        schema = polars.Schema(self)
        names = schema.names()
        return register_io_source(rows, schema=schema)

    @property
    def text(self) -> str:
        """What the command prints: a text table and remarks. Runs it, unless the rows were read."""
        return self._call.text()

    def summary(self) -> None:
        """Prints what the command prints."""
        print(self.text, end="")

    def write(self, output: StrPath) -> None:
        """Writes the rows to a file or a URL: .parquet, .csv, .json or .arrow. It is complete or absent."""
        self._command.write("output", output)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"

    def __repr__(self) -> str:
        return f"<tcpexp.{type(self).__name__}: {self._command}>"


class SideTable(Table):
    """Rows of the second table of a command."""

    def __init__(self, command: Command, side: str) -> None:
        super().__init__(command, side)
        self._flag = side

    def write(self, output: StrPath) -> None:
        self._command.write(self._flag, output)


class Plotted(Table):
    """A table with a chart."""

    def plot(self) -> Figure:
        """The chart of the command's `--plot`."""
        return Figure(self._command, "plot")


class PairTable(Plotted):
    """A row per round trip or packet between two captures."""

    @property
    def flows(self) -> SideTable:
        """A row per flow and direction: packet counts and quantiles."""
        return SideTable(self._command, "flows")


class SenderTable(Plotted):
    """A row per acknowledgment that a sender received."""

    @property
    def events(self) -> SideTable:
        """A row per recovery and per retransmission."""
        return SideTable(self._command, "events")


class LogTable(Table):
    """Rows of an imported log."""

    @property
    def events(self) -> SideTable:
        """A row per retransmission and per change of the congestion state."""
        return SideTable(self._command, "events")


class Comparison(Table):
    """A row per cell and traffic class."""

    @property
    def runs(self) -> SideTable:
        """A row per run and traffic class, including excluded runs."""
        return SideTable(self._command, "runs")


class Figure:
    """A chart, which a notebook shows."""

    def __init__(self, command: Command, flag: str) -> None:
        self._command = command
        self._flag = flag
        self._svg: str | None = None

    @property
    def svg(self) -> str:
        """The chart as SVG text."""
        if self._svg is None:
            held = _native.Held()
            place = Path(held.path) / "figure.svg"
            self._command.write(self._flag, place)
            self._svg = place.read_text(encoding="utf-8")
        return self._svg

    def save(self, output: StrPath) -> None:
        """Writes the chart to a file: .svg or .png."""
        self._command.write(self._flag, output)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<tcpexp.Figure: {self._command}>"


class Part(NamedTuple):
    """The part of a pair of captures."""

    number: int
    """Number of the pair, from 1."""
    name: str
    """Name of the pair."""
    path: Place
    """Directory of the dataset, or the file with the reason why there is none."""
    end: Literal["analysed", "already there", "failed"]
    """How the task ended."""
    records: int
    """Number of records in the captures that were analysed; 0 if they were not."""

    @property
    def is_dataset(self) -> bool:
        """Whether the pair has a dataset, and not only a reason why there is none."""
        return not str(self.path).endswith(".error.json")


class Dataset:
    """A directory of Parquet tables, written by `tcpexp.analyze`; or, with `pairs`, of their parts."""

    def __init__(self, path: Place, text: str, parts: Sequence[Part] = ()) -> None:
        self.path = path
        """The directory, or its URL."""
        self.text = text
        """What the command printed: the tables with their rows and bytes."""
        self.parts = parts
        """With `pairs`, the parts in the order of the pairs."""

    @property
    def tables(self) -> dict[str, Place]:
        """The file or URL of each table, by its name."""
        if isinstance(self.path, Path):
            return {file.stem: file for file in sorted(self.path.glob("*.parquet"))}
        # What the command printed begins with the tables.
        files = re.findall(r"^(\w+\.parquet) ", self.text, re.MULTILINE)
        return {file.removesuffix(".parquet"): below(self.path, file) for file in files}

    def summary(self) -> None:
        """Prints what the command prints."""
        print(self.text, end="")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"

    def __repr__(self) -> str:
        return f"<tcpexp.Dataset: {shown(str(self.path))}>"
