//! Lines in a browser: a gap stays a gap.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;
use tcpexp_chart::Thinned;
use tcpexp_chart::page::PageSeries;
use tcpexp_units::Timestamp;

use crate::{browser, page, read};

/// Script that reports `found`. There, `ink(from, to)` is the ink of the line beside the grid, which has other
/// colours, from one time to another.
fn reporter(found: &str) -> String {
    const REPORTER: &str = "
        window.addEventListener('load', () => setTimeout(() => {
          const { chart } = charts[0];
          const { ctx, bbox } = chart;
          const { data } = ctx.getImageData(bbox.left, bbox.top, bbox.width, bbox.height);
          const dots = Array.from({ length: data.length / 4 }, (_, dot) => data.slice(4 * dot, 4 * dot + 4));
          const ink = (from, to) => {
            const [left, right] = [from, to].map((time) => chart.valToPos(time, 'x', true) - bbox.left);
            const isBetween = (dot) => dot % bbox.width >= left && dot % bbox.width < right;
            return dots.filter(([red, green, blue], dot) => isBetween(dot) && blue > red + 60 && blue > green + 20).length;
          };
          const found = FOUND;
          document.body.append(element('pre', { id: 'found' }, JSON.stringify(found)));
        }, 200));";
    REPORTER.replace("FOUND", found)
}

#[test]
fn a_line_of_rates_ends_where_the_rate_is_unknown_and_joins_distant_bins() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut page = page();
    page.runs.truncate(1);
    page.panels.truncate(1);
    page.panels[0].is_rate = true;
    let mut rates = Thinned::<i64>::default();
    for second in [0, 10, 20, 30, 50, 60, 70] {
        rates.add(
            Timestamp::from_nanos(second * 1_000_000_000),
            40 + second % 50,
        );
    }
    let start = Timestamp::from_nanos(0);
    let mut series = PageSeries::of(&rates, start, 1_000, |value| value as f64);
    series.end_at([40.0, 62.0, 65.0, 80.0]);
    assert_eq!(
        series.time_s,
        [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 65.0, 70.0]
    );
    assert_eq!(
        series.values.iter().filter(|value| value.is_none()).count(),
        2
    );
    page.runs[0].flows[0].series = BTreeMap::from([("rtt".into(), series)]);
    let html = page.html().unwrap();
    let reporter = reporter(
        "{ first: ink(1, 19) > 0, unknown: ink(31, 49), second: ink(51, 59) > 0, unknown_again: ink(61, 69), lone: ink(69.5, 70.5) > 0 }",
    );
    let html = html.replace("</body>", &format!("<script>{reporter}</script></body>"));
    let path = dir.path().join("gaps.html");
    fs::write(&path, html).unwrap();
    assert_eq!(
        read(browser, dir.path(), &path, 1_100),
        json!({"first": true, "unknown": 0, "second": true, "unknown_again": 0, "lone": true})
    );
}

#[test]
fn lines_end_at_silence_and_a_lone_value_is_a_dot() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut page = page();
    page.runs.truncate(1);
    let talking = (0..=100).chain(200..=300).chain([350]).chain(400..=410);
    let mut rtt = Thinned::<i64>::default();
    for tenth in talking {
        rtt.add(Timestamp::from_nanos(tenth * 100_000_000), 40 + tenth % 5);
    }
    let start = Timestamp::from_nanos(0);
    let series = PageSeries::of(&rtt, start, 1_000, |value| value as f64);
    let flow = &mut page.runs[0].flows[0];
    flow.series = BTreeMap::from([("rtt".into(), series)]);
    let html = page.html().unwrap();
    let reporter = reporter(
        "{ talking: ink(2, 8) > 0, silent: ink(10.5, 19.5), again: ink(22, 28) > 0, before: ink(30.5, 34.5), lone: ink(34.8, 35.2) > 0, after: ink(35.5, 39.5) }",
    );
    let html = html.replace("</body>", &format!("<script>{reporter}</script></body>"));
    let path = dir.path().join("silence.html");
    fs::write(&path, html).unwrap();
    assert_eq!(
        read(browser, dir.path(), &path, 1_100),
        json!({"talking": true, "silent": 0, "again": true, "before": 0, "lone": true, "after": 0})
    );
}
