//! The pairs of SPP 0.4.2 from two captures.

use std::net::Ipv4Addr;

use tcpexp_pair::compat::{FieldMask, Options, Pair, Spp};
use tcpexp_pair::spp::{Clocks, Point};
use tcpexp_wire::{LinkType, Tunnels, ip_bytes};

use crate::alignment::align;
use crate::view::View;
use crate::{Error, Recording};

/// Computes the pairs that SPP 0.4.2 prints for two captures with the fields of `mask`.
///
/// `hosts` are the two addresses to compare, the one on the source side first. Without `hosts`, the
/// function takes the two hosts that exchange the most packets.
pub fn spp_pairs(
    src: &Recording,
    dst: &Recording,
    mask: FieldMask,
    hosts: Option<[Ipv4Addr; 2]>,
) -> Result<impl Iterator<Item = Pair>, Error> {
    let hosts = if let Some(hosts) = hosts {
        hosts
    } else {
        let [from, to] = [src, dst].map(|capture| View::whole(capture, Tunnels::Closed));
        let alignment = align(from, to, Clocks::Separate)?;
        alignment.busiest_hosts.ok_or_else(|| Error::NoHosts {
            src: src.name().to_owned(),
            dst: dst.name().to_owned(),
        })?
    };
    let mut spp = Spp::new(Options {
        mask,
        ..Options::between(hosts[0], hosts[1])
    });
    for (point, recording) in [(Point::Src, src), (Point::Dst, dst)] {
        let mut observed = 0_u64;
        // SPP reads records in file order, so they come without the sorting of a walk.
        recording.each_record(|record| {
            if let (Ok(at), Ok(ip)) = (
                record.at,
                ip_bytes(LinkType(record.link_type), record.captured),
            ) {
                observed += u64::from(spp.observe(point, at, ip));
            }
        })?;
        if observed == 0 {
            return Err(Error::Nothing {
                path: recording.name().to_owned(),
                why: format!("no IPv4 packet between {} and {}", hosts[0], hosts[1]),
            });
        }
    }
    Ok(spp.pairs())
}
