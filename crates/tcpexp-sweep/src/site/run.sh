# shellcheck shell=sh
# Functions of a run on a host. Every script of a run sources this after host.sh. $dir is the run's
# directory there, and its lease.
#
# All that a run leaves on a host is in $dir: how to undo each thing that was done (undo.d), what
# still runs (pids: PID BIRTH of each process), and what is to be fetched (out). So clear.sh can end
# the run at any point, whoever calls it: the driver, or the watchdog when the driver is dead. POSIX
# sh, Linux and FreeBSD.
: "${dir:?}"
system=${system:-$(uname)}

# begin OWNER SECONDS: makes the directory; after SECONDS the watchdog clears the run
begin() {
    umask 077
    lease_take "$1" ''
    mkdir -p "$dir/undo.d" "$dir/pids" "$dir/out/captures" "$dir/out/logs" "$dir/out/status"
    # Later scripts need not detect the system again.
    { echo "system=$system" && library; } >"$dir/run.sh"
    for body in process clear; do
        echo "dir='$dir' lease='$dir'; . '$dir/run.sh'; ${body}_body \"\$@\"" >"$dir/$body.sh"
    done
    lease_arm "$2"
}

# on_undo COMMAND: runs it when the run ends, in reverse order. Call it before the change.
on_undo() {
    undo=$1
    set -- "$dir"/undo.d/*
    [ -e "$1" ] || shift
    printf '%s\n' "$undo" >"$dir/undo.d/$((100 + $#))"
}

# spawn NAME FILE START COMMAND...: runs it in the background from START (ns since 1970; 0 is now), with
# its output in FILE. out/status/NAME gets its times and its exit code.
spawn() {
    in_own_session sh "$dir/process.sh" "$@"
    tries=0
    until [ -e "$dir/pids/$1" ] || [ -e "$dir/out/status/$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 500 ] || { echo "$1 did not start" >&2; return 1; }
        sleep 0.01
    done
}

# The body of process.sh: NAME FILE START COMMAND...
process_body() {
    name=$1 file=$2 start=$3
    shift 3
    # The name of a command that is a function has an underscore.
    # shellcheck source=/dev/null
    case $1 in *_*) . "$dir/commands.sh" ;; esac
    stopped=
    trap 'stopped=1' TERM INT
    # USR1 asks tcpdump for its counters; all others ignore it.
    [ "$system" = FreeBSD ] || trap '' USR1
    born=$(birth $$) || born=
    echo "$$ $born" >"$dir/pids/$name" || exit 1
    # clear.sh makes this file before it reads the pids.
    [ ! -e "$dir/stopping" ] || exit 1
    [ "$start" = 0 ] || wait_until "$start" || stopped=1
    # A signal may end `date` too, so this tries twice.
    began=$(now_ns) || began=$(now_ns)
    code=0
    # In a subshell with the usual traps, so that a signal ends our functions too.
    [ -n "$stopped" ] ||
        (trap - TERM INT && "$@") >"$dir/out/logs/$file" 2>"$dir/out/logs/$name.err" || code=$?
    finished=$(now_ns) || finished=$(now_ns)
    echo "$began $finished $code" >"$dir/out/status/$name.new"
    mv "$dir/out/status/$name.new" "$dir/out/status/$name"
    rm -f "$dir/pids/$name"
}

# ended: prints NAME BEGAN ENDED CODE for each process that ended, and the last output of a failed one
ended() {
    for file in "$dir"/out/status/*; do
        name=${file##*/}
        case $name in *.new | \*) continue ;; esac
        read -r began ended code <"$file"
        said=
        [ "$code" = 0 ] ||
            said=$(cd "$dir/out/logs" && cat "$name".* | grep -v '^[][{}[:space:],]*$' | tail -n 1 | tr -d '\t')
        echo "ended $name $began $ended $code $said"
    done
    for file in "$dir"/pids/*; do
        pid=
        { read -r pid born <"$file"; } 2>/dev/null || continue
        name=${file##*/}
        # It leaves its status before it goes, unless it is killed.
        runs "$pid" "$born" || [ -e "$dir/out/status/$name" ] ||
            echo "ended $name 0 0 137 it was killed"
    done
}

# stop NAME...: ends what still runs of these, politely first
stop() {
    for name; do signal TERM "$name"; done
    tries=0
    while [ $tries -lt 200 ] && any_runs "$@"; do
        tries=$((tries + 1))
        sleep 0.02
    done
    for name; do signal KILL "$name"; done
}

