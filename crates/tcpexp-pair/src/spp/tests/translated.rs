//! Tests of hosts that share one address at the destination.

use tcpexp_testkit::script;

use super::*;

/// The packets of a script. Each flow is between two hosts of its own; if the addresses are `translated`, all
/// clients have one address.
fn of_several_hosts(script: &str, translated: bool) -> Scripted {
    let frames = script::frames(script).into_iter().map(|(at, mut frame)| {
        let (client, server, port) = match frame.src_port {
            80 => (&mut frame.dst, &mut frame.src, frame.dst_port),
            port => (&mut frame.src, &mut frame.dst, port),
        };
        let host = u8::try_from(port - 39_999).unwrap();
        *server = Ipv4Addr::new(192, 0, 2, host).into();
        *client = if translated {
            Ipv4Addr::new(198, 51, 100, 1).into()
        } else {
            Ipv4Addr::new(10, 0, 0, host).into()
        };
        (at, frame.to_bytes())
    });
    Scripted::of(frames.collect())
}

/// Matched packets of each flow and direction, in the order of the flows' numbers.
fn matched(captures: impl Fn() -> [Scripted; 2]) -> Vec<[u64; 2]> {
    let alignment = {
        let [src, dst] = captures();
        Alignment::between(survey(src), survey(dst)).unwrap()
    };
    let [mut src, mut dst] = captures();
    let mut flows = Vec::new();
    let Ok(_) = measure(&mut src, &mut dst, alignment, Options::default(), |batch| {
        let counts = batch.ended.into_iter().map(|flow| {
            let counts = flow.counts.map(|counts| counts.arrivals_matched);
            (flow.flow.number, counts)
        });
        flows.extend(counts);
        Ok::<(), Infallible>(())
    });
    flows.sort_unstable_by_key(|(number, _)| *number);
    flows.into_iter().map(|(_, counts)| counts).collect()
}

#[test]
fn order_of_the_captures_does_not_decide_whether_packets_of_translated_hosts_match() {
    // Only the flow with a SYN proves the way of its packets. The client of the other flow has the same address at one
    // point.
    let mut text = String::from("both 0.100 > S flow 1\nboth 0.120 < S. flow 1\n");
    for number in 0..20_u32 {
        let at = 0.2 + 0.1 * f64::from(number);
        for (flow, seq, ack, after) in [(0, 70_001, 80_001, 0.0), (1, 1, 1, 0.05)] {
            let (start, at) = (seq + 100 * number, at + after);
            let (end, back) = (start + 100, at + 0.011);
            writeln!(
                text,
                "both {at:.3} > {start}:{end}(100) ack {ack} id 0 flow {flow}"
            )
            .unwrap();
            writeln!(text, "both {back:.3} < {ack} ack {end} id 0 flow {flow}").unwrap();
        }
    }
    let scripts = scripts(&text);
    let [inside, outside] =
        [false, true].map(|translated| move |script: &str| of_several_hosts(script, translated));
    let forward = matched(|| [inside(&scripts[0]), outside(&scripts[1])]);
    let backward = matched(|| [outside(&scripts[1]), inside(&scripts[0])]);
    assert_eq!(forward, backward);
    assert_eq!(forward, [[21, 20], [20, 20]]);
}
