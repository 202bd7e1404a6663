# What tests in a guest have in common: they look at what a sweep does to its hosts.

# Files of the tests' own.
mkdir /test

say() { echo "$*"; }

# fail TEXT: ends the test, with what the sweep had said last
fail() {
    say "FAILED: $*"
    tail -n 5 /test/sweep.log
    exit 1
}

# at HOST SCRIPT: in the host's own place, without a connection that would be something to see
at() { nsenter -t "$(pgrep -o -f "HostKey=/etc/ssh/$1")" -m -n sh -c "$2"; }

# state HOST...: what a sweep may leave: queues and devices, settings, files, trace instances, and
# processes
state() {
    for host; do
        say "== $host"
        # shellcheck disable=SC2016
        at "$host" 'tc qdisc show; tc filter show; ip -o link show type ifb; ls -A /tmp /run
            sysctl net.ipv4.tcp_no_metrics_save; ls /sys/kernel/tracing/instances
            for dev in data left right; do ethtool -k $dev 2>/dev/null | grep ": on"; done'
    done
    say '== processes'
    # The driver and its connections go on meanwhile, unless they have ended.
    ps -eo args --ppid 2 -p 2 --deselect |
        grep -vE '^(sshd|ssh|tcpexp|ps|sort|grep|bash|COMMAND)( |:|$)|^/usr/sbin/sshd|<defunct>' | sort
    say '== files of the driver'
    ls -A /tmp | grep -vx tcpexp-ssh-0
}

# is_clean WHEN: nothing is left
is_clean() {
    state src1 rtr dst1 >/test/after 2>&1
    cmp -s /test/before /test/after || fail "$1: $(diff /test/before /test/after)"
}

# No connection is open, and none has a socket, once nobody uses them for a while.
connections_are_gone() {
    sleep 25
    ! pgrep -x ssh >/dev/null || fail "connections stay: $(pgrep -ax ssh)"
    [ -z "$(ls -A /tmp/tcpexp-ssh-0)" ] || fail 'sockets of connections stay'
}

# The sweep that a test is about, and the process that carries it out.
out=/out/sweep
driver=

start() {
    tcpexp sweep /share/plan.toml -o $out --resume "$@" >>/test/sweep.log 2>&1 &
    driver=$!
}

is_running() { [ -n "$driver" ] && kill -0 "$driver" 2>/dev/null; }

date_ms() { echo $(($(date +%s%N) / 1000000)); }

# sleep_ms MILLISECONDS
sleep_ms() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }

# count EVENT: how often it is in the sweep's journal
count() {
    [ -e $out/journal.jsonl ] || { echo 0 && return; }
    grep -c "\"event\":\"$1\"" $out/journal.jsonl
}

# next_run: waits until one begins
next_run() {
    begun=$(count run)
    until [ "$(count run)" -gt "$begun" ]; do
        if ! is_running; then
            # A sweep may survive the loss of a connection, and there must be something left to do.
            complete=$(grep -ls '"status": "complete"' $out/runs/*/run.json | wc -l)
            [ "$complete" -lt "${runs:-1000}" ] || rm -rf "$(ls -d $out/runs/* | head -n 1)"
            start
        fi
        sleep 0.1
    done
    ended=$(count ran)
}

# end_of_run: waits until it has ended, and gives its status and the reason for it in $end
end_of_run() {
    while is_running && [ "$(count ran)" = "$ended" ]; do sleep 0.2; done
    end=$(grep '"event":"ran"' $out/journal.jsonl | tail -n 1)
    end=$(echo "$end" | sed 's/.*"reason":\(.*\),"run".*"status":"\([a-z]*\)".*/\2 \1/')
}

# router_first: the last run to be undone was so on the router first
router_first() {
    journal=$(ls -t $out/runs/*/journal.jsonl | head -n 1)
    first=$(grep '"phase":"undo"' "$journal" | head -n 1 | sed 's/.*"host":"\([^"]*\)".*/\1/')
    [ "$first" = rtr ] || fail "$1: undone first was ${first:-nothing}"
}

# complete WHAT: the sweep goes on after this, and completes
complete() {
    while is_running; do sleep 0.2; done
    start
    wait "$driver" || fail "$1: it does not complete"
    is_clean "$1: completed"
}

# random BELOW: gives a number in $random. A subshell would have other numbers.
random() { random=$(((RANDOM * 32768 + RANDOM) % $1)); }

# What mount makes for itself.
for host in src1 rtr dst1; do at $host 'mkdir -p /run/mount'; done
state src1 rtr dst1 >/test/before 2>&1
