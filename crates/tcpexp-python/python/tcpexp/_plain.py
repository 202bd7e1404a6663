"""Tables of datasets in the types that all engines have: no unsigned numbers, no nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow
import pyarrow.parquet

from tcpexp import _native
from tcpexp._inputs import Place, is_url, settings
from tcpexp._native import Held
from tcpexp._options import StorageOptions


def plain(kind: pyarrow.DataType) -> pyarrow.DataType:
    """The type in place of `kind`: text of a dictionary, `int64` of other whole numbers and of times."""
    if pyarrow.types.is_dictionary(kind) or pyarrow.types.is_string(kind):
        return pyarrow.string()
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_timestamp(kind):
        return pyarrow.int64()
    if pyarrow.types.is_boolean(kind) or kind == pyarrow.float64():
        return kind
    raise TypeError(f"a column has the type {kind}, which has no plain form")


def cast(batch: pyarrow.RecordBatch, columns: pyarrow.Schema) -> pyarrow.RecordBatch:
    """The batch with these columns and types. A number that does not fit is an error."""
    of_columns = [batch.column(column.name).cast(column.type) for column in columns]
    return pyarrow.RecordBatch.from_arrays(of_columns, schema=columns)


class PlainTable:
    """A Parquet file of a dataset, on disk or in a store. A file of a store is copied first."""

    def __init__(self, file: Place, storage_options: StorageOptions | None = None) -> None:
        self._held: Held | None = None
        if is_url(file):
            self._held = Held()
            copy = Path(self._held.path) / "table.parquet"
            _native.fetch(str(file), settings(storage_options), str(copy))
            file = copy
        self._file = file
        stored = pyarrow.parquet.read_schema(file)
        self.columns = pyarrow.schema([
            pyarrow.field(column.name, plain(column.type), metadata=column.metadata)
            for column in stored
        ])  # fmt: skip
        """The columns with their plain types and their descriptions."""

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The rows."""
        with pyarrow.parquet.ParquetFile(self._file) as file:
            for batch in file.iter_batches():
                yield cast(batch, self.columns)


def read_manifest(place: Place, storage_options: Mapping[str, str | bool | int] | None) -> bytes:
    """The manifest of a dataset."""
    if not is_url(place):
        return Path(place, "manifest.json").read_bytes()
    held = Held()
    copy = Path(held.path) / "manifest.json"
    _native.fetch(f"{str(place).rstrip('/')}/manifest.json", settings(storage_options), str(copy))
    return copy.read_bytes()
