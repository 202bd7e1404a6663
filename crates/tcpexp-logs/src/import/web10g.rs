//! CSV of web10g's logger: the variables of RFC 4898, polled.
//!
//! Later releases start with a header; without one, the columns are those of release 2.0.7. Windows
//! are in bytes. The logger for the Windows operating system writes 0 for unknown values, so a segment
//! size, round-trip time or timeout of 0 is unknown.

use std::net::{IpAddr, SocketAddr};

use tcpexp_measure::sender::SenderSample;
use tcpexp_units::TimeDelta;
use tcpexp_wire::SeqNum;

use super::error::{LineUse, Unusable};
use super::fields::Field;
use super::flows::Flows;
use super::header::{Header, name};
use super::rows::Batch;
use super::state::blank;

/// Smallest number of columns of any release.
const MIN_COLUMNS: usize = 122;
/// Smallest value that means an infinite threshold: the kernel writes it for thresholds beyond 31 bits.
const INFINITE_SSTHRESH: u64 = 0x7FFF_FFFF;

/// Column of a variable without a header, from 1.
const COLUMNS: [(&str, usize); 6] = [
    ("CurMSS", 20),
    ("SmoothedRTT", 23),
    ("CurRTO", 24),
    ("CurCwnd", 26),
    ("CurSsthresh", 27),
    ("SndUna", 108),
];
/// Columns by which a header is recognised.
pub(super) const NAMES: [&str; 2] = ["CurCwnd", "LocalAddress"];
/// `SndNxt` follows `SndUna`.
const SND_NXT: &str = "SndNxt";

/// The header, if any.
#[derive(Clone, Debug, Default)]
pub(super) struct Web10g {
    header: Option<Vec<String>>,
    /// True if the first column of the header is not the time.
    is_untimed: bool,
}

