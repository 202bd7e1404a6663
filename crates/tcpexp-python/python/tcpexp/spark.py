"""Tables of many pairs of captures in Spark SQL, 4.0 or later.

>>> spark.dataSource.register(tcpexp.spark.PairSource)
>>> rtt = spark.read.format("tcpexp").options(parts="parts", table="rtt").load("pairs.parquet")
>>> rtt.groupBy("pair").agg({"rtt_ns": "min"}).show()

Each pair is a partition, and is analysed when it is first read. The executors need this package, and a
file system that they share or an object store.
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any, cast

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from tcpexp import CaptureWarning, Part, _native, analyze, schema
from tcpexp._inputs import FLAGS, absolute, below, is_url, path as _path, settings, working_directory
from tcpexp._native import read_pairs
from tcpexp._options import PairsOptions, StorageOptions, check
from tcpexp._plain import PlainTable, cast as _cast

__all__ = ["PairSource"]

ERRORS = "errors"
"""Name of the table of the pairs that cannot be analysed."""
OF_ERRORS = pyarrow.schema([
    ("number", pyarrow.int64()), ("pair", pyarrow.string()), ("src", pyarrow.string()),
    ("dst", pyarrow.string()), ("error", pyarrow.string()),
])  # fmt: skip
# Spark has no unsigned numbers, and no times in nanoseconds.
TYPES = {
    "Boolean": pyarrow.bool_(),
    "Dictionary(Int32, Utf8)": pyarrow.string(),
    "Float64": pyarrow.float64(),
    "Int64": pyarrow.int64(),
    "Timestamp(ns, \"UTC\")": pyarrow.int64(),
    "UInt32": pyarrow.int64(),
    "UInt64": pyarrow.int64(),
    "Utf8": pyarrow.string(),
}  # fmt: skip
SPARK_TYPES = {
    pyarrow.bool_(): "boolean",
    pyarrow.float64(): "double",
    pyarrow.int64(): "bigint",
    pyarrow.string(): "string",
}
NO_OPTION = ("param",)


class PairSource(DataSource):
    """The data source `tcpexp`: a table of all pairs in a table of `tcpexp.pairs`.

    The path is the table of pairs. Options:

    - `table`: name of a table of a dataset, or `errors`. Default: `rtt`.
    - `parts`: directory of the parts, which all executors share, or a URL. Required.
    - `storage_options`: options of object stores as JSON, such as `{"aws_region": "eu-west-1"}`.
    - The options of `tcpexp.analyze`, as text: `max_owd`, `bin`, `symmetric`, `one_clock` and others.

    The columns are those of the dataset of `tcpexp merge --pairs`. Times are nanoseconds since 1970 as
    `bigint`, because Spark's own times have microseconds, and all numbers of packets and bytes are
    `bigint`: a number above 2^63 is an error.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "tcpexp"

    def schema(self) -> str:
        """The columns of the table, in SQL."""
        columns = _columns(self._table)
        return ", ".join(f"`{column.name}` {SPARK_TYPES[column.type]}" for column in columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads the table."""
        given = {name.lower(): value for name, value in self.options.items()}
        manifest, parts = given.pop("path", None), given.pop("parts", None)
        given.pop("table", None)
        if manifest is None or parts is None:
            raise ValueError("load() needs the table of pairs, and the option parts its directory")
        options = {name: _value(name, text) for name, text in given.items()}
        for name in NO_OPTION:
            if name in options:
                raise ValueError(f"{name} is no option of this source")
        check(PairsOptions, options)
        return _Reader(_path(manifest), parts, self._table, cast(PairsOptions, options))

    @property
    def _table(self) -> str:
        return str(self.options.get("table", "rtt"))


class _Pair(InputPartition):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Reader(DataSourceReader):
    def __init__(self, manifest: str, parts: str, table: str, options: PairsOptions) -> None:
        self._manifest = absolute(manifest)
        self._parts = absolute(parts)
        self._table = table
        self._options = options
        # Relative paths in the table of pairs count from here.
        self._place = os.getcwd()

    @property
    def _stores(self) -> list[str]:
        return settings(self._options.get("storage_options"))

    def partitions(self) -> list[InputPartition]:
        return [_Pair(number) for number, _, _ in read_pairs(self._manifest, self._stores)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        # Those of a pair are in the manifest of its part.
        with working_directory(self._place), warnings.catch_warnings():
            warnings.simplefilter("ignore", CaptureWarning)
            made = analyze(
                pairs=self._manifest, task=cast(_Pair, partition).number, output=self._parts, jobs=1, **self._options
            )
        [part] = made.parts
        if self._table == ERRORS:
            yield from _errors(part, self._stores)
        elif part.is_dataset:
            columns = _columns(self._table)
            file = below(part.path, f"{self._table}.parquet")
            for batch in PlainTable(file, self._options.get("storage_options")).batches():
                yield _cast(batch, columns)


def _columns(table: str) -> pyarrow.Schema:
    """The columns of a table."""
    if table == ERRORS:
        return OF_ERRORS
    [known] = schema(table)
    columns = [(column["name"], TYPES[column["type"]]) for column in known["columns"]]
    return pyarrow.schema([("pair", pyarrow.string()), *columns])


def _errors(part: Part, stores: list[str]) -> Iterator[pyarrow.RecordBatch]:
    """The row of a pair that cannot be analysed."""
    if part.is_dataset:
        return
    failed = json.loads(_text(str(part.path), stores))
    row = {
        "number": part.number,
        "pair": part.name,
        "src": failed["src"][0],
        "dst": failed["dst"][0],
        "error": failed["error"],
    }
    yield pyarrow.RecordBatch.from_pylist([row], schema=OF_ERRORS)


def _text(place: str, stores: list[str]) -> str:
    if not is_url(place):
        with open(place, encoding="utf-8") as file:
            return file.read()
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as copy:
        _native.fetch(place, stores, copy.name)
        return copy.read()


def _value(name: str, text: str) -> Any:
    """An option as its keyword takes it."""
    if name == "storage_options":
        return cast(StorageOptions, json.loads(text))
    if name not in FLAGS:
        return text
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{name} is true or false, not {text}")
    return text.lower() == "true"
