//! State of TCP senders from one or two captures.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId, FlowShard, Protocol};
use tcpexp_measure::sender::{DataFates, Hindsight, SenderOptions, SenderRow, sender_state};
use tcpexp_measure::{Labelled, Position, SenderLabel};
use tcpexp_pair::spp::{Clocks, Point};

use crate::alignment::both;
use crate::fates::fates;
use crate::view::View;
use crate::{CaptureInfo, CwndOptions, Error, Recording};

/// A row of the sender reconstruction with its flow.
pub type LabelledSenderRow = Labelled<SenderRow, SenderLabel>;

/// Reconstructs the state of the senders of one or two captures.
///
/// Reads a single capture twice, and each of two captures four times, or five times if one of them
/// missed packets. With two captures, each sender is reconstructed from the capture taken at that
/// sender, or from the first capture if both or neither were. Flows keep their numbers from the first
/// capture; those that only the second one has are numbered after them. The loss of a sender's data is
/// known if the sender's capture is upstream for that data.
///
/// `sink` receives the rows of the first capture before those of the second, each in packet order.
/// The sink's error ends the measurement.
pub fn cwnd<E: From<Error> + Send>(
    src: &Recording,
    dst: Option<&Recording>,
    options: &CwndOptions,
    mut sink: impl FnMut(Vec<LabelledSenderRow>) -> Result<(), E> + Send,
) -> Result<Vec<CaptureInfo>, E> {
    let CwndOptions {
        reading,
        sender: options,
    } = options;
    let options = *options;
    let (src, dst) = match dst {
        Some(dst) => {
            let [src, dst] = both(src, dst, reading, Clocks::Separate)?;
            (src, Some(dst))
        }
        None => (View::of(src, reading)?, None),
    };
    let (src_survey, dst_survey) = rayon::join(|| survey(src), || dst.map(survey).transpose());
    let (mut at_src, src_info) = src_survey?;
    let mut surveyed_dst = dst_survey?;
    let mut partners = Partners::default();
    // The replay compares retransmissions with the fates, so the fates are learned first.
    if let (Some(dst), Some((at_dst, _))) = (dst, &mut surveyed_dst) {
        let [of_src, of_dst] = fates(src, dst)?;
        partners = Partner::all(&of_src, &of_dst);
        at_src.learn(of_src);
        at_dst.learn(of_dst);
    }
    let at_dst = surveyed_dst.as_ref().map(|(hindsight, _)| hindsight);
    let [mut from_src, mut from_dst] = choose(&at_src, at_dst, &partners);
    if let Some(shard) = reading.shard {
        retain_own(&mut from_src, shard);
        retain_own(&mut from_dst, shard);
    }
    at_src.retain(|flow, direction| from_src.contains_key(&(flow, direction)));
    if let Some((at_dst, _)) = &mut surveyed_dst {
        at_dst.retain(|flow, direction| from_dst.contains_key(&(flow, direction)));
    }
    let at_dst = surveyed_dst.as_ref().map(|(hindsight, _)| hindsight);
    replay(src, &at_src, options, &from_src, &mut sink)?;
    if let (Some(dst), Some(at_dst)) = (dst, at_dst)
        // If no sender comes from the second capture, its last pass is unnecessary.
        && !from_dst.is_empty()
    {
        replay(dst, at_dst, options, &from_dst, &mut sink)?;
    }
    let dst_info = surveyed_dst.map(|(_, info)| info);
    Ok([Some(src_info), dst_info].into_iter().flatten().collect())
}

fn survey(view: View<'_>) -> Result<(Hindsight, CaptureInfo), Error> {
    let mut walk = view.walk_once()?;
    let (mut hindsight, metered) = Hindsight::of(&mut walk);
    view.recording().require_second_pass(&walk)?;
    let coarse_tick = view.recording().coarse_tick()?;
    hindsight.set_coarse_tick(coarse_tick);
    let info = CaptureInfo {
        flows_shed: metered.flows_shed,
        flows_left_out: hindsight.flows_left_out(),
        missed: hindsight.missed(),
        coarse_tick,
        records_per_packet: view.records_per_packet()?,
        ..CaptureInfo::of(&walk)
    };
    info.require_packets(view.recording())?;
    Ok((hindsight, info))
}

/// The senders reconstructed from one capture. Maps the capture's flow number and direction to the
/// flow's label and direction in the output.
type Chosen = HashMap<(FlowId, Direction), (Arc<SenderLabel>, Direction), FixedState>;

/// A flow of one capture.
#[derive(Clone, Copy)]
struct Captured {
    flow: FlowId,
    ends: (SocketAddr, SocketAddr),
}

impl Captured {
    fn all(hindsight: &Hindsight) -> Vec<Self> {
        let flows = hindsight.flows();
        flows
            .map(|(flow, initiator, responder)| Self {
                flow,
                ends: (initiator, responder),
            })
            .collect()
    }

