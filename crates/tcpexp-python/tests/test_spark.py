"""Rows of the Spark source against DuckDB's over the dataset of one process."""

import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import duckdb
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import many
import tcpexp
import tcpexp.spark


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        # Spark's own choice is the first python3 of the path.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        cls.spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
        cls.spark.sparkContext.setLogLevel("OFF")
        cls.spark.dataSource.register(tcpexp.spark.PairSource)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.spark.stop()

    def test_every_table_has_the_rows_of_the_dataset(self) -> None:
        with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = many.make(Path(place), count=6, broken=2)
            one = many.by_one_process(table)
            reader = self.spark.read.format("tcpexp").option("parts", f"{place}/of_spark")
            for file in sorted(one.glob("*.parquet")):
                with self.subTest(file.stem):
                    rows = reader.option("table", file.stem).load(str(table))
                    names = duckdb.sql(f"DESCRIBE FROM '{file}'").fetchall()
                    columns = [
                        f'epoch_ns("{name}")' if kind.startswith("TIMESTAMP") else f'"{name}"'
                        for name, kind, *_ in names
                    ]
                    self.assertEqual(rows.columns, [name for name, *_ in names])
                    if file.stem != "errors":
                        self.assertEqual(rows.rdd.getNumPartitions(), 6)
                    expected = duckdb.sql(f"SELECT {', '.join(columns)} FROM '{file}'").fetchall()
                    self.assertEqual(sorted(map(repr, map(tuple, rows.collect()))), sorted(map(repr, expected)))

            reader.option("table", "rtt").load(str(table)).createOrReplaceTempView("rtt")
            query = "SELECT pair, count(*), min(rtt_ns), max(rtt_ns) FROM {} GROUP BY pair ORDER BY pair"
            ours = [tuple(row) for row in self.spark.sql(query.format("rtt")).collect()]
            self.assertEqual(ours, duckdb.sql(query.format(f"'{one}/rtt.parquet'")).fetchall())
            self.assertGreater(len(ours), 3)

    def test_wrong_options_are_refused(self) -> None:
        reader = self.spark.read.format("tcpexp")
        with self.assertRaisesRegex(PySparkException, "the option parts"):
            reader.load("pairs.parquet").collect()
        with self.assertRaisesRegex(PySparkException, "bni"):
            reader.options(parts="parts", bni="1ms").load("pairs.parquet").collect()


if __name__ == "__main__":
    unittest.main()
