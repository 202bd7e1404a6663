#!/bin/bash
# Makes the transfers of some paths in the lab, and prints how often their controls are named. Paths that OUT
# has are not repeated; tcpexp must be in the PATH.
#
#     examples/naming/campaign.sh OUT FROM TO
set -euo pipefail
OUT=$1; FROM=$2; TO=$3
HERE=$(cd "$(dirname "$0")" && pwd)
paths=()
for path in $(seq "$FROM" "$TO"); do
  paths+=("$OUT/$path")
  [ -d "$OUT/$path" ] && continue
  mkdir -p "$OUT"
  rm -rf "$OUT/unfinished"
  tcpexp lab run --sources 2 --sinks 2 --seed $((100 + path)) --share "$HERE" --out "$OUT/unfinished" \
    -- bash /share/naming.sh "$path" "$path" > "$OUT/log-$path"
  mv "$OUT/unfinished" "$OUT/$path"
done
for end in src dst; do
  echo "At $end:"
  "$HERE/confusion.py" "$end" "${paths[@]}"
done
