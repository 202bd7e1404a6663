"""The module without any other library: inputs, options, texts, charts, errors, signals."""

import contextlib
import gzip
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, get_args

import tcpexp
from tcpexp import _options
from tcpexp._inputs import FLAGS, flags as flags_of, working_directory

REPOSITORY = Path(__file__).resolve().parents[3]
RENO = REPOSITORY / "fixtures" / "reno-2mbit-40ms-50p"
# A program that a shell starts in the background ignores Ctrl-C, and so do the programs that it starts.
HEED_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
SRC, DST = RENO / "src.pcap.gz", RENO / "dst.pcap.gz"

OPTIONS = {
    "ReadOptions": _options.ReadOptions,
    "SelectOptions": _options.SelectOptions,
    "PartOptions": _options.PartOptions,
    "SelectSenderOptions": _options.SelectSenderOptions,
    "ReadSenderOptions": _options.ReadSenderOptions,
}
# Outputs are methods of results. `compat` replaces SPP, which is no table.
NO_KEYWORDS = {
    "control_table", "junit",
    "output", "format", "quiet", "plot", "flows", "events", "runs", "help", "live", "by_table", "metrics", "compat", "mask",
    "src_host", "dst_host", "ssh_config",
}  # fmt: skip


def command(*arguments: str | Path) -> str:
    """What the installed command prints."""
    found = subprocess.run(["tcpexp", *arguments], capture_output=True, text=True, check=True)
    return found.stdout