    /// The label of the flow with this number in the output; `captured` is its number in the capture.
    fn label(self, flow: FlowId, capture: Point, captured: FlowId) -> Arc<SenderLabel> {
        Arc::new(SenderLabel {
            flow,
            captured,
            protocol: Protocol::Tcp,
            ends: Some(self.ends),
            capture: Some(capture),
        })
    }
}

/// The flow of the first capture that a flow of the second one is.
#[derive(Clone, Copy)]
struct Partner {
    flow: FlowId,
    /// True if the captures take different ends for the initiator.
    is_turned: bool,
}

/// By the number of the flow in the second capture.
type Partners = HashMap<FlowId, Partner, FixedState>;

impl Partner {
    fn all(of_src: &DataFates, of_dst: &DataFates) -> Partners {
        let mut all = Partners::default();
        for (src, dst) in of_src.partners(of_dst) {
            all.entry(dst.flow).or_insert(Self {
                flow: src.flow,
                is_turned: src.forward_is != dst.forward_is,
            });
        }
        all
    }
}

/// Chooses the capture from which each sender is reconstructed.
fn choose(at_src: &Hindsight, at_dst: Option<&Hindsight>, partners: &Partners) -> [Chosen; 2] {
    let [mut from_src, mut from_dst] = [Chosen::default(), Chosen::default()];
    let flows = Captured::all(at_src);
    from_src.reserve(Direction::BOTH.len() * flows.len());
    for captured in &flows {
        let label = captured.label(captured.flow, Point::Src, captured.flow);
        for direction in Direction::BOTH {
            let key = (captured.flow, direction);
            from_src.insert(key, (Arc::clone(&label), direction));
        }
    }
    let Some(at_dst) = at_dst else {
        return [from_src, from_dst];
    };
    let mut next_new = flows.last().map_or(0, |last| last.flow.0 + 1);
    // A flow of the first capture has one partner, although the second one may have it in parts.
    let mut flows: HashMap<_, _, FixedState> = flows
        .into_iter()
        .map(|captured| (captured.flow, captured))
        .collect();
    for captured in Captured::all(at_dst) {
        let known = partners.get(&captured.flow);
        let is_turned = known.is_some_and(|partner| partner.is_turned);
        let partner = known.and_then(|partner| flows.remove(&partner.flow));
        let label = match partner {
            // All rows of a flow use the same roles.
            Some(partner) => partner.label(partner.flow, Point::Dst, captured.flow),
            None => captured.label(FlowId(next_new), Point::Dst, captured.flow),
        };
        next_new += u32::from(partner.is_none());
        for direction in Direction::BOTH {
            let labelled_direction = if is_turned && partner.is_some() {
                direction.opposite()
            } else {
                direction
            };
            if let Some(partner) = partner {
                let is_better = at_dst.position(captured.flow, direction) == Some(Position::Sender)
                    && at_src.position(partner.flow, labelled_direction) != Some(Position::Sender);
                // The second capture replaces the first where only the second was taken at the
                // sender, or where the first has no data of the sender.
                if !is_better && at_src.has_sender(partner.flow, labelled_direction) {
                    continue;
                }
                from_src.remove(&(partner.flow, labelled_direction));
            }
            let key = (captured.flow, direction);
            from_dst.insert(key, (Arc::clone(&label), labelled_direction));
        }
    }
    [from_src, from_dst]
}

/// Removes the senders of other parts.
fn retain_own(chosen: &mut Chosen, shard: FlowShard) {
    chosen.retain(|_, (label, _)| {
        label
            .ends
            .is_some_and(|(initiator, responder)| shard.holds(label.protocol, initiator, responder))
    });
}

fn replay<E: From<Error> + Send>(
    view: View<'_>,
    hindsight: &Hindsight,
    options: SenderOptions,
    chosen: &Chosen,
    sink: &mut (impl FnMut(Vec<LabelledSenderRow>) -> Result<(), E> + Send),
) -> Result<(), E> {
    let mut walk = view.walk_once()?;
    sender_state(&mut walk, hindsight, options, |rows| {
        // Nearly all rows are kept, and to move rows to more room takes time.
        let mut labelled = Vec::with_capacity(rows.len());
        labelled.extend(rows.into_iter().filter_map(|mut row| {
            let (flow, direction) = of(&mut row);
            let (label, labelled_direction) = chosen.get(&(*flow, *direction))?;
            (*flow, *direction) = (label.flow, *labelled_direction);
            Some(Labelled {
                flow: Arc::clone(label),
                row,
            })
        }));
        sink(labelled)
    })?;
    view.recording().require_whole_passes()?;
    Ok(())
}

/// Flow and direction of the row's sender.
fn of(row: &mut SenderRow) -> (&mut FlowId, &mut Direction) {
    match row {
        SenderRow::Sample(row) => (&mut row.flow, &mut row.direction),
        SenderRow::Recovery(row) => (&mut row.flow, &mut row.direction),
        SenderRow::Retransmission(row) => (&mut row.flow, &mut row.direction),
        SenderRow::Summary(row) => (&mut row.flow, &mut row.direction),
    }
}
