# Runs in a guest: a sweep in namespaces of its own, and one that is killed.
set -u

fail() {
    echo "FAILED: $*"
    exit 1
}

# What a sweep might leave.
state() {
    ip netns list | sort
    ls -d /tmp/tcpexp-* /sys/kernel/tracing/instances/* 2>/dev/null
    pgrep -l 'tcpdump|iperf3'
}

before=$(state)
tcpexp sweep /share/plan.toml -o /out || fail 'the sweep does not complete'
[ "$(state)" = "$before" ] || fail "the sweep left $(state)"

tcpexp sweep /share/plan.toml -o /tmp/killed &
driver=$!
sleep 3
kill -9 $driver
wait $driver
ip netns list | grep -q tcpexp-src1 || fail 'there are no namespaces to remove'
tcpexp sweep /share/plan.toml -o /tmp/killed --resume || fail 'the sweep does not go on'
[ "$(state)" = "$before" ] || fail "the sweep that went on left $(state)"
echo 'all is as it was'
