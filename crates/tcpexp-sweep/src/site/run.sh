# shellcheck shell=sh
# What a run does on a host. Every script of a run sources this, behind the functions for the clock
# and for leases; $dir is the run's directory there, which is its lease too.
#
# All that a run leaves on a host is in $dir: how to undo each thing that was done (undo.d), what
# still runs (pids), and what is to be fetched (out). So clear.sh can end the run at any point, whoever
# calls it: the driver, or the watchdog when the driver is dead. POSIX sh, Linux and FreeBSD.
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

# spawn NAME FILE START COMMAND...: in the background, from START (ns since 1970; 0 is now), with
# its output in FILE. What became of it is in out/status/NAME.
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
    stopped=
    trap 'stopped=1' TERM INT
    # It asks tcpdump for its counters, and must end nobody else.
    [ "$system" = FreeBSD ] || trap '' USR1
    echo $$ >"$dir/pids/$name" || exit 1
    # Whoever undoes the run looks for pids only after it made this.
    [ ! -e "$dir/stopping" ] || exit 1
    [ "$start" = 0 ] || wait_until "$start" || stopped=1
    # A signal to this process ends `date` too, once.
    began=$(now_ns) || began=$(now_ns)
    code=0
    # In a shell of its own, since some commands are functions of ours: those end when told to.
    [ -n "$stopped" ] ||
        (trap - TERM INT && "$@") >"$dir/out/logs/$file" 2>"$dir/out/logs/$name.err" || code=$?
    finished=$(now_ns) || finished=$(now_ns)
    echo "$began $finished $code" >"$dir/out/status/$name.new"
    mv "$dir/out/status/$name.new" "$dir/out/status/$name"
    rm -f "$dir/pids/$name"
}

# ended: a line for each process that did: NAME BEGAN ENDED CODE, and what a failed one said last
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
        { read -r pid <"$file"; } 2>/dev/null || continue
        name=${file##*/}
        # It leaves its status before it goes, unless it is killed.
        kill -0 "$pid" 2>/dev/null || [ -e "$dir/out/status/$name" ] ||
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
        { read -r pid <"$dir/pids/$name"; } 2>/dev/null || continue
        ! kill -0 "$pid" 2>/dev/null || return 0
    done
    return 1
}

# signal SIGNAL NAME: to the process and all that it started
signal() {
    pid=
    { read -r pid <"$dir/pids/$2"; } 2>/dev/null || return 0
    kill -s "$1" -- "-$pid" 2>/dev/null || :
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

# forget NAME: ends a process that is no part of what the run records
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

# set_sysctl KEY VALUE, for the time of the run
set_sysctl() {
    now=$(sysctl -n "$1")
    if ! is_setting "$2" "$now"; then
        on_undo "sysctl -w '$1=$now' >/dev/null"
        sysctl -w "$1=$2" >/dev/null || { echo "the kernel refuses $1 = $2" >&2; return 1; }
        now=$(sysctl -n "$1")
    fi
    confirm "sysctl.$1" "$2" "$now"
}

# set_parameter MODULE NAME VALUE, for the time of the run
set_parameter() {
    file=/sys/module/$1/parameters/$2
    # It may come with a module that is not loaded yet.
    [ -e "$file" ] || modprobe "$1" 2>/dev/null || :
    [ -e "$file" ] || { echo "the kernel's module $1 has no parameter $2" >&2; return 1; }
    now=$(cat "$file")
    if ! is_setting "$3" "$now"; then
        on_undo "echo '$now' >'$file'"
        (echo "$3" >"$file") 2>/dev/null || { echo "the kernel refuses $1.$2 = $3" >&2; return 1; }
        now=$(cat "$file")
    fi
    confirm "module.$1.$2" "$3" "$now"
}

# set_initcwnd SEGMENTS ADDRESS...: on the routes to these addresses, for the time of the run
set_initcwnd() {
    segments=$1
    shift
    for address; do
        case $address in *:*) family=-6 ;; *) family=-4 ;; esac
        # The most specific route comes last. An address beside it is one of the host itself.
        route=$(ip "$family" route show to match "$address" | tail -n 1)
        case " $route " in *" initcwnd $segments "*) continue ;; esac
        on_undo "ip $family route change $route"
        bare=$(echo "$route" | sed 's/ initcwnd [0-9]*//')
        # shellcheck disable=SC2086 # words are what it holds
        ip "$family" route change $bare initcwnd "$segments"
        route=$(ip "$family" route show to match "$address" | tail -n 1)
        case " $route " in *" initcwnd $segments "*) ;; *)
            echo "the route to $address is \"$route\", without initcwnd $segments" >&2
            return 1
            ;;
        esac
    done
    echo "setting initcwnd=$segments"
}

