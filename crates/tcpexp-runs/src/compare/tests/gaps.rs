//! What the comparison of a run leaves unknown, and why.

use super::*;

/// The median and base RTT of a run with a single capture, with this `vantage` of the flow.
fn rtt_of_one_capture(vantage: [Option<&str>; 2]) -> (Option<f64>, Vec<Gap>) {
    let sweep = tempfile::tempdir().unwrap();
    let run = write_record(sweep.path(), &cubic("0001"));
    let one = |id: u32, vantage: Option<&str>| {
        let mut flow = flow(id, 40_000 + u16::try_from(id).unwrap(), "forward", 5);
        flow["path_sent_packets"] = Value::Null;
        flow["vantage"] = json!(vantage);
        flow
    };
    let flows = [
        one(0, Some("initiator")),
        one(1, vantage[0]),
        one(2, vantage[1]),
    ];
    write_table(&run, DatasetTable::Flows, &flows);
    let rtt = json!({
        "flow_id": 1, "direction": "forward", "time": ms(500), "rtt_ns": 6_000_000,
        "method": "sequence_ack", "reference": null, "ack_class": "cumulative",
    });
    write_table(&run, DatasetTable::Rtt, &[rtt]);
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    let class = comparison.classes.iter().find(|row| row.class.is_some());
    let rtts = [Measure::RttMedian, Measure::BaseRtt];
    let [median, base] = rtts.map(|measure| Some(class?.estimate(measure)?.median));
    assert_eq!(median, base);
    (median, comparison.runs[0].gaps.clone())
}

#[test]
fn capture_away_from_the_sender_gives_no_round_trip_times() {
    let elsewhere = (None, vec![Gap::Rtt]);
    let at = |one, other| rtt_of_one_capture([one, other]);
    let (initiator, responder) = (Some("initiator"), Some("responder"));
    assert_eq!(at(initiator, None), (Some(6.0), Vec::new()));
    assert_eq!(at(responder, None), elsewhere);
    assert_eq!(at(Some("between"), None), elsewhere);
    // The other flows of the host show where the capture is.
    assert_eq!(at(None, initiator), (Some(6.0), Vec::new()));
    assert_eq!(at(None, responder), elsewhere);
}

/// The gaps of a run of 4 s with bins of 1 s, and whether the goodput of its class is known.
fn gaps(warmup_ms: i64, window_ms: i64) -> (Vec<Gap>, bool) {
    let sweep = tempfile::tempdir().unwrap();
    write_run(sweep.path(), &cubic("0001"), 750_000);
    let mut options = options(0);
    options.measure.warmup = TimeDelta::from_nanos(ms(warmup_ms) - ms(0));
    options.measure.window = TimeDelta::from_nanos(ms(window_ms) - ms(0));
    let comparison = Comparison::of(sweep.path(), &options).unwrap();
    let class = comparison.classes.iter().find(|row| row.class.is_some());
    let has_goodput = class
        .and_then(|row| row.estimate(Measure::Goodput))
        .is_some();
    (comparison.runs[0].gaps.clone(), has_goodput)
}

#[test]
fn rates_in_windows_below_a_bin_are_a_gap() {
    assert_eq!(gaps(0, 1_000), (Vec::new(), true));
    assert_eq!(gaps(0, 999), (vec![Gap::Windows], true));
}

#[test]
fn rates_of_few_bins_are_a_gap_if_an_end_divides_one() {
    assert_eq!(gaps(1_000, 1_000), (Vec::new(), true));
    assert_eq!(gaps(1_500, 1_000), (vec![Gap::Rates], false));
}

#[test]
fn warm_up_beyond_the_end_of_a_run_is_no_gap_of_its_bins() {
    assert_eq!(gaps(60_000, 1_000), (Vec::new(), false));
}
