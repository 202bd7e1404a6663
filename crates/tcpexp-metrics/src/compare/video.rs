//! Playback of a video whose segments are the transfers of a sender.

use tcpexp_units::{TimeDelta, Timestamp};

use super::group::Group;
use super::measures::{Measure, Values};
use super::rates::mean;
use super::senders::{Sender, Transfer};
use crate::playback::Playback;

const MEASURES: [Measure; 4] = [
    Measure::StartupDelay,
    Measure::StallCount,
    Measure::StallRatio,
    Measure::VideoRate,
];

pub(super) fn measure(group: &Group<'_>, values: &mut Values) {
    let videos = group
        .senders
        .iter()
        .filter_map(|sender| Some((*sender, sender.media_time?)));
    let played: Option<Vec<[f64; 4]>> = videos.map(|(sender, media)| play(sender, media)).collect();
    let played = played.unwrap_or_default();
    for (place, measure) in MEASURES.into_iter().enumerate() {
        let of_all: Vec<f64> = played.iter().map(|values| values[place]).collect();
        values.set(measure, mean(&of_all));
    }
}

/// The values of one video, from its first segment on: what playback waits for in a window depends on
/// all segments before. `None` if a segment did not arrive completely.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^52")]
fn play(video: &Sender, media_time: TimeDelta) -> Option<[f64; 4]> {
    let mut segments: Vec<&Transfer> = video.transfers.iter().collect();
    segments.sort_by_key(|segment| segment.at);
    let arrivals: Option<Vec<Timestamp>> = segments
        .iter()
        .map(|segment| Some(segment.at + segment.completion.took()?))
        .collect();
    let playback = Playback::of(&arrivals?, media_time)?;
    let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
    Some([
        segments.first()?.completion.took()?.as_seconds_f64(),
        playback.stalls as f64,
        playback.stall_ratio()?,
        bytes as f64 * 8.0 / playback.played.as_seconds_f64(),
    ])
}
