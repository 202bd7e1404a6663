"""Iceberg tables of a dataset against DuckDB's rows of its files."""

import tempfile
import unittest
import warnings
from pathlib import Path

import duckdb
from pyiceberg.catalog.sql import SqlCatalog

import many
import tcpexp
import tcpexp.iceberg


class Tables(unittest.TestCase):
    def test_every_table_has_the_rows_of_the_dataset_in_one_commit(self) -> None:
        with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = many.make(Path(place), count=6, broken=2)
            one = tcpexp.Dataset(many.by_one_process(table), "")
            catalog = SqlCatalog("lab", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}/lake")
            written = tcpexp.iceberg.write(one, catalog, "campaign")
            self.assertEqual(sorted(written), sorted(one.tables))
            for name, file in one.tables.items():
                with self.subTest(name):
                    rows = catalog.load_table(f"campaign.{name}").scan().to_arrow()
                    expected = duckdb.sql(f"SELECT {columns(str(file))} FROM '{file}'").fetchall()
                    found = [tuple(row.values()) for row in rows.to_pylist()]
                    self.assertEqual(sorted(map(repr, found)), sorted(map(repr, expected)))
            # The same dataset again changes nothing, another one replaces the rows.
            before = catalog.load_table("campaign.rtt").metadata.snapshots
            self.assertEqual(tcpexp.iceberg.write(one, catalog, "campaign"), [])
            self.assertEqual(catalog.load_table("campaign.rtt").metadata.snapshots, before)
            part = tcpexp.analyze(many.FIXTURES / "short-cubic-reordering", output=Path(place, "small"))
            tcpexp.iceberg.write(part, catalog, "campaign")
            [(count,)] = duckdb.sql(f"SELECT count(*) FROM '{part.tables['rtt']}'").fetchall()
            self.assertEqual(len(catalog.load_table("campaign.rtt").scan().to_arrow()), count)


def columns(file: str) -> str:
    """The columns of a Parquet file, with times as whole numbers."""
    described = duckdb.sql(f"DESCRIBE FROM '{file}'").fetchall()
    named = [
        f'epoch_ns("{name}") AS "{name}"' if kind.startswith("TIMESTAMP") else f'"{name}"'
        for name, kind, *_ in described
    ]
    return ", ".join(named)


if __name__ == "__main__":
    unittest.main()
