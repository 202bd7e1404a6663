"""Many pairs on Ray against one process. With `TCPEXP_PAIRS=200`, on a cluster that loses nodes."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

import many
import tcpexp
import tcpexp.ray

PAIRS = int(os.environ.get("TCPEXP_PAIRS", "0"))
# The fewest bytes that Ray takes for its own store, which the tasks do not use.
STORE_BYTES = 80_000_000
NODES = 4


class OnOneNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        ray.init("local", num_cpus=2, object_store_memory=STORE_BYTES, include_dashboard=False, log_to_driver=False)

    @classmethod
    def tearDownClass(cls) -> None:
        ray.shutdown()

    def test_a_job_gives_the_dataset_of_one_process(self) -> None:
        with tempfile.TemporaryDirectory() as place, contextlib.redirect_stderr(io.StringIO()):
            folder = Path(place)
            table = many.make(folder, count=6, broken=2)
            with warnings.catch_warnings(record=True):
                one = many.by_one_process(table)
            # Some pairs are divided by their flows.
            sizes = [bytes for _, _, bytes in tcpexp._native.read_pairs(str(table), [])]
            half = max(sizes) // 2
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                job = tcpexp.ray.analyze(table, output=folder / "all", shard_bytes=half)
            self.assertEqual(many.differing(one, job.dataset.path), [])
            self.assertGreater(len(job.parts), 6)
            failed = {part.name for part in job.parts if part.end == "failed"}
            self.assertEqual(failed, {"004", "005"})
            self.assertTrue(any("004: " in str(warning.message) for warning in caught))
            [node] = job.nodes
            self.assertGreater(node.packets_per_cpu_second or 0, 0)
            self.assertIn("packets per CPU second", job.text)

            again = tcpexp.ray.analyze(table, output=folder / "all", shard_bytes=half, quiet=True)
            self.assertEqual({part.end for part in again.parts}, {"already there"})
            self.assertEqual(many.differing(one, again.dataset.path), [])

    def test_a_problem_that_is_not_of_the_captures_is_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            table = many.make(Path(place), count=2, broken=0)
            Path(place, "all.parts").write_text("a file")
            with self.assertRaisesRegex(tcpexp.Error, "2 of 2 tasks were not done: 00"):
                tcpexp.ray.analyze(table, output=Path(place, "all"))
            with self.assertRaisesRegex(TypeError, "'bni'"):
                tcpexp.ray.analyze(table, output=place, bni="1ms")  # type: ignore[call-arg]


@unittest.skipUnless(PAIRS, "TCPEXP_PAIRS is not set")
class OnACluster(unittest.TestCase):
    def test_a_lost_node_changes_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            table = many.make(Path(place), PAIRS, broken=PAIRS // 20)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one = many.by_one_process(table)
            for lose in (kill, drain):
                with self.subTest(lose.__name__):
                    self.lose_a_node(table, one, lose)

    def lose_a_node(self, table: Path, one: Path, lose: Any) -> None:
        place = table.parent / lose.__name__
        with cluster() as nodes:
            done_before = self.in_the_middle(place.with_name(f"{place.name}.parts"), lambda: lose(nodes))
            job = tcpexp.ray.analyze(table, output=place, quiet=True)
            done = done_before()
            print(f"{lose.__name__} of a node after {done} of {PAIRS} parts\n{job.text}")
            self.assertGreater(done, 0)
            self.assertLess(done, PAIRS)
            self.assertEqual(many.differing(one, place), [])
            self.assertEqual(sum(part.end == "failed" for part in job.parts), PAIRS // 20)
            again = tcpexp.ray.analyze(table, output=place, quiet=True)
            self.assertEqual({part.end for part in again.parts}, {"already there"})
            self.assertEqual(many.differing(one, place), [])

    def in_the_middle(self, parts: Path, do: Any) -> Any:
        """Does something when a third of the parts exist. Returns what gives their number then."""
        seen: list[int] = []

        def wait() -> None:
            while not seen:
                time.sleep(0.05)
                with contextlib.suppress(FileNotFoundError):
                    made = [name for name in os.listdir(parts) if not name.startswith(".")]
                    if len(made) >= PAIRS // 3:
                        do()
                        seen.append(len(made))

        thread = threading.Thread(target=wait)
        thread.start()

        def number() -> int:
            thread.join()
            return seen[0]

        return number


@contextlib.contextmanager
def cluster() -> Iterator[list[Any]]:
    """A cluster of node processes with one processor each. Gives the nodes after the first."""
    options: dict[str, Any] = {"num_cpus": 1, "object_store_memory": STORE_BYTES}
    started = Cluster(initialize_head=True, head_node_args={**options, "include_dashboard": False})
    try:
        others = [started.add_node(**options) for _ in range(NODES - 1)]
        started.wait_for_nodes()
        ray.init(address=started.address, log_to_driver=False)
        yield others
    finally:
        ray.shutdown()
        started.shutdown()


def kill(nodes: list[Any]) -> None:
    """Kills a node and its workers, as when a machine loses its power."""
    [raylet] = nodes[-1].all_processes["raylet"]
    for pid in [raylet.process.pid, *children(raylet.process.pid)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def drain(nodes: list[Any]) -> None:
    """Takes a node out of the cluster, as a provider does before it ends a machine."""
    ray_command = Path(sys.executable).with_name("ray")
    subprocess.run(
        [
            ray_command, "drain-node", f"--address={nodes[-1].gcs_address}",
            f"--node-id={nodes[-1].node_id}", "--reason=DRAIN_NODE_REASON_PREEMPTION",
            "--reason-message=a test", "--deadline-remaining-seconds=5",
        ],
        check=True, capture_output=True,
    )  # fmt: skip


def children(parent: int) -> list[int]:
    """The processes that a process started."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(pid) for pid in listed.split()]


if __name__ == "__main__":
    unittest.main()
