//! The rule for which flows count when the flows of several runs are combined into one figure.
//!
//! Charts, comparisons and reports share one rule. A **run** is one experiment: each run is reduced
//! to one number, and all runs weigh the same. In each run, the **flows** that carry the load count:
//! the `bulk` class of the run's plan; all its classes but `control` where none is called `bulk`;
//! without a plan the flows with at least [`MIN_PERCENT`] of the run's payload, or all if none has that
//! much. In each flow, the **direction** with more payload counts; the other direction carries
//! acknowledgments and requests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::str::FromStr;

/// Class of connections that steer a load generator, such as the first one of iperf3.
pub const CONTROL: &str = "control";
/// Class of transfers that send all that TCP lets them.
pub const BULK: &str = "bulk";
/// A flow that no plan names counts if it has at least this percentage of its run's payload.
///
/// iperf3's control connection carries about 2 kB: less than 1 % of any load above 200 kB. A hundred
/// equal flows still count.
pub const MIN_PERCENT: f64 = 1.0;

/// Which flows count.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PooledFlows {
    /// Those that carry the load, as the module describes.
    #[default]
    Load,
    /// All of them.
    All,
    /// Those of one traffic class of the plan.
    Class(String),
    /// Those with at least this percentage of their run's payload.
    Percent(f64),
}

/// Which direction of each flow counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PooledDirection {
    /// The one with more payload.
    #[default]
    Payload,
    /// Both.
    Both,
}

impl PooledDirection {
    /// The words for it below a figure.
    ///
    /// They name the rule, not the flows that it selects, because the numbers of a comparison no
    /// longer contain the directions of their flows.
    pub fn words(self) -> &'static str {
        match self {
            Self::Payload => "direction with more payload",
            Self::Both => "both directions",
        }
    }
}

/// What counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pooling {
    /// Which flows.
    pub flows: PooledFlows,
    /// Which of their directions.
    pub direction: PooledDirection,
    /// True if the user requested these flows. A filter on flows then restricts them further, and does not
    /// replace the rule.
    pub are_flows_requested: bool,
}

/// One direction of a flow of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane<'a> {
    /// Its run.
    pub run: &'a str,
    /// Its flow, unique within the run.
    pub flow: i64,
    /// Whether it goes from initiator to responder.
    pub is_forward: bool,
    /// Traffic class of the plan; `None` for flows that no plan names.
    pub class: Option<&'a str>,
    /// Payload, each byte once.
    pub payload_bytes: u64,
}

/// The lanes that count, and the words for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pooled {
    /// Whether each lane counts, in the order given.
    pub counts: Vec<bool>,
    /// The flows in words: `bulk flows`.
    pub flows: String,
    /// The direction in words: `both directions`.
    pub direction: &'static str,
}

impl Pooled {
    /// `bulk flows, direction with more payload`: what is printed under a figure.
    pub fn words(&self) -> String {
        format!("{}, {}", self.flows, self.direction)
    }
}

impl Pooling {
    /// Chooses among the lanes of any number of runs.
    pub fn choose(&self, lanes: &[Lane<'_>]) -> Pooled {
        let mut of_runs: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, lane) in lanes.iter().enumerate() {
            of_runs.entry(lane.run).or_default().push(place);
        }
        let mut counts = vec![false; lanes.len()];
        let mut flows = BTreeSet::new();
        for places in of_runs.values() {
            let of_run = || places.iter().map(|place| &lanes[*place]);
            let mut rule = Rule::of(&self.flows, of_run());
            self.choose_in_run(lanes, places, &rule, &mut counts);
            let has_payload = of_run().any(|lane| lane.payload_bytes > 0);
            // If there are more than a hundred equal flows, no flow has a hundredth of the payload.
            if self.flows == PooledFlows::Load
                && has_payload
                && !places.iter().any(|place| counts[*place])
            {
                rule = Rule::All;
                self.choose_in_run(lanes, places, &rule, &mut counts);
            }
            flows.insert(rule.words());
        }
        let flows: Vec<String> = flows.into_iter().collect();
        Pooled {
            flows: flows.join(" and "),
            direction: self.direction.words(),
            counts,
        }
    }

