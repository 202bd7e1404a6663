# shellcheck shell=sh
# Commands of a run that are shell functions. Their names contain an underscore, so that process.sh
# sources this file only for them: a shell needs longer to read it than to start most programs.
: "${dir:?}" "${system:?}"

# poll_queues SECONDS INTERFACE...
poll_queues() {
    if [ "$system" != FreeBSD ]; then
        # One tc serves all polls: to start one ten times a second would take most of the processor time
        # of the virtual testbed.
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
                # tc prints nothing more, so this only sleeps.
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

# log_command HEADER SECONDS COMMAND...: prints HEADER, then each line of the command after a time: its own,
# or the start of the command if SECONDS > 0 repeats it
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

# poll_sockets SECONDS: prints the time on a line of its own, then a line for each connection
poll_sockets() {
    while :; do
        seconds "$(now_ns)"
        echo
        ss -tinOH
        sleep "$1"
    done
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

# download_files ADDRESS PORT PAUSE_SECONDS SIZE...: downloads files in turn, and prints the start and end of each
download_files() {
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
        fetch_file "$size" || return
        echo "$size,$began,$(now_ns)"
        [ "$pause" = 0 ] || sleep "$pause"
    done
}

# fetch_file SIZE: one file of `serve_files` at $address and $port
fetch_file() {
    if command -v curl >/dev/null; then
        curl --noproxy '*' -sSf -o /dev/null "http://$address:$port/$1"
    else
        busybox wget -Y off -q -O /dev/null "http://$address:$port/$1"
    fi
}

# play_video ADDRESS PORT SEGMENT_MS COUNT BUFFER_MS BITRATE...: downloads COUNT segments of a video in turn
# while the buffer has room, and prints for each the media time in the buffer at its request. The bitrate
# follows the buffer: Huang et al., SIGCOMM 2014, algorithm 1.
play_video() {
    address=$1 port=$2 segment_ms=$3 count=$4 buffer_ms=$5
    shift 5
    case $address in *:*) address="[$address]" ;; esac
    # The paper's shares, 90 s and 126 s of 240 s, of the most media time that is buffered at a request.
    most_ms=$((buffer_ms - segment_ms))
    reservoir_ms=$((most_ms * 90 / 240)) cushion_ms=$((most_ms * 126 / 240))
    lowest=$1 bitrate=$1 number=0 runs_out_ns=
    for offered; do highest=$offered; done
    echo bitrate_bps,size_bytes,start_ns,end_ns,buffer_ms
    while [ "$number" -lt "$count" ]; do
        number=$((number + 1)) ahead_ms=0 began=$(now_ns)
        # runs_out_ns is empty before playback begins, and in the past during a stall.
        [ "${runs_out_ns:-0}" -le "$began" ] || ahead_ms=$(((runs_out_ns - began) / 1000000))
        excess_ms=$((ahead_ms - most_ms))
        if [ "$excess_ms" -gt 0 ]; then
            sleep "$((excess_ms / 1000)).$(printf %03d $((excess_ms % 1000)))"
            ahead_ms=$most_ms began=$(now_ns)
        fi
        choose_bitrate "$@"
        size=$((bitrate * segment_ms / 8000))
        fetch_file "$size" || return
        ended=$(now_ns)
        [ "${runs_out_ns:-0}" -ge "$ended" ] || runs_out_ns=$ended
        runs_out_ns=$((runs_out_ns + segment_ms * 1000000))
        echo "$bitrate,$size,$began,$ended,$ahead_ms"
    done
}

# choose_bitrate BITRATE...: sets $bitrate for a buffer of $ahead_ms. It changes once the rate for this
# buffer reaches the next bitrate above or below.
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

# serve_rsync ADDRESS PORT SIZE: serves a file "data" to any client
serve_rsync() {
    mkdir "$dir/rsync-$2"
    truncate -s "$3" "$dir/rsync-$2/data"
    # By default the daemon drops root, but only root can read $dir.
    printf '%s\n' 'use chroot = no' 'reverse lookup = no' 'uid = 0' 'gid = 0' '[run]' \
        "path = $dir/rsync-$2" >"$dir/rsyncd-$2.conf"
    exec rsync --daemon --no-detach --address="$1" --port="$2" --config="$dir/rsyncd-$2.conf"
}

# pull_with_rsync ADDRESS PORT: transfers each byte, and stores a sparse file
pull_with_rsync() {
    address=$1
    case $address in *:*) address="[$address]" ;; esac
    rsync --port="$2" --whole-file --sparse --stats "rsync://$address/run/data" "$dir/received-$2"
}

# push_with_scp ADDRESS PORT NAME SIZE: NAME is the host's name in known_hosts
push_with_scp() {
    data=$dir/scp-$$
    truncate -s "$4" "$data"
    case $1 in *:*) set -- "[$1]" "$2" "$3" ;; esac
    scp -P "$2" -o BatchMode=yes -o StrictHostKeyChecking=yes -o "HostKeyAlias=$3" "$data" "$1:/dev/null"
}
