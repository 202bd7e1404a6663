"""Options that several functions share. They are named as the flags of the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from tcpexp._inputs import Flow, Moment, Span

StorageOptions: TypeAlias = Mapping[str, str | bool | int]
"""Options of object stores by their names in the crate object_store, such as
`{"aws_region": "eu-west-1"}`."""
LogFormat: TypeAlias = Literal["tcp_probe", "tcpinfo", "ss", "siftr", "web10g", "iperf3"]
"""Formats of the logs of kernels and tools."""
ImportFormat: TypeAlias = LogFormat | Literal["flent", "teacup"]
"""Formats of logs, and of the experiments of other tools."""
Kind: TypeAlias = Literal[
    "timeseries", "ecdf", "box", "violin", "heatmap", "bar", "fairness", "sequence",
    "throughput-delay",
]  # fmt: skip
"""Kinds of charts."""


class ReadOptions(TypedDict, total=False):
    """How captures are read."""

    inner: bool
    """Measure the packets inside IP-in-IP, GRE and VXLAN tunnels."""
    filter: str
    """Use only the packets that this expression of pcap-filter(7) selects."""
    from_: Moment
    """Use only the packets at and after this moment; of two captures, a moment of the first."""
    to: Moment
    """Use only the packets before this moment."""
    no_mmap: bool
    """Do not map captures into memory: slower, but safe if another program truncates the file."""
    max_flows: int
    """Keep at most this many flows in memory at once."""
    storage_options: StorageOptions
    """Options for inputs and outputs that are URLs of object stores."""


class SelectOptions(ReadOptions, total=False):
    """Which flows are measured, and how captures are read."""

    flow: Flow | Sequence[Flow]
    """Select flows by number or port, or by a part of `"address:port > address:port"`."""
    limit: int
    """Show at most this many flows in the summary."""


class PartOptions(SelectOptions, total=False):
    """Which flows are measured, in how many parts, and how captures are read."""

    shard: str
    """Report only the flows of a part, such as `"1/4"`, to divide a measurement."""


class SenderOptions(TypedDict, total=False):
    """How senders are replayed."""

    position: Literal["sender", "receiver", "between"]
    """Position of the capture relative to the data's sender. Default: detected."""
    profile: Literal["linux", "old-linux", "early-linux", "freebsd"]
    """Operating system of the sender. Default: Linux 4.0 or later."""


class SelectSenderOptions(SelectOptions, SenderOptions, total=False):
    """Which flows are measured, how captures are read, and how senders are replayed."""


class ReadSenderOptions(ReadOptions, SenderOptions, total=False):
    """How captures are read, and how senders are replayed."""


class PairsOptions(ReadOptions, total=False):
    """How many pairs of captures are analysed. `tcpexp.analyze` explains each."""

    profile: Literal["linux", "old-linux", "early-linux", "freebsd"]
    param: Mapping[str, str | float | bool]
    bin: Span
    rate: str | int
    max_owd: Span
    symmetric: bool
    one_clock: bool


class PlotOptions(TypedDict, total=False):
    """Options of charts. Each kind of chart has some: see `tcpexp plot KIND --help`."""

    filter: str | Sequence[str]
    """Draw only the rows that meet these conditions, such as `"cc=cubic"`; of a capture, use only
    the packets that an expression of pcap-filter(7) selects."""
    inner: bool
    from_: Moment
    to: Moment
    no_mmap: bool
    max_flows: int
    storage_options: StorageOptions
    table: str
    bin: Span
    panel: str | Sequence[str]
    flow: Flow | Sequence[Flow]
    group: str | Sequence[str]
    colour: str | Sequence[str]
    facet: str | Sequence[str]
    labels: bool
    x: str | Sequence[str]
    y: str
    value: str
    statistic: str
    warmup: Span
    per: Literal["flow", "bin"]
    flows: str
    direction: str
    x_unit: str
    y_unit: str
    value_unit: str
    value_limits: str
    width: str | int
    height: int
    theme: Literal["paper", "dark", "grey"]
    title: str
    x_limits: str
    y_limits: str
    x_name: str
    y_name: str
    x_log: bool
    y_log: bool


def check(known: type[Any], options: Mapping[str, Any]) -> None:
    """Refuses options that do not exist, as Python refuses other keyword arguments."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"unexpected keyword argument {name!r}")
