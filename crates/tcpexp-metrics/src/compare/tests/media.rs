//! Calls and videos.

use super::*;

#[test]
fn a_late_packet_is_lost_to_a_call() {
    let mut call = sender("call", 0, &[]);
    call.is_call = true;
    call.base_rtt = Some(TimeDelta::from_millis(40));
    let fate = |delay: Option<i64>| Fate {
        at: at(0),
        packets: 25,
        is_lost: delay.is_none(),
        one_way_delay: delay.map(TimeDelta::from_millis),
    };
    // The clocks differ by 5 s.
    let score = |delays: &[Option<i64>]| {
        let mut call = call.clone();
        call.active.until = at(1000);
        call.fates = Some(delays.iter().copied().map(fate).collect());
        let run = Run {
            senders: vec![call],
            ..Run::default()
        };
        let measured = measure_run(&run, &Options::default());
        measured[0].values.value(Measure::Mos)
    };
    let unharmed = crate::voice::mean_opinion_score(100.0, 0.0);
    let harmed = crate::voice::mean_opinion_score(100.0, 0.25);
    let all = [Some(5000), Some(5020), Some(5060), Some(5000)];
    assert_eq!(score(&all), Some(unharmed));
    assert_eq!(score(&[all[0], all[1], all[2], Some(5061)]), Some(harmed));
    assert_eq!(score(&[all[0], all[1], all[2], None]), Some(harmed));
    assert_eq!(score(&[None, None]), None);
}

#[test]
fn packets_of_unknown_fate_bound_the_score_of_a_call() {
    let mut call = sender("call", 0, &[]);
    call.is_call = true;
    call.base_rtt = Some(TimeDelta::from_millis(40));
    call.active.until = at(1000);
    call.fates = Some(vec![Fate {
        at: at(0),
        packets: 75,
        is_lost: false,
        one_way_delay: Some(TimeDelta::ZERO),
    }]);
    // Those that the capture missed may have arrived too late.
    (call.untimed_packets, call.unknown_packets) = (5, 20);
    let run = Run {
        senders: vec![call],
        ..Run::default()
    };
    let measured = measure_run(&run, &Options::default());
    let [least, most] = [0.25, 0.0].map(|lost| crate::voice::mean_opinion_score(100.0, lost));
    let bounds = measured[0].values.bounds(Measure::Mos);
    assert_eq!(bounds, Some(crate::bounds::Bounds { least, most }));
}

#[test]
fn a_video_stalls_where_its_next_segment_is_late() {
    let segment = |from: i64, completion: Option<i64>| Transfer {
        at: at(from * 1000),
        bytes: 500_000,
        completion: completion.map_or(Completion::AtLeast(TimeDelta::from_seconds(1)), |seconds| {
            Completion::Took(TimeDelta::from_seconds(seconds))
        }),
    };
    let played = |transfers: &[Transfer]| {
        let mut video = sender("video", 0, &[1; 20]);
        video.media_time = Some(TimeDelta::from_seconds(4));
        video.transfers = transfers.to_vec();
        values(&run(vec![video]), 2, "video")
    };
    // The first segment plays from 1 s to 5 s, and the second comes 4 s after that. Segments of the
    // warm-up count too.
    let late = [
        segment(0, Some(1)),
        segment(1, Some(8)),
        segment(9, Some(1)),
    ];
    let of_late = [
        (Measure::StartupDelay, Some(1.0)),
        (Measure::StallCount, Some(1.0)),
        (Measure::StallRatio, Some(0.25)),
        (Measure::VideoRate, Some(1e6)),
    ];
    check(&played(&late), &of_late);
    let unknown = of_late.map(|(measure, _)| (measure, None));
    check(&played(&[late[0], segment(1, None)]), &unknown);
    check(&played(&[]), &unknown);
}
