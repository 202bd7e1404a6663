"""The module with objects of MinIO, which `.ci/object-stores` builds, and with stores of obstore."""

import gzip
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import obstore
import polars
import ray
from obstore.store import S3Store

import many
import tcpexp
import tcpexp.ray
from faults import Fault, Relay

MINIO = shutil.which("minio")
KEYS = {"aws_access_key_id": "tester", "aws_secret_access_key": "of-the-tester"}
RENO = many.FIXTURES / "reno-2mbit-40ms-50p"


@contextmanager
def minio(folder: Path) -> Iterator[dict[str, str]]:
    """A server with the bucket `lab`. Gives the options of its clients."""
    # A directory is a bucket.
    Path(folder, "lab").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    secrets = {"MINIO_ROOT_USER": KEYS["aws_access_key_id"], "MINIO_ROOT_PASSWORD": KEYS["aws_secret_access_key"]}
    server = subprocess.Popen(
        [str(MINIO), "server", "--quiet", "--address", f"127.0.0.1:{port}", str(folder)],
        env={**os.environ, **secrets}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield {**KEYS, "aws_endpoint": f"http://127.0.0.1:{port}", "allow_http": "true", "aws_region": "us-east-1"}
    finally:
        server.kill()
        server.wait()


def store_of(options: dict[str, str]) -> Any:
    """The bucket as a store of obstore, once the server answers."""
    client: Any = {"allow_http": True}
    store = S3Store(
        "lab", endpoint=options["aws_endpoint"], region="us-east-1", access_key_id=KEYS["aws_access_key_id"],
        secret_access_key=KEYS["aws_secret_access_key"], client_options=client,
    )  # fmt: skip
    for _ in range(100):
        try:
            obstore.put(store, "begun", b"")
            return store
        except Exception:
            time.sleep(0.1)
    raise AssertionError("MinIO does not answer")


@unittest.skipUnless(MINIO, "there is no minio: run .ci/object-stores")
class Objects(unittest.TestCase):
    def test_objects_and_stores_are_read_as_files_are(self) -> None:
        with tempfile.TemporaryDirectory() as place, minio(Path(place, "minio")) as options:
            store = store_of(options)
            for point in ("src", "dst"):
                obstore.put(store, f"reno/{point}.pcap.gz", RENO / f"{point}.pcap.gz")
            expected = tcpexp.rtt(RENO / "src.pcap.gz", RENO / "dst.pcap.gz")
            urls = [f"s3://lab/reno/{point}.pcap.gz" for point in ("src", "dst")]
            self.assertEqual(tcpexp.rtt(*urls, storage_options=options).text, expected.text)
            objects = [tcpexp.Object(store, f"reno/{point}.pcap.gz") for point in ("src", "dst")]
            self.assertEqual(tcpexp.rtt(*objects).text, expected.text)
            made = tcpexp.analyze(*objects, output="s3://lab/run")
            self.assertEqual(made.path, "s3://lab/run")
            here = tcpexp.analyze(RENO / "src.pcap.gz", RENO / "dst.pcap.gz", output=Path(place, "run"))
            for name, file in here.tables.items():
                stored = obstore.get(store, f"run/{name}.parquet").bytes()
                self.assertEqual(bytes(stored), Path(file).read_bytes(), name)
            rows = polars.read_parquet(str(made.tables["rtt"]), storage_options=options)
            self.assertEqual(len(rows), len(polars.DataFrame(expected)))

    def test_faults_of_a_store_end_in_the_right_result_or_in_one_error(self) -> None:
        with tempfile.TemporaryDirectory() as place, minio(Path(place, "minio")) as options:
            store = store_of(options)
            # Objects of several ranges.
            large = {point: many.later(gzip.decompress((RENO / f"{point}.pcap.gz").read_bytes()), 10) for point in ("src", "dst")}
            for point, data in large.items():
                obstore.put(store, f"{point}.pcap", data)
            expected = polars.DataFrame(tcpexp.rtt(large["src"], large["dst"]))
            host, port = options["aws_endpoint"].removeprefix("http://").split(":")

            def measured(decide: Callable[[int], Fault]) -> polars.DataFrame:
                with Relay((host, int(port)), decide) as endpoint:
                    through = {**options, "aws_endpoint": endpoint}
                    return polars.DataFrame(tcpexp.rtt("s3://lab/src.pcap", "s3://lab/dst.pcap", storage_options=through))

            passing: list[Fault] = ["busy", "cut", "slow"]
            for fault in passing:
                with self.subTest(fault):
                    found = measured(lambda number, fault=fault: fault if number % 2 else "")  # type: ignore[misc]
                    self.assertTrue(found.equals(expected, null_equal=True))
            with self.assertRaisesRegex(Exception, "s3://lab/(src|dst).pcap: access denied: .*ExpiredToken"):
                measured(lambda number: "expired" if number > 4 else "")

            def replace(number: int) -> Fault:
                if number == 4:
                    obstore.put(store, "dst.pcap", large["src"])
                return ""

            with self.assertRaisesRegex(Exception, "s3://lab/dst.pcap: the object was replaced while it was read"):
                measured(replace)

    def test_a_job_on_objects_gives_the_dataset_of_files(self) -> None:
        with tempfile.TemporaryDirectory() as place, minio(Path(place, "minio")) as options:
            store = store_of(options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one = many.by_one_process(many.make(Path(place), count=6, broken=2))
                for file in [*Path(place, "src").iterdir(), *Path(place, "dst").iterdir()]:
                    obstore.put(store, f"{file.parent.name}/{file.name}", file)
                table = tcpexp.pairs("s3://lab/src", "s3://lab/dst", storage_options=options)
                table.write("s3://lab/pairs.parquet")
                ray.init("local", num_cpus=2, object_store_memory=80_000_000, include_dashboard=False, log_to_driver=False)
                try:
                    for end in ("analysed", "already there"):
                        job = tcpexp.ray.analyze(
                            "s3://lab/pairs.parquet", output="s3://lab/all", storage_options=options, quiet=True
                        )
                        self.assertIn(end, {part.end for part in job.parts})
                        for file in one.glob("*.parquet"):
                            # Errors name the places of the captures.
                            if file.stem != "errors":
                                stored = obstore.get(store, f"all/{file.name}").bytes()
                                self.assertEqual(bytes(stored), file.read_bytes(), file.name)
                finally:
                    ray.shutdown()
            self.assertEqual({part.end for part in job.parts}, {"already there"})
            failed = polars.read_parquet(str(job.dataset.tables["errors"]), storage_options=options)
            self.assertEqual(failed["pair"].to_list(), ["004", "005"])


if __name__ == "__main__":
    unittest.main()
