//! Decides from the output of the preflight script whether a router may be changed.

use std::time::Duration;

use tcpexp_host::Qdisc;

use super::error::ControlError;
use super::sections;
use crate::bottleneck::Bottleneck;
use crate::plan::{OUR_ROOTS, Plan, plan};
use crate::router::{DescribedRouter, Interface, Os, Router};

/// The holder of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The owner's name.
    pub owner: String,
    /// Seconds until the watchdog clears the router, at the time of reading; `None` without a watchdog.
    pub clears_in_s: Option<i64>,
    /// The bottleneck that it applied.
    pub bottleneck: Option<Bottleneck>,
    /// The interfaces that it applied it to.
    pub router: Option<Router>,
}

impl Holder {
    /// Time until the watchdog clears the router, at the time of reading; `None` without a watchdog.
    pub fn clears_in(&self) -> Option<Duration> {
        let seconds = self.clears_in_s?;
        Some(Duration::from_secs(seconds.try_into().unwrap_or(0)))
    }

    /// The plan of the bottleneck; `None` if the router has no plan, or if an earlier version wrote it.
    pub fn plan(&self) -> Option<Plan> {
        plan(self.bottleneck.as_ref()?, self.router.as_ref()?).ok()
    }
}

/// Evaluates the output of the preflight script; returns the holder of the router, if any.
pub(crate) fn judge(
    host: &str,
    router: &Router,
    text: &str,
) -> Result<Option<Holder>, ControlError> {
    let sections = sections::split(text);
    let section = |name: &str| {
        let found = sections.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, text)| text.trim())
    };
    let host = || host.to_owned();
    let tools: Vec<String> = section("tools").lines().map(str::to_owned).collect();
    // A router without `ip` prints no links either, so missing programs are reported first.
    if !tools.is_empty() {
        return Err(ControlError::MissingTools {
            host: host(),
            tools,
            package: match router.os {
                Os::Linux => "iproute2, ethtool and util-linux",
                Os::FreeBsd => "the base system",
            },
        });
    }
    let links: Vec<String> = section("links").lines().map(str::to_owned).collect();
    for interface in [&router.left, &router.right] {
        if !links.iter().any(|link| link == interface.as_str()) {
            return Err(ControlError::NoInterface {
                host: host(),
                interface: interface.to_string(),
                others: links,
            });
        }
    }
    // The interface of the route back, the device below a VLAN, and the ports of a bridge.
    let carriers: Vec<&str> = section("carriers").lines().collect();
    for interface in [&router.left, &router.right] {
        if carriers.contains(&interface.as_str()) {
            return Err(ControlError::ControlInterface {
                host: host(),
                interface: interface.to_string(),
                peer: section("peer").to_owned(),
            });
        }
    }
    let holder = holder(&sections);
    match router.os {
        Os::Linux => {
            for interface in [&router.left, &router.right] {
                // A held router may have our own hook, which is cleared before the next bottleneck
                // is made.
                let queues = section(&format!("qdisc {interface}"));
                foreign(&host(), interface, queues, holder.is_some())?;
            }
        }
        Os::FreeBsd => fit_for_dummynet(&host(), &sections)?,
    }
    Ok(holder)
}

/// Refuses root queues of other programs, because deleting our queue would not restore them.
/// Refuses ingress hooks of other programs, because deleting our hook would delete them too.
fn foreign(
    host: &str,
    interface: &Interface,
    queues: &str,
    held: bool,
) -> Result<(), ControlError> {
    let list = Qdisc::list(queues).map_err(|error| ControlError::Unfit {
        host: host.to_owned(),
        problem: format!("cannot read the queues of {interface}: {error}"),
    })?;
    for qdisc in &list {
        // Disciplines that the kernel created itself have the handle 0.
        let is_default = qdisc.handle == "0:";
        let foreign_root = qdisc.root && !is_default && !OUR_ROOTS.contains(&qdisc.handle.as_str());
        // An interface has room for one hook, so ours would take the place of the other.
        let foreign_hook = qdisc.is_hook() && !held;
        if foreign_root || foreign_hook {
            return Err(ControlError::ForeignQueue {
                host: host.to_owned(),
                interface: interface.to_string(),
                kind: qdisc.kind.clone(),
                handle: qdisc.handle.clone(),
            });
        }
    }
    Ok(())
}

