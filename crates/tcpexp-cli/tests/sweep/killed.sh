# Runs in a guest: kills a part of a sweep twenty times, looks what is left, and lets it complete.
set -u
RANDOM=4711
HOSTS='src1 rtr dst1'

fail() {
    echo "FAILED: $*"
    exit 1
}

# What a host has that a sweep might leave there.
state() {
    for host in $HOSTS; do
        echo "== $host"
        ssh "$host" "tc qdisc show | grep -v noqueue; ip -o link show type ifb; ls -d /tmp/tcpexp-* 2>/dev/null
            sysctl net.ipv4.tcp_no_metrics_save; pgrep -l 'tcpdump|iperf3' ; ls /sys/kernel/tracing/instances 2>/dev/null"
    done
}

sweep() { tcpexp sweep /share/plan.toml -o /tmp/out --resume "$@"; }

before=$(state 2>&1)

kills=0
while [ $kills -lt 20 ]; do
    sweep >/tmp/sweep.log 2>&1 &
    driver=$!
    sleep "$((RANDOM % 3)).$((RANDOM % 10))"
    case $((kills % 4)) in
        0) victim=driver && kill -9 $driver ;;
        1) victim=connection && pkill -9 -f 'ssh.*ControlPath' ;;
        2) victim=generator && pkill -9 -x iperf3 ;;
        3) victim=logger && pkill -9 -x tcpdump ;;
    esac
    kills=$((kills + 1))
    echo "killed $victim"
    if [ $victim != driver ]; then
        # It goes on with the other runs by itself; once is enough here.
        sleep 1
        kill -INT $driver 2>/dev/null
        tries=0
        while kill -0 $driver 2>/dev/null; do
            tries=$((tries + 1))
            [ $tries -lt 600 ] || fail "the driver does not end after losing its $victim: $(cat /tmp/sweep.log)"
            sleep 0.2
        done
        after=$(state 2>&1)
        [ "$after" = "$before" ] || fail "after losing its $victim: $(diff <(echo "$before") <(echo "$after")) $(cat /tmp/sweep.log)"
    fi
    # Once all is done there is nothing left to kill.
    rm -rf "$(ls -d /tmp/out/runs/* 2>/dev/null | head -n 1)"
done

# A driver that is dead for good: the hosts notice by themselves.
sweep >/tmp/sweep.log 2>&1 &
driver=$!
sleep 2.5
kill -9 $driver
sleep 150
after=$(state 2>&1)
[ "$after" = "$before" ] || fail "the watch left: $(diff <(echo "$before") <(echo "$after"))"

sweep || fail 'the sweep does not complete'
after=$(state 2>&1)
[ "$after" = "$before" ] || fail "the sweep left: $(diff <(echo "$before") <(echo "$after"))"
complete=$(grep -l '"status": "complete"' /tmp/out/runs/*/run.json | wc -l)
[ "$complete" = 8 ] || fail "$complete runs are complete"
echo 'all is as it was'
