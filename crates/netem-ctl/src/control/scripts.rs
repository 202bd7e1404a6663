//! The scripts, as text. Each is read completely before any of it runs, so that a connection that
//! breaks on the way does nothing.

use std::fmt::Write as _;
use std::time::Duration;

use tcpexp_units::Timestamp;

use super::ApplyOptions;
use crate::plan::{self, OFFLOADS, OUR_GROUP, OUR_ROOTS, Plan, Step};
use crate::router::{Os, Router};
use crate::runner::background::{ALIVE, BORN};

/// Exit code where someone else holds the router.
pub(crate) const HELD: i32 = 96;
/// Exit code where something of ours could not be taken away.
pub(crate) const LEFT: i32 = 95;

/// Kernel variables that are changed on FreeBSD, and put back.
const SYSCTLS: [&str; 4] = [
    "net.inet.ip.fw.one_pass",
    "net.inet.ip.dummynet.io_fast",
    "net.inet.ip.dummynet.pipe_slot_limit",
    "net.inet.ip.dummynet.pipe_byte_limit",
];

/// Where the router keeps what it needs to clear itself: one folder for each network namespace, as
/// several share their files. It does not outlive a restart, and neither does a bottleneck.
fn state(os: Os) -> &'static str {
    match os {
        Os::Linux => "set -- $(ls -Li /proc/self/ns/net); state=/run/tcpexp-netem-$1\n",
        Os::FreeBsd => "state=/var/run/tcpexp-netem\n",
    }
}

/// A command that must succeed is told if it does not; one that may find nothing to do is silent.
const HELPERS: &str = r#"run() { "$@" || { code=$?; echo "exit code $code of: $*" >&2; exit "$code"; }; }
try() { "$@" >/dev/null 2>&1 || true; }
"#;

/// Looks at the router without touching it. Needs no root.
pub(crate) fn preflight(router: &Router) -> String {
    let Router { os, left, right } = router;
    let mut text = state(*os).to_owned();
    let tools = match os {
        Os::Linux => "tc ip ethtool setsid",
        Os::FreeBsd => "ipfw sysctl daemon kldstat",
    };
    let _ = write!(
        text,
        r#"echo "@@ tools"
for tool in {tools}; do command -v "$tool" >/dev/null 2>&1 || echo "$tool"; done
echo "@@ owner"; cat "$state/owner" 2>/dev/null || true
echo "@@ peer"; peer=${{SSH_CONNECTION:-}}; peer=${{peer%% *}}; echo "$peer"
"#
    );
    let network = match os {
        Os::Linux => LINUX_NETWORK.replace("DEVICES", &format!("{left} {right}")),
        Os::FreeBsd => FREEBSD_NETWORK.to_owned(),
    };
    text + &network
}

