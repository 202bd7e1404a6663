# killed.sh KILLS SEED: in a guest, kills parts of a sweep so many times at random points, looks what
# is left, and lets it complete. /out gets that sweep and an undisturbed one.
set -u
. /share/guest.sh
kills=$1
RANDOM=$2

began=$(date_ms)
tcpexp sweep /share/plan.toml -o /out/undisturbed >/test/sweep.log 2>&1 || fail 'it fails undisturbed'
span_ms=$(($(date_ms) - began))
is_clean 'undisturbed'
runs=$(ls /out/undisturbed/runs | wc -l)
# The pause after each run, in which we look at what it left, does not count.
span_ms=$(((span_ms - 6000 * (runs - 1)) / runs))
say "a run takes $span_ms ms"

# one_of PID...: any of them, in $pid
one_of() {
    pid=
    [ $# != 0 ] || return 0
    random $#
    shift "$random"
    pid=$1
}

# victim KIND: the process to kill, in $pid; empty if there is none at the moment
victim() {
    # shellcheck disable=SC2046
    case $1 in
        driver) pid=$driver ;;
        connection) one_of $(pgrep -x ssh) ;;
        generator) one_of $(pgrep -x iperf3) ;;
        logger) one_of $(pgrep -x tcpdump) $(queue_logger) ;;
    esac
}

queue_logger() {
    process=$(pgrep -o -f 'process.sh rtr-queue') && pgrep -P "$process" -x sh
}

kill_one() {
    next_run
    random "$span_ms"
    point_ms=$random
    sleep_ms "$point_ms"
    victim "$1"
    # It may not be there yet, and be there in the next run only.
    while is_running && ! { [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; }; do
        sleep 0.05
        victim "$1"
    done
    ended=$(count ran)
}

# All kinds in turn, each time in another order.
kinds=()
killed=0
while [ $killed -lt "$kills" ]; do
    [ ${#kinds[@]} -gt 0 ] || kinds=(driver connection generator logger)
    random ${#kinds[@]}
    turn=$random
    kind=${kinds[$turn]}
    kill_one "$kind"
    [ -n "$pid" ] || continue
    kinds=("${kinds[@]:0:turn}" "${kinds[@]:turn+1}")
    killed=$((killed + 1))
    if [ "$kind" != driver ]; then
        end_of_run
        is_clean "killed $kind at $point_ms ms"
    else
        wait "$driver" 2>/dev/null
        driver=
        end='left to --resume'
        # Every second time nobody comes back, and the hosts notice by themselves.
        if [ $(((killed - 1) / 4 % 2)) = 0 ]; then
            sleep 125
            is_clean "killed driver at $point_ms ms and waited"
            end='cleared by the hosts'
        fi
    fi
    say "killed $kind at $point_ms ms: $end"
    if [ ${#kinds[@]} = 0 ] && [ $killed -lt "$kills" ]; then
        # Something is to be there that must not be done again.
        next_run
        end_of_run
        say "not killed: $end"
    fi
done
while is_running; do sleep 0.2; done
start
wait "$driver" || fail 'the sweep does not complete'
is_clean 'completed'
connections_are_gone
say 'all is as it was'