# mtu_of INTERFACE
mtu_of() { ip -o link show dev "$1" | sed -n 's/.* mtu \([0-9]*\) .*/\1/p'; }

# set_mtu INTERFACE BYTES, for the time of the run
set_mtu() {
    now=$(mtu_of "$1")
    if [ "$now" != "$2" ]; then
        on_undo "ip link set dev $1 mtu $now"
        ip link set dev "$1" mtu "$2"
    fi
    confirm "mtu" "$2" "$(mtu_of "$1")"
}

# is_setting WANTED FOUND: the kernel prints blanks and switches in its own way
is_setting() {
    [ "$1" = "$2" ] && return 0
    case $1:$2 in 1:Y | 0:N | y:Y | n:N) return 0 ;; esac
    # shellcheck disable=SC2086
    [ "$(set -f && echo $1)" = "$(set -f && echo $2)" ]
}

# confirm KEY WANTED FOUND: prints what the kernel has now. Fails if that is not what was wanted.
confirm() {
    is_setting "$2" "$3" || {
        echo "$1 is $3, not $2: the kernel does not take the value" >&2
        return 1
    }
    # shellcheck disable=SC2086
    (set -f && echo setting "$1="$3)
}

# offloads_off INTERFACE, for the time of the run
offloads_off() {
    if [ "$system" = FreeBSD ]; then
        for feature in tso lro; do
            ifconfig "$1" | grep -q "options.*$(echo $feature | tr "[:lower:]" "[:upper:]")" || continue
            on_undo "ifconfig $1 $feature"
            ifconfig "$1" "-$feature"
        done
        return
    fi
    # What is fixed says so behind the word, and cannot be turned off.
    features="$(ethtool -k "$1")
"
    on=
    for pair in tcp-segmentation-offload:tso generic-segmentation-offload:gso \
        generic-receive-offload:gro large-receive-offload:lro \
        tx-udp-segmentation:tx-udp-segmentation rx-gro-hw:rx-gro-hw; do
        case $features in *"${pair%%:*}: on
"*) on="$on ${pair#*:}" ;; esac
    done
    [ -n "$on" ] || return 0
    # shellcheck disable=SC2086 # words are what it holds
    on_undo "ethtool -K $1$(printf ' %s on' $on)"
    # shellcheck disable=SC2046,SC2086
    ethtool -K "$1" $(printf ' %s off' $on) 2>/dev/null ||
        # It may have stopped at the first that it cannot turn off.
        for feature in $on; do ethtool -K "$1" "$feature" off 2>/dev/null || :; done
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

# await NAME TEXT FILE: until the process has said so
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

# poll_queues SECONDS INTERFACE...
poll_queues() {
    if [ "$system" != FreeBSD ]; then
        # One tc for all looks: starting programs ten times a second is what the virtual testbed's
        # processor would be busy with most.
        exec bash -c '
            [ -n "${EPOCHREALTIME:-}" ] || { echo "bash is older than 5.0" >&2; exit 1; }
            every=$1
            shift
            coproc tc -s -j -force -b -
            while :; do
                for interface; do
                    echo "qdisc show dev $interface" >&"${COPROC[1]}"
                    read -r qdiscs <&"${COPROC[0]}" || exit
                    printf "{\"time_ns\":%s000,\"interface\":\"%s\",\"qdiscs\":%s}\n" \
                        "${EPOCHREALTIME/[.,]/}" "$interface" "$qdiscs"
                done
                # It says nothing more, so this sleeps.
                read -r -t "$every" <&"${COPROC[0]}"
            done' poll_queues "$@"
    fi
    every=$1
    while :; do
        now_ns
        ipfw pipe show
        ipfw queue show
        sleep "$every"
    done
}

# log_command HEADER SECONDS COMMAND...: HEADER, then each line of the command behind a time: that of the
# line, or with SECONDS between two runs of the command that of its start
log_command() {
    header=$1 every=$2
    shift 2
    printf '%s\n' "$header"
    if [ "$every" = 0 ]; then
        "$@" | while IFS= read -r line; do printf '%s %s\n' "$(now_ns)" "$line"; done
        return
    fi
    while :; do
        at=$(now_ns)
        text=$("$@") || return
        printf '%s\n' "$text" | sed "s/^/$at /"
        sleep "$every"
    done
}

# poll_sockets SECONDS: the time on a line of its own, then a line for each connection
poll_sockets() {
    while :; do
        seconds "$(now_ns)"
        echo
        ss -tinOH
        sleep "$1"
    done
}

# trace_tcp_probe NAME FILE ADDRESS: the kernel's tracepoint for connections of this address, on a
# clock that the log itself tells
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
    # tai is whole seconds ahead of the clock of captures; kernels before 5.19 have it not.
    trace_clock=tai
    (echo tai >"$instance/trace_clock") 2>/dev/null || {
        trace_clock=mono
        echo mono >"$instance/trace_clock"
    }
    echo 16384 >"$instance/buffer_size_kb"
    # Whoever reads the log learns the difference from this, so it must be the first line.
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

# serve_files ADDRESS PORT SIZE...: over HTTP, each as a file whose name is its size
serve_files() {
    address=$1 port=$2 www=$dir/www-$2
    shift 2
    mkdir "$www"
    for size; do truncate -s "$size" "$www/$size"; done
    if command -v python3 >/dev/null && python3 -c 'import http.server' 2>/dev/null; then
        exec python3 -m http.server --bind "$address" --directory "$www" "$port"
    elif command -v busybox >/dev/null; then
        case $address in *:*) address="[$address]" ;; esac
        exec busybox httpd -f -p "$address:$port" -h "$www"
    else
        echo 'neither python3 nor busybox is there' >&2
        return 1
    fi
}

# download ADDRESS PORT PAUSE_SECONDS SIZE...: one after another, with the time of each
download() {
    address=$1 port=$2 pause=$3
    shift 3
    case $address in *:*) address="[$address]" ;; esac
    echo size_bytes,start_ns,end_ns
    if [ "$pause" = 0 ] && command -v curl >/dev/null; then
        download_at_once "$@"
        return
    fi
    for size; do
        began=$(now_ns)
        fetch "$size" || return
        echo "$size,$began,$(now_ns)"
        [ "$pause" = 0 ] || sleep "$pause"
    done
}

