"""Round-trip times, losses, rates and congestion windows from packet captures.

>>> import polars, tcpexp
>>> rtt = tcpexp.rtt("src.pcap", "dst.pcap")
>>> rtt.summary()
>>> polars.DataFrame(rtt)

A function has the name and the options of a command: `tcpexp rtt --help` explains those of
`tcpexp.rtt`. Times in tables are nanoseconds where the column ends in `_ns`; rates are bits per second.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, Unpack, cast

from tcpexp._inputs import (
    Capture,
    Flow,
    Inputs,
    Moment,
    Span,
    StrPath,
    below,
    flags,
    output as _output,
    path as _path,
)
from tcpexp import _progress
from tcpexp._native import CaptureWarning, Error
from tcpexp._objects import Object
from tcpexp._options import (
    ImportFormat,
    Kind,
    LogFormat,
    PartOptions,
    PlotOptions,
    ReadOptions,
    ReadSenderOptions,
    SelectSenderOptions,
    StorageOptions,
    check as _check,
)
from tcpexp._table import (
    Command,
    Comparison,
    Dataset,
    Figure,
    LogTable,
    PairTable,
    Part,
    Plotted,
    SenderTable,
    SideTable,
    Table,
)

if TYPE_CHECKING:
    import polars

__all__ = [
    "CaptureWarning",
    "Comparison",
    "Dataset",
    "Error",
    "Figure",
    "LogTable",
    "Object",
    "PairTable",
    "Part",
    "Plotted",
    "SenderTable",
    "SideTable",
    "Table",
    "analyze",
    "check",
    "compare",
    "cwnd",
    "explain",
    "flows",
    "import_log",
    "merge",
    "pairs",
    "path",
    "plot",
    "report",
    "rtt",
    "scan_cwnd",
    "scan_flows",
    "scan_path",
    "scan_rtt",
    "scan_throughput",
    "schema",
    "score",
    "split",
    "survey",
    "throughput",
    "why",
]


def rtt(
    src: Capture,
    dst: Capture | None = None,
    *,
    max_owd: Span | None = None,
    symmetric: bool = False,
    one_clock: bool = False,
    survey: StrPath | None = None,
    sort: str | None = None,
    **options: Unpack[PartOptions],
) -> PairTable:
    """Round-trip times between two captures without synchronised clocks, or of one capture.

    Between two captures, a row is a pair of packets; the receiver's delay is not in `rtt_ns`. Of one
    capture, a row is a segment and its ACK, or a timestamp and its echo.

    - `max_owd`: the longest plausible one-way delay. The fate of a later packet is unknown. Default: 30 s.
    - `symmetric`: assume that the smallest delays of both directions are equal.
    - `one_clock`: both captures have the times of one clock.
    - `survey`: a file of `survey`, in place of the first passes.
    - `sort`: the order of the flows in the summary; `tcpexp rtt --help` lists them.
    """
    inputs = Inputs()
    command = _command(
        "rtt", inputs, _captures(src, dst), PartOptions, options,
        max_owd=max_owd, symmetric=symmetric, one_clock=one_clock, survey=_known(survey), sort=sort,
    )  # fmt: skip
    return PairTable(command)


def path(
    src: Capture,
    dst: Capture,
    *more: Capture,
    max_owd: Span | None = None,
    symmetric: bool = False,
    one_clock: bool = False,
    survey: StrPath | None = None,
    sort: str | None = None,
    **options: Unpack[PartOptions],
) -> PairTable:
    """The fate and the delays of each packet between two captures, or along more.

    - `more`: captures at points further along the path. Rows then have a `segment`.
    - `max_owd`: the longest plausible one-way delay. The fate of a later packet is unknown. Default: 30 s.
    - `symmetric`: assume that the smallest delays of both directions are equal.
    - `one_clock`: both captures have the times of one clock.
    - `survey`: a file of `survey`, in place of the first passes.
    - `sort`: the order of the flows in the summary; `tcpexp path --help` lists them.
    """
    inputs = Inputs()
    command = _command(
        "path", inputs, [src, dst, *more], PartOptions, options,
        max_owd=max_owd, symmetric=symmetric, one_clock=one_clock, survey=_known(survey), sort=sort,
    )  # fmt: skip
    return PairTable(command)


def flows(
    *captures: Capture,
    control: bool = False,
    sort: Literal["payload", "packets", "duration", "retransmitted", "rtt", "start"] = "payload",
    **options: Unpack[PartOptions],
) -> Table:
    """A row per connection of each capture: sizes, rates, retransmissions, round-trip times.

    - `control`: name the congestion control of each sender in the summary.
    - `sort`: the order of the summary.
    """
    command = _command(
        "flows", Inputs(), captures, PartOptions, options, control=control, sort=sort
    )
    return Table(command)


def throughput(
    capture: Capture,
    *,
    bin: Span | None = None,
    empty_bins: bool = False,
    origin: str | float | datetime | None = None,
    rate: str | int | None = None,
    sort: str | None = None,
    **options: Unpack[PartOptions],
) -> Plotted:
    """Wire rate, throughput and goodput in time bins, in bits per second.

    - `bin`: the width of a bin. Default: 1 s.
    - `empty_bins`: write every empty bin, even if nearly all rows are empty.
    - `origin`: the start of the first bin: `"first"` packet, a `datetime` with a time zone, or seconds
      since 1970.
    - `rate`: the rate of the link for its utilisation, in bits per second or as `"10Mbit"`.
    - `sort`: the order of the flows in the summary; `tcpexp throughput --help` lists them.
    """
    command = _command(
        "throughput", Inputs(), [capture], PartOptions, options,
        bin=bin, empty_bins=empty_bins, origin=origin, rate=_rate(rate), sort=sort,
    )  # fmt: skip
    return Plotted(command)


def cwnd(
    src: Capture,
    dst: Capture | None = None,
    *,
    truth: StrPath | None = None,
    truth_format: LogFormat | None = None,
    shard: str | None = None,
    control: bool = False,
    sort: str | None = None,
    **options: Unpack[SelectSenderOptions],
) -> SenderTable:
    """Congestion window and state of TCP senders, a row per acknowledgment. Windows are in bytes.

    - `dst`: the capture at the other end, to find packets lost on the path.
    - `truth`: a kernel's log, or a table of `import_log`, to compare with in the summary.
    - `shard`: report only the flows of a part, such as `"1/4"`.
    - `control`: name the congestion control of each sender in the summary.
    - `sort`: the order of the flows in the summary; `tcpexp cwnd --help` lists them.
    """
    command = _command(
        "cwnd", Inputs(), _captures(src, dst), SelectSenderOptions, options,
        truth=_known(truth), truth_format=truth_format, shard=shard, control=control,
        sort=sort,
    )  # fmt: skip
    return SenderTable(command)


def why(
    src: Capture, dst: Capture | None = None, **options: Unpack[SelectSenderOptions]
) -> Table:
    """What limited the large flows of a capture, and for how long."""
    return Table(_command("why", Inputs(), _captures(src, dst), SelectSenderOptions, options))


def explain(
    capture: Capture,
    flow: Flow | Sequence[Flow],
    *,
    at: Moment | None = None,
    event: str | None = None,
    **options: Unpack[ReadSenderOptions],
) -> Table:
    """The packets of a flow, with what tcpexp infers from each.

    - `at`: only the packets within one round-trip time of this moment.
    - `event`: only the packets of this event, by the column `event_id` of `cwnd(...).events`.
    """
    command = _command(
        "explain", Inputs(), [capture], ReadSenderOptions, options, flow=flow, at=at, event=event
    )
    return Table(command)


def analyze(
    src: Capture | None = None,
    dst: Capture | None = None,
    *,
    output: StrPath | None = None,
    pairs: StrPath | None = None,
    task: str | int | None = None,
    jobs: int | None = None,
    log: Iterable[tuple[str, StrPath]] = (),
    param: Mapping[str, str | float | bool] | None = None,
    bin: Span | None = None,
    rate: str | int | None = None,
    max_owd: Span | None = None,
    symmetric: bool = False,
    one_clock: bool = False,
    shard: str | None = None,
    survey: StrPath | None = None,
    **options: Unpack[ReadSenderOptions],
) -> Dataset:
    """All measurements as a directory of Parquet tables. An existing dataset is replaced.

    - `src`: a capture, or the directory of a run or a sweep.
    - `output`: the directory. Default for a run: `data` in its directory.
    - `pairs`: a table of `pairs`, in place of captures. Each pair gets a dataset of its own in
      `output`, its part, unless it is there. `merge` joins them.
    - `task`: only the pair with this number, or a share of the pairs, such as `"3/10"`.
    - `jobs`: runs of a sweep, or pairs, to analyse in parallel.
    - `log`: kinds and paths of logs, such as `[("ss", "ss.txt")]`.
    - `param`: columns with one value in all tables, such as `{"cc": "cubic"}`. Text stays text, also `"5.10"`.
    - `bin`: the width of a bin of throughput and queueing delay. Default: 100 ms.
    - `rate`: the rate of the link, in bits per second or as `"10Mbit"`.
    - `one_clock`: both captures have the times of one clock.
    - `shard`: write only the flows of a part, such as `"1/4"`; `merge` joins all parts.
    - `survey`: a file of `survey`, in place of the first passes.
    """
    if output is not None:
        output = _output(output)
    inputs = Inputs()
    logs = [f"{kind}={_path(file)}" for kind, file in log]
    params = [f"{name}={_typed(name, value)}" for name, value in (param or {}).items()]
    command = _command(
        "analyze", inputs, _captures(src, dst), ReadSenderOptions, options,
        output=output, pairs=_known(pairs), task=task, jobs=jobs, log=logs, param=params, bin=bin,
        rate=_rate(rate), max_owd=max_owd, symmetric=symmetric, one_clock=one_clock, shard=shard,
        survey=_known(survey),
    )  # fmt: skip
    call = command.call("none")
    text = call.text()
    if output is None and isinstance(src, (str, PathLike)):
        output = below(Path(src), "data") if Path(src, "data").is_dir() else src
    parts = [
        Part(number, name, _output(place), end, records)
        for number, name, place, end, records in call.pairs()
    ]
    return Dataset(_output(fspath(cast(StrPath, output))), text, parts)


def pairs(
    src: StrPath, dst: StrPath, *, storage_options: StorageOptions | None = None
) -> Table:
    """The captures in two folders that belong together, by their names and times. A row per file.

    - `src`: a folder with the captures at the source, and folders below it; or a pattern. The URL
      `"s3://bucket/prefix"` stands for all objects below it.
    - `dst`: the same for the destination. If both are one folder, the names identify the points.
    """
    options = flags([("storage_options", storage_options)])
    return Table(Command(["pairs", *options, _path(src), _path(dst)], Inputs()))


def survey(
    src: Capture,
    dst: Capture,
    *,
    output: StrPath,
    max_owd: Span | None = None,
    one_clock: bool = False,
    **options: Unpack[ReadOptions],
) -> Path | str:
    """Writes what all measurements of two captures share, as JSON. Returns the path or URL.

    - `max_owd`: the longest plausible one-way delay. Default: 30 s.
    - `one_clock`: both captures have the times of one clock.
    """
    place = _output(output)
    command = _command(
        "survey", Inputs(), [src, dst], ReadOptions, options, max_owd=max_owd, one_clock=one_clock
    )
    command.write("output", place)
    return place


def split(
    *captures: StrPath,
    parts: int,
    output: StrPath,
    inner: bool = False,
    no_mmap: bool = False,
    max_flows: int | None = None,
    storage_options: StorageOptions | None = None,
) -> Path | str:
    """Cuts captures into parts by flows, to divide an analysis. Returns the directory of the parts.

    `flows`, `rtt` and `cwnd` of a part report the rows that `shard` selects. The parts of a capture
    `NAME.pcap` are the files `NAME.1-of-4.pcapng`, `NAME.2-of-4.pcapng` and so on.

    - `parts`: the number of parts of each capture.
    - `inner`: divide the flows inside IP-in-IP, GRE and VXLAN tunnels.
    - `no_mmap`: do not map captures into memory.
    - `max_flows`: keep at most this many flows in memory at once, as in the analysis of the parts.
    """
    place = _output(output)
    options = flags([
        ("parts", parts), ("output", place), ("inner", inner), ("no_mmap", no_mmap),
        ("max_flows", max_flows), ("storage_options", storage_options),
    ])  # fmt: skip
    Command(["split", *options, *map(_path, captures)], Inputs()).call("none").text()
    return place


def merge(
    *parts: StrPath,
    output: StrPath,
    pairs: StrPath | None = None,
    storage_options: StorageOptions | None = None,
) -> Dataset:
    """Joins the datasets of all parts of an analysis to one dataset.

    - `parts`: the parts of one analysis; with `pairs`, directories that hold them.
    - `pairs`: a table of `pairs`, to join the parts of all of them.
    """
    place = _output(output)
    options = flags([
        ("output", place), ("pairs", _known(pairs)), ("storage_options", storage_options),
    ])  # fmt: skip
    command = Command(["merge", *options, *map(_path, parts)], Inputs())
    return Dataset(place, command.call("none").text())


def import_log(
    format: ImportFormat,
    log: StrPath,
    *,
    limit: int | None = None,
    storage_options: StorageOptions | None = None,
) -> LogTable:
    """The log of a kernel or a tool as the table of `cwnd`, or of intervals for iperf3.

    - `limit`: show at most this many senders in the summary.
    """
    inputs = Inputs()
    options = flags([("limit", limit), ("storage_options", storage_options)])
    return LogTable(Command(["import", *options, format, _path(log)], inputs))


def score(
    *inputs: StrPath,
    truth_format: LogFormat | None = None,
    **options: Unpack[ReadSenderOptions],
) -> Table:
    """How far reconstructed sender state is from a kernel's log.

    - `inputs`: pairs of a reconstruction and its truth, or folders with both.
    """
    held = Inputs()
    return Table(_command("score", held, inputs, ReadSenderOptions, options, truth_format=truth_format))


def compare(
    dir: StrPath,
    *,
    warmup: Span | None = None,
    baseline: Mapping[str, str | float] | None = None,
    only: Mapping[str, str | float | None | Sequence[str | float | None]] | None = None,
    window: Span | None = None,
    delta: float | None = None,
    hold: Span | None = None,
    counts: Literal["frames", "packets"] = "frames",
    seed: int | None = None,
    sort: str | None = None,
    top: int | None = None,
    storage_options: StorageOptions | None = None,
) -> Comparison:
    """The cells of a sweep, or of a folder of datasets, with bootstrap intervals.

    - `warmup`: ignore this time after the start of the traffic of each run.
    - `baseline`: the cell to compute friendliness and harm against, such as `{"cc": "reno"}`.
    - `only`: use only the cells with one of the values of each parameter, such as
      `{"cc": ["cubic", "reno"], "rate_mbps": 10}`.
    - `window`: for shares and rates over time. Default: 1 s.
    - `delta`: the tolerance of convergence, a fraction. Default: 0.1.
    - `hold`: the time for which convergence must last. Default: 5 s.
    - `counts`: what the bottleneck counts: Ethernet frames, or IP packets.
    - `seed`: of the bootstrap.
    - `sort`: the number that orders the lines of the summary; `top`: how many it shows.
    """
    settings = [f"{name}={_param(value)}" for name, value in (baseline or {}).items()]
    options = flags([
        ("warmup", warmup), ("baseline", settings), ("only", _only(only)), ("window", window),
        ("delta", delta), ("hold", hold), ("counts", counts), ("seed", seed),
        ("sort", sort), ("top", top), ("storage_options", storage_options),
    ])  # fmt: skip
    return Comparison(Command(["compare", *options, _path(dir)], Inputs()))


def check(
    dir: StrPath,
    *,
    expect: str | Sequence[str] = (),
    baseline: StrPath | None = None,
    warmup: Span | None = None,
    only: Mapping[str, str | float | None | Sequence[str | float | None]] | None = None,
    window: Span | None = None,
    delta: float | None = None,
    hold: Span | None = None,
    counts: Literal["frames", "packets"] = "frames",
    seed: int | None = None,
    storage_options: StorageOptions | None = None,
) -> Table:
    """Whether the results of a sweep are as expected: a row per expectation and cell.

    Unlike the command, it raises no error for a value that is not as expected: the column `verdict`
    has it.

    - `expect`: check these instead of the expectations of the plan, such as `"rtt_p95_ms < 80"`.
    - `baseline`: an earlier sweep, for bounds such as `"goodput_bps >= 0.95 * baseline"`.
    - The other options are those of `compare`.
    """
    options = flags([
        ("expect", expect), ("baseline", _known(baseline)), ("warmup", warmup), ("only", _only(only)),
        ("window", window), ("delta", delta), ("hold", hold), ("counts", counts), ("seed", seed),
        ("storage_options", storage_options),
    ])  # fmt: skip
    return Table(Command(["check", *options, _path(dir)], Inputs()))


def plot(kind: Kind, *data: StrPath, **options: Unpack[PlotOptions]) -> Figure:
    """A chart of datasets, sweeps, tables or, for `"sequence"`, a capture.

    The options are those of `tcpexp plot KIND --help`.
    """
    _check(PlotOptions, options)
    given = [_plot_flag(name, value) for name, value in options.items()]
    return Figure(Command(["plot", kind, *flags(given), *map(_path, data)], Inputs()), "output")


def report(
    dir: StrPath,
    *,
    output: StrPath = "report.html",
    only: Mapping[str, str | float | None | Sequence[str | float | None]] | None = None,
    storage_options: StorageOptions | None = None,
) -> Path | str:
    """An interactive page of runs or datasets, in one HTML file. Returns its path or URL.

    - `only`: show only the cells with one of the values of each parameter.
    """
    place = _output(output)
    options = flags([("only", _only(only)), ("storage_options", storage_options)])
    Command(["report", *options, _path(dir)], Inputs()).write("output", place)
    return place


class Column(TypedDict):
    """The definition of a column."""

    name: str
    type: str
    unit: str | None
    nullable: bool
    description: str


class TableSchema(TypedDict):
    """The definition of a table."""

    name: str
    description: str
    command: str
    version: str
    columns: list[Column]


def schema(table: str | None = None) -> list[TableSchema]:
    """The definitions of the columns of all tables, or of one, such as `"command:rtt"`."""
    names = [] if table is None else [table]
    text = Command(["schema", "--format=json", *names], Inputs()).call("none").text()
    return cast("list[TableSchema]", json.loads(text))


_Options = ParamSpec("_Options")


def _scanning(table: Callable[_Options, Table]) -> Callable[_Options, polars.LazyFrame]:
    """The function that returns the rows of a table as a lazy frame."""

    @functools.wraps(table, assigned=("__module__",))
    def scan(*captures: _Options.args, **options: _Options.kwargs) -> polars.LazyFrame:
        return table(*captures, **options).scan()

    scan.__name__ = scan.__qualname__ = f"scan_{table.__name__}"
    scan.__doc__ = f"The rows of `{table.__name__}` as a lazy frame of polars: `{table.__name__}(...).scan()`."
    return scan


scan_cwnd = _scanning(cwnd)
scan_flows = _scanning(flows)
scan_path = _scanning(path)
scan_rtt = _scanning(rtt)
scan_throughput = _scanning(throughput)


def _command(
    name: str,
    inputs: Inputs,
    captures: Iterable[Capture],
    known: type[Any],
    options: Mapping[str, Any],
    **own: Any,
) -> Command:
    """A command with captures, and with options of its own and those of `known`."""
    _check(known, options)
    paths = [inputs.capture(capture) for capture in captures]
    given = [*own.items(), ("storage_options", inputs.store_options), *options.items()]
    return Command([name, *flags(given), *paths], inputs)


def _captures(src: Capture | None, dst: Capture | None) -> list[Capture]:
    """One capture, or two. `dst` alone is not measured in place of `src`."""
    if src is None:
        if dst is not None:
            raise TypeError("src is None, and dst is a capture")
        return []
    return [src] if dst is None else [src, dst]


def _plot_flag(name: str, value: Any) -> tuple[str, Any]:
    """Columns and panels are lists with commas; filters and flows are repeated."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return (name, ",".join(value) if is_list and name not in ("filter", "flow") else value)


