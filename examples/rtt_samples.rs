//! Prints round-trip times between two captures, with the library.
//!
//! `cargo run -p tcpexp-examples --example rtt_samples -- SRC DST`

use std::path::Path;

use tcpexp::{Error, Recording, RttOptions, rtt};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(src), Some(dst)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: rtt_samples SRC DST");
        return Ok(());
    };
    let (src, dst) = (
        Recording::open(Path::new(&src))?,
        Recording::open(Path::new(&dst))?,
    );
    let report = rtt(&src, &dst, &RttOptions::default(), |batch| {
        for sample in &batch.samples {
            println!("{} {} {}", sample.flow, sample.direction, sample.rtt);
        }
        Ok::<(), Error>(())
    })?;
    eprintln!("packets told apart by {}", report.identification);
    Ok(())
}