const LINUX_NETWORK: &str = r#"if command -v ip >/dev/null 2>&1 && command -v tc >/dev/null 2>&1; then
    echo "@@ links"; ip -o link show | sed 's/^[0-9]*: \([^:@]*\).*/\1/'
    echo "@@ carriers"; via=
    if [ -n "$peer" ]; then via=$(ip -o route get "$peer" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p'); fi
    if [ -n "$via" ]; then
        { ip -o link show dev "$via"; ip -o link show master "$via"; } 2>/dev/null |
            sed 's/^[0-9]*: \([^:]*\):.*/\1/' | tr '@' '\n'
    fi
    for dev in DEVICES; do echo "@@ qdisc $dev"; tc -j qdisc show dev "$dev" 2>/dev/null || true; done
fi
"#;

const FREEBSD_NETWORK: &str = r#"echo "@@ links"; ifconfig -l | tr ' ' '\n'
echo "@@ carriers"; if [ -n "$peer" ]; then route -n get "$peer" 2>/dev/null | sed -n 's/.*interface: //p'; fi
echo "@@ modules"; for m in ipfw dummynet; do kldstat -q -m "$m" && echo "$m"; done
echo "@@ hz"; sysctl -n kern.hz
"#;

/// Clears what the same owner left, takes the router, arms its timer, makes the bottleneck; if that
/// fails, clears.
pub(crate) fn apply(plan: &Plan, owner: &str, options: ApplyOptions) -> String {
    let take_over = if options.take_over { "yes" } else { "" };
    let mut body = format!(
        r#"if [ -e "$state/owner" ]; then
    read -r holder since <"$state/owner"
    if [ "$holder" != {owner} ] && [ -z "{take_over}" ]; then held; fi
    disarm
    if [ -e "$state/clear.sh" ]; then /bin/sh "$state/clear.sh"; fi
    rm -rf "$state"
fi
mkdir -p "$state"
echo {owner} "$(date +%s)" >"$state/owner.$$"
if ! ln "$state/owner.$$" "$state/owner"; then read -r holder since <"$state/owner"; held; fi
trap 'rm -rf "$state"' EXIT
"#
    );
    body += &save_settings(&plan.router);
    let _ = write!(
        body,
        "cat >\"$state/clear.sh\" <<'END_OF_CLEAR'\n{}END_OF_CLEAR\n",
        clear_known(&plan.router, &plan.clear)
    );
    body += &keep_description(plan);
    body += "finished=\ntrap '[ -n \"$finished\" ] || /bin/sh \"$state/clear.sh\"' EXIT\n";
    if let Some(after) = options.clear_after {
        body += &arm(after);
    }
    body += &lines(&plan.apply);
    body += "finished=yes\n";
    whole(plan.router.os, &(HELD_FUNCTION.to_owned() + &body))
}

/// Two times are understood: those of GNU and of FreeBSD.
const HELD_FUNCTION: &str = r#"held() {
    when=$(date -d "@$since" 2>/dev/null || date -r "$since" 2>/dev/null || echo "$since")
    echo "held by $holder since $when" >&2
    exit 96
}
"#;

/// Changes in place, and tells when.
pub(crate) fn change(to: &Plan, owner: &str, steps: &[Step], at: Option<Timestamp>) -> String {
    let mut body = must_be_ours(owner);
    if let Some(at) = at {
        let nanos = at.as_nanos();
        // A shell counts in 64 bits. The last steps are short so as not to miss the moment.
        let _ = write!(
            body,
            r"left=$((({nanos} - $(date +%s%N)) / 1000000))
while [ $left -gt 0 ]; do
    if [ $left -gt 2000 ]; then sleep 1; elif [ $left -gt 20 ]; then sleep 0.01; else sleep 0.001; fi
    left=$((({nanos} - $(date +%s%N)) / 1000000))
done
"
        );
    }
    body += "echo \"time $(date +%s%N)\"\n";
    body += &lines(steps);
    body += "echo \"time $(date +%s%N)\"\n";
    body += &keep_description(to);
    whole(to.router.os, &body)
}

/// Clears the router of whatever is ours, unless someone else holds it.
pub(crate) fn release(os: Os, owner: &str) -> String {
    let others = format!(
        r#"if [ -e "$state/owner" ]; then
    read -r holder since <"$state/owner"
    if [ "$holder" != {owner} ]; then exit 0; fi
fi
"#
    );
    whole(os, &(others + &clear_body(os)))
}

/// Clears the router of whatever is ours.
pub(crate) fn clear(os: Os) -> String {
    whole(os, &clear_body(os))
}

fn clear_body(os: Os) -> String {
    format!(
        r#"if [ -e "$state/owner" ]; then read -r holder since <"$state/owner"; echo "owner $holder"; fi
if [ -e "$state/clear.sh" ]; then /bin/sh "$state/clear.sh"; echo cleared; exit 0; fi
{}"#,
        clear_unknown(os)
    )
}

/// Sets the timer anew.
pub(crate) fn keep_alive(os: Os, owner: &str, after: Duration) -> String {
    let body = format!("{}disarm\n{}", must_be_ours(owner), arm(after));
    whole(os, &body)
}

