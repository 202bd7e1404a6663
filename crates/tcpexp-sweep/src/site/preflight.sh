# shellcheck shell=sh
# Looks at a host before anything is done there, and changes nothing. Prints facts as KEY=VALUE and
# what is wrong as problem=TEXT.
PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin

problem() { echo "problem=$*"; }
fact() { echo "$1=$2"; }

now=$(date +%s%N)
fact clock_ns "${now%N}$([ "$now" = "${now%N}" ] || echo 000000000)"
# shellcheck disable=SC2046 # both are words
set -- $(uname -sr)
system=$1
fact kernel "$2"

# The peer of this ssh connection. sudo removes the variable, so it is read from the parents. An empty one
# means that there is no connection.
peer=${SSH_CONNECTION:-}
pid=$$
while [ -z "$peer${SSH_CONNECTION+known}" ] && [ "$system" = Linux ] && [ "$pid" -gt 1 ]; do
    peer=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^SSH_CONNECTION=//p')
    while read -r key value; do [ "$key" != PPid: ] || pid=$value; done <"/proc/$pid/status"
done

# tools NAME...
tools() {
    for tool; do
        command -v "$tool" >/dev/null || problem "$tool is not installed"
    done
}

has_interface() {
    if [ "$system" = FreeBSD ]; then ifconfig "$1" >/dev/null 2>&1; else [ -e "/sys/class/net/$1" ] || ip link show dev "$1" >/dev/null 2>&1; fi ||
        { problem "interface $1 does not exist"; return; }
    control=$(control_interface)
    [ "$control" != "$1" ] || problem "interface $1 carries the control connection"
}

control_interface() {
    [ -z "$peer" ] || route_to "${peer%% *}"
}

route_to() {
    if [ "$system" = FreeBSD ]; then
        route -n get "$1" 2>/dev/null | sed -n 's/ *interface: //p'
    else
        ip -o route get "$1" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p'
    fi
}

# has_address INTERFACE ADDRESS
has_address() {
    addresses_of "$1" | grep -qxF "$2" || problem "interface $1 does not have the address $2"
}

# addresses_of INTERFACE: prints each of its addresses, without the length of the prefix and the zone
addresses_of() {
    if [ "$system" = FreeBSD ]; then ifconfig "$1"; else ip -o addr show dev "$1"; fi 2>/dev/null |
        sed -n 's/.*[[:blank:]]inet6\{0,1\} \([^ /%]*\).*/\1/p'
}

# has_route ADDRESS INTERFACE
has_route() {
    via=$(route_to "$1")
    [ "$via" = "$2" ] || problem "the route to $1 leaves by ${via:-nothing} rather than $2"
}

# has_cc NAME
has_cc() {
    if [ "$system" = FreeBSD ]; then
        sysctl -n net.inet.tcp.cc.available | grep -qw "$1" && return
        problem "congestion control $1 is not available"
        return
    fi
    grep -qw "$1" /proc/sys/net/ipv4/tcp_available_congestion_control && return
    modprobe -n "tcp_$1" 2>/dev/null || problem "the kernel has no congestion control $1"
}

# has_setting KEY
has_setting() {
    sysctl -n "$1" >/dev/null 2>&1 || problem "the kernel has no setting $1"
}

# has_parameter MODULE NAME
has_parameter() {
    file=/sys/module/$1/parameters/$2
    if [ -e "$file" ]; then
        case $(ls -l "$file") in
        -?w*) ;;
        *) problem "the parameter $2 of the kernel's module $1 is read-only" ;;
        esac
    elif [ -e "/sys/module/$1" ]; then
        problem "the kernel's module $1 has no parameter $2"
    else
        # A module that is not loaded shows its parameters when the run loads it.
        modprobe -n "$1" 2>/dev/null || problem "the kernel has no module $1"
    fi
}

# has_room KIB
has_room() {
    free=$(df -Pk /tmp | awk 'NR == 2 { print $4 }')
    [ "${free:-0}" -ge "$1" ] || problem "/tmp has ${free:-0} KiB left, and a run may need $1"
}

# is_free DIR OWNER: no other sweep holds the host
is_free() {
    # shellcheck disable=SC3067 # dash, busybox and FreeBSD's sh have -O
    if [ -h "$1" ] || { [ -e "$1" ] && ! [ -O "$1" ]; }; then
        problem "$1 belongs to another user: remove it"
        return
    fi
    [ -d "$1" ] || return 0
    other=
    { read -r other _ <"$1/owner"; } 2>/dev/null || { problem "$1 is not the directory of a sweep"; return; }
    until=$(cat "$1/deadline" 2>/dev/null) || until=0
    [ "$other" = "$2" ] || [ "$until" -lt "$(date +%s)" ] ||
        problem "another sweep ($other) holds it for up to $((until - $(date +%s))) s more"
}
