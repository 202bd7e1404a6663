//! What a router says of itself before it is touched.

use serde_json::Value;

use super::error::ControlError;
use super::scripts::sections;
use crate::bottleneck::Bottleneck;
use crate::plan::OUR_ROOTS;
use crate::router::{Interface, Os, Router};

/// Who holds a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The owner's name.
    pub owner: String,
    /// Since when, in seconds since 1970 on the router's clock.
    pub since_s: Option<i64>,
    /// What it applied.
    pub bottleneck: Option<Bottleneck>,
    /// To which interfaces.
    pub router: Option<Router>,
}

/// Ingress hooks. Only one can be on an interface.
const HOOKS: [&str; 2] = ["clsact", "ingress"];

/// Reads the answers of the preflight script.
pub(crate) fn judge(
    host: &str,
    router: &Router,
    text: &str,
) -> Result<Option<Holder>, ControlError> {
    let sections = sections(text);
    let section = |name: &str| {
        let found = sections.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, text)| text.trim())
    };
    let host = || host.to_owned();
    let tools: Vec<String> = section("tools").lines().map(str::to_owned).collect();
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
    let mut route = section("route").split_ascii_whitespace();
    let through = route.find(|word| *word == "dev").and_then(|_| route.next());
    for interface in [&router.left, &router.right] {
        if through == Some(interface.as_str()) {
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
                let queues = section(&format!("qdisc {interface}"));
                foreign(&host(), interface, queues, holder.is_some())?;
            }
        }
        Os::FreeBsd => fit_for_dummynet(&host(), &sections)?,
    }
    Ok(holder)
}

/// Refuses a root that someone made, for deleting ours would not bring it back, and someone's
/// ingress hook, for it would go with ours.
fn foreign(
    host: &str,
    interface: &Interface,
    queues: &str,
    held: bool,
) -> Result<(), ControlError> {
    let list: Vec<Value> = serde_json::from_str(queues).unwrap_or_default();
    for queue in &list {
        let word = |name| queue.get(name).and_then(Value::as_str).unwrap_or_default();
        let (kind, handle) = (word("kind"), word("handle"));
        // What the kernel made by itself has no number.
        let is_default = handle == "0:";
        let is_root = queue.get("root").and_then(Value::as_bool) == Some(true);
        let foreign_root = is_root && !is_default && !OUR_ROOTS.contains(&handle);
        let foreign_hook = HOOKS.contains(&kind) && !held;
        if foreign_root || foreign_hook {
            return Err(ControlError::ForeignQueue {
                host: host.to_owned(),
                interface: interface.to_string(),
                kind: kind.to_owned(),
                handle: handle.to_owned(),
            });
        }
    }
    Ok(())
}

/// Loading `ipfw` by ourselves could lock us out: its default is to let nothing through.
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
    match section("hz").parse::<u32>() {
        Ok(hz) if hz < 1_000 => unfit(format!(
            "kern.hz is {hz}, so delays are rounded up to {} ms: set kern.hz=1000 in loader.conf",
            1_000 / hz.max(1)
        )),
        _ => Ok(()),
    }
}

/// Who holds the router, as it remembers.
pub(crate) fn holder(sections: &[(&str, &str)]) -> Option<Holder> {
    let section = |name: &str| {
        let found = sections.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, text)| text.trim())
    };
    let mut words = section("owner").split_ascii_whitespace();
    Some(Holder {
        owner: words.next()?.to_owned(),
        since_s: words.next().and_then(|word| word.parse().ok()),
        bottleneck: serde_json::from_str(section("bottleneck")).ok(),
        router: serde_json::from_str(section("router")).ok(),
    })
}
