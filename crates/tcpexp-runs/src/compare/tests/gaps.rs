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

#[test]
fn run_whose_delay_changes_has_no_base_rtt() {
    let with_change = |after: Value| {
        let sweep = tempfile::tempdir().unwrap();
        let mut changed = cubic("0001");
        changed["changes"] = json!([{
            "at_s": 2.0, "executed_ns": ms(2_000), "what": "", "bottleneck": {"forward": after},
        }]);
        write_run(sweep.path(), &changed, 750_000);
        let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
        let class = comparison.classes.iter().find(|row| row.class.is_some());
        let has = |measure: Measure| class.unwrap().estimate(measure).is_some();
        let measures = [
            Measure::RttMedian,
            Measure::BaseRtt,
            Measure::InducedRttMedian,
            Measure::BufferDelay,
            Measure::RttResponse,
        ];
        (measures.map(has), comparison.runs[0].gaps.clone())
    };
    let slower = with_change(json!({"rate": "4mbit", "delay": "20ms"}));
    assert_eq!(slower, ([true; 5], Vec::new()));
    let longer = with_change(json!({"rate": "8mbit", "delay": "80ms"}));
    let only_rtts = [true, false, false, false, false];
    assert_eq!(longer, (only_rtts, vec![Gap::BaseRtt]));
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

/// A dataset without a plan: flows of 4 s that send these bytes in each bin of this width.
fn dataset_of(bytes: [u64; 2], width_ms: i64) -> (tempfile::TempDir, RunDir) {
    let sweep = tempfile::tempdir().unwrap();
    let record = cubic("0001");
    let run = write_record(sweep.path(), &record);
    let flows = [
        flow(1, 40_001, "forward", 5),
        flow(2, 40_002, "forward", 5),
        flow(1, 40_001, "reverse", 5),
        flow(2, 40_002, "reverse", 5),
    ];
    write_table(&run, DatasetTable::Flows, &flows);
    let mut bins = Vec::new();
    for start in (0..4_100).step_by(usize::try_from(width_ms).unwrap()) {
        for (id, bytes) in [(1, bytes[0]), (2, bytes[1])] {
            let mut bin = bin("dst", id, "forward", 0, bytes);
            bin["time"] = json!(ms(start));
            bin["width_ns"] = json!(width_ms * 1_000_000);
            bins.push(bin);
        }
    }
    write_table(&run, DatasetTable::Throughput, &bins);
    let dir = RunDir {
        data: run.join(DATASET),
        record: serde_json::from_value(record).unwrap(),
        has_plan: false,
        fault: None,
        is_damaged: false,
        gaps: Vec::new(),
    };
    (sweep, dir)
}

#[test]
fn load_of_a_dataset_has_the_same_shares_in_its_class_and_in_all() {
    let (_folder, mut run) = dataset_of([30_000, 10_000], 50);
    let classes = of_tables(&mut run, &options(0)).unwrap();
    let all = |measure| {
        let values = classes.iter().map(|class| class.values.value(measure));
        values.collect::<Vec<_>>()
    };
    // Jain's index of 3:1 is 16 / (2 · 10).
    for value in all(Measure::Jain) {
        assert!((value.unwrap() - 0.8).abs() < 0.01, "{value:?}");
    }
    assert_eq!(all(Measure::MaxMinRatio), [Some(3.0); 2]);
    assert!(run.gaps.is_empty(), "{:?}", run.gaps);
}

#[test]
fn shares_in_bins_too_wide_for_the_common_time_are_a_gap() {
    let (_folder, mut run) = dataset_of([300_000, 100_000], 1_000);
    let mut wide = options(0);
    wide.measure.warmup = TimeDelta::from_millis(500);
    let classes = of_tables(&mut run, &wide).unwrap();
    let jain = classes
        .iter()
        .map(|class| class.values.value(Measure::Jain));
    assert_eq!(jain.collect::<Vec<_>>(), [None, None]);
    assert!(run.gaps.contains(&Gap::Sharing), "{:?}", run.gaps);
}

#[test]
fn verdict_without_a_value_has_the_reason() {
    let sweep = tempfile::tempdir().unwrap();
    write_run(sweep.path(), &cubic("0001"), 750_000);
    let mut options = options(0);
    options.measure.warmup = TimeDelta::from_millis(1_500);
    let comparison = Comparison::of(sweep.path(), &options).unwrap();
    let found = |text: &str| {
        let expected = Expected::parse(text).unwrap();
        comparison.check(&[expected], None).unwrap()[0].found()
    };
    assert_snapshot!(found("goodput_bps > 1"), @"no value; some rates are null: the bins are too wide for the time measured (of captures: analyze --bin)");
    assert_eq!(
        found("tcp_efficiency_percent > 1"),
        found("goodput_bps > 1")
    );
    assert_snapshot!(found("mos > 1"), @"no value");
}

#[test]
fn gaps_are_of_the_measures_whose_definitions_have_their_conditions() {
    for (condition, gap) in [
        ("under the same condition as goodput_bps", Gap::Rates),
        ("an end of this time divides a bin", Gap::Sharing),
        ("the only capture", Gap::Rtt),
        ("under the same conditions as rtt_base_ms", Gap::Rtt),
        ("under the same conditions as rtt_base_ms", Gap::BaseRtt),
        ("base RTTs", Gap::BaseRtt),
        ("base RTTs", Gap::Rtt),
    ] {
        let mut measures = Measure::ALL.into_iter();
        let other = measures
            .find(|measure| measure.definition().contains(condition) && !gap.is_of(*measure));
        assert_eq!(other, None, "{gap:?}");
    }
}

/// The goodput of all senders in Mbit/s and the gaps of a run of Flent with two senders of 5 and 3 in these units.
fn flent(units: [Option<&str>; 2]) -> (Option<f64>, Vec<Gap>) {
    let sweep = tempfile::tempdir().unwrap();
    let run = write_record(sweep.path(), &cubic("0001"));
    let mut rows = Vec::new();
    for (series, unit, value) in [
        ("Ping (ms) ICMP", Some("ms"), 20.0),
        ("TCP upload::1", units[0], 5.0),
        ("TCP upload::1::tcp_cwnd", None, 99.0),
        ("TCP upload::2", units[1], 3.0),
        ("TCP upload avg", None, 4.0),
    ] {
        rows.extend((0..4).map(|place| {
            json!({
                "series": series, "time": ms(place * 200), "value": value, "unit": unit,
                "tool_mean": value,
            })
        }));
    }
    write_series(&run, &rows);
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    let all = comparison.classes.iter().find(|row| row.class.is_none());
    let goodput = all.and_then(|row| row.estimate(Measure::Goodput));
    let goodput = goodput.map(|estimate| estimate.median / 1e6);
    (goodput, comparison.runs[0].gaps.clone())
}

#[test]
fn series_of_flent_in_an_unknown_unit_leaves_no_rate_of_its_run() {
    let known = Some("Mbits/s");
    assert_eq!(flent([known, known]), (Some(8.0), Vec::new()));
    assert_eq!(flent([Some("Kbits/s"), known]), (Some(3.005), Vec::new()));
    assert_eq!(flent([Some("Gbits/s"), known]), (Some(5003.0), Vec::new()));
    for unit in [None, Some("bytes/s")] {
        assert_eq!(flent([unit, known]), (None, vec![Gap::Units]), "{unit:?}");
    }
}

#[test]
fn series_of_flent_without_a_value_for_a_part_of_its_time_has_no_goodput_but_that_of_its_tool() {
    let compared = |mean: Option<f64>| {
        let sweep = tempfile::tempdir().unwrap();
        let run = write_record(sweep.path(), &cubic("0001"));
        let places = (0..50).filter(|place| !(15..35).contains(place));
        let rows: Vec<_> = places
            .map(|place| {
                json!({
                    "series": "TCP upload", "time": ms(place * 200), "value": 10.0, "unit": "Mbits/s",
                    "tool_mean": mean,
                })
            })
            .collect();
        write_series(&run, &rows);
        let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
        let all = comparison.classes.iter().find(|row| row.class.is_none());
        let goodput = all.and_then(|row| row.estimate(Measure::Goodput));
        (
            goodput.map(|estimate| estimate.median),
            comparison.runs[0].gaps.clone(),
        )
    };
    assert_eq!(compared(None), (None, vec![Gap::Values]));
    assert_eq!(compared(Some(9.0)), (Some(9e6), vec![Gap::Values]));
}

/// The goodput, Jain's index, the gaps and the fault of a class of two senders. One of them has no flow.
/// `silent` is the record of this sender, and `manifest` that of the dataset.
type Unseen = ([Option<f64>; 2], Vec<Gap>, Option<String>);
fn without_flow(silent: &Value, manifest: Option<&Value>) -> Unseen {
    let sweep = tempfile::tempdir().unwrap();
    let mut planned = cubic("0001");
    planned["traffic"][0]["name"] = json!("bulk-1");
    let mut second = planned["traffic"][0].clone();
    for (key, value) in silent.as_object().unwrap() {
        second[key] = value.clone();
    }
    planned["traffic"].as_array_mut().unwrap().push(second);
    let run = write_record(sweep.path(), &planned);
    let flows = ["forward", "reverse"].map(|direction| {
        let mut flow = flow(1, 40_001, direction, 5);
        flow["traffic"] = json!("bulk-1");
        flow
    });
    write_table(&run, DatasetTable::Flows, &flows);
    let bins: Vec<Value> = (0..4)
        .map(|second| bin("dst", 1, "forward", second, 500_000))
        .collect();
    write_table(&run, DatasetTable::Throughput, &bins);
    if let Some(manifest) = manifest {
        let path = run.join(DATASET).join("manifest.json");
        std::fs::write(path, manifest.to_string()).unwrap();
    }
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    let class = comparison.classes.iter().find(|row| row.class.is_some());
    let values = [Measure::Goodput, Measure::Jain].map(|measure| class?.estimate(measure)?.known());
    let run = &comparison.runs[0];
    (values, run.gaps.clone(), run.fault.clone())
}

#[test]
fn traffic_without_a_flow_has_no_goodput_of_zero() {
    let silent = |port: u16| json!({"name": "bulk-2", "port": port});
    let unknown = ([None, None], vec![Gap::Unseen], None);
    assert_eq!(without_flow(&silent(5202), None), unknown);
    // Instances that share a port have the flows of the first one.
    let shared = without_flow(&silent(5201), None);
    assert!(shared.0[0].is_some(), "{shared:?}");
    assert!(!shared.1.contains(&Gap::Unseen), "{shared:?}");
}

#[test]
fn a_run_whose_captures_have_no_flow_of_one_sender_enters_no_figure() {
    let silent = json!({"name": "bulk-2", "port": 5202, "is_captured": true});
    let manifest = |filter: Value, flows_left_out: u32| {
        json!({
            "tcpexp_version": "1",
            "captures": [{"sha256": "", "flows_left_out": flows_left_out}],
            "tables": [],
            "options": {"filter": filter},
        })
    };
    let (_, _, fault) = without_flow(&silent, Some(&manifest(Value::Null, 0)));
    assert_eq!(fault.unwrap(), "its captures have no flow of bulk-2");
    // The analysis may have left its packets out.
    for lacking in [manifest(json!("port 5201"), 0), manifest(Value::Null, 1)] {
        let (_, gaps, fault) = without_flow(&silent, Some(&lacking));
        assert_eq!((gaps, fault), (vec![Gap::Unseen], None));
    }
}
