#!/bin/sh
# Applies each bottleneck to a real router, changes it in place and clears it; apply and change read
# it back. Every fourth is reached by ssh, and also verified, changed in a dry run, and applied and
# cleared twice, which must change nothing. The others are applied in the router's namespace: a login
# takes more processor time than most commands.
# usage: apply-all.sh COMMAND LEFT RIGHT HOST FILE...
#   COMMAND is netem-ctl or "tcpexp netem"; HOST is the router, as ssh and `ip netns` know it
# For use where the kernel has all queues, as in the lab:
#   tcpexp lab run --share crates/netem-ctl/tests -- \
#       sh -c 'sh /share/apply-all.sh "tcpexp netem" left right rtr /share/bottlenecks/*.toml'
set -eu
ctl=$1 left=$2 right=$3 host=$4
shift 4
passed=0 failed=0
# Runs netem-ctl and expects it to say the given words.
expect() {
    words=$1
    shift
    if ! said=$($ctl "$@" "$reach" "$host" 2>&1); then echo "FAILED $name: $1: $said"; return 1; fi
    case $said in
        *"$words"*) ;;
        *) echo "FAILED $name: $1 says \"$said\", not \"$words\""; return 1 ;;
    esac
}
apply() {
    expect "applied and read back" apply --config "$1" --left "$left" --right "$right" \
        --clear-after 300s
}
one() {
    apply "$1" || return 1
    if [ "$twice" = yes ]; then
        apply "$1" || return 1
        expect "matches the plan" verify --config "$1" || return 1
        expect "### on $host" change --config "$1" --dry-run || return 1
    fi
    expect "changed and read back" change --config "$1" || return 1
    expect "cleared" clear || return 1
    if [ "$twice" = yes ]; then expect "nothing to clear" clear || return 1; fi
}
number=0
for file in "$@"; do
    name=${file##*/}
    twice=no reach=--namespace
    [ $((number % 4)) -ne 0 ] || twice=yes reach=--host
    number=$((number + 1))
    if one "$file"; then
        passed=$((passed + 1))
        echo "ok $name"
    else
        failed=$((failed + 1))
        $ctl clear "$reach" "$host" >/dev/null 2>&1 || true
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
