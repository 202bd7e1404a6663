"""Rows of the module against the command's Parquet files, in each library that reads Arrow."""

import contextlib
import gzip
import io
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from datetime import timedelta
from pathlib import Path
from typing import Literal

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet

import tcpexp

REPOSITORY = Path(__file__).resolve().parents[3]
FIXTURES = REPOSITORY / "fixtures"
RENO = FIXTURES / "reno-2mbit-40ms-50p"
SRC, DST = RENO / "src.pcap.gz", RENO / "dst.pcap.gz"
# More rows than a record batch has, so that dictionaries differ from batch to batch.
FINE = {"bin": "1ms", "empty_bins": True}


def tables() -> dict[str, tuple[tcpexp.Table, list[str]]]:
    """Each table of the module, and the command that writes it, with OUT as the file."""
    src, dst, reno = str(SRC), str(DST), str(RENO)
    log = str(RENO / "probe.csv.gz")
    events = ["--events", "OUT"]
    return {
        "rtt": (tcpexp.rtt(SRC, DST), ["rtt", src, dst, "-o", "OUT"]),
        "rtt of one capture": (tcpexp.rtt(SRC), ["rtt", src, "-o", "OUT"]),
        "flows of rtt": (tcpexp.rtt(SRC, DST).flows, ["rtt", src, dst, "--flows", "OUT"]),
        "path": (tcpexp.path(SRC, DST), ["path", src, dst, "-o", "OUT"]),
        "flows of path": (tcpexp.path(SRC, DST).flows, ["path", src, dst, "--flows", "OUT"]),
        "flows": (tcpexp.flows(SRC, DST), ["flows", src, dst, "-o", "OUT"]),
        "cwnd": (tcpexp.cwnd(SRC, DST), ["cwnd", src, dst, "-o", "OUT"]),
        "events of cwnd": (tcpexp.cwnd(SRC).events, ["cwnd", src, *events]),
        "throughput": (
            tcpexp.throughput(SRC, rate=2_000_000, **FINE),
            ["throughput", src, "--bin=1ms", "--empty-bins", "--rate=2Mbit", "-o", "OUT"],
        ),
        "why": (tcpexp.why(SRC), ["why", src, "-o", "OUT"]),
        "explain": (
            tcpexp.explain(SRC, ":54058", at=timedelta(seconds=10)),
            ["explain", src, "--flow=:54058", "--at=10s", "-o", "OUT"],
        ),
        "import": (tcpexp.import_log("tcp_probe", log), ["import", "tcp_probe", log, "-o", "OUT"]),
        "score": (tcpexp.score(RENO), ["score", reno, "-o", "OUT"]),
    }


def command(*arguments: str) -> str:
    """What the installed command prints."""
    found = subprocess.run(["tcpexp", *arguments], capture_output=True, text=True, check=True)
    return found.stdout


class Rows(unittest.TestCase):
    def test_every_library_reads_the_rows_of_the_command(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for number, (name, (table, arguments)) in enumerate(tables().items()):
                with self.subTest(name):
                    file = str(Path(folder, f"{number}.parquet"))
                    command(*[file if word == "OUT" else word for word in arguments])
                    self.same_in_all(table, file)

    def test_a_stream_keeps_the_copies_of_its_inputs(self) -> None:
        stream = tcpexp.rtt(SRC.read_bytes(), DST.read_bytes()).__arrow_c_stream__()
        reader = pyarrow.RecordBatchReader._import_from_c_capsule(stream)
        self.assertEqual(len(reader.read_all()), len(polars.DataFrame(tcpexp.rtt(SRC, DST))))

    def test_lazy_frames_take_what_a_query_needs(self) -> None:
        table = tcpexp.throughput(SRC, **FINE)
        rows, lazy = polars.DataFrame(table), table.scan()
        self.assertTrue(lazy.collect().equals(rows))
        query = polars.col("direction") == "forward"
        few = [polars.col("packets").sum(), polars.col("packets").max().alias("most")]
        self.assertTrue(lazy.filter(query).select(few).collect().equals(rows.filter(query).select(few)))
        self.assertTrue(lazy.head(70_000).collect().equals(rows.head(70_000)))
        first = lazy.filter(query).head(7).select("start_time", "packets")
        self.assertTrue(first.collect().equals(rows.filter(query).head(7)["start_time", "packets"]))
        self.assertEqual(lazy.select(polars.len()).collect().item(), len(rows))
        index = polars.col("index")
        engines: list[Literal["in-memory", "streaming"]] = ["in-memory", "streaming"]
        for engine in engines:
            numbers = lazy.with_row_index().filter(index % 7 == 0).select("index").collect(engine=engine)
            expected = rows.with_row_index().filter(index % 7 == 0).select("index")
            self.assertTrue(numbers.equals(expected), engine)
        self.assertEqual(sum(len(polars.DataFrame(batch)) for batch in table), len(rows))
        self.assertTrue(tcpexp.scan_throughput(SRC, **FINE).filter(query).collect().equals(rows.filter(query)))

    def test_ctrl_c_is_an_error_of_the_library(self) -> None:
        # The first pass, which finds no row, takes seconds.
        data = gzip.decompress(SRC.read_bytes())
        code = (
            "import signal, sys, threading, polars, tcpexp\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "table = tcpexp.cwnd(sys.argv[1])\n"
            "threading.Timer(0.2, lambda: print('reading', flush=True)).start()\n"
            "try:\n"
            "    polars.DataFrame(table)\n"
            "except polars.exceptions.ComputeError as error:\n"
            "    print(error, flush=True)\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            long = Path(folder, "long.pcap")
            long.write_bytes(data[:24] + 200 * data[24:])
            child = subprocess.Popen([sys.executable, "-c", code, str(long)], stdout=subprocess.PIPE, text=True)
            assert child.stdout
            self.assertEqual(child.stdout.readline(), "reading\n")
            child.send_signal(signal.SIGINT)
            printed, _ = child.communicate(timeout=120)
        self.assertRegex(printed, "interrupted\n$")

    def test_programs_of_the_guide_run(self) -> None:
        guide = (REPOSITORY / "crates/tcpexp/src/guide/python.md").read_text()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("fixtures").symlink_to(FIXTURES)
            names: dict[str, object] = {}
            for program in re.findall(r"^```py\n(.*?)^```", guide, re.DOTALL | re.MULTILINE):
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(program, names)
                self.assertIn("direction", printed.getvalue())
            self.assertTrue(Path("cwnd.png").exists())

    def same_in_all(self, table: tcpexp.Table, file: str) -> None:
        expected = polars.read_parquet(file)
        self.assertGreater(len(expected), 0)
        self.assertTrue(polars.DataFrame(table).equals(expected, null_equal=True))
        self.assertTrue(plain(pyarrow.table(table)).equals(plain(pyarrow.parquet.read_table(file))))
        self.assertTrue(pandas.DataFrame.from_arrow(table).equals(pandas.read_parquet(file)))
        connection = duckdb.connect()
        connection.register("held", table)
        for one, other in [("held", f"'{file}'"), (f"'{file}'", "held")]:
            differing = f"select * from {one} except all select * from {other}"
            self.assertEqual(connection.execute(differing).fetchall(), [])


def plain(table: pyarrow.Table) -> pyarrow.Table:
    """The table with text in place of dictionaries, which differ from batch to batch."""
    text = [
        field.with_type(pyarrow.string()) if pyarrow.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pyarrow.schema(text)).combine_chunks()