class Inputs(unittest.TestCase):
    def test_bytes_files_and_parts_are_read_as_paths_are(self) -> None:
        expected = tcpexp.rtt(SRC, DST).text
        self.assertEqual(tcpexp.rtt(SRC.read_bytes(), DST.read_bytes()).text, expected)
        with SRC.open("rb") as src, gzip.open(DST) as dst:
            self.assertEqual(tcpexp.rtt(src, dst).text, expected)
        buffers = bytearray(SRC.read_bytes()), memoryview(DST.read_bytes())
        self.assertEqual(tcpexp.rtt(*buffers).text, expected)
        self.assertEqual(tcpexp.rtt([str(SRC)], DST).text, expected)
        with tempfile.TemporaryDirectory() as folder:
            halves = [Path(folder, name) for name in ("a.pcap", "b.pcap")]
            for half, edge in zip(halves, ("--to=15s", "--from=15s")):
                cut(SRC, half, edge)
            parts = tcpexp.rtt(halves, DST).text
        self.assertEqual(parts.splitlines()[2], expected.splitlines()[2])

    def test_inputs_that_cannot_be_read_are_refused_at_once(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, "missing.pcap"):
            tcpexp.rtt("missing.pcap")
        with self.assertRaisesRegex(ValueError, "sys.stdin.buffer"):
            tcpexp.rtt("-")
        with self.assertRaisesRegex(TypeError, "not int"):
            tcpexp.rtt(3)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "src is None"):
            tcpexp.rtt(None, DST)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "not NoneType"):
            tcpexp.path(SRC, None, DST)  # type: ignore[arg-type]
        with tempfile.TemporaryDirectory() as folder:
            spaced = Path(folder, "src.pcap ")
            spaced.write_bytes(SRC.read_bytes())
            with self.assertRaisesRegex(ValueError, "rename the file"):
                tcpexp.flows([spaced])
            no_text = os.fsdecode(os.fsencode(folder) + b"/\xff.pcap")
            Path(no_text).write_bytes(SRC.read_bytes())
            with self.assertRaisesRegex(ValueError, "rename the file"):
                tcpexp.flows([no_text])
        with self.assertRaisesRegex(ValueError, "empty list"):
            tcpexp.rtt([])

    def test_a_file_object_that_does_not_block_is_refused(self) -> None:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.write(writing, SRC.read_bytes()[:5000])
        with open(reading, "rb", buffering=0) as file, open(writing, "wb"):
            with self.assertRaisesRegex(BlockingIOError, "make it blocking"):
                tcpexp.flows(file)

    def test_names_of_captures_have_no_meaning_of_their_own(self) -> None:
        expected = tcpexp.rtt(SRC, DST).text
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("@src").write_bytes(SRC.read_bytes())
            self.assertEqual(tcpexp.rtt("@src", DST).text, expected)
            file = io.BytesIO(SRC.read_bytes())
            # The name of a member of an archive.
            file.name = ".."  # type: ignore[attr-defined]
            self.assertEqual(tcpexp.rtt(file, DST).text, expected)

    def test_urls_are_read_as_paths_are(self) -> None:
        expected = tcpexp.rtt(SRC, DST).text
        with ThreadingHTTPServer(("127.0.0.1", 0), Captures) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            place = f"http://127.0.0.1:{server.server_port}"
            found = tcpexp.rtt(f"{place}/src", f"{place}/dst", storage_options={"allow_http": True})
            self.assertEqual(found.text, expected)
            http = {"allow_http": True}
            parts = tcpexp.rtt([f"{place}/src"], [f"{place}/dst"], storage_options=http)
            self.assertEqual(parts.text.splitlines()[2], expected.splitlines()[2])
            store = HTTPStore(place)
            of_store = tcpexp.rtt(tcpexp.Object(store, "src"), tcpexp.Object(store, "dst"))
            self.assertEqual(of_store.text, expected)
            with self.assertRaisesRegex(tcpexp.Error, "/missing: there is no such object"):
                tcpexp.flows(f"{place}/missing").text
            server.shutdown()
        with self.assertRaisesRegex(ValueError, "no store has the option regoin"):
            tcpexp.rtt("s3://b/src", storage_options={"regoin": "x"}).text

    def test_stores_of_obstore_give_urls_and_options(self) -> None:
        config = {"bucket": "captures", "aws_region": "eu-west-1", "access_key_id": "ID"}
        object = tcpexp.Object(S3Store(config, "a/b/"), "src.pcap")
        expected = {"aws_region": "eu-west-1", "access_key_id": "ID", "allow_http": "true"}
        self.assertEqual(object.place(), ("s3://captures/a/b/src.pcap", expected))
        name = "50% #1?.pcap"
        self.assertEqual(tcpexp.Object(S3Store(config, "a"), name).place()[0], f"s3://captures/a/{name}")
        of_server = tcpexp.Object(HTTPStore("http://h/a"), f"b/{name}").place()[0]
        self.assertEqual(of_server, "http://h/a/b/50%25%20%231%3F.pcap")
        other = tcpexp.Object(S3Store({**config, "access_key_id": "OTHER"}, None), "dst.pcap")
        with self.assertRaisesRegex(ValueError, "different options access_key_id"):
            tcpexp.rtt(object, other)
        with self.assertRaisesRegex(TypeError, "not LocalStore"):
            tcpexp.Object(LocalStore(), "src.pcap")

    def test_results_show_no_secrets(self) -> None:
        secrets = {"aws_secret_access_key": "SECRET", "aws_endpoint": "http://tester:SECRET@h"}
        url = "https://user:SECRET@h/src.pcap?X-Amz-Signature=SECRET"
        config = {"bucket": "captures", "secret_access_key": "SECRET"}
        shown = [
            repr(tcpexp.rtt("s3://b/src.pcap", url, storage_options=secrets)),
            repr(tcpexp.rtt(tcpexp.Object(S3Store(config, None), "src.pcap"))),
            repr(tcpexp.plot("ecdf", url, storage_options=secrets)),
            repr(tcpexp.Dataset(url, "")),
            repr(tcpexp.Object(HTTPStore("https://user:SECRET@h"), "src.pcap")),
        ]
        for text in shown:
            self.assertNotIn("SECRET", text)
        arguments = "--storage-option=aws_secret_access_key=… --storage-option=aws_endpoint=…"
        self.assertEqual(shown[0], f"<tcpexp.PairTable: tcpexp rtt {arguments} s3://b/src.pcap https://h/src.pcap>")

    def test_a_task_needs_no_working_directory_of_the_driver(self) -> None:
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            with working_directory(folder):
                self.assertTrue(os.path.samefile(os.getcwd(), folder))
            self.assertEqual(os.getcwd(), here)
        with working_directory(folder):
            self.assertEqual(os.getcwd(), here)

    def test_options_have_types(self) -> None:
        first = datetime(2026, 1, 1, 0, 0, 9, 710001, tzinfo=timezone.utc)
        texts = {
            tcpexp.rtt(SRC, to="5s").text,
            tcpexp.rtt(SRC, to=timedelta(seconds=5)).text,
            tcpexp.rtt(SRC, to=first + timedelta(seconds=5)).text,
        }
        self.assertEqual(len(texts), 1)
        at_origin = tcpexp.throughput(SRC, origin=first).text
        self.assertEqual(at_origin, command("throughput", SRC, "--origin=1767225609.710001"))
        of_flow = tcpexp.flows(SRC, flow=[54048, ":54058"], limit=1, inner=False).text
        self.assertEqual(of_flow, command("flows", SRC, "--flow=54048", "--flow=:54058", "--limit=1"))
        nano = Nanosecond(2026, 1, 1, 0, 0, 9, 710001, tzinfo=timezone.utc)
        self.assertEqual(flags_of([("to", nano)]), ["--to=1767225609.710001007"])
        span = NanosecondSpan(seconds=-1)
        self.assertEqual(flags_of([("to", span)]), ["--to=-999999993ns"])
        with self.assertRaisesRegex(ValueError, "has no time zone"):
            tcpexp.rtt(SRC, to=datetime(2026, 1, 1))
        with self.assertRaisesRegex(TypeError, "flow takes a value"):
            tcpexp.rtt(SRC, DST, flow=True)
        for flow in (1.0, [None], [False], [1.0], b"1"):
            with self.subTest(flow=flow), self.assertRaises(TypeError):
                tcpexp.rtt(SRC, DST, flow=flow)  # type: ignore[arg-type]
        for nothing in ([], "", [" "]):
            with self.subTest(flow=nothing), self.assertRaises(ValueError):
                tcpexp.rtt(SRC, DST, flow=nothing)
        with self.assertRaisesRegex(TypeError, "limit takes a value"):
            tcpexp.flows(SRC, limit=False)
        with self.assertRaisesRegex(TypeError, "rate takes a value"):
            tcpexp.throughput(SRC, rate=True)
        with self.assertRaisesRegex(TypeError, "title takes a value"):
            tcpexp.plot("ecdf", SRC, title=True)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "'fitler'"):
            tcpexp.rtt(SRC, fitler="tcp")  # type: ignore[call-arg]

    def test_every_flag_is_a_keyword(self) -> None:
        functions = ["rtt", "path", "flows", "throughput", "cwnd", "why", "explain", "analyze"]
        others = ["score", "compare", "check", "survey", "split", "merge", "pairs", "report"]
        for name in [*functions, *others]:
            with self.subTest(name):
                expected = flags(name) - NO_KEYWORDS
                if name in ("analyze", "survey", "split", "merge", "report"):
                    expected.add("output")
                self.assertEqual(keywords(getattr(tcpexp, name)), expected)

    def test_every_flag_without_a_value_is_known(self) -> None:
        functions = ["rtt", "path", "flows", "throughput", "cwnd", "why", "explain", "analyze", "survey", "split"]
        help = [command(name, "--help") for name in functions]
        help += [command("plot", kind, "--help") for kind in get_args(_options.Kind)]
        bare = {flag for text in help for flag in re.findall(r"^ +(?:-\w, )?--([\w-]+)$", text, re.MULTILINE)}
        known = {name.replace("-", "_") for name in bare} - NO_KEYWORDS
        self.assertEqual(known, set(FLAGS))

    def test_options_of_many_pairs_are_those_of_analyze(self) -> None:
        of_one = {"pairs", "task", "output", "jobs", "log", "shard", "survey", "position"}
        known = {name.strip("_") for name in _options.PairsOptions.__annotations__}
        self.assertEqual(known, keywords(tcpexp.analyze) - of_one)

    def test_every_flag_of_a_chart_is_a_keyword(self) -> None:
        known = {name.strip("_") for name in _options.PlotOptions.__annotations__}
        used = {flag for kind in get_args(_options.Kind) for flag in flags("plot", kind)}
        self.assertEqual(known, used - {"output", "help", "quiet"})


