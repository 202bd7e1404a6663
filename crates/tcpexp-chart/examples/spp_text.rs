//! Draws what SPP prints: lines of a unix time and a round-trip time in seconds, any more columns
//! ignored.
//!
//! ```text
//! spp ... > cubic.txt
//! cargo run --example spp_text -- figure.svg cubic.txt bbr.txt
//! ```

use std::path::Path;
use std::{env, error, fs};

use tcpexp_chart::{DelaySeries, FigureSize, rtt_figure};
use tcpexp_units::{TimeDelta, Timestamp};

fn main() -> Result<(), Box<dyn error::Error>> {
    let mut files = env::args().skip(1);
    let figure_path = files
        .next()
        .ok_or("usage: spp_text FIGURE.svg|png SAMPLES.txt...")?;
    let series = files
        .map(|path| read(&path))
        .collect::<Result<Vec<_>, _>>()?;
    let figure = rtt_figure(&series, FigureSize::default())?;
    if Path::new(&figure_path)
        .extension()
        .is_some_and(|extension| extension == "png")
    {
        fs::write(figure_path, figure.to_png(3.0)?)?;
    } else {
        fs::write(figure_path, figure.as_str())?;
    }
    Ok(())
}

fn read(path: &str) -> Result<DelaySeries, Box<dyn error::Error>> {
    let name = Path::new(path)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let mut series = DelaySeries::new(name);
    for line in fs::read_to_string(path)?.lines() {
        let mut columns = line.split_whitespace().map(nanos);
        let (Some(time), Some(rtt)) = (columns.next(), columns.next()) else {
            return Err(format!("{path}: not a time and a round-trip time: {line}").into());
        };
        series.add(Timestamp::from_nanos(time?), TimeDelta::from_nanos(rtt?));
    }
    Ok(series)
}

/// Nanoseconds of decimal seconds, digit by digit: a float has too few of them for a unix time.
fn nanos(seconds: &str) -> Result<i64, std::num::ParseIntError> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    format!("{whole}{fraction:0<9.9}").parse()
}
