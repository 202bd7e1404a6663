"""Many pairs of captures, and the runs of a sweep, on a Ray cluster.

>>> import tcpexp.ray
>>> tcpexp.pairs("/captures/client", "/captures/server").write("pairs.parquet")
>>> tcpexp.ray.analyze("pairs.parquet", output="all").summary()

All nodes need this package, and a file system that they share or an object store. Ray starts the tasks,
and starts those of a lost node again; the names of the parts make that harmless.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import ray

from tcpexp import CaptureWarning, Dataset, Error, Part, analyze as _analyze_here, merge as _merge
from tcpexp._inputs import StrPath, absolute, output as _output, path as _path, settings, working_directory
from tcpexp._native import count_runs, read_pairs
from tcpexp._options import PairsOptions, StorageOptions, check

__all__ = ["Job", "Node", "analyze", "sweep"]

BASE_MEMORY = 320 << 20
"""Memory in bytes that a task asks for, whatever its pair."""
MEMORY_PER_BYTE = 2
"""Memory that a task asks for by byte of its captures. Memory follows the flows, not the bytes: pairs with
100,000 flows took 469 MB for 80 MB and 1,689 MB for 783 MB, one with 8 flows 366 MB for 836 MB. A
compressed pair may take more; Ray places tasks by this request, and enforces no limit of its own."""
SHARD_BYTES = 4 << 30
"""A larger pair is divided. Each of its tasks reads all of the pair, which at 4 GiB takes 1 to 2 minutes."""
GUEST_MEMORY = 1 << 30
"""Memory in bytes that a run of a sweep asks for: that of its virtual machine, and QEMU."""
BETWEEN_LOOKS = 0.5
"""Seconds between two looks at the tasks."""


@dataclass(frozen=True)
class Node:
    """What the tasks on a node did. Attempts that were lost with their node are in no sum."""

    name: str
    """Host, and the first digits of Ray's identifier."""
    tasks: int
    bytes: int
    """Bytes of the captures that were analysed."""
    packets: int
    """Packets that were read. A divided pair is read by each of its tasks."""
    cpu_seconds: float
    """Processor time of the tasks."""
    memory: int
    """Peak memory in bytes of the largest worker, with Ray's own part."""

    @property
    def packets_per_cpu_second(self) -> float | None:
        """`None` if nothing was computed."""
        return self.packets / self.cpu_seconds if self.packets else None


@dataclass(frozen=True)
class Job:
    """The result of a job."""

    dataset: Dataset
    """The joined dataset, or the directory of the parts."""
    parts: list[Part]
    """The parts in the order of the pairs. A divided pair has several."""
    nodes: list[Node]
    """The nodes in the order of their names."""
    merge_seconds: float
    """Time that it took to join the parts, on the driver."""

    @property
    def text(self) -> str:
        """The tables of the dataset, the parts, and a line of cost for each node."""
        ends = [part.end for part in self.parts]
        counts = ", ".join(
            f"{ends.count(end)} {end}" for end in ("analysed", "already there", "failed")
        )
        lines = [f"{'parts':<16}{counts}"]
        for node in self.nodes:
            rate = node.packets_per_cpu_second
            per_second = "" if rate is None else f", {rate:,.0f} packets per CPU second"
            lines.append(
                f"{node.name:<16}{node.tasks} tasks, {node.bytes:,} bytes, {node.packets:,} packets, "
                f"{node.cpu_seconds:.1f} CPU seconds{per_second}, {node.memory / 1e6:,.0f} MB of memory"
            )
        lines.append(f"{'merge':<16}{self.merge_seconds:.1f} s")
        return self.dataset.text + "\n".join(lines) + "\n"

    def summary(self) -> None:
        """Prints the text."""
        print(self.text, end="")


@dataclass(frozen=True)
class _Task:
    """A pair, or a part of its flows."""

    number: int
    name: str
    bytes: int
    shard: str | None


@dataclass(frozen=True)
class _Ended:
    part: Part
    warnings: list[str]
    node: str
    cpu_seconds: float
    memory: int


