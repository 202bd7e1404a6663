#!/bin/bash
# Names the controls of the captures that naming.sh made, and prints a line per control, with the
# number of its transfers by answer: confusion.sh OUT src|dst
set -euo pipefail
OUT=$1; END=${2:-src}
for pcap in "$OUT"/"$END"-*.pcap; do
  run=${pcap##*/"$END"-}; run=${run%.pcap}
  table=$OUT/$END-$run.csv
  tcpexp cwnd "$pcap" --flow :5201 --quiet --control-table "$table" > /dev/null || continue
  # iperf3 has a connection of control messages; the one with the most round trips has the data.
  python3 - "$table" "${run%-*}" "$run" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
row = max(rows, key=lambda row: int(row["acks"]))
print(sys.argv[2], row["control"] or row["reason"], sys.argv[3], row["best"], row["best_growth_error"][:5],
      row["best_reduction_error"][:5], row["second"], row["second_growth_error"][:5],
      row["second_reduction_error"][:5], row["rounds"], row["reductions"], row["lossless_cuts"], row["candidates"], sep="\t")
PY
done > "$OUT/answers-$END.tsv"
python3 - "$OUT/answers-$END.tsv" <<'PY'
import collections, sys
rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
of = collections.defaultdict(collections.Counter)
for row in rows:
    of[row[0]][row[1]] += 1
print("| control | transfers | right | wrong | not certain |\n|---|---|---|---|---|")
reasons = {"not_seen", "paced", "receiver_limited", "application_limited", "too_short", "delay_not_seen", "several_fit", "none_fits"}
total = collections.Counter()
for control, answers in sorted(of.items()):
    wrong = {a: n for a, n in answers.items() if a != control and a not in reasons}
    unsure = {a: n for a, n in answers.items() if a in reasons}
    show = lambda d: ", ".join(f"{a.replace('_', ' ')} {n}" for a, n in sorted(d.items())) or "0"
    print(f"| {control} | {sum(answers.values())} | {answers[control]} | {show(wrong)} | {show(unsure)} |")
    total.update(all=sum(answers.values()), right=answers[control], wrong=sum(wrong.values()))
print(f"| all | {total['all']} | {total['right']} | {total['wrong']} | {total['all'] - total['right'] - total['wrong']} |")
PY