def _only(only: Mapping[str, str | float | None | Sequence[str | float | None]] | None) -> str | None:
    """Values of parameters, as the flag `--only` has them: with the name before each."""
    settings: list[str] = []
    for name, values in (only or {}).items():
        several = [values] if values is None or isinstance(values, (str, float, int)) else list(values)
        if not several:
            raise ValueError(f"an empty list of values of {name}")
        settings += [_element(name, _param(value)) for value in several]
    return ",".join(settings) or None


def _element(name: str, value: str) -> str:
    """An element of a list with commas, as the command reads it."""
    if '"' in value or value != value.strip():
        raise ValueError(f"{value!r} cannot be selected: it has a double quote, or a space at an end")
    return f'"{name}={value}"' if "," in value else f"{name}={value}"


def _known(file: StrPath | None) -> str | None:
    """The path of a file that exists, if one is given."""
    return None if file is None else _path(file)


def _rate(rate: str | int | None) -> str | int | None:
    # `bool` is a subclass of `int`; the check of the options refuses it.
    is_number = isinstance(rate, Integral) and not isinstance(rate, bool)
    return f"{rate}bit" if is_number else rate


def _param(value: str | float | bool | None) -> str:
    """A value of a parameter, as the command writes it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _typed(name: str, value: str | float | bool) -> str:
    """A value of `--param`, which the command reads with this type: text in quotes is no number."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise TypeError(f"the parameter {name} is {value}: expected text, a finite number or a bool")
    return f'"{value}"' if isinstance(value, str) else _param(value)


_progress.begin()
