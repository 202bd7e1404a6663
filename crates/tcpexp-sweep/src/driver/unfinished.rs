//! Traffic tools that exit with code 0 although they failed.

use tcpexp_units::TimeDelta;

use crate::site::Generator;

/// The program that does so: iperf 2.
const PROGRAM: &str = "iperf";
/// What it writes to standard error if it has no connection.
const UNCONNECTED: &str = "connect failed";
/// Part of its duration that it runs for at least, in percent. It counts from its connection, so only a rounded
/// clock makes the time shorter.
const LEAST_PERCENT: i64 = 90;

/// Why a generator failed that ran for `ran`, if known, and exited with code 0; `None` if it did not. `said` is what
/// its host printed.
pub(super) fn fault(generator: &Generator, ran: Option<TimeDelta>, said: &str) -> Option<String> {
    // The words of a `command` are the user's: its duration need not be that of iperf.
    if generator.tool.client() != Some(PROGRAM) {
        return None;
    }
    let errors = format!("said logs/{}.err ", generator.record.name);
    let mut errors = said.lines().filter_map(|line| line.strip_prefix(&errors));
    if let Some(error) = errors.find(|line| line.contains(UNCONNECTED)) {
        return Some(format!("failed: {error}"));
    }
    let (ran, duration) = (ran?, generator.duration?);
    let is_short = i128::from(ran.as_nanos()) * 100
        < i128::from(duration.as_nanos()) * i128::from(LEAST_PERCENT);
    is_short.then(|| format!("ended after {ran}, but its duration is {duration}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::Plan;
    use crate::{schedule, site};

    fn fault_of(tool: &str, millis: i64, said: &str) -> Option<String> {
        let text = format!(
            "kind = \"lab\"\n[path.forward]\n[[traffic]]\nname = \"a\"\ntool = \"{tool}\"\nduration = \"3s\"\n"
        );
        let plan = Plan::parse(Path::new("plan.toml"), &text).unwrap();
        let generators = site::generators(&schedule::runs(&plan)[0]);
        fault(&generators[0], Some(TimeDelta::from_millis(millis)), said)
    }

    #[test]
    fn iperf_without_a_connection_has_failed() {
        let refused = "said logs/a.err tcp connect failed: No route to host\n";
        assert_eq!(
            fault_of("iperf", 3_060, refused).as_deref(),
            Some("failed: tcp connect failed: No route to host")
        );
        assert_eq!(
            fault_of("iperf", 3_060, &refused.replace("a.err", "b.err")),
            None
        );
    }

    #[test]
    fn iperf_that_ends_before_its_duration_has_failed() {
        assert_eq!(
            fault_of("iperf", 1_200, "").as_deref(),
            Some("ended after 1.200 s, but its duration is 3.000 s")
        );
        assert_eq!(fault_of("iperf", 2_999, ""), None);
        // The exit code of iperf3 shows whether it failed.
        assert_eq!(fault_of("iperf3", 1_200, ""), None);
    }

    #[test]
    fn a_command_of_the_user_may_end_before_its_duration() {
        let iperf = "command\"\ncommand = [\"iperf\", \"-n\", \"1M\"]\n#";
        assert_eq!(fault_of(iperf, 1_200, ""), None);
    }
}