impl Web10g {
    /// Reads one row.
    pub(super) fn line(
        &mut self,
        text: &str,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<LineUse, Unusable> {
        let is_header = Header::is_one(text, &NAMES);
        let text = text.trim_start_matches('#');
        let row: Vec<&str> = text.split(',').map(name).collect();
        let is_timed = row[0].eq_ignore_ascii_case("timestamp");
        if is_timed || is_header {
            self.header = Some(row.into_iter().map(str::to_owned).collect());
            self.is_untimed = !is_timed;
            return if is_timed {
                Ok(LineUse::PassedOver)
            } else {
                Err(Unusable::NoTime)
            };
        }
        match &self.header {
            // The time is the first column of all releases, so the first column of another header is
            // something else.
            _ if self.is_untimed => return Err(Unusable::NoTime),
            None if row.len() < MIN_COLUMNS => return Err(Unusable::OtherLayout),
            // An empty column at the end is a comma after the last value.
            Some(header) if row.iter().skip(header.len()).any(|text| !text.is_empty()) => {
                return Err(Unusable::LongRow);
            }
            _ => {}
        }
        self.poll(&row, flows, batch)?;
        Ok(LineUse::Used)
    }

    fn poll(&self, row: &[&str], flows: &mut Flows, batch: &mut Batch) -> Result<(), Unusable> {
        // Time and endpoints come first in all releases, under varying names.
        let column = |name, place: usize| {
            let text = row.get(place - 1).ok_or(Unusable::Missing(name))?;
            Ok(Field::new(name, text))
        };
        let at = column("Timestamp", 1)?.time()?;
        let end = |name, place| {
            let address: IpAddr = column(name, place)?.address()?;
            let port = column(name, place + 1)?.number()?;
            Ok(SocketAddr::new(address.to_canonical(), port))
        };
        let ends = (end("LocalAddress", 3)?, end("RemAddress", 5)?);
        // The window is the one variable that each row must have; releases differ in the others.
        let cwnd_bytes: u64 = self
            .find("CurCwnd", row)?
            .ok_or(Unusable::Missing("CurCwnd"))?
            .number()?;
        let number = |name| self.find(name, row)?.map(Field::number::<u64>).transpose();
        let smss = number("CurMSS")?.and_then(|smss| u32::try_from(smss).ok());
        let ssthresh = number("CurSsthresh")?.filter(|bytes| *bytes < INFINITE_SSTHRESH);
        let millis = |name| {
            let span = self.find(name, row)?.map(Field::millis).transpose()?;
            Ok(span.filter(|span| *span > TimeDelta::ZERO))
        };
        let (srtt, rto) = (millis("SmoothedRTT")?, millis("CurRTO")?);
        let seq = |name| self.find(name, row)?.map(Field::seq).transpose();
        let numbers: Option<(SeqNum, SeqNum)> = seq("SndUna")?.zip(seq(SND_NXT)?);
        let smss = smss.filter(|smss| *smss > 0);
        let segments = |bytes: u64| u32::try_from(bytes / u64::from(smss?)).ok();

        let stream = flows.sender(ends, None, batch);
        let placed = numbers.map(|(una, nxt)| stream.place(una, nxt));
        batch.samples.push(SenderSample {
            snd_una: placed.map(|(una, _)| una),
            snd_nxt: placed.map(|(_, nxt)| nxt),
            smss_bytes: smss,
            flight_size_bytes: placed.and_then(|(una, nxt)| u64::try_from(nxt.since(una)).ok()),
            cwnd_segments: segments(cwnd_bytes),
            cwnd_bytes: Some(cwnd_bytes),
            ssthresh_segments: ssthresh.and_then(segments),
            srtt,
            rto,
            ..blank(stream, at)
        });
        Ok(())
    }

    /// A variable by its name in the header, or by its column without a header.
    fn find<'a>(&self, name: &'static str, row: &[&'a str]) -> Result<Option<Field<'a>>, Unusable> {
        let place = match &self.header {
            Some(header) => header
                .iter()
                .position(|known| known.eq_ignore_ascii_case(name)),
            // Index 108 is column 109, as `COLUMNS` counts from 1.
            None if name == SND_NXT => Some(108),
            None => COLUMNS
                .into_iter()
                .find(|(known, _)| *known == name)
                .map(|(_, place)| place - 1),
        };
        let Some(place) = place else { return Ok(None) };
        let text = row.get(place).ok_or(Unusable::Missing(name))?;
        Ok(Some(Field::new(name, text)))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::import::log::{lines, rows_of};
    use crate::import::{Error, Format, import};

    #[test]
    fn rows_below_a_header_without_a_time_are_refused() {
        let log = "
            CID,Timestamp,LocalAddress,LocalPort,RemAddress,RemPort,CurCwnd,CurMSS
            7,1400000000.25,10.0.0.1,4,10.0.0.2,5,14480,1448
        ";
        let refused = import(
            Format::Web10g,
            lines(log).as_bytes(),
            |_| Ok::<_, Error>(()),
        );
        assert_eq!(
            refused.unwrap_err().to_string(),
            "none of 2 lines can be used; line 1: a header without a column for the time"
        );
    }

    #[test]
    fn header_names_the_columns() {
        assert_snapshot!(rows_of(Format::Web10g, "
            Timestamp,CID,LocalAddress,LocalPort,RemAddress,RemPort,CurCwnd,CurMSS,SmoothedRTT,CurSsthresh,SndNxt,SndUna
            1400000000.25,7,10.0.0.1,4,10.0.0.2,5,14480,1448,41,4294967295,3000,1000
            1400000000.35,7,10.0.0.1,4,10.0.0.2,5,28960,1448,0,14480,4000,3000
            1400000000.45,7,10.0.0.1,4,10.0.0.2,5,14480
            1400000000,45,7,10.0.0.1,4,10.0.0.2,5,14480,1448,41,14480,4000,3000
        "), @r"
        flow 0: 10.0.0.1:4 to 10.0.0.2:5
        1400000000250000000 0 forward: una 1000 nxt 3000 smss 1448 flight 2000 cwnd 10 cwnd_bytes 14480 srtt 41.000 ms
        1400000000350000000 0 forward: una 3000 nxt 4000 smss 1448 flight 1000 cwnd 20 cwnd_bytes 28960 ssthresh 10
        1 line: CurMSS is missing
        1 line: a row with more columns than the header names
        ");
    }

    #[test]
    fn columns_without_a_header_are_those_of_the_first_release() {
        let mut row = vec!["0".to_owned(); 122];
        for (place, value) in [
            (1, "1400000000.25"),
            (3, "10.0.0.1"),
            (4, "4"),
            (5, "10.0.0.2"),
            (6, "5"),
            (20, "1448"),
            (23, "41"),
            (24, "241"),
            (26, "14480"),
            (27, "7240"),
            (108, "4294967290"),
            (109, "10"),
        ] {
            row[place - 1] = value.to_owned();
        }
        let log = format!("{}\n{}\n", row.join(","), row[..121].join(","));
        assert_snapshot!(rows_of(Format::Web10g, &log), @r"
        flow 0: 10.0.0.1:4 to 10.0.0.2:5
        1400000000250000000 0 forward: una 4294967290 nxt 10 smss 1448 flight 16 cwnd 10 cwnd_bytes 14480 ssthresh 5 srtt 41.000 ms rto 241.000 ms
        1 line: not a line of this format
        ");
    }
}