/// All that is to be seen.
pub(crate) fn show(os: Os) -> String {
    let tools = match os {
        Os::Linux => {
            r#"for dev in $(ip -o link show | sed 's/^[0-9]*: \([^:@]*\).*/\1/'); do
    [ "$dev" = lo ] && continue
    echo "$dev:"; tc -s qdisc show dev "$dev" | sed 's/^/  /'; tc -s class show dev "$dev" | sed 's/^/  /'
    tc filter show dev "$dev" ingress 2>/dev/null | sed 's/^/  /'
done
"#
        }
        Os::FreeBsd => "ipfw set 17 show; ipfw pipe show; ipfw sched show; ipfw queue show\n",
    };
    format!(
        r#"{}echo "@@ owner"; cat "$state/owner" 2>/dev/null || true
echo "@@ bottleneck"; cat "$state/bottleneck.json" 2>/dev/null || true
echo "@@ router"; cat "$state/router.json" 2>/dev/null || true
echo "@@ state"
{tools}"#,
        state(os)
    )
}

/// A script that runs only when all of it was read.
fn whole(os: Os, body: &str) -> String {
    format!(
        "{}{HELPERS}{BORN}{ALIVE}{DISARM}main() {{\ntrap 'exit 143' HUP INT TERM\n{body}}}\nmain\n",
        state(os)
    )
}

/// Deletions by `tc` that come one after the other are one call: most find nothing to do.
fn lines(steps: &[Step]) -> String {
    let is_deletion = |step: &Step| step.may_fail && step.argv[0] == "tc";
    let groups = steps.chunk_by(|one, next| is_deletion(one) && is_deletion(next));
    groups.fold(String::new(), |text, group| match group {
        [step] if step.may_fail => text + "try " + &step.line() + "\n",
        [step] => text + "run " + &step.line() + "\n",
        several => {
            let lines = several.iter().map(|step| step.argv[1..].join(" ") + "\n");
            let lines: String = lines.collect();
            text + "try tc -force -batch - <<'END_OF_BATCH'\n" + &lines + "END_OF_BATCH\n"
        }
    })
}

fn must_be_ours(owner: &str) -> String {
    format!(
        r#"[ -e "$state/owner" ] || {{ echo "there is no bottleneck to change: apply one first" >&2; exit 1; }}
read -r holder since <"$state/owner"
if [ "$holder" != {owner} ]; then echo "held by $holder" >&2; exit {HELD}; fi
"#
    )
}

/// What is there, as it was described: for those who come later and have nothing but the router.
fn keep_description(plan: &Plan) -> String {
    let json = |value: serde_json::Result<String>| value.unwrap_or_default();
    format!(
        "cat >\"$state/bottleneck.json\" <<'END_OF_JSON'\n{}\nEND_OF_JSON\n\
         cat >\"$state/router.json\" <<'END_OF_JSON'\n{}\nEND_OF_JSON\n",
        json(serde_json::to_string(&plan.bottleneck)),
        json(serde_json::to_string(&plan.router))
    )
}

/// Ends the timer, which is known by its birth and not by its number alone.
const DISARM: &str = r#"disarm() {
    [ -e "$state/timer" ] || return 0
    read -r pid was <"$state/timer"
    if alive; then kill -s KILL -- "-$pid" 2>/dev/null || true; fi
    rm -f "$state/timer"
}
"#;

/// A process of its own that sleeps and then clears.
fn arm(after: Duration) -> String {
    let seconds = after.as_secs().max(1);
    format!(
        r#"cat >"$state/timer.sh" <<'END_OF_TIMER'
{BORN}state=$1
printf '%s %s\n' "$$" "$(born "$$")" >"$state/timer.new" && mv "$state/timer.new" "$state/timer"
sleep {seconds}
TCPEXP_TIMER=yes exec /bin/sh "$state/clear.sh"
END_OF_TIMER
if command -v setsid >/dev/null 2>&1; then own="setsid -f"; else own=daemon; fi
$own /bin/sh "$state/timer.sh" "$state" </dev/null >/dev/null 2>&1
tries=0
while [ ! -e "$state/timer" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 200 ]; then echo "the timer does not start" >&2; exit 1; fi
    sleep 0.02
done
"#
    )
}

