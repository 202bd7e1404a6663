//! The table of `tcpexp rtt CAPTURE`: a row per round-trip time sample.

use tcpexp_measure::rtt::{RttEstimate, SingleRttSample};

use crate::columns::{Builder, Columns};
use crate::labels::{Labelled, flow_columns};

/// The columns of `tcpexp rtt CAPTURE`.
pub fn single_rtt_columns() -> Columns<Labelled<SingleRttSample>> {
    let columns = flow_columns(Columns::named("single_rtt"), |row: &Labelled<SingleRttSample>| &row.flow)
        .text("direction", "Which way the packet went that is answered: forward (initiator to responder) or reverse. The round trip is that from the capture to the end that this way leads to.", |row| row.row.direction.name())
        .time("time_ns", "When the answer was captured: nanoseconds since 1970-01-01 UTC.", |row| row.row.at)
        .span("rtt_ns", "From the capture of the packet to that of its answer, in nanoseconds; what the receiver took to answer is in it. Negative where the capture's times run backwards.", |row| row.row.rtt)
        .text("method", "How the answer is known to be one: sequence_ack (it acknowledges the segment's numbers; never of what was sent more than once) or timestamps (it is the first to echo the packet's TSval).", |row| row.row.method.name())
        .text("ack_class", "What the answer is: handshake, cumulative, after_reordering, selective (a SACK block only), duplicate, or unasked (the packet carried nothing to answer, so that the time is an upper bound).", |row| row.row.ack_class.name());
    let columns = estimate(columns, "rfc6298", "as RFC 6298 has it", |sample| {
        sample.rfc6298
    });
    estimate(columns, "linux", "as Linux has it", |sample| sample.linux).done()
}

fn estimate(
    columns: Builder<Labelled<SingleRttSample>>,
    name: &str,
    rule: &str,
    of: fn(&SingleRttSample) -> Option<RttEstimate>,
) -> Builder<Labelled<SingleRttSample>> {
    let none = "Nanoseconds. Null before the first sample that counts.";
    columns
        .maybe_span(&format!("{name}_srtt_ns"), &format!("Smoothed round-trip time after this sample, {rule}, if the sender were at the capture. {none}"), move |row| Some(of(&row.row)?.srtt))
        .maybe_span(&format!("{name}_rttvar_ns"), &format!("Its mean deviation, {rule}. {none}"), move |row| Some(of(&row.row)?.rttvar))
        .maybe_span(&format!("{name}_rto_ns"), &format!("Retransmission timeout, {rule}, not backed off. {none}"), move |row| Some(of(&row.row)?.rto))
}
