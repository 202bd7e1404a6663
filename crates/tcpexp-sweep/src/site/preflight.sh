# Looks at a host before anything is done there, and changes nothing. Prints facts as KEY=VALUE and
# what is wrong as problem=TEXT.
PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin

problem() { echo "problem=$*"; }
fact() { echo "$1=$2"; }

fact clock_ns "$(date +%s%N | sed 's/N$/000000000/')"
fact kernel "$(uname -srm)"

is_root() {
    [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null || problem 'sudo -n does not work: root without a password is needed'
}

# tools NAME...
tools() {
    for tool; do
        command -v "$tool" >/dev/null || problem "$tool is not installed"
    done
}

has_interface() {
    if [ "$(uname)" = FreeBSD ]; then ifconfig "$1" >/dev/null 2>&1; else ip link show dev "$1" >/dev/null 2>&1; fi ||
        { problem "there is no interface $1"; return; }
    control=$(control_interface)
    [ "$control" != "$1" ] || problem "interface $1 carries the control connection"
}

control_interface() {
    [ -n "${SSH_CONNECTION:-}" ] || return 0
    route_to "${SSH_CONNECTION%% *}"
}

route_to() {
    if [ "$(uname)" = FreeBSD ]; then
        route -n get "$1" 2>/dev/null | sed -n 's/ *interface: //p'
    else
        ip -o route get "$1" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p'
    fi
}

# has_address INTERFACE ADDRESS
has_address() {
    if [ "$(uname)" = FreeBSD ]; then ifconfig "$1"; else ip -o addr show dev "$1"; fi 2>/dev/null |
        grep -qF "$2" || problem "interface $1 does not have the address $2"
}

# has_route ADDRESS INTERFACE
has_route() {
    via=$(route_to "$1")
    [ "$via" = "$2" ] || problem "the route to $1 leaves by ${via:-nothing} rather than $2"
}

# has_cc NAME
has_cc() {
    if [ "$(uname)" = FreeBSD ]; then
        sysctl -n net.inet.tcp.cc.available | grep -qw "$1" && return
        problem "congestion control $1 is not available"
        return
    fi
    grep -qw "$1" /proc/sys/net/ipv4/tcp_available_congestion_control && return
    modprobe -n "tcp_$1" 2>/dev/null || problem "the kernel has no congestion control $1"
}

# has_room KIB
has_room() {
    free=$(df -Pk /tmp | awk 'NR == 2 { print $4 }')
    [ "${free:-0}" -ge "$1" ] || problem "/tmp has ${free:-0} KiB left, and a run may need $1"
}

# is_free DIR OWNER: no other sweep is at work
is_free() {
    [ -d "$1" ] || return 0
    other=$(cat "$1/owner" 2>/dev/null) || { problem "$1 is somebody else's"; return; }
    until=$(cat "$1/deadline" 2>/dev/null) || until=0
    [ "$other" = "$2" ] || [ "$until" -lt "$(date +%s)" ] ||
        problem "another sweep ($other) is at work there for up to $((until - $(date +%s))) s more"
}
