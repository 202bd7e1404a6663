"""Reads each Parquet table of a directory with pandas, polars and DuckDB, and compares what they find.

No column is cast: the three must see the same types and values. With a second argument, the table is
also there as Arrow, CSV and JSON, and must be the same.
"""

import sys
from pathlib import Path

import duckdb
import pandas
import polars

duckdb.sql("SET TimeZone = 'UTC'")
INTEGERS = (polars.Int64, polars.UInt64, polars.UInt32)


def sql(columns, path):
    return duckdb.sql(f"SELECT {columns} FROM '{path}'").fetchall()[0]


def kinds(path):
    """Time, text, flag or number, of each column, on which all three agree."""
    known = {
        "datetime64[ns, UTC]": "time",
        "category": "text",
        "bool": "flag",
        "object": "flag",
        "Datetime(time_unit='ns', time_zone='UTC')": "time",
        "Categorical": "text",
        "Boolean": "flag",
        "TIMESTAMPTZ_NS": "time",
        "VARCHAR": "text",
        "BOOLEAN": "flag",
    }
    described = duckdb.sql(f"DESCRIBE FROM '{path}'").fetchall()
    found = [
        dict(pandas.read_parquet(path).dtypes),
        dict(polars.read_parquet_schema(path)),
        {name: kind for name, kind, *_ in described},
    ]
    found = [{name: known.get(str(kind), "number") for name, kind in one.items()} for one in found]
    assert found[0] == found[1] == found[2], (path, found)
    return found[0]


def check(path):
    frame, table = pandas.read_parquet(path), polars.read_parquet(path)
    assert len(frame) == len(table) == sql("count(*)", path)[0], path
    for name, kind in kinds(path).items():
        column, where = table[name], (path, name)
        values = column.drop_nulls()
        assert len(values) == frame[name].count() == sql(f'count("{name}")', path)[0], where
        if len(values) == 0:
            continue
        if kind == "time":
            first = values.dt.timestamp("ns").min()
            assert first == frame[name].min().value == sql(f'epoch_ns(min("{name}"))', path)[0], where
        elif kind == "text":
            differ = values.n_unique()
            assert differ == frame[name].nunique(), where
            assert differ == sql(f'count(DISTINCT "{name}")', path)[0], where
        elif column.dtype in INTEGERS:
            assert sum(values) == sql(f'sum("{name}")', path)[0], where
        if name.endswith("_share"):
            assert column.dtype == polars.Float64 and 0 <= values.min(), where


def check_formats(path):
    table, names = polars.read_parquet(path), kinds(path)
    arrow = polars.read_ipc(path.with_suffix(".arrow"))
    assert table.columns == arrow.columns and len(table) == len(arrow), path
    for name, kind in names.items():
        expected = table[name].cast(polars.String) if kind == "text" else table[name]
        assert expected.equals(arrow[name]), (path, name)
    for ending in (".csv", ".json"):
        other = path.with_suffix(ending)
        assert len(table) == sql("count(*)", other)[0], other
        # Text does not show the type of a column without values.
        times = (name for name, kind in names.items() if kind == "time" and table[name].count() > 0)
        for name in times:
            # DuckDB finds times in text and keeps microseconds of them.
            both = [sql(f'epoch_ns(min("{name}")) // 1000', file)[0] for file in (path, other)]
            assert both[0] == both[1], (other, name, both)


def check_folder(folder):
    """A folder with the files of one table opens as one table."""
    files = sorted(folder.glob("*"))
    rows = sum(len(polars.read_parquet(file)) for file in files)
    frame, table = pandas.read_parquet(folder), polars.read_parquet(folder)
    described = duckdb.sql(f"DESCRIBE FROM read_parquet('{folder}')").fetchall()
    columns = [name for name, *_ in described]
    assert list(frame.columns) == table.columns == columns, folder
    counted = duckdb.sql(f"SELECT count(*) FROM read_parquet('{folder}')").fetchall()[0][0]
    assert len(frame) == len(table) == counted == rows, folder
    if rows > 0:
        runs = {Path(file).stem for file in files if len(polars.read_parquet(file))}
        assert set(frame["run"]) == set(table["run"]) == runs, folder


folders = sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir())
for folder in folders:
    check_folder(folder)
paths = sorted(Path(sys.argv[1]).glob("*.parquet"))
for path in paths:
    check(path)
    if len(sys.argv) > 2:
        check_formats(path)
print(len(paths) + len(folders), "tables")
