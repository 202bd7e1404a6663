//! Queueing disciplines and their counters, from the JSON of `tc -s -j qdisc show`.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

/// A queueing discipline with its counters since its creation.
///
/// A counter is `None` if `tc` does not print it, as without `-s`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Qdisc {
    /// Kind: `htb`, `fq_codel`, `netem`.
    pub kind: String,
    /// Handle, such as `1:`. Disciplines that the kernel creates itself have `0:`.
    #[serde(default)]
    pub handle: String,
    /// Device that the discipline sends to. Older versions of `tc` leave it out if asked for a
    /// single device.
    pub dev: Option<String>,
    /// True for the root of its device.
    #[serde(default)]
    pub root: bool,
    /// Class that the discipline is attached to; `None` at the root.
    pub parent: Option<String>,
    /// Options, as `tc` prints them.
    #[serde(default)]
    pub options: Value,
    /// Size table; `tc` prints it with `-d` only.
    #[serde(default)]
    pub stab: Value,
    /// Number of bytes sent, with Ethernet headers, or as its size table counts them.
    pub bytes: Option<u64>,
    /// Number of packets sent.
    pub packets: Option<u64>,
    /// Number of packets dropped.
    pub drops: Option<u64>,
    /// Number of times that the rate limit delayed a packet.
    pub overlimits: Option<u64>,
    /// Number of packets that the device did not accept at once.
    pub requeues: Option<u64>,
    /// Number of bytes in the queue.
    pub backlog: Option<u64>,
    /// Number of packets in the queue.
    pub qlen: Option<u64>,
    /// Marks of `codel`, `fq_codel`, `pie` and `fq_pie`.
    ecn_mark: Option<u64>,
    /// Marks of `red` and `choke`.
    marked: Option<u64>,
    /// Tins of `cake`, each with its own count of marks.
    #[serde(default)]
    tins: Vec<Tin>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Tin {
    ecn_mark: Option<u64>,
}

/// Kinds that are attached beside the queue of a device and hold no packets.
const HOOKS: [&str; 2] = ["clsact", "ingress"];

impl Qdisc {
    /// Parses the output of `tc -s -j qdisc show`.
    pub fn list(text: &str) -> Result<Vec<Self>, Error> {
        list(text)
    }

    /// Number of packets marked instead of dropped, from the counter of the discipline's kind.
    /// `None` if the kind counts no marks.
    ///
    /// Marks of `ce_threshold` are left out, because the queue would not have dropped these
    /// packets.
    pub fn marks(&self) -> Option<u64> {
        let tins = self.tins.iter().map(|tin| tin.ecn_mark);
        let counted = [self.ecn_mark, self.marked].into_iter().chain(tins);
        // `reduce` keeps `None` for a kind without a counter, where a sum would be 0.
        counted.flatten().reduce(|sum, marks| sum + marks)
    }

    /// Number of packets that passed `htb` unshaped, for lack of a class. `None` for other kinds.
    pub fn unshaped_packets(&self) -> Option<u64> {
        self.option("direct_packets_stat")?.as_u64()
    }

    /// Beginning of the paths of the size table.
    pub const SIZE_TABLE: &str = "stab.";

    /// Returns an option by its path: names separated by dots, such as `delay.jitter`, or
    /// `stab.overhead` of the size table.
    pub fn option(&self, path: &str) -> Option<&Value> {
        let (root, path) = match path.strip_prefix(Self::SIZE_TABLE) {
            Some(path) => (&self.stab, path),
            None => (&self.options, path),
        };
        path.split('.')
            .try_fold(root, |value, name| value.get(name))
    }

    /// True if the discipline only attaches filters to a device's input or output and queues
    /// nothing.
    pub fn is_hook(&self) -> bool {
        HOOKS.contains(&self.kind.as_str())
    }

    /// Returns the discipline that holds the queue of `device`: the innermost one, below the rate
    /// stage if there is one.
    ///
    /// A `prio` at the root represents the discipline below it: it counts the same packets, and also
    /// the drops of its filter.
    pub fn queue_of<'a>(all: &'a [Self], device: &str) -> Option<&'a Self> {
        // Older versions of `tc` omit the device in an answer about one device.
        let is_here = |qdisc: &Self| qdisc.dev.as_deref().is_none_or(|dev| dev == device);
        let here = || {
            all.iter()
                .filter(|qdisc| is_here(qdisc) && !qdisc.is_hook())
        };
        here()
            .find(|qdisc| qdisc.root && qdisc.kind == "prio")
            .or_else(|| here().find(|qdisc| qdisc.parent.is_some()))
            .or_else(|| here().next())
    }
}

/// Parses a JSON list of `tc`. Empty output is an empty list.
pub fn list<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Error> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    from_values(serde_json::from_str(text)?)
}

/// Parses the items of a JSON list of `tc`, which has an empty object for each item that a filter
/// on the command line leaves out.
pub fn from_values<T: DeserializeOwned>(items: Vec<Value>) -> Result<Vec<T>, Error> {
    let is_empty = |item: &Value| item.as_object().is_some_and(serde_json::Map::is_empty);
    let items = items.into_iter().filter(|item| !is_empty(item));
    items.map(serde_json::from_value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(kind_and_counters: &str) -> Option<u64> {
        let text = format!(r#"[{{"kind":{kind_and_counters}}}]"#);
        Qdisc::list(&text).unwrap()[0].marks()
    }

    #[test]
    fn marks_of_each_qdisc_are_read_from_its_own_field() {
        assert_eq!(marks(r#""pfifo","drops":1"#), None);
        assert_eq!(marks(r#""fq_codel","ecn_mark":7"#), Some(7));
        assert_eq!(marks(r#""pie","ecn_mark":8"#), Some(8));
        assert_eq!(marks(r#""red","marked":9,"early":1,"pdrop":0"#), Some(9));
        let tins = r#""cake","tins":[{"ecn_mark":1,"drops":5},{"ecn_mark":2},{"ecn_mark":0}]"#;
        assert_eq!(marks(tins), Some(3));
    }

    #[test]
    fn queue_below_the_rate_limiter_is_the_queue_of_the_device() {
        let all = Qdisc::list(
            r#"[{"kind":"noqueue","dev":"lo","handle":"0:","root":true},
                {"kind":"htb","dev":"right","handle":"1:","root":true},
                {"kind":"pfifo","dev":"right","handle":"2:","parent":"1:10"},
                {"kind":"clsact","dev":"left","handle":"ffff:","parent":"ffff:fff1"},
                {"kind":"cake","dev":"left","handle":"3:","root":true}]"#,
        )
        .unwrap();
        let queue = |device| Qdisc::queue_of(&all, device).map(|qdisc| qdisc.kind.as_str());
        assert_eq!(queue("right"), Some("pfifo"));
        assert_eq!(queue("left"), Some("cake"));
        assert_eq!(queue("other"), None);
    }

    #[test]
    fn empty_output_and_empty_objects_yield_no_qdiscs() {
        assert_eq!(Qdisc::list("\n").unwrap(), []);
        assert_eq!(Qdisc::list("[{},{}]").unwrap(), []);
        assert!(Qdisc::list("qdisc noqueue 0: dev lo").is_err());
    }
}
