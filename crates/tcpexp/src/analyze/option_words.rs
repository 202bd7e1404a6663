//! The options of an analysis in the words of the command line.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use tcpexp_flow::MAX_FLOWS;
use tcpexp_pair::spp::Clocks;
use tcpexp_units::Timestamp;
use tcpexp_wire::Tunnels;

use super::AnalyzeOptions;
use crate::selection::Range;

/// Options of a manifest that depend on the captures.
pub(crate) const OF_CAPTURES: [&str; 2] = ["from_ns", "to_ns"];

/// The option of a manifest that names the part.
pub(crate) const SHARD: &str = "shard";

/// The limits in time as they were given, such as `-5000000000ns`. Pairs of one analysis have them in common,
/// though their moments differ.
pub(crate) const AS_GIVEN: [&str; 2] = ["from", "to"];

/// The options as the manifest has them. `range` has the selected times on the source's clock. `max_flows` is
/// the maximum number of live flows; the manifest has it only if it is not the default.
pub(crate) fn option_words(
    options: &AnalyzeOptions,
    range: Option<Range>,
    has_dst: bool,
    max_flows: NonZeroUsize,
) -> BTreeMap<String, serde_json::Value> {
    // With two captures, the positions are inferred from the packets.
    let position = options.sender.position.filter(|_| !has_dst);
    let lower_case = |name: String| name.to_lowercase();
    let nanos = |time: Timestamp| {
        let is_open = time == Timestamp::MIN || time == Timestamp::MAX;
        (!is_open).then(|| time.as_nanos())
    };
    let filter = options.selection.filter.as_deref();
    let words = [
        ("filter", filter.map(ToString::to_string).into()),
        ("from_ns", range.and_then(|range| nanos(range.from)).into()),
        ("to_ns", range.and_then(|range| nanos(range.to)).into()),
        ("inner", (options.tunnels == Tunnels::Entered).into()),
        ("max_owd_ns", options.max_owd.as_nanos().into()),
        ("symmetric", options.symmetric.into()),
        ("bin_ns", options.bin.get().as_nanos().into()),
        ("link_rate_bps", options.link_rate_bps.into()),
        (
            "position",
            position
                .map(|position| lower_case(format!("{position:?}")))
                .into(),
        ),
        (
            "profile",
            lower_case(format!("{:?}", options.sender.profile)).into(),
        ),
    ];
    let words = words.into_iter();
    let mut words: BTreeMap<String, serde_json::Value> = words
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    if options.clocks == Clocks::One {
        words.insert("one_clock".to_owned(), true.into());
    }
    let given = [options.selection.from, options.selection.to];
    for (name, moment) in AS_GIVEN.into_iter().zip(given) {
        if let Some(moment) = moment {
            words.insert(name.to_owned(), moment.to_string().into());
        }
    }
    if max_flows != MAX_FLOWS {
        words.insert("max_flows".to_owned(), max_flows.get().into());
    }
    if let Some(shard) = options.shard {
        words.insert(SHARD.to_owned(), shard.to_string().into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_in_time_are_options_as_they_were_given() {
        let words = |from: &str| {
            let mut options = AnalyzeOptions::default();
            options.selection.from = from.parse().ok();
            option_words(&options, None, true, MAX_FLOWS)
        };
        assert_eq!(words("1.5s")["from"], "1500000000ns");
        assert!(!words("1.5s").contains_key("to"));
        assert!(!words("").contains_key("from"));
    }

    #[test]
    fn analyses_with_other_flow_limits_have_other_options() {
        let words = |max_flows| option_words(&AnalyzeOptions::default(), None, true, max_flows);
        let five = NonZeroUsize::new(5).unwrap();
        assert_eq!(words(five)["max_flows"], 5);
        assert!(!words(MAX_FLOWS).contains_key("max_flows"));
    }
}