/// Keeps the settings that `apply` changes, as they are: what was there of ours is cleared.
fn save_settings(router: &Router) -> String {
    match router.os {
        Os::Linux => {
            let on = OFFLOADS
                .iter()
                .fold(String::new(), |text, (feature, name)| {
                    text + &format!(" -e 's/^{name}: on$/{feature} on/p'")
                });
            let devices = [&router.left, &router.right].into_iter();
            devices.fold(String::new(), |text, dev| {
                text + &format!("ethtool -k {dev} | sed -n{on} >\"$state/offload.{dev}\"\n")
            })
        }
        Os::FreeBsd => {
            let names = SYSCTLS.iter();
            names.fold(String::new(), |text, name| {
                text + &format!("echo \"{name}=$(sysctl -n {name})\" >>\"$state/sysctls\"\n")
            })
        }
    }
}

/// Clears a router whose interfaces are known; it stays on the router for whoever needs it.
fn clear_known(router: &Router, steps: &[Step]) -> String {
    let mut body = "[ -d \"$state\" ] || exit 0\n".to_owned();
    body += "[ -n \"${TCPEXP_TIMER:-}\" ] || disarm\n";
    body += &lines(steps);
    match router.os {
        Os::Linux => {
            for dev in [&router.left, &router.right] {
                let _ = writeln!(
                    body,
                    "was=\"$state/offload.{dev}\"; \
                     if [ -s \"$was\" ]; then try ethtool -K {dev} $(cat \"$was\"); fi"
                );
            }
            body += &left_on_linux();
        }
        Os::FreeBsd => {
            body += "while read -r setting; do try sysctl \"$setting\"; done <\"$state/sysctls\"\n";
            body += &left_on_freebsd();
        }
    }
    body += "rm -rf \"$state\"\n";
    whole(router.os, &body)
}

/// Clears a router that has lost its memory: by our handles, groups and priorities.
fn clear_unknown(os: Os) -> String {
    match os {
        Os::Linux => {
            let [forward, reverse] = OUR_ROOTS;
            let mut body = format!(
                r#"found=
for dev in $(tc qdisc show | sed -n 's/^qdisc [a-z_]* \({forward}\|{reverse}\) dev \([^ ]*\) root.*/\2/p'); do
    found=yes
    try tc qdisc del dev "$dev" root handle {forward}
    try tc qdisc del dev "$dev" root handle {reverse}
done
for dev in $(tc qdisc show | sed -n 's/^qdisc clsact ffff: dev \([^ ]*\) .*/\1/p'); do
    tc filter show dev "$dev" ingress 2>/dev/null | grep -q 'to device tcxd-' || continue
    found=yes
"#
            );
            for priority in plan::OUR_PRIORITIES {
                let _ = writeln!(
                    body,
                    "    try tc filter del dev \"$dev\" ingress pref {priority}"
                );
            }
            let _ = write!(
                body,
                r#"    if [ -z "$(tc filter show dev "$dev" ingress)$(tc filter show dev "$dev" egress)" ]; then
        try tc qdisc del dev "$dev" clsact
    fi
done
if [ -n "$(ip -o link show group {OUR_GROUP} 2>/dev/null)" ]; then found=yes; run ip link del group {OUR_GROUP}; fi
{}rm -rf "$state"
if [ -n "$found" ]; then echo cleared; fi
"#,
                left_on_linux()
            );
            body
        }
        Os::FreeBsd => {
            let steps = lines(&plan::clear_freebsd());
            format!(
                "if [ -z \"$(ipfw set 17 list)\" ]; then exit 0; fi\n{steps}{}echo cleared\n",
                left_on_freebsd()
            )
        }
    }
}

fn left_on_linux() -> String {
    let [forward, reverse] = OUR_ROOTS;
    format!(
        r#"left=$(tc qdisc show | grep -E ' ({forward}|{reverse}) dev ' || true; ip -o link show group {OUR_GROUP} 2>/dev/null || true)
if [ -n "$left" ]; then echo "left: $left" >&2; exit {LEFT}; fi
"#
    )
}

fn left_on_freebsd() -> String {
    format!(
        "left=$(ipfw set 17 list)\n\
         if [ -n \"$left\" ]; then echo \"left: $left\" >&2; exit {LEFT}; fi\n"
    )
}