    fn choose_in_run(
        &self,
        lanes: &[Lane<'_>],
        places: &[usize],
        rule: &Rule,
        counts: &mut [bool],
    ) {
        let mut flows: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for place in places {
            flows.entry(lanes[*place].flow).or_default().push(*place);
        }
        // If both directions have equal payload, the forward direction counts, regardless of the
        // order of rows.
        let most = |places: &[usize]| {
            let key = |place: &usize| (lanes[*place].payload_bytes, lanes[*place].is_forward);
            places.iter().copied().max_by_key(key)
        };
        let carried = |places: &[usize]| most(places).map_or(0, |most| lanes[most].payload_bytes);
        // Only the larger direction of a flow carries load: the other has acknowledgments and
        // requests.
        let all: u64 = flows.values().map(|places| carried(places)).sum();
        for places in flows.values() {
            // A run without payload would divide 0 by 0.
            let share = if all == 0 {
                0.0
            } else {
                carried(places) as f64 / all as f64
            };
            if !places
                .iter()
                .any(|place| rule.holds(lanes[*place].class, share))
            {
                continue;
            }
            for place in places {
                counts[*place] =
                    self.direction == PooledDirection::Both || most(places) == Some(*place);
            }
        }
    }
}

/// The rule for the flows of one run.
enum Rule {
    All,
    Classes(BTreeSet<String>),
    /// A percentage as the user writes it: that of a share of 0.07 is 7.000000000000001.
    Percent(f64),
}

impl Rule {
    fn of<'a>(flows: &PooledFlows, lanes: impl Iterator<Item = &'a Lane<'a>>) -> Self {
        match flows {
            PooledFlows::All => Self::All,
            PooledFlows::Class(class) => Self::Classes([class.clone()].into()),
            PooledFlows::Percent(percent) => Self::Percent(*percent),
            PooledFlows::Load => {
                let classes = lanes
                    .filter_map(|lane| lane.class)
                    .filter(|class| *class != CONTROL);
                let classes: BTreeSet<String> = classes.map(str::to_owned).collect();
                if classes.is_empty() {
                    Self::Percent(MIN_PERCENT)
                } else if classes.contains(BULK) {
                    Self::Classes([BULK.to_owned()].into())
                } else {
                    Self::Classes(classes)
                }
            }
        }
    }

    fn holds(&self, class: Option<&str>, share: f64) -> bool {
        match self {
            Self::All => true,
            Self::Classes(classes) => class.is_some_and(|class| classes.contains(class)),
            Self::Percent(least) => share >= *least / 100.0,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::All => "all flows".to_owned(),
            Self::Classes(classes) => {
                let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
                match classes.as_slice() {
                    [first @ .., last] if !first.is_empty() => {
                        format!("flows of {} and {last}", first.join(", "))
                    }
                    one => format!("{} flows", one.concat()),
                }
            }
            Self::Percent(least) => {
                let mut words = String::from("flows with at least ");
                // Writing to a string cannot fail.
                let _ = write!(words, "{least} % of the payload");
                words
            }
        }
    }
}

impl FromStr for PooledFlows {
    type Err = String;