class Nanosecond(datetime):
    """As the Timestamp of pandas, which is not installed here."""

    nanosecond = 7


class NanosecondSpan(timedelta):
    """As the Timedelta of pandas."""

    nanoseconds = 7


class S3Store:
    """As that of obstore, which is not installed here."""

    client_options = {"allow_http": True}

    def __init__(self, config: dict[str, str], prefix: str | None) -> None:
        self.config, self.prefix = config, prefix


class HTTPStore:
    """As that of obstore."""

    client_options = {"allow_http": "true"}

    def __init__(self, url: str) -> None:
        self.url = url


class LocalStore:
    """As that of obstore."""


class Captures(BaseHTTPRequestHandler):
    """Serves ranges of the two captures."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        capture = {"/src": SRC, "/dst": DST}.get(self.path)
        content = capture.read_bytes() if capture else b""
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        part = content[first : last + 1]
        self.send_response(206 if capture else 404)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", f'"{hash(content)}"')
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def flags(*name: str) -> set[str]:
    """Flags of a command, as keywords."""
    found = re.findall(r"^ +(?:-\w, )?--([a-z-]+)", command(*name, "--help"), re.MULTILINE)
    names = {flag.replace("-", "_") for flag in found}
    # All of them in one dictionary, named as in other packages.
    return {name.replace("storage_option", "storage_options") for name in names}


def keywords(function: Any) -> set[str]:
    """Names of the keyword arguments of a function, without its inputs."""
    inputs = {"src", "dst", "more", "captures", "capture", "inputs", "dir"}
    names = set()
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            names.add(name)
            continue
        held = re.search(r"Unpack\[(\w+)\]", str(parameter.annotation))
        assert held, parameter
        names |= set(OPTIONS[held[1]].__annotations__)
    return {name.strip("_") for name in names - inputs}


def cut(capture: Path, part: Path, edge: str) -> None:
    """Writes a part of a pcap file with records in microseconds, before or after 15 s."""
    data = gzip.decompress(capture.read_bytes())
    order: Literal["little", "big"] = "little" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else "big"

    def read(at: int) -> int:
        return int.from_bytes(data[at : at + 4], order)

    kept, at = [data[:24]], 24
    edge_at = read(at) + 15
    while at < len(data):
        end = at + 16 + read(at + 8)
        if (read(at) < edge_at) == edge.startswith("--to"):
            kept.append(data[at:end])
        at = end
    part.write_bytes(b"".join(kept))


class Results(unittest.TestCase):
    def test_summaries_are_what_the_command_prints(self) -> None:
        for table, arguments in [
            (tcpexp.rtt(SRC, DST), ["rtt", SRC, DST]),
            (tcpexp.path(SRC, DST, symmetric=True), ["path", SRC, DST, "--symmetric"]),
            (tcpexp.flows(SRC), ["flows", SRC]),
            (tcpexp.cwnd(SRC), ["cwnd", SRC]),
            (tcpexp.throughput(SRC), ["throughput", SRC]),
            (tcpexp.why(SRC), ["why", SRC]),
        ]:
            with self.subTest(arguments[0]):
                self.assertEqual(table.text, command(*arguments))
                self.assertIn("<pre>", table._repr_html_())

    def test_files_are_those_of_the_command(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = Path(folder, "ours.parquet"), Path(folder, "theirs.parquet")
            tcpexp.rtt(SRC, DST).write(ours)
            command("rtt", SRC, DST, "-o", theirs)
            self.assertEqual(ours.read_bytes(), theirs.read_bytes())
            figure = tcpexp.rtt(SRC, DST).plot()
            chart = Path(folder, "chart.svg")
            command("rtt", SRC, DST, "--plot", chart)
            self.assertEqual(figure._repr_svg_(), chart.read_text())
            figure.save(Path(folder, "chart.png"))
            self.assertEqual(Path(folder, "chart.png").read_bytes()[1:4], b"PNG")

    def test_datasets_are_drawn_compared_and_reported(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cells = Path(folder, "cells")
            cells.mkdir()
            output = cells / "one"
            dataset = tcpexp.analyze(SRC, DST, output=output, param={"cc": "reno", "rate_mbps": 2.0})
            self.assertEqual(dataset.path, output)
            self.assertIn("rtt", dataset.tables)
            self.assertTrue(tcpexp.plot("ecdf", output, x="rtt").svg.startswith("<svg"))
            compared = tcpexp.compare(cells)
            self.assertEqual(compared.text, command("compare", cells))
            checked = tcpexp.check(cells, expect=["goodput_bps > 0", "goodput_bps < 0"])
            self.assertIn("1 met, 1 not met, 0 unknown", checked.text)
            page = tcpexp.report(output, output=Path(folder, "page.html"))
            self.assertIn("<html", page.read_text())

    def test_values_of_parameters_are_selected_as_they_are(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for number, cc in enumerate(("a,b", "a", "5.10", "true")):
                tcpexp.analyze(SRC, output=Path(folder, f"run{number}"), param={"cc": cc})
            manifest = json.loads(Path(folder, "run2", "manifest.json").read_text())
            self.assertEqual(manifest["run"], {"cc": "5.10"})
            for only, flag in (("a,b", 'cc="a,b"'), (["a,b", "a"], 'cc="a,b",a'), ("true", "cc=true")):
                with self.subTest(only=only):
                    compared = tcpexp.compare(folder, only={"cc": only})
                    self.assertEqual(compared.text, command("compare", Path(folder), f"--only={flag}"))
            for refused in ('a"b', " a", []):
                with self.subTest(refused=refused), self.assertRaises(ValueError):
                    tcpexp.compare(folder, only={"cc": refused})
            for value in (None, float("nan")):
                with self.subTest(value=value), self.assertRaises(TypeError):
                    tcpexp.analyze(SRC, output=Path(folder, "x"), param={"cc": value})  # type: ignore[dict-item]

    def test_parts_of_an_analysis_are_joined(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            learned = tcpexp.survey(SRC, DST, output=Path(folder, "survey.json"))
            self.assertEqual(tcpexp.rtt(SRC, DST, survey=learned).text, tcpexp.rtt(SRC, DST).text)
            parts = [
                tcpexp.analyze(SRC, DST, output=Path(folder, f"part{part}"), shard=f"{part}/2").path
                for part in (1, 2)
            ]
            whole = tcpexp.analyze(SRC, DST, output=Path(folder, "whole"))
            joined = tcpexp.merge(*parts, output=Path(folder, "joined"))
            self.assertEqual(
                joined.tables["rtt"].read_bytes(), whole.tables["rtt"].read_bytes()
            )

    def test_parts_of_a_capture_have_the_flows_of_the_shards(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = tcpexp.split(SRC, parts=2, output=Path(folder, "parts"))
            parts = sorted(Path(place).iterdir())
            self.assertEqual(len(parts), 2)
            rows = 0
            for number, part in enumerate(parts, start=1):
                self.assertTrue(part.name.endswith(f".{number}-of-2.pcapng"), part.name)
                shard = Path(folder, "shard.csv")
                tcpexp.flows(SRC, shard=f"{number}/2").write(shard)
                alone = Path(folder, "alone.csv")
                tcpexp.flows(part).write(alone)
                self.assertEqual(alone.read_bytes(), shard.read_bytes())
                rows += len(shard.read_text().splitlines()) - 1
            self.assertGreater(rows, 1)

    def test_pairs_are_analysed_once_and_joined(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            points = [Path(folder, point) for point in ("src", "dst")]
            for point, capture in zip(points, (SRC, DST)):
                point.mkdir()
                for name in ("a", "b", "c"):
                    Path(point, f"{name}.pcap.gz").write_bytes(capture.read_bytes())
            Path(points[0], "b.pcap.gz").write_bytes(b"no capture")
            table = Path(folder, "pairs.parquet")
            tcpexp.pairs(*points).write(table)
            with self.assertWarnsRegex(tcpexp.CaptureWarning, "b: cannot read .*not a capture"):
                made = tcpexp.analyze(pairs=table, output=Path(folder, "parts"), task="2/2")
            self.assertEqual([part.end for part in made.parts], ["failed"])
            made = tcpexp.analyze(pairs=table, output=Path(folder, "parts"))
            ends = [(part.number, part.name, part.end) for part in made.parts]
            expected = [(1, "a", "analysed"), (2, "b", "already there"), (3, "c", "analysed")]
            self.assertEqual(ends, expected)
            self.assertEqual([part.path.is_dir() for part in made.parts], [True, False, True])
            self.assertGreater(made.parts[0].records, 10_000)
            merged = tcpexp.merge(made.path, output=Path(folder, "all"), pairs=table)
            self.assertIn("errors", merged.tables)
            self.assertIn("2 merged, 1 failed", merged.text)

    def test_schemas_define_every_table(self) -> None:
        [rtt] = tcpexp.schema("command:rtt")
        self.assertIn("rtt_ns", [column["name"] for column in rtt["columns"]])
        self.assertGreater(len(tcpexp.schema()), 20)

    def test_warnings_are_those_of_python(self) -> None:
        cut_off = gzip.decompress(SRC.read_bytes())[:-7]
        with self.assertWarnsRegex(tcpexp.CaptureWarning, "all records that could be read were used"):
            self.assertIn("RTT", tcpexp.rtt(cut_off).text)


class Notebooks(unittest.TestCase):
    def test_a_long_command_shows_how_far_it_is(self) -> None:
        seen: list[tuple[int, int]] = []
        with tempfile.TemporaryDirectory() as folder:
            long = Path(folder, "long.pcap")
            data = gzip.decompress(SRC.read_bytes())
            long.write_bytes(data[:24] + data[24:] * 100)
            tcpexp._native.on_progress(lambda done, total: seen.append((done, total)))
            try:
                table = tcpexp.cwnd(long)
                with self.assertWarns(tcpexp.CaptureWarning):
                    list(table)
            finally:
                tcpexp._native.on_progress(None)
        *shown, end = seen
        self.assertEqual(end, (0, 0))
        self.assertTrue(all(0 <= done <= total and total > 10**7 for done, total in shown), seen)


class Errors(unittest.TestCase):
    def test_a_failure_has_its_place_and_its_cause(self) -> None:
        with self.assertRaisesRegex(tcpexp.Error, "cannot read .*: not a capture") as raised:
            tcpexp.rtt(b"no capture, but some text").summary()
        self.assertRegex(str(raised.exception.__cause__), "^not a capture")

    def test_an_error_of_the_system_is_the_cause(self) -> None:
        with self.assertRaises(tcpexp.Error) as raised:
            tcpexp.rtt("missing*.pcap").summary()
        self.assertIn("cannot open", str(raised.exception))

    def test_wrong_options_are_value_errors(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected a time with its unit"):
            tcpexp.rtt(SRC, max_owd="5 parsecs").summary()
        with self.assertRaisesRegex(ValueError, "expected a time with its unit"):
            tcpexp.rtt(SRC, max_owd="5 parsecs").__arrow_c_schema__()

    def test_a_failure_leaves_no_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(tcpexp.Error):
                tcpexp.rtt(b"no capture, but some text").write(Path(folder, "a.csv"))
            self.assertEqual(os.listdir(folder), [])


class Interpreter(unittest.TestCase):
    def test_other_threads_run_during_a_measurement(self) -> None:
        ran = threading.Event()
        table = tcpexp.cwnd(SRC, DST)
        thread = threading.Thread(target=ran.set)
        # The thread has to run while this one waits for the measurement.
        switch = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        try:
            thread.start()
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                table.summary()
        finally:
            sys.setswitchinterval(switch)
        self.assertTrue(ran.is_set())
        self.assertEqual(printed.getvalue(), table.text)

    def started(self, code: str, argument: str) -> "subprocess.Popen[str]":
        """Starts a program that is killed if it hangs."""
        child = subprocess.Popen([sys.executable, "-c", code, argument], stdout=subprocess.PIPE, text=True)
        timer = threading.Timer(120, child.kill)
        timer.start()
        self.addCleanup(timer.cancel)
        return child

    def test_threads_share_an_iterator(self) -> None:
        count = len(list(tcpexp.rtt(SRC, DST)))
        for _ in range(5):
            batches = iter(tcpexp.rtt(SRC, DST))
            with ThreadPoolExecutor(4) as threads:
                found = [len(taken) for taken in threads.map(list, [batches] * 4)]
            self.assertEqual(sum(found), count)

    def test_ctrl_c_ends_a_measurement(self) -> None:
        # Reading never ends: the other end of the pipe stays open.
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            code = (
                "import sys, tcpexp\n"
                f"{HEED_CTRL_C}"
                "try:\n"
                "    table = tcpexp.rtt(sys.argv[1])\n"
                "    print('ready', flush=True)\n"
                "    table.summary()\n"
                "except KeyboardInterrupt:\n"
                "    print('interrupted', flush=True)\n"
                "    import os; os._exit(0)\n"
            )
            child = self.started(code, pipe)
            assert child.stdout
            self.assertEqual(child.stdout.readline(), "ready\n")
            with open(pipe, "wb"):
                # The measurement has opened the pipe.
                child.send_signal(signal.SIGINT)
                self.assertEqual(child.stdout.read(), "interrupted\n")
            child.stdout.close()
            self.assertEqual(child.wait(), 0)

    def test_ctrl_c_ends_the_first_pass_of_a_long_measurement(self) -> None:
        # The first pass, which finds no row, takes seconds.
        with tempfile.TemporaryDirectory() as folder:
            data = gzip.decompress(SRC.read_bytes())
            long = Path(folder, "long.pcap")
            with long.open("wb") as file:
                file.write(data[:24])
                for _ in range(200):
                    file.write(data[24:])
            code = (
                "import sys, threading, tcpexp\n"
                f"{HEED_CTRL_C}"
                "table = tcpexp.cwnd(sys.argv[1])\n"
                "threading.Timer(0.2, lambda: print('reading', flush=True)).start()\n"
                "try:\n"
                "    table.write(sys.argv[1] + '.csv')\n"
                "except KeyboardInterrupt:\n"
                "    print('interrupted', flush=True)\n"
            )
            child = self.started(code, str(long))
            assert child.stdout
            self.assertEqual(child.stdout.readline(), "reading\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.stdout.read(), "interrupted\n")
            child.stdout.close()
            self.assertEqual(child.wait(), 0)
            self.assertNotIn("long.pcap.csv", os.listdir(folder))

    def test_a_forked_process_raises_an_error_and_keeps_the_files_of_its_parent(self) -> None:
        table = tcpexp.flows(SRC.read_bytes())
        expected = table.text
        child = os.fork()
        if child == 0:
            try:
                tcpexp.flows(SRC).text
            except tcpexp.Error as error:
                is_refused = "use the start method spawn" in str(error)
                del table
                os._exit(0 if is_refused else 1)
            os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(list(table)), len(list(tcpexp.flows(SRC))))
        self.assertIn("54058", expected)

    def test_the_command_is_installed(self) -> None:
        self.assertRegex(command("--version"), r"^tcpexp \d")
        wrong = subprocess.run(["tcpexp", "rtt"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)

    def test_the_testbed_asks_for_the_program(self) -> None:
        lab = subprocess.run(["tcpexp", "lab", "run", "--", "true"], capture_output=True, text=True)
        self.assertEqual(lab.returncode, 1)
        self.assertIn("cargo install", lab.stderr)

