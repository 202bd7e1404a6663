# shellcheck shell=sh
# What a FreeBSD router has and how it is put back. The caller sets $rule_set, the set of our rules,
# and steps_to_clear, which prints the commands that clear any bottleneck.
: "${rule_set:?}" "${left_code:?}"

lease=/var/run/tcpexp-netem
# shellcheck disable=SC2034 # for router.sh
tools='ipfw sysctl daemon kldstat'
settings='net.inet.ip.fw.one_pass net.inet.ip.dummynet.io_fast
    net.inet.ip.dummynet.pipe_slot_limit net.inet.ip.dummynet.pipe_byte_limit'

# network_facts PEER DEVICE...: the sections of a preflight that are FreeBSD's own
network_facts() {
    echo "@@ links"
    ifconfig -l | tr ' ' '\n'
    echo "@@ carriers"
    [ -z "$1" ] || route -n get "$1" 2>/dev/null | sed -n 's/.*interface: //p'
    echo "@@ modules"
    for module in ipfw dummynet; do ! kldstat -q -m "$module" || echo "$module"; done
    echo "@@ hz"
    sysctl -n kern.hz
}

save_settings() {
    for name in $settings; do echo "$name=$(sysctl -n "$name")"; done >"$lease/settings"
}

restore_settings() {
    while read -r setting; do try sysctl "$setting"; done <"$lease/settings"
}

# left_settings: prints the settings that differ from the saved ones
left_settings() {
    [ -e "$lease/settings" ] || return 0
    while read -r setting; do
        [ "$(sysctl -n "${setting%%=*}")" = "${setting#*=}" ] || echo "${setting%%=*} is not restored to ${setting#*=}"
    done <"$lease/settings"
}

# left_over: prints what there is of any bottleneck
left_over() { ipfw set "$rule_set" list; }

# clear_forgotten: clears a router without a lease. Fails if there was nothing.
clear_forgotten() {
    [ -n "$(left_over)" ] || return 1
    eval "$(steps_to_clear)"
}

show_state() {
    ipfw set "$rule_set" show
    ipfw pipe show
    ipfw sched show
    ipfw queue show
}
