//! Flows with translated addresses at the second point.

use crate::common::truth::{assert_complete, check, mixed};
use tcpexp_testkit::{CaptureSpec, Scenario, TcpLoad};
use tcpexp_units::TimeDelta;

#[test]
fn flows_are_matched_across_address_translation() {
    for udp in [Vec::new(), mixed().udp] {
        let scenario = Scenario {
            nat: true,
            udp,
            ..mixed()
        };
        let checked = check(&scenario);
        assert_complete(&checked);
        for flow in &checked.measured.flows {
            let mut truth = checked.truth.summary.flows.iter();
            let truth = truth
                .find(|truth| flow.initiator == truth.client.into())
                .unwrap();
            let (client, server) = (truth.client_at_dst.into(), truth.server.into());
            assert_eq!(flow.translated.as_deref(), Some(&(client, server)));
        }
    }
}

#[test]
fn translated_flows_are_matched_if_one_capture_starts_late() {
    for (src, dst) in [(0, 400), (400, 0)] {
        let starts_after = |millis| CaptureSpec {
            starts_after: TimeDelta::from_millis(millis),
            ..CaptureSpec::default()
        };
        let scenario = Scenario {
            nat: true,
            src: starts_after(src),
            dst: starts_after(dst),
            ..mixed()
        };
        let checked = check(&scenario);
        let untranslated = check(&Scenario {
            nat: false,
            ..scenario
        });
        assert!(checked.samples() * 10 > untranslated.samples() * 9);
    }
}

#[test]
fn many_translated_flows_are_distinguished() {
    let checked = check(&Scenario {
        tcp: vec![TcpLoad {
            flows: 200,
            parallel: 20,
            bytes: 20_000,
            ..TcpLoad::default()
        }],
        udp: Vec::new(),
        nat: true,
        ..mixed()
    });
    assert!(
        checked.measured.flows.len() > 195,
        "{}",
        checked.measured.flows.len()
    );
    assert!(checked.samples() > 1_000, "{}", checked.samples());
}
