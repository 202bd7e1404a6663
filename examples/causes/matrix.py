#!/usr/bin/env python3
"""Scores `tcpexp why` on the captures of `unseen.sh`, and prints the confusion matrix.

usage: matrix.py OUT... [--at src|dst] [--tcpexp PROGRAM]

OUT has the captures and the file `parameters`. The verdict on the sender with the most bytes counts.
If `why` fails, because no sender has 30 kB, the transfer counts as not certain. Transfers that are not
right follow the matrix, with their parameters and the evidence.
"""

import argparse
import collections
import csv
import io
import pathlib
import subprocess

# The cause that `why` must name, by the cause that `unseen.sh` makes.
TRUTH = {
    "application": "application",
    "receiver_window": "receiver_window",
    "loss": "loss",
    "own_queue": "own_queue",
    "others_queue": "others_queue",
    "capacity": "path_capacity",
    "policing": "policing",
    "timeouts": "timeouts",
    "handshake": "setup",
    "tls": "tls",
    "growth": "window_growth",
}
NOT_CERTAIN = "not_certain"
EVIDENCE = (
    "position base_rtt_ns queue_delay_ns rtt_growth_share losses_with_queue losses_without_queue"
    " goodput_spread_share timeouts"
).split()


def rows(program, command, capture):
    """The rows of a command that prints a table."""
    done = subprocess.run(
        [program, command, str(capture), "--format", "csv"], check=True, capture_output=True, text=True
    )
    return list(csv.DictReader(io.StringIO(done.stdout)))


def sender(row):
    return row["flow_id"], row["direction"]


def verdict(program, capture):
    """The main cause of the sender with the most bytes, and a line with the evidence."""
    try:
        causes = rows(program, "why", capture)
    except subprocess.CalledProcessError as failed:
        return NOT_CERTAIN, failed.stderr.strip()
    data = {sender(row): int(row["unique_bytes"] or 0) for row in rows(program, "flows", capture)}
    largest = max((sender(row) for row in causes), key=lambda key: data.get(key, 0))
    causes = [row for row in causes if sender(row) == largest]
    main = next((row["cause"] for row in causes if row["is_main"] == "true"), NOT_CERTAIN)
    shares = " ".join(f"{row['cause']}={float(row['share']):.2f}" for row in causes)
    return main, shares + " | " + " ".join(f"{name}={causes[0][name]}" for name in EVIDENCE)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("out", nargs="+", type=pathlib.Path)
    arguments.add_argument("--at", choices=["src", "dst"], default="src")
    arguments.add_argument("--tcpexp", default="tcpexp", metavar="PROGRAM")
    given = arguments.parse_args()

    found = collections.defaultdict(collections.Counter)
    not_right = []
    for out in given.out:
        lines = (out / "parameters").read_text().splitlines()
        parameters = dict(line.split(maxsplit=1) for line in lines)
        for transfer, how in parameters.items():
            cause = transfer.rsplit("-", 1)[0]
            answer, evidence = verdict(given.tcpexp, out / f"{given.at}-{transfer}.pcap")
            found[cause][answer] += 1
            if answer != TRUTH[cause]:
                not_right.append((transfer, answer, how, evidence))

    print("| made | right | not certain | wrong |\n|---|---|---|---|")
    total = collections.Counter()
    for cause, truth in TRUTH.items():
        right, unsure = found[cause][truth], found[cause][NOT_CERTAIN]
        wrong = {answer: n for answer, n in found[cause].items() if answer not in (truth, NOT_CERTAIN)}
        named = ", ".join(f"{n} as {answer}" for answer, n in sorted(wrong.items())) or 0
        print(f"| {cause} | {right} | {unsure} | {named} |")
        total.update(right=right, unsure=unsure, wrong=sum(wrong.values()))
    print(f"| all {sum(total.values())} | {total['right']} | {total['unsure']} | {total['wrong']} |")
    for transfer, answer, how, evidence in not_right:
        print(f"\n{transfer}: {answer}\n    {how}\n    {evidence}")


if __name__ == "__main__":
    main()