any_runs() {
    for name; do
        pid=
        { read -r pid born <"$dir/pids/$name"; } 2>/dev/null || continue
        ! runs "$pid" "$born" || return 0
    done
    return 1
}

# runs PID BIRTH
runs() { kill -0 "$1" 2>/dev/null && ! is_reused "$1" "$2"; }

# signal SIGNAL NAME: to the process and all that it started. The numbers of a run before a restart of the host may
# belong to other processes.
signal() {
    pid=
    { read -r pid born <"$dir/pids/$2"; } 2>/dev/null || return 0
    is_reused "$pid" "$born" || kill -s "$1" -- "-$pid" 2>/dev/null || :
}

# The body of clear.sh: ends the run and undoes all that it did on the host.
clear_body() {
    : >"$dir/stopping"
    failed=0
    (cd "$dir/pids" && ls) >"$dir/running"
    # Names have no blanks.
    # shellcheck disable=SC2046
    stop $(cat "$dir/running")
    for step in $(cd "$dir/undo.d" && printf '%s\n' * | sort -r); do
        [ -e "$dir/undo.d/$step" ] || continue
        sh -eu "$dir/undo.d/$step" >"$dir/undo.out" 2>&1 || { failed=1 && cat "$dir/undo.out" "$dir/undo.d/$step" >&2; }
    done
    lease_end
    return $failed
}

