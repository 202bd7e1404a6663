# shellcheck shell=sh
# Functions for scripts on a host: its clock, and the lease under which it is changed. POSIX sh, for
# Linux and FreeBSD.
#
# A lease is the directory $lease. It holds:
#   owner     OWNER SINCE, in seconds since 1970
#   clear.sh  undoes everything that was done under the lease, and removes the directory
#   deadline  the time at which the watchdog runs clear.sh, in seconds since 1970; optional
#   watchdog  PID BIRTH of the watchdog
: "${lease:?}"

now_ns() {
    now=$(date +%s%N) || return 1
    case $now in *N) now=${now%N}000000000 ;; esac # no %N before FreeBSD 14.1
    echo "$now"
}

# seconds NANOSECONDS: prints them as sleep takes them
seconds() { printf '%d.%09d' $(($1 / 1000000000)) $(($1 % 1000000000)); }

# wait_until NANOSECONDS since 1970: returns earlier if a trap sets $stopped, and fails if it cannot
# read the clock
wait_until() {
    # A signal ends `sleep` only if it has begun, so no sleep is longer than 2 s.
    while [ -z "${stopped:-}" ]; do
        # The signal ends `date` too. Arithmetic without its output is a syntax error, which ends the shell.
        instant=$(now_ns) || return 1
        remaining=$(($1 - instant))
        [ "$remaining" -gt 0 ] || break
        [ "$remaining" -le 2000000000 ] || remaining=2000000000
        sleep "$(seconds "$remaining")" || [ -n "${stopped:-}" ]
    done
}

in_own_session() {
    if command -v setsid >/dev/null 2>&1; then
        setsid -f "$@" </dev/null >/dev/null 2>&1
    else
        daemon -f "$@"
    fi
}

# birth PID: prints the start time of a process: in clock ticks on Linux, in seconds elsewhere
birth() {
    if [ -r "/proc/$1/stat" ]; then
        read -r stat <"/proc/$1/stat" || return 0
        # The name of the program, in parentheses, may have blanks.
        # shellcheck disable=SC2086 # words are what it holds
        set -- ${stat##*) }
        echo "${20}"
    else
        ps -o lstart= -p "$1" || true
    fi
}

# is_reused PID BIRTH: true if the number belongs to another process by now. A number in use as a group is not
# reused, so a group without its first process is still the same group.
is_reused() {
    now=$(birth "$1" 2>/dev/null) || now=
    [ -n "$now" ] && [ "$now" != "$2" ]
}

# kill_session FILE: kills the process that FILE names as PID BIRTH, and its process group
kill_session() {
    pid=
    { read -r pid born <"$1"; } 2>/dev/null || return 0
    is_reused "$pid" "$born" || kill -s KILL -- "-$pid" 2>/dev/null || true
}

# lease_take OWNER TAKE_OVER: clears a lease of the same owner first, or an expired one, or any if
# TAKE_OVER is not empty. Exits with $held_code if another owner has it.
lease_take() {
    lease_must_be_ours
    if [ -e "$lease" ]; then
        # mkdir decides who gets the lease; its owner is written an instant later.
        tries=0
        until [ -e "$lease/owner" ] || [ "$tries" -ge 50 ]; do
            tries=$((tries + 1))
            sleep 0.02
        done
        [ -n "$2" ] || lease_is_of "$1" || lease_expired || lease_refuse
        lease_clear || exit
    fi
    mkdir "$lease" 2>/dev/null || lease_refuse
    echo "$1 $(date +%s)" >"$lease/owner.new" && mv "$lease/owner.new" "$lease/owner"
}

# lease_is_ours: true without a lease, and if the caller made it. Anybody may write in /tmp, and the lease
# has scripts that root runs.
lease_is_ours() {
    [ ! -h "$lease" ] || return 1
    # shellcheck disable=SC3067 # dash, busybox and FreeBSD's sh have -O
    [ ! -e "$lease" ] || { [ -d "$lease" ] && [ -O "$lease" ]; }
}

lease_must_be_ours() {
    lease_is_ours || {
        echo "$lease is not a directory of this user: remove it" >&2
        exit 1
    }
}

# lease_is_of OWNER: also if nobody has it
lease_is_of() {
    holder=$1
    { read -r holder since <"$lease/owner"; } 2>/dev/null || true
    [ "$holder" = "$1" ]
}

lease_expired() {
    [ -e "$lease/deadline" ] && [ "$(cat "$lease/deadline")" -lt "$(date +%s)" ]
}

lease_refuse() {
    holder=unknown since=0
    { read -r holder since <"$lease/owner"; } 2>/dev/null || true
    # GNU date, then FreeBSD's.
    when=$(date -d "@$since" 2>/dev/null || date -r "$since" 2>/dev/null || echo "$since")
    echo "held by $holder since $when" >&2
    exit "${held_code:-96}"
}

# lease_arm SECONDS: the watchdog clears the lease after this time, unless it is armed anew
lease_arm() {
    lease_disarm
    lease_ends_at $(($(date +%s) + $1))
    # The deadline may be a later one when it wakes up.
    # shellcheck disable=SC2016
    in_own_session /bin/sh -c 'echo $$ >"$1/watchdog.new" && mv "$1/watchdog.new" "$1/watchdog.pid"
        left=$2
        while [ "$left" -gt 0 ]; do
            sleep "$left"
            left=0
            { read -r deadline <"$1/deadline"; } 2>/dev/null && now=$(date +%s) && left=$((deadline - now))
        done
        lease_watchdog=yes exec /bin/sh "$1/clear.sh"' watchdog "$lease" "$(($1 > 0 ? $1 : 1))"
    tries=0
    until [ -e "$lease/watchdog.pid" ]; do
        tries=$((tries + 1))
        [ "$tries" -le 200 ] || {
            echo "the watchdog does not start" >&2
            exit 1
        }
        sleep 0.02
    done
    read -r pid <"$lease/watchdog.pid"
    echo "$pid $(birth "$pid")" >"$lease/watchdog"
    rm "$lease/watchdog.pid"
}

# lease_ends_at SECONDS since 1970
lease_ends_at() { echo "$1" >"$lease/deadline.new" && mv "$lease/deadline.new" "$lease/deadline"; }

# lease_extend SECONDS: the watchdog waits for this time at least
lease_extend() {
    deadline=$(($(date +%s) + $1))
    { read -r earlier <"$lease/deadline"; } 2>/dev/null || return 0
    [ "$earlier" -ge "$deadline" ] || lease_ends_at "$deadline"
}

# lease_disarm: stops the watchdog, unless it is the caller
lease_disarm() {
    [ -z "${lease_watchdog:-}" ] || return 0
    kill_session "$lease/watchdog"
    rm -f "$lease/watchdog" "$lease/deadline"
}

# lease_release OWNER: clears the lease unless another owner has it
lease_release() {
    lease_must_be_ours
    [ -e "$lease" ] && lease_is_of "$1" || return 0
    lease_clear
}

lease_clear() {
    [ ! -e "$lease/clear.sh" ] || sh "$lease/clear.sh" || return
    lease_end
}

# lease_end: removes the lease. It comes last: until then, the watchdog clears what broke off.
lease_end() {
    lease_disarm
    rm -rf "$lease"
}
