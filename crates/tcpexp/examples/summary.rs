//! Scratch.
use std::path::Path;
use tcpexp::{Error, Recording, RttOptions, rtt};
fn main() -> Result<(), Error> {
    let a: Vec<String> = std::env::args().collect();
    let (src, dst) = (
        Recording::open(Path::new(&a[1]))?,
        Recording::open(Path::new(&a[2]))?,
    );
    let quiet = a.len() > 3;
    let mut n = 0u64;
    let report = rtt(&src, &dst, &RttOptions::default(), |batch| {
        n += batch.samples.len() as u64;
        if !quiet {
            for s in &batch.ended {
                println!(
                    "{} {}>{} {:?} {}",
                    s.flow.flow, s.flow.initiator, s.flow.responder, s.flow.translated, s.duration
                );
                for d in 0..2 {
                    let c = &s.counts[d];
                    println!("  {:?}", c);
                    if let Some(r) = &s.rtt[d] {
                        println!(
                            "  n {} min {} p5 {} med {} p95 {} p99 {} max {}",
                            r.samples, r.min, r.p5, r.median, r.p95, r.p99, r.max
                        );
                    }
                }
            }
        }
        Ok::<(), Error>(())
    })?;
    println!(
        "samples {n}; {} ; recut {} nat {}; common {}",
        report.identification,
        report.identification.recut,
        report.identification.translated,
        report.common_packets
    );
    println!(
        "offset {:?} skew {:?} steps {:?} totals {:?}",
        report.clock.offset(),
        report.clock.skew(),
        report.clock.steps(),
        report.totals
    );
    Ok(())
}
