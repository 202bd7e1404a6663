#!/usr/bin/env python3
"""Draws the paths of a campaign: paths.py SEED FIRST LAST >> paths.tsv

Rates are spread over 1 to 100 Mbit/s, one per step of the logarithm. Every sixth path is for short
transfers. Everything else is drawn.
"""
import math, random, sys

seed, first, last = (int(argument) for argument in sys.argv[1:])
draw = random.Random(seed)
paths = list(range(first, last + 1))
steps = paths[:]
draw.shuffle(steps)


def between(low, high, part=None):
    """A value between the two, uniform in the logarithm."""
    part = draw.random() if part is None else part
    return low * math.exp(part * math.log(high / low))


for path, step in zip(paths, steps):
    rate_mbit = round(between(1, 100, (step - first + draw.random()) / len(paths)), 1)
    rtt_ms = round(draw.uniform(5, 150))
    bdp = rate_mbit * 1e6 / 8 * rtt_ms / 1e3 / 1514
    # No router has a queue of less than ten packets.
    queue_packets = max(10, round(between(0.25, 4) * bdp))
    discipline = draw.choice(["fifo"] * 6 + ["codel", "fq_codel", "pie", "red"])
    is_lossy = discipline == "fifo" and draw.random() < 0.5
    loss_percent = f"{between(0.02, 2):.2g}" if is_lossy else 0
    ecn = "ecn" if discipline != "fifo" and draw.random() < 0.5 else "-"
    cross = draw.choice(["-", "-", "-", "udp", "tcp"])
    # At low rates, 20 s have few packets.
    seconds = 8 if path % 6 == 0 else draw.choice([20, 20, 60 if rate_mbit < 10 else 20])
    offload = draw.choice(["off", "off", "on"])
    print(path, rate_mbit, rtt_ms, queue_packets, loss_percent, discipline, ecn, cross, seconds, offload, sep="\t")
