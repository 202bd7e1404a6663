# shellcheck shell=sh
# What a Linux router has and how it is put back. The caller sets the variables below; a device is
# a network interface.
: "${group:?}" "${forward_root:?}" "${reverse_root:?}" "${priorities:?}" "${offloads:?}" "${left_code:?}"

# Namespaces may share their files, so each has a lease of its own. It does not outlive a restart,
# and neither does a bottleneck.
lease=/run/tcpexp-netem-$(stat -L -c %i /proc/self/ns/net)
# shellcheck disable=SC2034 # for router.sh
tools='tc ip ethtool setsid'

links() { ip -o link show | sed 's/^[0-9]*: \([^:@]*\).*/\1/'; }

# trace_link add|replace DEVICE PARENT NAME: attaches the program NAME of a trace. The function of this
# name prints its file; without one, the file of an earlier call is used.
trace_link() {
    file=$lease/$4.o
    if command -v "$4" >/dev/null 2>&1; then
        command -v base64 >/dev/null 2>&1 || {
            echo "base64 is missing: install coreutils" >&2
            return 1
        }
        "$4" | base64 -d >"$file"
    fi
    # A replaced program begins with its first packet again.
    tc filter "$1" dev "$2" parent "$3" protocol all pref 1 handle 1 \
        bpf direct-action object-file "$file" section tc
}

# network_facts PEER DEVICE...: the sections of a preflight that are Linux's own
network_facts() {
    command -v ip >/dev/null 2>&1 && command -v tc >/dev/null 2>&1 || return 0
    peer=$1
    shift
    echo "@@ links"
    links
    echo "@@ carriers"
    via=
    [ -z "$peer" ] || via=$(ip -o route get "$peer" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p')
    # The device itself, what it is a VLAN of, and the ports of it if it is a bridge.
    [ -z "$via" ] ||
        { ip -o link show dev "$via" && ip -o link show master "$via"; } 2>/dev/null |
        sed 's/^[0-9]*: \([^:]*\):.*/\1/' | tr '@' '\n'
    for device; do
        echo "@@ qdisc $device"
        tc -s -j qdisc show dev "$device" 2>/dev/null || true
        echo
    done
}

# save_settings DEVICE...: notes the offloads that are on
save_settings() {
    for device; do
        features=$(ethtool -k "$device")
        for pair in $offloads; do
            case "$features
" in *"${pair#*:}: on
"*) echo "${pair%%:*} on" ;; esac
        done >"$lease/offloads.$device"
    done
}

# restore_settings DEVICE...
restore_settings() {
    for device; do
        # shellcheck disable=SC2046 # words are what it holds
        [ ! -s "$lease/offloads.$device" ] || try ethtool -K "$device" $(cat "$lease/offloads.$device")
    done
}

# left_settings DEVICE...: prints the offloads that were on and are not on again. Some drivers refuse a
# change for a while, and `ethtool -K` succeeds if only a part of the change fails.
left_settings() {
    for device; do
        # A device that is gone has nothing to restore.
        ip link show dev "$device" >/dev/null 2>&1 || continue
        [ -s "$lease/offloads.$device" ] || continue
        features=$(ethtool -k "$device" 2>/dev/null) || {
            echo "offloads of $device: ethtool -k fails"
            continue
        }
        off=
        for pair in $offloads; do
            grep -q "^${pair%%:*} on" "$lease/offloads.$device" || continue
            case "$features
" in *"${pair#*:}: on"*) ;; *) off="$off ${pair%%:*}" ;; esac
        done
        [ -z "$off" ] || echo "offloads of $device that are still off:$off"
    done
}

# left_over: prints what there is of any bottleneck
left_over() {
    queues=$(tc qdisc show) || echo "queues that cannot be read: tc qdisc show fails"
    echo "$queues" | grep -E " ($forward_root|$reverse_root) dev " || true
    ip -o link show group "$group" 2>/dev/null || true
}

# clear_forgotten: clears a router without a lease, by handles, priorities and groups. Fails if there
# was nothing.
clear_forgotten() {
    found=
    run tc qdisc show >/dev/null
    for device in $(tc qdisc show |
        sed -n "s/^qdisc [a-z_]* \($forward_root\|$reverse_root\) dev \([^ ]*\) root.*/\2/p"); do
        found=yes
        try tc qdisc del dev "$device" root handle "$forward_root"
        try tc qdisc del dev "$device" root handle "$reverse_root"
    done
    for device in $(tc qdisc show | sed -n 's/^qdisc clsact ffff: dev \([^ ]*\) .*/\1/p'); do
        { tc filter show dev "$device" ingress && tc filter show dev "$device" egress; } 2>/dev/null |
            grep -q -e "to device ${device_prefix:?}" -e " pref ${policer:?} " || continue
        found=yes
        try tc filter del dev "$device" egress pref "$policer"
        for priority in $priorities; do try tc filter del dev "$device" ingress pref "$priority"; done
        [ -n "$(tc filter show dev "$device" ingress)$(tc filter show dev "$device" egress)" ] ||
            try tc qdisc del dev "$device" clsact
    done
    if [ -n "$(ip -o link show group "$group" 2>/dev/null)" ]; then
        found=yes
        run ip link del group "$group"
    fi
    [ -n "$found" ]
}

# show_state: prints all queues, classes and redirects
show_state() {
    for device in $(links); do
        [ "$device" != lo ] || continue
        echo "$device:"
        {
            tc -s qdisc show dev "$device"
            tc -s class show dev "$device"
            tc filter show dev "$device" ingress 2>/dev/null
            tc -s filter show dev "$device" egress 2>/dev/null
        } | sed 's/^/  /'
    done
}
