//! Arguments that divide the analysis of many pairs into tasks.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The pairs that one run analyses.
#[derive(clap::Args)]
pub(crate) struct TaskArgs {
    /// Analyse all pairs in a table of `tcpexp pairs`, each to a directory of its own in DIR
    ///
    /// The name of a directory is a hash of the captures, the options and the version of tcpexp. A
    /// directory that exists is not made again, so a job that was stopped can be started again, and
    /// several machines can share DIR. For a pair that cannot be analysed, tcpexp writes a file with
    /// the reason.
    #[arg(long, value_name = "FILE", requires = "output")]
    #[arg(conflicts_with_all = ["src", "dst", "log", "survey", "position"])]
    pub(crate) pairs: Option<PathBuf>,

    /// Analyse only pair I, or only the I-th of N shares of the pairs
    #[arg(long, value_name = "I|I/N", requires = "pairs")]
    pub(crate) task: Option<Task>,
}

/// A task of a job array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// The pair or run with this number.
    One(u64),
    /// Each `count`-th one, beginning with the `number`-th, from 1.
    Share { number: usize, count: usize },
}

impl FromStr for Task {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let task = match text.split_once('/') {
            None => text.parse().ok().filter(|pair| *pair > 0).map(Self::One),
            Some((number, count)) => {
                let both = number.parse().ok().zip(count.parse().ok());
                let both = both.filter(|(number, count)| (1..=*count).contains(number));
                both.map(|(number, count)| Self::Share { number, count })
            }
        };
        let expected = "expected a number, or I/N with I from 1 to N";
        task.ok_or_else(|| expected.to_owned())
    }
}

impl fmt::Display for Task {
    /// `7`, or `2-of-3`, which may be a part of a file name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(number) => write!(f, "{number}"),
            Self::Share { number, count } => write!(f, "{number}-of-{count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_a_pair_or_a_share_of_them() {
        assert_eq!("7".parse(), Ok(Task::One(7)));
        assert_eq!(
            "2/3".parse(),
            Ok(Task::Share {
                number: 2,
                count: 3
            })
        );
        for wrong in ["", "0", "-1", "0/2", "3/2", "1/0", "1/2/3", "a"] {
            assert!(wrong.parse::<Task>().is_err(), "{wrong}");
        }
    }
}