# fetch SIZE: one file of `serve_files` at $address and $port
fetch() {
    if command -v curl >/dev/null; then
        curl --noproxy '*' -sSf -o /dev/null "http://$address:$port/$1"
    else
        busybox wget -Y off -q -O /dev/null "http://$address:$port/$1"
    fi
}

# play ADDRESS PORT SEGMENT_MS COUNT BUFFER_MS BITRATE...: COUNT segments of a video, one after another
# while the buffer has room, and for each the media time in the buffer when it was asked for. The bitrate
# follows the buffer: Huang et al., SIGCOMM 2014, algorithm 1.
play() {
    address=$1 port=$2 segment_ms=$3 count=$4 buffer_ms=$5
    shift 5
    case $address in *:*) address="[$address]" ;; esac
    # 90 s and 126 s of the 240 s in that paper, of the media time that the buffer has when a segment is
    # asked for.
    most_ms=$((buffer_ms - segment_ms))
    reservoir_ms=$((most_ms * 90 / 240)) cushion_ms=$((most_ms * 126 / 240))
    lowest=$1 bitrate=$1 number=0 runs_out_ns=
    for offered; do highest=$offered; done
    echo bitrate_bps,size_bytes,start_ns,end_ns,buffer_ms
    while [ "$number" -lt "$count" ]; do
        number=$((number + 1)) ahead_ms=0 began=$(now_ns)
        # Empty until playback begins, and in the past in a stall.
        [ "${runs_out_ns:-0}" -le "$began" ] || ahead_ms=$(((runs_out_ns - began) / 1000000))
        excess_ms=$((ahead_ms - most_ms))
        if [ "$excess_ms" -gt 0 ]; then
            sleep "$((excess_ms / 1000)).$(printf %03d $((excess_ms % 1000)))"
            ahead_ms=$most_ms began=$(now_ns)
        fi
        choose_bitrate "$@"
        size=$((bitrate * segment_ms / 8000))
        fetch "$size" || return
        ended=$(now_ns)
        [ "${runs_out_ns:-0}" -ge "$ended" ] || runs_out_ns=$ended
        runs_out_ns=$((runs_out_ns + segment_ms * 1000000))
        echo "$bitrate,$size,$began,$ended,$ahead_ms"
    done
}

