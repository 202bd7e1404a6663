# shellcheck shell=sh
# The settings of a host for the time of a run. A script that changes one sources this behind run.sh.
: "${dir:?}" "${system:?}"

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

# set_initcwnd SEGMENTS ADDRESS...: on the routes that the kernel uses to these addresses, for the time
# of the run. The routes may be in any table of the policy rules, beside others with a greater metric.
set_initcwnd() {
    segments=$1
    shift
    for address; do
        case $address in *:*) family=-6 ;; *) family=-4 ;; esac
        route=$(ip "$family" route get fibmatch "$address")
        case " $route " in *" initcwnd $segments "*) continue ;; esac
        on_undo "ip $family route change $route"
        bare=$(echo "$route" | sed 's/ initcwnd [0-9]*//')
        # shellcheck disable=SC2086 # words are what it holds
        ip "$family" route change $bare initcwnd "$segments"
        route=$(ip "$family" route get fibmatch "$address")
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

# is_setting WANTED FOUND: true if both are equal but for blanks, or for 1 and Y, or 0 and N
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

# offloads_off INTERFACE, for the time of the run. Fails if one stays on, because packets would be merged in
# captures and queues.
offloads_off() {
    on=$(offloads "$1" changeable)
    if [ "$system" = FreeBSD ]; then
        for feature in $on; do
            on_undo "ifconfig $1 $feature"
            ifconfig "$1" "-$feature" || :
        done
    elif [ -n "$on" ]; then
        # shellcheck disable=SC2086 # words are what it holds
        on_undo "ethtool -K $1$(printf ' %s on' $on)"
        # shellcheck disable=SC2046,SC2086
        ethtool -K "$1" $(printf ' %s off' $on) 2>/dev/null ||
            # It may have stopped at the first that it cannot turn off.
            for feature in $on; do ethtool -K "$1" "$feature" off 2>/dev/null || :; done
    fi
    on=$(offloads "$1" all)
    [ -z "$on" ] || {
        # shellcheck disable=SC2086
        echo "the offloads$(printf ' %s' $on) of $1 cannot be turned off: prepare.keep_offloads = true keeps all offloads" >&2
        return 1
    }
}

# offloads INTERFACE all|changeable: prints the offloads that are on, or those of them that are not fixed
offloads() {
    if [ "$system" = FreeBSD ]; then
        for pair in 'TSO[46]:tso' LRO:lro; do
            # VLAN_HWTSO stays without TSO, and does nothing then.
            ! ifconfig "$1" | grep -q "options=.*[<,]${pair%%:*}[,>]" || echo "${pair#*:}"
        done
        return
    fi
    features=$(ethtool -k "$1")
    for pair in tcp-segmentation-offload:tso generic-segmentation-offload:gso \
        generic-receive-offload:gro large-receive-offload:lro \
        tx-udp-segmentation:tx-udp-segmentation rx-gro-hw:rx-gro-hw; do
        case $2$features in
        changeable*"${pair%%:*}: on [fixed]"*) ;;
        # A driver that refuses leaves "on [requested off]".
        *"${pair%%:*}: on"*) echo "${pair#*:}" ;;
        esac
    done
}
