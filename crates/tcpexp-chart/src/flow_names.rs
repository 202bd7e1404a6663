//! Short names of flows: the hosts and ports in which the flows of a figure differ.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::axis::AxisSpec;
use crate::legend::Key;
use crate::scene::Scene;

/// What stands for a host or a port in which the flows differ.
const ANY: &str = "*";

/// The name of a flow, and what follows it: `10.0.0.1:40000 > 10.0.0.2:5201 (reverse)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FlowText<'a> {
    initiator: Endpoint<'a>,
    responder: Endpoint<'a>,
    rest: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Endpoint<'a> {
    host: &'a str,
    port: &'a str,
}

/// The parts that all flows of a figure have in common. Names leave these out, and a note has them.
#[derive(Debug, PartialEq, Eq)]
struct CommonParts {
    initiator: Common,
    responder: Common,
}

/// What is the same at one end of all flows.
#[derive(Debug, PartialEq, Eq)]
enum Common {
    /// Host and port: `10.0.0.2:5201`.
    Endpoint(String),
    /// The host: `10.0.0.1`.
    Host(String),
    Nothing,
}

impl Scene {
    /// Shortens the names of flows to the hosts and ports in which they differ. Returns the note that
    /// completes the names, if any are shortened.
    ///
    /// Names are read as text, because they come from tables of any origin.
    pub(crate) fn shorten_flows(&mut self) -> Option<String> {
        let mut names = self.names_mut();
        let common = CommonParts::of(names.iter().map(|name| name.as_str()))?;
        for name in &mut names {
            **name = common.shortened(name);
        }
        Some(common.note())
    }

    /// The names of series, slots and panels.
    fn names_mut(&mut self) -> Vec<&mut String> {
        let keys = self.keys.iter_mut().map(Key::text_mut);
        let plots = self.rows.iter_mut().flat_map(|row| &mut row.plots);
        let of_plots = plots.flat_map(|(_, plot)| {
            let slots = [&mut plot.x, &mut plot.y].into_iter();
            let slots = slots.flat_map(AxisSpec::names_mut);
            let ends = plot.ends.iter_mut().map(|end| &mut end.name);
            slots.chain(ends).chain(plot.title.as_mut())
        });
        keys.chain(of_plots).collect()
    }
}

impl CommonParts {
    /// The common parts of those texts that begin with the name of a flow. `None` if there are no two
    /// flows, or if they have no end or host in common.
    fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Self> {
        let flows: BTreeSet<(Endpoint<'a>, Endpoint<'a>)> = texts
            .filter_map(FlowText::of)
            .map(|flow| (flow.initiator, flow.responder))
            .collect();
        if flows.len() < 2 {
            return None;
        }
        let common = Self {
            initiator: Common::of(flows.iter().map(|flow| flow.0)),
            responder: Common::of(flows.iter().map(|flow| flow.1)),
        };
        let is_any = [&common.initiator, &common.responder]
            .into_iter()
            .any(|end| *end != Common::Nothing);
        is_any.then_some(common)
    }

    /// The text with a short name; texts without the name of a flow stay as they are.
    fn shortened(&self, text: &str) -> String {
        let Some(flow) = FlowText::of(text) else {
            return text.to_owned();
        };
        let initiator = self.initiator.left_of(flow.initiator);
        let responder = self.responder.left_of(flow.responder);
        let name = match (initiator.as_str(), responder.as_str()) {
            (initiator, "") => initiator.to_owned(),
            ("", responder) => format!("> {responder}"),
            (initiator, responder) => format!("{initiator} > {responder}"),
        };
        name + flow.rest
    }

    /// A note that completes the short names: `flows 10.0.0.1:* > 10.0.0.2:5201`.
    fn note(&self) -> String {
        format!(
            "flows {} > {}",
            self.initiator.text(),
            self.responder.text()
        )
    }
}

