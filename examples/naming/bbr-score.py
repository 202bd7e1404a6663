#!/usr/bin/env python3
"""Compares the columns of BBR's model in `tcpexp cwnd` with the model that the kernel printed.

usage: bbr-score.py OUT [src|dst]

OUT has the files of `bbr.sh`. The model of the first row after each time of `ss` is compared: the
share of lines with the bandwidth within 3 %, the propagation RTT within 1 %, and the phase and the
pacing gain of the kernel, where the row has both.
"""

import bisect
import csv
import datetime
import pathlib
import re
import subprocess
import sys
import tempfile

MODEL = re.compile(
    r"bbr:\(bw:(?P<bps>\d+)bps,mrtt:(?P<ms>[\d.]+),pacing_gain:(?P<pacing>[\d.]+),cwnd_gain:(?P<window>[\d.]+)\)"
)


def phase(pacing, window):
    """The phase that has these gains in Linux (tcp_bbr.c)."""
    if window > 2.5:
        return "startup" if pacing > 2 else "drain"
    return "probe_rtt" if window < 1.5 else "probe_bandwidth"


def kernel_models(path):
    """Time in nanoseconds and model of each line about the connection that sent most."""
    at, models = None, {}
    for line in path.read_text().splitlines():
        if re.fullmatch(r"\d+\.\d{6}", line.strip()):
            seconds, micros = line.strip().split(".")
            at = (int(seconds) * 1_000_000 + int(micros)) * 1000
        elif (model := MODEL.search(line)) and (sent := re.search(r"bytes_sent:(\d+)", line)):
            models.setdefault(line.split()[3], []).append((at, model, int(sent[1])))
    return max(models.values(), key=lambda lines: lines[-1][2])


def rows(capture):
    """The rows of the sender with most of them."""
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder, "sender.csv")
        subprocess.run(["tcpexp", "cwnd", capture, "-q", "-o", table], check=True, stdout=subprocess.DEVNULL)
        senders = {}
        for row in csv.DictReader(table.open()):
            senders.setdefault((row["flow_id"], row["direction"]), []).append(row)
    return max(senders.values(), key=len)


def nanoseconds(text):
    seconds, fraction = text.rstrip("Z").split(".")
    whole = datetime.datetime.fromisoformat(seconds + "+00:00")
    return int(whole.timestamp()) * 1_000_000_000 + int(fraction.ljust(9, "0"))


def score(capture, log):
    model = rows(capture)
    times = [nanoseconds(row["time"]) for row in model]
    bandwidth, rtt, stated = [], [], []
    for at, truth, _ in kernel_models(log):
        # The time is printed before `ss` starts.
        place = bisect.bisect_left(times, at)
        if place == len(model):
            continue
        row = model[place]
        if row["bandwidth_bps"]:
            bandwidth.append(abs(int(row["bandwidth_bps"]) / int(truth["bps"]) - 1) <= 0.03)
        if row["propagation_rtt_ns"]:
            rtt.append(abs(int(row["propagation_rtt_ns"]) / float(truth["ms"]) / 1e6 - 1) <= 0.01)
        if row["bbr_phase"] and row["pacing_gain"]:
            gains = float(truth["pacing"]), float(truth["window"])
            right = row["bbr_phase"] == phase(*gains) and abs(float(row["pacing_gain"]) - gains[0]) < 0.02
            stated.append(right)
    shares = (f"{100 * sum(hits) / len(hits):5.1f} % of {len(hits)}" if hits else "-" for hits in (bandwidth, rtt, stated))
    print(log.stem, *shares, sep="  ")


out, point = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "src"
print("transfer  bandwidth  propagation RTT  phase and gain")
for log in sorted(out.glob("ss-bbr-*.txt")):
    score(out / f"{point}-{log.stem.removeprefix('ss-')}.pcap", log)
