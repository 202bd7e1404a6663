"""Many pairs of captures, cut from a few, for the tests of engines."""

import filecmp
import gzip
from collections.abc import Iterator
from pathlib import Path

import tcpexp

REPOSITORY = Path(__file__).resolve().parents[3]
FIXTURES = REPOSITORY / "fixtures"
# More captures of the same kind, on the machines of the developers.
SHARED = REPOSITORY.parent / "shared" / "captures"
# A cut has some thousand packets, and several round trips at any rate.
CUT_SECONDS = 4
# How a pair is broken, in turn: no capture, no bytes, a header cut short, another path's packets.
BROKEN = ["text", "empty", "short", "foreign"]


class Records:
    """The records of a pcap file in little-endian order, with their seconds since the first."""

    def __init__(self, file: Path) -> None:
        data = gzip.decompress(file.read_bytes())
        self.header, self.records = data[:24], list(records(data))
        self.seconds = self.records[-1][0] - self.records[0][0]

    def cut(self, begin: int, seconds: int) -> bytes:
        start = self.records[0][0] + begin
        kept = [record for at, record in self.records if start <= at < start + seconds]
        return b"".join([self.header, *kept])


def records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 24
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        yield int.from_bytes(data[at : at + 4], "little"), data[at:end]
        at = end


def later(data: bytes, count: int) -> bytes:
    """A capture of IPv4 over Ethernet, `count` times in a row: the flows of each time have other ports."""
    first, *_, (last, _) = records(data)
    period = last - first[0] + 60
    written = [data[:24]]
    for time in range(count):
        for at, record in records(data):
            changed = bytearray(record)
            changed[:4] = (at + time * period).to_bytes(4, "little")
            ports = 16 + 14 + 4 * (record[16 + 14] & 15)
            for place in (ports, ports + 2):
                port = int.from_bytes(record[place : place + 2], "big")
                # Those of clients.
                if port >= 32768:
                    changed[place : place + 2] = (32768 + (port + 7 * time) % 32768).to_bytes(2, "big")
            written.append(bytes(changed))
    return b"".join(written)


def make(folder: Path, count: int, broken: int, seconds: int = CUT_SECONDS) -> Path:
    """Writes `count` pairs of this length, the last `broken` of them broken. Returns their table."""
    of_both = [place.parent for place in sorted([*FIXTURES.glob("*/src.pcap.gz"), *SHARED.glob("*/src.pcap.gz")])]
    sources = [[Records(place / f"{point}.pcap.gz") for point in ("src", "dst")] for place in of_both]
    for number in range(count):
        pair = sources[number % len(sources)]
        # Cuts of one source begin two seconds apart, and begin again at its end.
        begins = max(1, min(one.seconds for one in pair) - seconds)
        begin = 2 * (number // len(sources)) % begins
        files = [one.cut(begin, seconds) for one in pair]
        how = BROKEN[number % len(BROKEN)] if number >= count - broken else ""
        if how == "foreign":
            files[1] = sources[(number + 1) % len(sources)][1].cut(begin, seconds)
        elif how:
            files[0] = {"text": b"no capture", "empty": b"", "short": files[0][:20]}[how]
        for point, data in zip(("src", "dst"), files):
            place = folder / point / f"{number:03}.pcap"
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
    table = folder / "pairs.parquet"
    tcpexp.pairs(folder / "src", folder / "dst").write(table)
    return table


def by_one_process(table: Path) -> Path:
    """The dataset of a table, made by this process."""
    parts = table.parent / "parts"
    tcpexp.analyze(pairs=table, output=parts)
    return tcpexp.merge(parts, output=table.parent / "one", pairs=table).path


def differing(one: Path, other: Path) -> list[str]:
    """Names of the files that differ between two folders."""
    names = sorted({path.name for folder in (one, other) for path in folder.iterdir()})
    _, differ, absent = filecmp.cmpfiles(one, other, names, shallow=False)
    return differ + absent