    /// Reads `load`, `all`, a share such as `5%`, or the name of a traffic class.
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_suffix('%')) {
            ("load", _) => Ok(Self::Load),
            ("all", _) => Ok(Self::All),
            ("", _) => Err("name load, all, a share such as 5%, or a traffic class".to_owned()),
            (_, Some(percent)) => match percent.trim().parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Percent(percent)),
                _ => Err(format!("\"{text}\" is no share between 0% and 100%")),
            },
            (class, None) => Ok(Self::Class(class.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(flow: i64, is_forward: bool, class: Option<&str>, bytes: u64) -> Lane<'_> {
        Lane {
            run: "r1",
            flow,
            is_forward,
            class,
            payload_bytes: bytes,
        }
    }

    #[test]
    fn the_bulk_class_counts_in_the_direction_of_its_payload() {
        let lanes = [
            lane(0, true, Some(CONTROL), 300),
            lane(0, false, Some(CONTROL), 900),
            lane(1, true, Some(BULK), 1_000_000),
            lane(1, false, Some(BULK), 37),
            lane(2, true, Some("web"), 400),
            lane(2, false, Some("web"), 90_000),
            lane(3, true, None, 5_000_000),
        ];
        let pooled = Pooling::default().choose(&lanes);
        assert_eq!(
            pooled.counts,
            [false, false, true, false, false, false, false]
        );
        assert_eq!(pooled.words(), "bulk flows, direction with more payload");
        let web = Pooling {
            flows: "web".parse().unwrap(),
            ..Pooling::default()
        };
        let pooled = web.choose(&lanes);
        assert_eq!(
            pooled.counts,
            [false, false, false, false, false, true, false]
        );
        assert_eq!(pooled.words(), "web flows, direction with more payload");
    }

    #[test]
    fn all_other_classes_except_control_count() {
        let lanes = [
            lane(0, true, Some(CONTROL), 300),
            lane(1, true, Some("cubic"), 1_000),
            lane(2, true, Some("bbr"), 1_000),
        ];
        let pooled = Pooling::default().choose(&lanes);
        assert_eq!(pooled.counts, [false, true, true]);
        assert_eq!(
            pooled.words(),
            "flows of bbr and cubic, direction with more payload"
        );
    }

    #[test]
    fn without_a_plan_flows_count_by_their_share_of_the_run() {
        let other = Lane {
            run: "r2",
            ..lane(0, true, None, 9)
        };
        let lanes = [
            lane(0, true, None, 2_000),
            lane(1, true, None, 900_000),
            lane(2, false, None, 900_000),
            other,
        ];
        let pooled = Pooling::default().choose(&lanes);
        assert_eq!(pooled.counts, [false, true, true, true]);
        let words = "flows with at least 1 % of the payload, direction with more payload";
        assert_eq!(pooled.words(), words);
        let all = Pooling {
            flows: PooledFlows::All,
            direction: PooledDirection::Both,
            ..Pooling::default()
        };
        assert_eq!(all.choose(&lanes).counts, [true; 4]);
        assert_eq!(all.choose(&lanes).words(), "all flows, both directions");
    }

    #[test]
    fn many_flows_with_small_shares_are_a_load() {
        let lanes: Vec<Lane<'_>> = (0..200).map(|flow| lane(flow, true, None, 1_000)).collect();
        let pooled = Pooling::default().choose(&lanes);
        assert_eq!(pooled.counts, [true; 200]);
        assert_eq!(pooled.words(), "all flows, direction with more payload");
        // Without payload there is no load.
        let pooled = Pooling::default().choose(&[lane(0, true, None, 0)]);
        assert_eq!(pooled.counts, [false]);
    }

    #[test]
    fn a_share_is_a_percentage() {
        assert_eq!("5%".parse(), Ok(PooledFlows::Percent(5.0)));
        let lanes = [lane(0, true, None, 7), lane(1, true, None, 93)];
        for (percent, counts) in [("7%", [true, true]), ("7.1%", [false, true])] {
            let pooling = Pooling {
                flows: percent.parse().unwrap(),
                ..Pooling::default()
            };
            let pooled = pooling.choose(&lanes);
            assert_eq!(pooled.counts, counts);
            let percent = percent.trim_end_matches('%');
            let words = format!("flows with at least {percent} % of the payload");
            assert_eq!(pooled.flows, words);
        }
        assert_eq!("all".parse(), Ok(PooledFlows::All));
        assert!("101%".parse::<PooledFlows>().is_err());
    }
}
