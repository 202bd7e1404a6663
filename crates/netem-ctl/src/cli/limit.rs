//! What limits the rate of a direction, in words.

use tcpexp_units::{TimeDelta, counted};

use crate::bottleneck::Path;

/// The limits of the rate: a policer, then the link.
pub(super) fn limits(path: &Path) -> String {
    let police = path.police.map(|rate| format!("policer {rate}"));
    let link = match (path.rate, &path.trace, path.slot) {
        (Some(rate), ..) => Some(format!("rate {rate}")),
        (None, Some(trace), _) => Some(match trace.mean_rate() {
            Some(mean) => format!("trace {} (mean {mean})", trace.file),
            None => format!("trace {}", trace.file),
        }),
        (None, None, Some(every)) => Some(slots(path, every)),
        (None, None, None) => None,
    };
    let all: Vec<String> = police.into_iter().chain(link).collect();
    if all.is_empty() {
        return "no rate limit".to_owned();
    }
    all.join(", ")
}

/// `slots of 5 packets or 15000 bytes every 5ms to 15ms (mean 6.056mbit with full packets)`.
fn slots(path: &Path, every: TimeDelta) -> String {
    let packets = path.slot_packets.map(|packets| counted(packets, "packet"));
    let bytes = path.slot_bytes;
    let bytes = bytes.map(|bytes| counted(bytes.as_bytes(), "byte"));
    let size: Vec<String> = packets.into_iter().chain(bytes).collect();
    let size = if size.is_empty() {
        "unlimited size".to_owned()
    } else {
        size.join(" or ")
    };
    let most = path.slot_most.filter(|most| *most != every);
    let most = most.map(|most| format!(" to {}", most.to_exact_text()));
    let mean = path.slot_rate();
    let mean = mean.map(|mean| format!(" (mean {mean} with full packets)"));
    format!(
        "slots of {size} every {}{}{}",
        every.to_exact_text(),
        most.unwrap_or_default(),
        mean.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use crate::bottleneck::Bottleneck;

    use super::*;

    #[test]
    fn each_kind_of_link_names_what_limits_it() {
        let words = |forward: &str| {
            let text = format!("[forward]\n{forward}\n");
            limits(&Bottleneck::from_toml(&text).unwrap().forward)
        };
        assert_eq!(words("delay = \"10ms\""), "no rate limit");
        assert_eq!(words("rate = \"10mbit\""), "rate 10mbit");
        assert_eq!(
            words("slot = \"5ms\"\nslot_most = \"15ms\"\nslot_packets = 5\nslot_bytes = \"15kB\""),
            "slots of 5 packets or 15000 bytes every 5ms to 15ms (mean 6.056mbit with full packets)"
        );
        assert_eq!(
            words("slot = \"10ms\""),
            "slots of unlimited size every 10ms"
        );
        assert_eq!(
            words("police = \"2mbit\"\npolice_burst = \"20kB\""),
            "policer 2mbit"
        );
    }
}
