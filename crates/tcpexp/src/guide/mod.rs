//! The guide: how to use tcpexp, and why its results are right.
//!
//! Use:
//!
//! - [`measuring`]: round-trip times and packet fates between two captures
//! - [`one_capture`]: flows, rates, round-trip times and congestion windows
//! - [`sweeps`]: plans, runs, comparison of cells, reports
//! - [`plan_reference`]: all keys of a plan
//! - [`datasets`]: all results of a run as tables, and SQL over them
//! - [`dividing`]: one analysis in parts
//! - [`many_pairs`]: a thousand pairs of captures on one machine
//! - [`slurm`], [`ray`], [`spark`]: the same on many machines
//! - [`object_stores`]: captures and tables in S3, Google Cloud Storage, Azure and on web servers
//! - [`python`]: the same from Python, as Arrow streams
//! - [`charts`]: time series, distributions, sequence diagrams
//! - [`lab`]: the virtual testbed
//! - [`bottlenecks`]: rate, delay, queue and loss on a router
//! - [`coming_from`]: replacements for SPP, tcptrace, TEACUP, Flent and mahimahi
//! - [`studies`]: published studies, repeated: what held and what did not
//! - [`accuracy`]: measured errors and known limits
//! - [`speed`]: packets per second and memory
//!
//! Design:
//!
//! - [`pairs`]: why packet pairs need no clock
//! - [`identity`]: how packets are identified
//! - [`cwnd`](mod@cwnd): how the congestion window is reconstructed
//! - [`naming`]: how the congestion control is named
//! - [`virtual_time`]: how the testbed virtualises time
//! - [`rejected`]: approaches that were measured and rejected
//!
//! The commands on these pages run in a test, which compares their output with the page.

pub mod measuring {
    #![doc = include_str!("measuring.md")]
}

pub mod one_capture {
    #![doc = include_str!("one_capture.md")]
}

pub mod sweeps {
    #![doc = include_str!("sweeps.md")]
}

pub mod plan_reference {
    #![doc = include_str!("plan_reference.md")]
}

pub mod datasets {
    #![doc = include_str!("datasets.md")]
}

pub mod dividing {
    #![doc = include_str!("dividing.md")]
}

pub mod many_pairs {
    #![doc = include_str!("many_pairs.md")]
}

pub mod slurm {
    #![doc = include_str!("slurm.md")]
}

pub mod ray {
    #![doc = include_str!("ray.md")]
}

pub mod spark {
    #![doc = include_str!("spark.md")]
}

pub mod object_stores {
    #![doc = include_str!("object_stores.md")]
}

pub mod python {
    #![doc = include_str!("python.md")]
}

pub mod charts {
    #![doc = include_str!("charts.md")]
    //!
    //! The congestion window against the kernel's log, `cwnd.svg`:
    //!
    #![doc = include_str!("cwnd.svg")]
    //!
    //! The panels of one flow, `flow.svg`:
    //!
    #![doc = include_str!("flow.svg")]
    //!
    //! The sequence diagram, `sequence.svg`:
    //!
    #![doc = include_str!("sequence.svg")]
}

pub mod lab {
    #![doc = include_str!("lab.md")]
}

pub mod bottlenecks {
    #![doc = include_str!("bottlenecks.md")]
}

pub mod coming_from {
    #![doc = include_str!("coming_from.md")]
}

pub mod accuracy {
    #![doc = include_str!("accuracy.md")]
}

pub mod studies {
    #![doc = include_str!("studies.md")]
}

pub mod speed {
    #![doc = include_str!("speed.md")]
}

pub mod pairs {
    #![doc = include_str!("pairs.md")]
}

pub mod identity {
    #![doc = include_str!("identity.md")]
}

pub mod cwnd {
    #![doc = include_str!("cwnd.md")]
}

pub mod naming {
    #![doc = include_str!("naming.md")]
}

pub mod virtual_time {
    #![doc = include_str!("virtual_time.md")]
}

pub mod rejected {
    #![doc = include_str!("rejected.md")]
}
