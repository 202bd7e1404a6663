//! Properties that hold for every bottleneck.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use netem_ctl::{Bottleneck, Loss, Os, Path, Queue, Router, plan};
use proptest::option;
use proptest::prelude::*;
use tcpexp_units::{BitRate, Buffer, ByteCount, Share, TimeDelta};

fn time() -> impl Strategy<Value = TimeDelta> {
    (0..2_000_000_i64).prop_map(TimeDelta::from_micros)
}

fn share() -> impl Strategy<Value = Share> {
    (0..=1_000_000_000_u32).prop_map(|ppb| Share::from_ppb(ppb).unwrap())
}

fn buffer() -> impl Strategy<Value = Buffer> {
    prop_oneof![
        (0..100_000_u64).prop_map(Buffer::Packets),
        (0..10_000_000_u64).prop_map(|bytes| Buffer::Bytes(ByteCount::new(bytes))),
        time().prop_map(Buffer::Time),
        (0..5_000_u64).prop_map(|thousandths| Buffer::Bdp { thousandths }),
    ]
}

prop_compose! {
    fn path()(
        rate in option::of(0..2_000_000_000_u64),
        delay in option::of(time()),
        jitter in option::of(time()),
        jitter_reorders in any::<bool>(),
        loss in option::of(share()),
        reorder in option::of(share()),
        duplicate in option::of(share()),
        buffer in option::of(buffer()),
        queue in option::of(0..Queue::ALL.len()),
        ecn in option::of(any::<bool>()),
        target in option::of(time()),
    ) -> Path {
        Path {
            rate: rate.map(BitRate::from_bps),
            delay,
            jitter,
            jitter_reorders,
            loss: loss.map(Loss::Random),
            reorder,
            duplicate,
            buffer,
            queue: queue.map(|index| Queue::ALL[index]),
            ecn,
            target,
            ..Path::default()
        }
    }
}

proptest! {
    #[test]
    fn a_bottleneck_reads_back_as_it_was_written(forward in path(), reverse in path()) {
        let bottleneck = Bottleneck { forward, reverse };
        let text = toml::to_string(&bottleneck).unwrap();
        prop_assert_eq!(Bottleneck::from_toml(&text), Ok(bottleneck));
    }

    #[test]
    fn an_accepted_plan_needs_no_quotes_and_no_change_to_itself(
        forward in path(),
        reverse in path(),
        freebsd in any::<bool>(),
    ) {
        let router = Router {
            os: if freebsd { Os::FreeBsd } else { Os::Linux },
            left: "left0".parse().unwrap(),
            right: "right0".parse().unwrap(),
        };
        let Ok(plan) = plan(&Bottleneck { forward, reverse }, &router) else {
            return Ok(());
        };
        for step in plan.apply.iter().chain(&plan.clear) {
            prop_assert!(step.argv.len() > 1);
            prop_assert!(step.argv.iter().all(|word| !word.is_empty()));
            prop_assert!(!step.line().contains('\''), "{}", step.line());
        }
        prop_assert_eq!(plan.change_to(&plan), Ok(Vec::new()));
        prop_assert!(plan.verify.iter().all(|check| !check.compare("").is_empty()));
    }

    #[test]
    fn arbitrary_output_never_panics_a_check(text in ".{0,200}") {
        let toml = "[forward]\nrate = '10mbit'\ndelay = '20ms'\nbuffer = '9p'";
        for os in [Os::Linux, Os::FreeBsd] {
            let router = Router {
                os,
                left: "left0".parse().unwrap(),
                right: "right0".parse().unwrap(),
            };
            let plan = plan(&Bottleneck::from_toml(toml).unwrap(), &router).unwrap();
            for check in &plan.verify {
                let _ = check.compare(&text);
            }
        }
    }
}
