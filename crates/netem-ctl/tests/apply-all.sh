#!/bin/sh
# Applies each bottleneck of a folder to a real router, twice; reads it back, clears it, twice.
# usage: apply-all.sh NETEM_CTL FOLDER LEFT RIGHT TARGET...
#   TARGET says which router, as netem-ctl takes it: --host rtr, or --namespace rtr
# For use where the kernel has all queues, as in the lab:
#   apply-all.sh netem-ctl bottlenecks r0 r1 --namespace rtr
set -eu
ctl=$1 folder=$2 left=$3 right=$4
shift 4
passed=0 failed=0
# Runs netem-ctl and expects it to say the given words.
expect() {
    words=$1
    shift
    if ! said=$("$ctl" "$@" 2>&1); then echo "FAILED $name: $1: $said"; return 1; fi
    case $said in
        *"$words"*) ;;
        *) echo "FAILED $name: $1 says \"$said\", not \"$words\""; return 1 ;;
    esac
}
one() {
    for _ in once twice; do
        expect "applied and read back" apply --config "$file" --left "$left" --right "$right" \
            --clear-after 300s "$@" || return 1
        expect "as it must be" verify --config "$file" "$@" || return 1
    done
    expect "changed and read back" change --config "$file" "$@" || return 1
    expect "cleared" clear "$@" || return 1
    expect "nothing to clear" clear "$@" || return 1
}
for file in "$folder"/*.toml; do
    name=$(basename "$file" .toml)
    if one "$@"; then
        passed=$((passed + 1))
        echo "ok $name"
    else
        failed=$((failed + 1))
        "$ctl" clear "$@" >/dev/null 2>&1 || true
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