def analyze(
    manifest: StrPath,
    *,
    output: StrPath,
    parts: StrPath | None = None,
    cpus: int = 1,
    shard_bytes: int = SHARD_BYTES,
    merge: bool = True,
    quiet: bool = False,
    **options: Unpack[PairsOptions],
) -> Job:
    """Analyses all pairs of a table of `tcpexp.pairs`, a Ray task for each, and joins the results.

    The dataset is that of `tcpexp analyze --pairs` and `tcpexp merge --pairs`, byte for byte. A pair
    that cannot be analysed is a row of the table `errors`. A part that exists is not computed again.

    - `manifest`: the table, as a file that all nodes can read, or a URL. Relative paths in it count
      from the working directory of this process.
    - `output`: the directory of the dataset, or a URL.
    - `parts`: the directory of the parts, which all nodes share, or a URL. Default: `output` with
      `.parts`.
    - `cpus`: processors, and so threads, of a task.
    - `shard_bytes`: a pair with more bytes is divided into tasks by its flows.
    - `merge`: join the parts, which one process does. Otherwise the dataset of the job is the directory
      of the parts, each a dataset with the column `pair`.
    - `quiet`: show no progress, and no warnings.
    - The other options are those of `tcpexp.analyze`.
    """
    check(PairsOptions, options)
    place = os.fspath(output).rstrip("/")
    folder = absolute(f"{place}.parts" if parts is None else parts)
    stores = options.get("storage_options")
    tasks = _tasks(absolute(_path(manifest)), stores, shard_bytes)
    ended = _run(tasks, absolute(manifest), folder, cpus, options, quiet)
    started = time.monotonic()
    if merge:
        dataset = _merge(folder, output=place, pairs=manifest, storage_options=stores)
    else:
        dataset = Dataset(_output(folder), "")
    merge_seconds = time.monotonic() - started
    order = sorted(range(len(tasks)), key=lambda at: (tasks[at].number, tasks[at].shard or ""))
    return Job(dataset, [ended[at].part for at in order], _nodes(tasks, ended), merge_seconds)


def _tasks(manifest: str, stores: StorageOptions | None, shard_bytes: int) -> list[_Task]:
    """The tasks, the longest first: one that begins last ends last."""
    if shard_bytes < 1:
        raise ValueError("shard_bytes must be greater than 0")
    tasks = []
    for number, name, size in read_pairs(manifest, settings(stores)):
        count = max(1, -(-size // shard_bytes))
        shards = [None] if count == 1 else [f"{shard}/{count}" for shard in range(1, count + 1)]
        tasks += [_Task(number, name, size, shard) for shard in shards]
    return sorted(tasks, key=lambda task: task.bytes, reverse=True)


def _run(
    tasks: list[_Task],
    manifest: str,
    folder: str,
    cpus: int,
    options: PairsOptions,
    quiet: bool,
) -> list[_Ended]:
    """Runs all tasks. Returns their ends in the order of the tasks."""
    _connect()
    most = _largest_memory()
    remote = ray.remote(_one)
    waiting = {}
    for at, task in enumerate(tasks):
        # A request that no node meets would wait for ever.
        memory = min(BASE_MEMORY + MEMORY_PER_BYTE * task.bytes, most)
        placed = remote.options(num_cpus=cpus, memory=memory, name=f"tcpexp {task.name}")
        future = placed.remote(task, manifest, folder, os.getcwd(), cpus, options)
        waiting[future] = at
    ended: dict[int, _Ended] = {}
    problems: list[tuple[str, Exception]] = []
    with _progress(tasks, quiet) as advance:
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=BETWEEN_LOOKS)
            for future in done:
                at = waiting.pop(future)
                try:
                    ended[at] = ray.get(future)
                except Exception as error:  # Not of the captures: a full disk, a worker out of memory.
                    problems.append((tasks[at].name, error))
                advance(tasks[at])
    if not quiet:
        for at in sorted(ended, key=lambda at: tasks[at].number):
            for text in ended[at].warnings:
                warnings.warn(text, CaptureWarning, stacklevel=3)
    if problems:
        name, cause = problems[0]
        counted = f"{len(problems)} of {len(tasks)} tasks were not done"
        raise Error(f"{counted}: {name}: {cause}") from cause
    return [ended[at] for at in range(len(tasks))]


def _one(
    task: _Task, manifest: str, folder: str, place: str, cpus: int, options: PairsOptions
) -> _Ended:
    """Analyses a pair, in a worker."""
    # The first use of threads in a worker reads it.
    os.environ["RAYON_NUM_THREADS"] = str(cpus)
    before = time.process_time()
    with warnings.catch_warnings(record=True) as caught, working_directory(place):
        warnings.simplefilter("always")
        made = _analyze_here(
            pairs=manifest, task=task.number, output=folder, jobs=1, shard=task.shard, **options
        )
    [part] = made.parts
    texts = [str(warning.message) for warning in caught]
    node = f"{socket.gethostname()}/{ray.get_runtime_context().get_node_id()[:8]}"
    # Linux counts in KiB.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return _Ended(part, texts, node, time.process_time() - before, memory)


def sweep(
    plan: StrPath,
    *,
    output: StrPath,
    program: str = "tcpexp",
    memory: int = GUEST_MEMORY,
    quiet: bool = False,
) -> Path:
    """Carries out the runs of a plan in virtual testbeds, a Ray task for each run.

    The runs are those of `tcpexp sweep PLAN -o OUTPUT --lab` on one machine, byte for byte: each has a
    machine of its own in virtual time. A run that is done is not repeated. Returns the directory.

    - `plan`: the plan, in a file that all nodes can read.
    - `output`: the directory of the results, which all nodes share.
    - `program`: the command on the nodes. It has to be the one that Cargo installs, which the virtual
      machines can start, and needs an image: `tcpexp lab build`.
    - `memory`: memory in bytes that a run asks Ray for.
    - `quiet`: show no progress.
    """
    _connect()
    file, place = os.path.abspath(_path(plan)), os.path.abspath(output)
    remote = ray.remote(_run_one)
    placed = remote.options(num_cpus=1, memory=min(memory, _largest_memory()))
    tasks = [_Task(number, f"run {number}", 1, None) for number in range(1, count_runs(file) + 1)]
    waiting = {placed.remote(program, file, place, task.number): task for task in tasks}
    problems: list[str] = []
    with _progress(tasks, quiet) as advance:
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1)
            for future in done:
                task = waiting.pop(future)
                try:
                    problem = ray.get(future)
                except Exception as error:  # A worker that is lost, or a node without the program.
                    problem = str(error)
                if problem is not None:
                    problems.append(f"{task.name}: {problem}")
                advance(task)
    if problems:
        raise Error(f"{len(problems)} of {len(tasks)} runs were not done: {problems[0]}")
    return Path(place)


