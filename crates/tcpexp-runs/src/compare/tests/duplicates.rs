//! Packets that arrive twice.

use super::*;

/// The goodput of a run whose receiver captured 1000 packets of 750 bytes in each of four seconds. Of them,
/// `first` in each second arrived for the first time, and `duplicates` in all four were duplicates.
fn goodput(protocol: &str, first: u64, duplicates: u64) -> (Option<f64>, Vec<Gap>) {
    let sweep = tempfile::tempdir().unwrap();
    write_run(sweep.path(), &cubic("0001"), 1_000_000);
    let run = sweep.path().join(RUNS).join("0001");
    let mut data = flow(1, 40_001, "forward", 0);
    data["protocol"] = json!(protocol);
    data["path_duplicate_packets"] = json!(duplicates);
    write_table(&run, DatasetTable::Flows, &[data]);
    let bins = (0..4).map(|second| {
        let mut bin = bin("dst", 1, "forward", second, 1_000_000);
        bin["goodput_bytes"] = json!(750_000);
        bin
    });
    write_table(&run, DatasetTable::Throughput, &bins.collect::<Vec<_>>());
    let arrived = |second: i64| {
        json!({
            "flow_id": 1, "direction": "forward", "time": ms(second * 1000),
            "received_time": ms(second * 1000 + 20), "packets": first,
            "payload_bytes": first * 750,
        })
    };
    let arrived: Vec<Value> = (0..4).map(arrived).collect();
    write_table(&run, DatasetTable::Owd, &arrived);
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    let class = comparison.classes.iter().find(|row| row.class.is_some());
    let goodput = class.unwrap().estimate(Measure::Goodput);
    let gaps = comparison.runs[0].gaps.clone();
    (goodput.map(|estimate| estimate.median), gaps)
}

#[test]
fn duplicates_of_datagrams_are_no_goodput() {
    let rate = |packets: f64| Some(packets * 750.0 * 8.0);
    assert_eq!(goodput("udp", 1_000, 0), (rate(1_000.0), Vec::new()));
    assert_eq!(goodput("udp", 900, 400), (rate(900.0), Vec::new()));
    // The bins of TCP have each byte once.
    assert_eq!(goodput("tcp", 900, 400), (rate(1_000.0), Vec::new()));
}

#[test]
fn goodput_is_unknown_if_many_arrivals_may_be_duplicates() {
    assert_eq!(goodput("udp", 700, 400), (None, vec![Gap::Duplicates]));
    // 1 in 90 changes it by less than 5 %.
    let few = goodput("udp", 900, 360);
    assert_eq!(few, (Some(900.0 * 750.0 * 8.0), Vec::new()));
}
