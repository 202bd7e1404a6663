//! `tcpexp export FORMAT DIR`: runs in the formats of other tools.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use insta::assert_snapshot;
use serde_json::Value;

use crate::compare::{grid, rows, sweep};
use crate::desk::Desk;

/// Rows of `tcpexp compare` of one class.
fn of_class(desk: &Desk, sweep: &str, class: &str) -> BTreeMap<String, String> {
    desk.bytes(&format!("compare {sweep} -o cells.csv --quiet"));
    let rows = rows(&String::from_utf8(desk.get("cells.csv")).unwrap());
    let mut of_class = rows.into_iter().filter(|row| row["class"] == class);
    of_class.next().unwrap()
}

#[test]
fn exported_runs_have_the_figures_of_the_sweep() {
    let mut runs = grid();
    runs.truncate(1);
    let desk = sweep(&runs);
    let exported = desk.run("export flent . -o exported");
    assert!(exported.status.success());
    assert_snapshot!(String::from_utf8_lossy(&exported.stderr), @"tcpexp: warning: ./runs/r1: Flent has no series for voice");
    assert_snapshot!(String::from_utf8_lossy(&exported.stdout), @"written         1 file of Flent: exported");
    assert_snapshot!(desk.text("import flent exported/r1.flent.gz"), @r"
    series                   values   mean    min median    p95    p99    max
    TCP upload avg [Mbits/s]     80  1.105      -      -      -      -      -
    TCP upload sum [Mbits/s]     80  7.737      -      -      -      -      -
    TCP upload::1 [Mbits/s]      75  3.061  0.927  3.707  3.823  3.823  3.823
    TCP upload::2 [Mbits/s]       3  2.830  1.798  2.556  3.592  3.684  3.707
    TCP upload::3 [Mbits/s]       7  0.886  0.000  0.348  3.234  3.705  3.823
    TCP upload::4 [Mbits/s]      15  0.339  0.000  0.586  1.077  1.142  1.158
    TCP upload::5 [Mbits/s]      10  0.246  0.000  0.985  1.158  1.158  1.158
    TCP upload::6 [Mbits/s]       8  0.201  0.000  1.158  1.848  1.945  1.969
    TCP upload::7 [Mbits/s]       7  0.173  0.000  1.390  2.032  2.173  2.208

    values          729 read, 400 used, 329 skipped (times without a value)
    ");
    let mut json = String::new();
    GzDecoder::new(&*desk.get("exported/r1.flent.gz"))
        .read_to_string(&mut json)
        .unwrap();
    let file: Value = serde_json::from_str(&json).unwrap();
    let mean = |series: &str| file["metadata"]["SERIES_META"][series]["MEAN_VALUE"].as_f64();
    let goodput = |row: BTreeMap<String, String>| row["goodput_bps"].parse::<f64>().unwrap() / 1e6;
    let is_mean = |goodput: f64, series: &str| {
        let mean = mean(series).unwrap();
        assert!((goodput / mean - 1.0).abs() < 1e-9, "{goodput} {mean}");
    };
    // The first sender is the only one of its class, and all imported ones are one class.
    is_mean(goodput(of_class(&desk, ".", "bulk")), "TCP upload::1");
    desk.bytes("import flent exported -o imported --quiet");
    let imported = of_class(&desk, "imported", "TCP upload");
    let parameters = (imported["cc"].clone(), imported["upload_streams"].clone());
    assert_eq!(parameters, ("sack".to_owned(), "7".to_owned()));
    // Senders that do not send all the time have less together than the sum of their means.
    let goodput = goodput(imported);
    let [longest, sum] = ["TCP upload::1", "TCP upload sum"].map(|name| mean(name).unwrap());
    assert!(longest < goodput && goodput < sum / 2.0, "{goodput}");
    // Twice the same bytes, and refusals instead of files without values.
    desk.bytes("export flent runs/r1 -o again.flent.gz --quiet");
    assert_eq!(desk.get("again.flent.gz"), desk.get("exported/r1.flent.gz"));
    let refused = desk.failure("export flent exported -o other.flent.gz");
    assert_snapshot!(refused, @"cannot read exported/run.json: No such file or directory (os error 2)");
}
