//! Words of the notes under charts.

use tcpexp_chart::Quantity;
use tcpexp_units::counted;

/// A list in words: `a`, `a and b`, `a, b and c`.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The parameters in which the runs of one group differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Differing {
    /// Those whose values do not follow from the earlier ones.
    pub(super) names: Vec<String>,
    /// The others: in each group, their values follow from those of `names`. The data do not show which of
    /// these parameters have an effect.
    pub(super) dependent: Vec<String>,
}

/// Maximum number of parameters that a note names one by one.
const MAX_NAMED: usize = 4;

impl Differing {
    /// The parameters in words: `rate, buffer and 3 parameters that change with them`; `None` without any.
    pub(super) fn words(&self) -> Option<String> {
        let name = |name: &String| Quantity::stem(name).replace('_', " ");
        let mut words: Vec<String> = self.names.iter().map(name).collect();
        if words.len() + self.dependent.len() <= MAX_NAMED {
            words.extend(self.dependent.iter().map(name));
        } else if !self.dependent.is_empty() {
            let them = if words.len() == 1 { "it" } else { "them" };
            let others = counted(self.dependent.len(), "parameter");
            words.push(match self.dependent.len() {
                1 => format!("{others} that changes with {them}"),
                _ => format!("{others} that change with {them}"),
            });
        }
        (!words.is_empty()).then(|| listed(&words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_four_parameters_are_counted_if_they_depend_on_others() {
        let words = |names: &[&str], dependent: &[&str]| {
            let owned = |all: &[&str]| all.iter().map(ToString::to_string).collect();
            let all = Differing {
                names: owned(names),
                dependent: owned(dependent),
            };
            all.words().unwrap()
        };
        let others = ["delay_ms", "loss_percent", "qdisc", "rate_mbps"];
        assert_eq!(
            words(&["buffer"], &others),
            "buffer and 4 parameters that change with it"
        );
        assert_eq!(
            words(&["buffer", "cc", "ecn", "sack"], &others[..1]),
            "buffer, cc, ecn, sack and 1 parameter that changes with them"
        );
    }
}