# choose_bitrate BITRATE...: sets $bitrate for a buffer of $ahead_ms. It changes once the buffer asks for
# the next one above or below.
choose_bitrate() {
    if [ "$ahead_ms" -le "$reservoir_ms" ]; then
        bitrate=$lowest
        return
    elif [ "$ahead_ms" -ge $((reservoir_ms + cushion_ms)) ]; then
        bitrate=$highest
        return
    fi
    asked=$((lowest + (highest - lowest) * (ahead_ms - reservoir_ms) / cushion_ms))
    above=$highest below=$lowest under=$lowest over=$highest
    for offered; do
        [ "$offered" -ge "$bitrate" ] || below=$offered
        [ "$offered" -ge "$asked" ] || under=$offered
        [ "$offered" -le "$bitrate" ] || [ "$above" -lt "$offered" ] || above=$offered
        [ "$offered" -le "$asked" ] || [ "$over" -lt "$offered" ] || over=$offered
    done
    if [ "$asked" -ge "$above" ]; then
        bitrate=$under
    elif [ "$asked" -le "$below" ]; then
        bitrate=$over
    fi
}

# download_at_once SIZE...: without a pause, by one curl, because starting it takes longer than a small
# download. Our servers speak HTTP/1.0, so each has a connection of its own.
download_at_once() {
    for size; do
        printf 'url = "http://%s:%s/%s"\noutput = /dev/null\n' "$address" "$port" "$size"
    done >"$dir/urls-$port"
    # What goes to standard error is not buffered, so that a line comes when its download ends.
    {
        curl --noproxy '*' -sSf --fail-early -K "$dir/urls-$port" \
            -w '%{stderr}%{size_download} %{time_total}\n' || echo failed
    } 2>&1 | while read -r size took; do
        case $size in
        failed) exit 1 ;;
        *[!0-9]*) echo "$size $took" >&2 && continue ;;
        esac
        ended=$(now_ns) whole=${took%.*} micros=${took#*.}
        # A 1 before the digits, because a leading 0 makes a number octal.
        echo "$size,$((ended - whole * 1000000000 - (1$micros - 1000000) * 1000)),$ended"
    done
}

# serve_rsync ADDRESS PORT SIZE: a file called "data", to whoever asks
serve_rsync() {
    mkdir "$dir/rsync-$2"
    truncate -s "$3" "$dir/rsync-$2/data"
    # The daemon would give up being root, and the directory is root's alone.
    printf '%s\n' 'use chroot = no' 'reverse lookup = no' 'uid = 0' 'gid = 0' '[run]' \
        "path = $dir/rsync-$2" >"$dir/rsyncd-$2.conf"
    exec rsync --daemon --no-detach --address="$1" --port="$2" --config="$dir/rsyncd-$2.conf"
}

# pull_with_rsync ADDRESS PORT: all of it crosses the path, and none of it takes room
pull_with_rsync() {
    address=$1
    case $address in *:*) address="[$address]" ;; esac
    rsync --port="$2" --whole-file --sparse --stats "rsync://$address/run/data" "$dir/received-$2"
}

# push_with_scp ADDRESS PORT NAME SIZE: NAME is the host's among the known ones
push_with_scp() {
    data=$dir/scp-$$
    truncate -s "$4" "$data"
    case $1 in *:*) set -- "[$1]" "$2" "$3" ;; esac
    scp -P "$2" -o BatchMode=yes -o StrictHostKeyChecking=yes -o "HostKeyAlias=$3" "$data" "$1:/dev/null"
}

# trace_siftr NAME FILE: FreeBSD's log of TCP per packet
trace_siftr() {
    on_undo 'sysctl net.inet.siftr.enabled=0 >/dev/null; kldunload siftr 2>/dev/null || :'
    kldload -n siftr
    sysctl net.inet.siftr.ppl=1 net.inet.siftr.genhashes=1 >/dev/null
    sysctl "net.inet.siftr.logfile=$dir/out/logs/$2" >/dev/null
    sysctl net.inet.siftr.enabled=1 >/dev/null
}
