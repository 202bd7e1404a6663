# shellcheck shell=sh
# Applies, changes and clears the bottleneck of a router. Sourced after host.sh and linux.sh or freebsd.sh.
# The caller defines functions that print the commands of a plan (steps_to_make, steps_to_change,
# steps_to_undo, steps_to_clear), its description, and this library for later scripts.
: "${tools:?}" "${lease:?}" "${left_code:?}"

# run COMMAND...: which must succeed
run() { "$@" || {
    code=$?
    echo "exit code $code of: $*" >&2
    exit "$code"
}; }

# try COMMAND...: which may find nothing to do
try() { "$@" >/dev/null 2>&1 || true; }

# router_preflight DEVICE...: prints facts and changes nothing; needs no root
router_preflight() {
    echo "@@ tools"
    for tool in $tools; do command -v "$tool" >/dev/null 2>&1 || echo "$tool"; done
    print_holder
    echo "@@ peer"
    peer=${SSH_CONNECTION:-}
    peer=${peer%% *}
    echo "$peer"
    network_facts "$peer" "$@"
}

# print_holder: the owner of the lease, the seconds until its watchdog clears it, and what was applied
print_holder() {
    echo "@@ owner"
    cat "$lease/owner" 2>/dev/null || true
    echo "@@ clears in"
    ! { read -r deadline <"$lease/deadline"; } 2>/dev/null || echo "$((deadline - $(date +%s)))"
    echo "@@ bottleneck"
    cat "$lease/bottleneck.json" 2>/dev/null || true
    echo "@@ router"
    cat "$lease/router.json" 2>/dev/null || true
}

# router_apply OWNER TAKE_OVER SECONDS DEVICE...: takes the lease, arms the watchdog if there are
# SECONDS, makes the bottleneck; if that fails, clears it
router_apply() {
    seconds=$3
    lease_take "$1" "$2"
    shift 3
    trap 'rm -rf "$lease"' EXIT
    save_settings "$@"
    library >"$lease/library.sh"
    steps_to_clear >"$lease/steps_to_clear.sh"
    keep_description
    # The names of devices need no quotes.
    printf '. "%s/library.sh"\nrouter_clear_known %s\n' "$lease" "$*" >"$lease/clear.sh"
    finished=
    trap '[ -n "$finished" ] || /bin/sh "$lease/clear.sh"' EXIT
    [ -z "$seconds" ] || lease_arm "$seconds"
    eval "$(steps_to_make)"
    finished=yes
}

keep_description() {
    bottleneck_json >"$lease/bottleneck.json"
    router_json >"$lease/router.json"
}

# router_change OWNER TIME: changes the bottleneck in place, at TIME (ns since 1970) if it is not
# empty, and prints when the change began and ended. A change that fails half-way is undone.
router_change() {
    must_be_of "$1"
    [ -z "$2" ] || wait_until "$2"
    finished=
    trap '[ -n "$finished" ] || eval "$(steps_to_undo)"' EXIT
    echo "time $(now_ns)"
    eval "$(steps_to_change)"
    finished=yes
    echo "time $(now_ns)"
    keep_description
}

# must_be_of OWNER
must_be_of() {
    [ -e "$lease/owner" ] || {
        echo "there is no bottleneck to change: apply one first" >&2
        exit 1
    }
    lease_is_of "$1" || lease_refuse
}

# router_keep OWNER SECONDS: arms the watchdog anew
router_keep() {
    must_be_of "$1"
    lease_arm "$2"
}

# router_release OWNER: clears the router unless another owner has it
router_release() { if lease_is_of "$1"; then router_clear; else echo nothing; fi; }

# router_clear: clears the router, whoever has it. Prints `cleared` or `nothing`: an empty output is no
# answer of this function.
router_clear() {
    ! read -r holder _ 2>/dev/null <"$lease/owner" || echo "owner $holder"
    if [ -e "$lease/clear.sh" ]; then
        /bin/sh "$lease/clear.sh"
        echo cleared
    elif clear_forgotten || [ -e "$lease" ]; then
        # An `apply` that was killed early has a lease without `clear.sh`.
        refuse_left_over
        rm -rf "$lease"
        echo cleared
    else
        echo nothing
    fi
}

# router_clear_known DEVICE...: the body of clear.sh
router_clear_known() {
    trap 'exit 143' HUP INT TERM
    [ -d "$lease" ] || exit 0
    # shellcheck source=/dev/null
    . "$lease/steps_to_clear.sh"
    restore_settings "$@"
    refuse_left_over "$@"
    lease_end
}

# refuse_left_over DEVICE...: exits with $left_code if something could not be cleared or restored. The lease
# stays, because it has the settings of the devices from before the bottleneck.
refuse_left_over() {
    left=$(left_over && left_settings "$@")
    [ -z "$left" ] || {
        echo "left: $left" >&2
        exit "$left_code"
    }
}

# router_show: prints the holder and the state of all queues
router_show() {
    print_holder
    echo "@@ state"
    show_state
}
