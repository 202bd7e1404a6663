"""What a job on Ray costs: one and two workers, a pair much larger than the rest, the runs of a sweep.

Set `TCPEXP_PAIRS` for the pairs, and `TCPEXP_PROGRAM` to the program that Cargo installs for the sweep.
"""

import gzip
import os
import subprocess
import tempfile
import time
import unittest
import warnings
from pathlib import Path

import ray

import many
import tcpexp
import tcpexp.ray

PAIRS = int(os.environ.get("TCPEXP_PAIRS", "0"))
PROGRAM = os.environ.get("TCPEXP_PROGRAM")
STORE_BYTES = 80_000_000
# Ray starts processes of its own beside the first tasks.
SETTLED_SECONDS = 8
TIMES_LARGER = 20
MOST_MEMORY = 1_000_000_000
# Two cells with a short transfer each.
PLAN = """\
kind = "lab"
[matrix]
cc = ["cubic", "reno"]
[path.forward]
rate = "10mbit"
buffer = "50p"
[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "3s"
"""


def workers(count: int) -> None:
    """A new Ray of this process, whose workers are started."""
    ray.init("local", num_cpus=count, object_store_memory=STORE_BYTES, include_dashboard=False, log_to_driver=False)
    # A worker imports the package when it first runs a task.
    begun = [ray.remote(lambda: time.sleep(1)).remote() for _ in range(count)]
    ray.get(begun)
    time.sleep(SETTLED_SECONDS)


@unittest.skipUnless(PAIRS, "TCPEXP_PAIRS is not set")
class Costs(unittest.TestCase):
    def setUp(self) -> None:
        caught = warnings.catch_warnings()
        caught.__enter__()
        warnings.simplefilter("ignore")
        self.addCleanup(caught.__exit__, None, None, None)
        self.addCleanup(ray.shutdown)

    def test_two_workers_take_half_the_time_of_one(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            # Long enough that the tasks take most of the time, and not Ray's own processes.
            table = many.make(Path(place), PAIRS, broken=0, seconds=16)
            seconds = []
            for count in (1, 2):
                workers(count)
                started = time.monotonic()
                job = tcpexp.ray.analyze(table, output=Path(place, f"of{count}"), quiet=True)
                seconds.append(time.monotonic() - started - job.merge_seconds)
                print(f"{count} workers: {seconds[-1]:.1f} s for the tasks\n{job.text}")
                ray.shutdown()
            ratio = seconds[0] / seconds[1]
            print(f"two workers are {ratio:.2f} times as fast as one")
            self.assertGreaterEqual(ratio, 1.8)

    def test_a_pair_that_is_much_larger_than_the_rest_is_divided(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            many.make(folder, count=8, broken=0)
            largest = max(file.stat().st_size for file in folder.glob("src/*.pcap"))
            for point in ("src", "dst"):
                data = gzip.decompress((many.FIXTURES / "reno-2mbit-40ms-50p" / f"{point}.pcap.gz").read_bytes())
                repeated = -(-TIMES_LARGER * largest // len(data))
                Path(folder, point, "large.pcap").write_bytes(many.later(data, repeated))
            table = folder / "pairs.parquet"
            tcpexp.pairs(folder / "src", folder / "dst").write(table)
            one = many.by_one_process(table)
            workers(2)
            sizes = [size for _, _, size in tcpexp._native.read_pairs(str(table), [])]
            job = tcpexp.ray.analyze(table, output=folder / "all", shard_bytes=max(sizes) // 4 + 1, quiet=True)
            print(job.text)
            self.assertEqual(len(job.parts), 8 + 4)
            self.assertEqual(many.differing(one, job.dataset.path), [])
            self.assertLess(max(node.memory for node in job.nodes), MOST_MEMORY)


@unittest.skipUnless(PROGRAM, "TCPEXP_PROGRAM is not set")
class Sweeps(unittest.TestCase):
    def test_runs_as_tasks_have_the_results_of_one_machine(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            plan = Path(place, "plan.toml")
            plan.write_text(PLAN)
            one, all = Path(place, "one"), Path(place, "all")
            subprocess.run([str(PROGRAM), "sweep", plan, "-o", one, "--lab", "--quiet"], check=True)
            workers(2)
            try:
                tcpexp.ray.sweep(plan, output=all, program=str(PROGRAM), quiet=True)
                # Nothing is carried out again.
                started = time.monotonic()
                tcpexp.ray.sweep(plan, output=all, program=str(PROGRAM), quiet=True)
                self.assertLess(time.monotonic() - started, 60)
            finally:
                ray.shutdown()
            names = sorted(path.name for path in (one / "runs").iterdir())
            self.assertEqual(names, sorted(path.name for path in (all / "runs").iterdir()))
            for file in (one / "runs").rglob("*"):
                other = all / file.relative_to(one)
                if file.is_file():
                    # Manifests have the paths of the captures.
                    expected = file.read_bytes().replace(str(one).encode(), str(all).encode())
                    self.assertEqual(expected, other.read_bytes(), file)


if __name__ == "__main__":
    unittest.main()
