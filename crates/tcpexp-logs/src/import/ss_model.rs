//! The model of BBR in the output of `ss`.

use tcpexp_measure::sender::{ModelPhase, PathModel};

use super::fields::Field;

/// The model among the tokens of a connection: `bbr:(bw:9820552bps,mrtt:40.029,pacing_gain:1.25,cwnd_gain:2)`.
pub(super) fn model(details: &[&str], cwnd: u32) -> Option<PathModel> {
    let list = details
        .iter()
        .find_map(|token| token.strip_prefix("bbr:(")?.strip_suffix(')'))?;
    let find = |name: &str| {
        list.split(',')
            .find_map(|item| item.strip_prefix(name)?.strip_prefix(':'))
    };
    let percent = |name| {
        let gain: f64 = find(name)?.parse().ok()?;
        percent(gain)
    };
    let rate = |text: &str| text.strip_suffix("bps")?.parse().ok();
    let (pacing_gain, window_gain) = (percent("pacing_gain"), percent("cwnd_gain"));
    let pacing_rate = details
        .windows(2)
        .find(|pair| pair[0] == "pacing_rate")
        .and_then(|pair| rate(pair[1]));
    Some(PathModel {
        is_measured: true,
        bandwidth_bps: find("bw").and_then(rate),
        least_rtt: find("mrtt").and_then(|text| Field::new("mrtt", text).millis().ok()),
        phase: pacing_gain.zip(window_gain).and_then(phase),
        pacing_rate_bps: pacing_rate,
        pacing_gain_percent: pacing_gain,
        window_gain_percent: window_gain,
        inflight_cap_segments: Some(cwnd),
    })
}

fn percent(gain: f64) -> Option<u16> {
    let percent = (gain * 100.0).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked"
    )]
    (0.0..=10_000.0)
        .contains(&percent)
        .then_some(percent as u16)
}

/// The phase of BBR, version 1, which has these gains in percent (`bbr_update_gains`).
fn phase((pacing, window): (u16, u16)) -> Option<ModelPhase> {
    match (pacing, window) {
        (289, 289) => Some(ModelPhase::Startup),
        (34, 289) => Some(ModelPhase::Drain),
        (_, 200) => Some(ModelPhase::ProbeBandwidth),
        (100, 100) => Some(ModelPhase::ProbeRtt),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_units::TimeDelta;

    use super::*;
    use crate::import::Format;
    use crate::import::log::read;

    #[test]
    fn bbr_prints_its_model() {
        let line = "ESTAB 0 0 10.0.0.1:22 10.0.0.2:9 bbr rtt:40.1/1 cwnd:72 bbr:(bw:9544808bps,mrtt:40.028,pacing_gain:1.25,cwnd_gain:2) send 2bps pacing_rate 11811696bps delivered:4";
        let (batch, _) = read(Format::Ss, &format!("1.5 {line}\n"));
        assert_eq!(
            batch.samples[0].model,
            Some(PathModel {
                is_measured: true,
                bandwidth_bps: Some(9_544_808),
                least_rtt: Some(TimeDelta::from_micros(40_028)),
                phase: Some(ModelPhase::ProbeBandwidth),
                pacing_rate_bps: Some(11_811_696),
                pacing_gain_percent: Some(125),
                window_gain_percent: Some(200),
                inflight_cap_segments: Some(72),
            })
        );
    }
}