def _run_one(program: str, plan: str, output: str, number: int) -> str | None:
    """Carries out one run, in a worker. Returns the last line of what went wrong."""
    command = [program, "sweep", plan, "-o", output, "--lab", "--quiet", "--task", str(number)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = ran.stderr.splitlines() or [f"the exit code is {ran.returncode}"]
    return lines[-1] if ran.returncode != 0 else None


def _connect() -> None:
    if not ray.is_initialized():
        ray.init()


def _largest_memory() -> int:
    """Memory in bytes of the largest node."""
    memories = [node["Resources"].get("memory", 0) for node in ray.nodes() if node["Alive"]]
    return int(max(memories, default=0))


def _nodes(tasks: list[_Task], ended: list[_Ended]) -> list[Node]:
    nodes: dict[str, list[tuple[_Task, _Ended]]] = {}
    for task, end in zip(tasks, ended):
        nodes.setdefault(end.node, []).append((task, end))
    return [
        Node(
            name,
            tasks=len(of_node),
            bytes=sum(task.bytes for task, end in of_node if end.part.end == "analysed"),
            packets=sum(end.part.records for _, end in of_node),
            cpu_seconds=sum(end.cpu_seconds for _, end in of_node),
            memory=max(end.memory for _, end in of_node),
        )
        for name, of_node in sorted(nodes.items())
    ]


@contextlib.contextmanager
def _progress(tasks: list[_Task], quiet: bool) -> Iterator[Callable[[_Task], None]]:
    """Shows on a terminal how many tasks are done."""
    total, shows = sum(task.bytes for task in tasks), not quiet and sys.stderr.isatty()
    done, size = 0, 0

    def advance(task: _Task) -> None:
        nonlocal done, size
        done, size = done + 1, size + task.bytes
        if shows:
            percent = 100 * size // max(total, 1)
            print(f"\r{done} of {len(tasks)} tasks, {percent} % of the bytes", end="", file=sys.stderr)

    try:
        yield advance
    finally:
        if shows:
            print(file=sys.stderr)