/// Checks that dummynet is ready. It does not load `ipfw`, whose default is to block all packets.
fn fit_for_dummynet(host: &str, sections: &[(&str, &str)]) -> Result<(), ControlError> {
    let section = |name: &str| {
        let found = sections.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, text)| text.trim())
    };
    let unfit = |problem: String| {
        Err(ControlError::Unfit {
            host: host.to_owned(),
            problem,
        })
    };
    let modules: Vec<&str> = section("modules").lines().collect();
    if !modules.contains(&"ipfw") {
        return unfit(
            "ipfw is not loaded: set net.inet.ip.fw.default_to_accept=1 in loader.conf, then kldload \
             ipfw"
                .into(),
        );
    }
    if !modules.contains(&"dummynet") {
        return unfit("dummynet is not loaded: kldload dummynet".into());
    }
    // If the value is unreadable, the read-back of the plan reports it.
    match section("hz").parse::<u32>() {
        Ok(hz) if hz < 1_000 => unfit(format!(
            "kern.hz is {hz}, so delays are rounded up to {} ms: set kern.hz=1000 in loader.conf",
            1_000 / hz.max(1)
        )),
        _ => Ok(()),
    }
}

/// The holder, from the files of its lease.
pub(crate) fn holder(sections: &[(&str, &str)]) -> Option<Holder> {
    let section = |name: &str| {
        let found = sections.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, text)| text.trim())
    };
    // The owner's name, and the start of the lease.
    let mut words = section("owner").split_ascii_whitespace();
    let bottleneck: Option<Bottleneck> = serde_json::from_str(section("bottleneck")).ok();
    let described: Option<DescribedRouter> = serde_json::from_str(section("router")).ok();
    let mtu = described.as_ref().and_then(|described| described.mtu);
    Some(Holder {
        owner: words.next()?.to_owned(),
        clears_in_s: section("clears in").parse().ok(),
        // A queue that counts packets is made and read back for packets of this size.
        bottleneck: bottleneck.map(|bottleneck| bottleneck.with_mtu(mtu)),
        router: described.map(|described| described.router),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(os: Os) -> Router {
        let [left, right] = ["eth1", "eth2"].map(|name| name.parse().unwrap());
        Router { os, left, right }
    }

    fn verdict(os: Os, text: &str) -> String {
        match judge("rtr", &router(os), text) {
            Ok(None) => "free".to_owned(),
            Ok(Some(holder)) => format!("held by {}", holder.owner),
            Err(error) => error.to_string(),
        }
    }

    const LINKS: &str = "@@ tools\n@@ owner\n@@ peer\n192.0.2.7\n@@ links\nlo\neth0\neth1\neth2\n";

    #[test]
    fn suitable_router_is_free_or_held() {
        assert_eq!(verdict(Os::Linux, LINKS), "free");
        let held = LINKS.replace("@@ owner\n", "@@ owner\nuser@desk 1767225600\n");
        assert_eq!(verdict(Os::Linux, &held), "held by user@desk");
    }

    #[test]
    fn interface_of_the_connection_is_refused_even_below_a_vlan_or_bridge() {
        for carriers in ["eth1\n", "eth1.100\neth1\n", "br0\neth0\neth1\n"] {
            assert_eq!(
                verdict(Os::Linux, &format!("{LINKS}@@ carriers\n{carriers}")),
                "rtr: eth1 carries this connection (to 192.0.2.7): expected a data interface"
            );
        }
        assert_eq!(
            verdict(Os::Linux, &format!("{LINKS}@@ carriers\neth0\n")),
            "free"
        );
    }

    #[test]
    fn queues_of_other_programs_are_refused() {
        let with = |queue: &str| verdict(Os::Linux, &format!("{LINKS}@@ qdisc eth2\n[{queue}]\n"));
        let own = r#"{"kind":"mq","handle":"0:","root":true},{"kind":"fq_codel","handle":"0:","parent":":1"}"#;
        assert_eq!(with(own), "free");
        assert_eq!(
            with(r#"{"kind":"htb","handle":"7b1:","root":true}"#),
            "free"
        );
        assert_eq!(
            with(r#"{"kind":"cake","handle":"8001:","root":true}"#),
            "rtr: eth2 has a foreign queue (cake 8001:): remove it first, because it cannot be \
             restored"
        );
        assert!(
            with(r#"{"kind":"clsact","handle":"ffff:","parent":"ffff:fff1"}"#).contains("clsact")
        );
    }

    #[test]
    fn freebsd_without_ipfw_or_with_coarse_ticks_is_refused() {
        let with = |modules: &str, hz: &str| {
            verdict(
                Os::FreeBsd,
                &format!("{LINKS}@@ modules\n{modules}\n@@ hz\n{hz}\n"),
            )
        };
        assert_eq!(with("ipfw\ndummynet", "1000"), "free");
        assert_eq!(
            with("ipfw\ndummynet", "100"),
            "rtr: kern.hz is 100, so delays are rounded up to 10 ms: set kern.hz=1000 in loader.conf"
        );
        assert_eq!(
            with("ipfw", "1000"),
            "rtr: dummynet is not loaded: kldload dummynet"
        );
        assert!(
            with("", "1000").starts_with("rtr: ipfw is not loaded: set net.inet.ip.fw.default")
        );
    }
}
