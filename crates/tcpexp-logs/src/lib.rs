//! Logs of kernels and tools, and the error of a reconstruction against them.
//!
//! [`import`] reads what `ss`, `tcp_probe`, SIFTR, `Web10G`, iperf3, Flent and others wrote, as the same
//! samples that [`tcpexp_measure::sender`] reconstructs from packets. [`score`] computes how far the
//! reconstruction of a flow is from the log of its kernel.

pub mod import;
pub mod score;
