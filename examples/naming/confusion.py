#!/usr/bin/env python3
"""Names the controls of the captures that naming.sh made, and prints what came out.

    confusion.py src|dst OUT...

The first table has a line per control, the second the answers by their confidence, in ten bins of equal
size. Both are of transfers of 20 s or more; shorter ones are only counted. tcpexp must be in the PATH.
"""

import collections
import concurrent.futures
import csv
import pathlib
import subprocess
import sys

REASONS = {
    "not_seen", "paced", "receiver_limited", "application_limited", "too_short", "delay_not_seen", "several_fit", "none_fits",
}
HERE = pathlib.Path(__file__).parent


def seconds_of_paths():
    with open(HERE / "paths.tsv") as lines:
        return {int(row["path"]): int(row["seconds"]) for row in csv.DictReader(lines, delimiter="\t")}


def name(pcap):
    """The answer of one capture: control, path, answer and confidence."""
    table = pcap.with_suffix(".csv")
    command = ["tcpexp", "cwnd", pcap, "--flow", ":5201", "--quiet", "--control-table", table]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(table) as lines:
        # iperf3 has a connection of control messages; the one with the most ACKs has the data.
        row = max(csv.DictReader(lines), key=lambda row: int(row["acks"]))
    _, control, path = pcap.stem.split("-")
    return control, int(path), row["control"] or row["reason"], float(row["confidence"] or 0)


def counted(answers):
    return ", ".join(f"{answer.replace('_', ' ')} {number}" for answer, number in sorted(answers.items())) or "0"


def print_confusion(rows):
    of = collections.defaultdict(collections.Counter)
    for control, _, answer, _ in rows:
        of[control][answer] += 1
    print("| control | transfers | right | wrong | not certain |\n|---|---|---|---|---|")
    for control, answers in sorted(of.items()):
        wrong = {a: n for a, n in answers.items() if a != control and a not in REASONS}
        unsure = {a: n for a, n in answers.items() if a in REASONS}
        print(f"| {control} | {sum(answers.values())} | {answers[control]} | {counted(wrong)} | {counted(unsure)} |")
    right = sum(control == answer for control, _, answer, _ in rows)
    answered = sum(answer not in REASONS for _, _, answer, _ in rows)
    print(f"| all | {len(rows)} | {right} | {answered - right} | {len(rows) - answered} |")
    wrong_percent = 100 * (answered - right) / max(answered, 1)
    print(f"\nanswered: {100 * answered / max(len(rows), 1):.1f} %; wrong: {wrong_percent:.1f} % of the answers")


def print_confidence(rows):
    answers = sorted((confidence, control == answer) for control, _, answer, confidence in rows if answer not in REASONS)
    print("\n| answers | confidence | mean | right |\n|---|---|---|---|")
    for bin_ in range(10):
        part = answers[bin_ * len(answers) // 10 : (bin_ + 1) * len(answers) // 10]
        if not part:
            continue
        stated = [confidence for confidence, _ in part]
        right = sum(is_right for _, is_right in part) / len(part)
        mean = sum(stated) / len(part)
        print(f"| {len(part)} | {stated[0]:.3f} to {stated[-1]:.3f} | {mean:.3f} | {right:.3f} |")


def main():
    end, outs = sys.argv[1], sys.argv[2:]
    seconds = seconds_of_paths()
    pcaps = [pcap for out in outs for pcap in sorted(pathlib.Path(out).glob(f"{end}-*.pcap"))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(name, pcaps))
    long = [row for row in rows if seconds[row[1]] >= 20]
    print_confusion(long)
    print_confidence(long)
    # Without a cut of its own, TCP-LP sends what Reno sends.
    others = [row for row in long if row[0] != "lp"]
    print("\nWithout TCP-LP:")
    print_confidence(others)
    short = [row for row in rows if seconds[row[1]] < 20]
    if short:
        print("\nShorter transfers:\n")
        print_confusion(short)


main()