impl Common {
    fn of<'a>(ends: impl Iterator<Item = Endpoint<'a>>) -> Self {
        let ends: Vec<Endpoint<'a>> = ends.collect();
        let Some(first) = ends.first() else {
            return Self::Nothing;
        };
        if ends.iter().all(|end| end == first) {
            Self::Endpoint(format!("{}:{}", first.host, first.port))
        } else if ends.iter().all(|end| end.host == first.host) {
            Self::Host(first.host.to_owned())
        } else {
            Self::Nothing
        }
    }

    /// What is left of an endpoint without the common part.
    fn left_of(&self, end: Endpoint<'_>) -> String {
        match self {
            Self::Endpoint(_) => String::new(),
            Self::Host(_) => format!(":{}", end.port),
            Self::Nothing => format!("{}:{}", end.host, end.port),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Endpoint(endpoint) => endpoint.clone(),
            Self::Host(host) => format!("{host}:{ANY}"),
            Self::Nothing => ANY.to_owned(),
        }
    }
}

impl<'a> FlowText<'a> {
    /// Reads the name of a flow at the beginning of a text.
    fn of(text: &'a str) -> Option<Self> {
        let (initiator, after) = text.split_once(" > ")?;
        let (initiator, "") = Endpoint::of(initiator)? else {
            return None;
        };
        let (responder, rest) = Endpoint::of(after)?;
        Some(Self {
            initiator,
            responder,
            rest,
        })
    }
}

impl<'a> Endpoint<'a> {
    /// Reads an endpoint at the beginning of a text, and returns it with what follows.
    fn of(text: &'a str) -> Option<(Self, &'a str)> {
        let word = text.split(' ').next()?;
        // A name may be the first of a list.
        let endpoint = word.trim_end_matches([':', ',']);
        endpoint.parse::<SocketAddr>().ok()?;
        let (host, port) = endpoint.rsplit_once(':')?;
        Some((Self { host, port }, &text[endpoint.len()..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(texts: &[&str]) -> (Vec<String>, String) {
        let common = CommonParts::of(texts.iter().copied()).expect("common parts");
        let names = texts.iter().map(|text| common.shortened(text));
        (names.collect(), common.note())
    }

    #[test]
    fn flows_between_two_hosts_are_named_by_the_ports_that_differ() {
        let (names, note) = short(&[
            "10.1.0.1:10000 > 10.2.0.1:5001",
            "10.1.0.1:10001 > 10.2.0.1:5001: median 3 ms",
            "10.1.0.1:10001 > 10.2.0.1:5001 (reverse)",
            "cwnd, measured",
        ]);
        assert_eq!(
            names,
            [
                ":10000",
                ":10001: median 3 ms",
                ":10001 (reverse)",
                "cwnd, measured"
            ]
        );
        assert_eq!(note, "flows 10.1.0.1:* > 10.2.0.1:5001");
        let (names, note) = short(&[
            "[2001:db8::1]:7 > [2001:db8::2]:80",
            "[2001:db8::1]:8 > [2001:db8::2]:81",
        ]);
        assert_eq!(names, [":7 > :80", ":8 > :81"]);
        assert_eq!(note, "flows [2001:db8::1]:* > [2001:db8::2]:*");
    }

    #[test]
    fn flows_from_several_hosts_keep_their_hosts() {
        let (names, note) = short(&["10.1.0.1:4 > 10.2.0.1:80", "10.1.0.2:5 > 10.2.0.1:80"]);
        assert_eq!(names, ["10.1.0.1:4", "10.1.0.2:5"]);
        assert_eq!(note, "flows * > 10.2.0.1:80");
        let (names, _) = short(&["10.1.0.1:4 > 10.2.0.1:80", "10.1.0.1:4 > 10.2.0.2:81"]);
        assert_eq!(names, ["> 10.2.0.1:80", "> 10.2.0.2:81"]);
    }

    #[test]
    fn a_single_flow_and_other_names_have_no_common_parts() {
        let none = |texts: &[&str]| CommonParts::of(texts.iter().copied()).is_none();
        assert!(none(&["10.1.0.1:4 > 10.2.0.1:80", "reno"]));
        assert!(none(&["reno, delay 10 ms", "queue 1: > 2:"]));
        assert!(none(&[
            "10.1.0.1:4 > 10.2.0.1:80",
            "10.1.0.3:4 > 10.2.0.2:80"
        ]));
    }
}