# gather: prints which processes ended by themselves, ends the others, prints what processes wrote to
# standard error (said FILE LINE), and packs what the run recorded, for the user who fetches it
gather() {
    ended
    cd "$dir/out" || return
    names=$(cd "$dir/pids" && ls)
    captures=
    others=
    for name in $names; do
        if [ -e "captures/$name.pcap" ]; then captures="$captures $name"; else others="$others $name"; fi
    done
    # What the others send at their end is captured too.
    # shellcheck disable=SC2086 # names have no blanks
    stop $others
    for name in $captures; do drain "$name"; done
    # shellcheck disable=SC2086
    stop $captures
    # What a process writes at its end must be there before it is fetched.
    for name in $names; do await_status "$name"; done
    for file in logs/*.err; do
        [ -s "$file" ] || continue
        while read -r line; do echo "said $file $line"; done <"$file"
    done
    set --
    for file in captures/* logs/*; do
        case $file in *.err) continue ;; esac
        [ ! -s "$file" ] || set -- "$@" "$file"
    done
    [ $# -gt 0 ] || set -- logs
    tar -cf ../out.tar "$@"
    [ -z "${SUDO_UID:-}" ] || {
        chmod 711 "$dir"
        chown "$SUDO_UID" ../out.tar
    }
}

# forget NAME: ends a process and removes what it left, which is no part of the run's record
forget() {
    stop "$1"
    await_status "$1"
    # A process that had to be killed did not remove its pid, and `ended` would report it.
    rm -f "$dir/pids/$1" "$dir/out/status/$1" "$dir/out/logs/$1".*
}

# await_status NAME: until the process left its status, for a second at most
await_status() {
    tries=0
    until [ -e "$dir/out/status/$1" ] || [ $tries -ge 100 ]; do
        tries=$((tries + 1))
        sleep 0.01
    done
}

# capture NAME INTERFACE SNAPLEN BUFFER_KIB FILTER
capture() {
    linux=
    [ "$system" = FreeBSD ] || linux='-Z root --time-stamp-precision=nano'
    # shellcheck disable=SC2086
    spawn "$1" "$1.out" 0 tcpdump -n -i "$2" -s "$3" -B "$4" $linux -w "$dir/out/captures/$1.pcap" "$5"
    await "$1" 'listening on' "$dir/out/logs/$1.err"
}

# drain CAPTURE: until tcpdump has read all packets that passed its filter, for 5 s at most. The
# kernel hands packets over in blocks, up to a second late; what is not read when tcpdump ends is lost.
drain() {
    request=USR1
    [ "$system" != FreeBSD ] || request=INFO
    tries=0
    while [ "$tries" -lt 50 ] && [ ! -e "$dir/out/status/$1" ]; do
        tries=$((tries + 1))
        signal "$request" "$1"
        sleep 0.1
        read_counts "$dir/out/logs/$1.err"
        [ -z "$dropped" ] || [ "$captured" -lt "$((received - dropped))" ] || return 0
    done
}

# read_counts FILE: sets $captured, $received and $dropped to what tcpdump reported last, or to nothing
read_counts() {
    captured='' received='' dropped=''
    # tcpdump: 12 packets captured, 14 packets received by filter, 2 packets dropped by kernel
    while read -r name first _ what second _ _ _ _ third _; do
        [ "$name $what" != "tcpdump: captured," ] || captured=$first received=$second dropped=$third
    done <"$1"
}

# await NAME TEXT FILE: waits until the process has written TEXT to FILE
await() {
    tries=0
    until grep -q "$2" "$3" 2>/dev/null; do
        tries=$((tries + 1))
        if [ -e "$dir/out/status/$1" ] || [ $tries -ge 200 ]; then
            echo "$1 did not start: $(tail -n 1 "$3" 2>/dev/null)" >&2
            return 1
        fi
        sleep 0.02
    done
}

# trace_tcp_probe NAME FILE ADDRESS: logs the kernel's tracepoint tcp_probe for connections of this
# address; the log names its clock
trace_tcp_probe() {
    tracing=/sys/kernel/tracing instance=instances/tcpexp-$1
    leave=:
    if [ ! -d $tracing/instances ]; then
        # Each command in a network namespace mounts a new /sys without tracefs.
        tracing=$dir/tracing leave="umount $dir/tracing 2>/dev/null || :"
        mkdir "$tracing"
        mount -t tracefs tracefs "$tracing"
    fi
    instance=$tracing/$instance
    on_undo "[ -d $tracing/instances ] || mount -t tracefs tracefs $tracing
[ ! -d $instance ] || { echo 0 >$instance/events/tcp/enable; rmdir $instance; }
$leave"
    mkdir "$instance"
    # tai is whole seconds ahead of the clock of captures; kernels before 5.19 lack it.
    trace_clock=tai
    (echo tai >"$instance/trace_clock") 2>/dev/null || {
        trace_clock=mono
        echo mono >"$instance/trace_clock"
    }
    echo 16384 >"$instance/buffer_size_kb"
    # This line has the difference of the two clocks, so it must be the first.
    echo "tcpexp clock $(now_ns) $trace_clock" >"$instance/trace_marker"
    echo 1 >"$instance/events/tcp/tcp_probe/enable"
    # The kernel traces all its namespaces, and the connections that commands come by.
    case $3 in *:*) address="[$3]" ;; *) address=$3 ;; esac
    spawn "$1" "$2" 0 grep --line-buffered -F -e "src=$address:" -e 'tcpexp clock' "$instance/trace_pipe"
}

# await_server NAME PORT: until somebody listens there
await_server() {
    tries=0
    until listens "$2"; do
        tries=$((tries + 1))
        if [ -e "$dir/out/status/$1" ] || [ $tries -ge 200 ]; then
            echo "$1 does not listen: $(tail -n 1 "$dir/out/logs/$1.err")" >&2
            return 1
        fi
        sleep 0.05
    done
}

# listens PORT
listens() {
    if [ "$system" = FreeBSD ]; then
        sockstat -46lq -p "$1" | grep -q .
    else
        ss -Hltun "sport = :$1" | grep -q .
    fi
}

# trace_siftr NAME FILE: FreeBSD's log of TCP per packet
trace_siftr() {
    on_undo 'sysctl net.inet.siftr.enabled=0 >/dev/null; kldunload siftr 2>/dev/null || :'
    kldload -n siftr
    sysctl net.inet.siftr.ppl=1 net.inet.siftr.genhashes=1 >/dev/null
    sysctl "net.inet.siftr.logfile=$dir/out/logs/$2" >/dev/null
    sysctl net.inet.siftr.enabled=1 >/dev/null
}

# print_counters PREFIX INTERFACE...: prints the time, then the queues of each interface and of the devices whose
# names begin with PREFIX: counters_at NS, and queues DEVICE JSON. What `tc` refuses has no JSON.
print_counters() {
    prefix=$1
    shift
    # The time is that of the first interface, so nothing comes between.
    # shellcheck disable=SC2046 # words are what it holds
    set -- "$@" $(ip -o link show | sed -n "s/^[0-9]*: \(${prefix}[^:@]*\).*/\1/p")
    echo "counters_at $(now_ns)"
    for device; do echo "queues $device $(tc -s -j qdisc show dev "$device" 2>/dev/null)"; done
}
