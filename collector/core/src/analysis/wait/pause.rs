//! When the senders of connections were paused, and when their receivers paused the switch: by pause
//! frames that a tap of the port's own link saw, else by the counters of its NIC.
//!
//! Pause frames are in a tap's own time, to the microsecond. Counters are sampled, and some NICs count a
//! pause when it is over: an increase is spread evenly between two samples, or over its own length
//! before the second one, whichever is longer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;

use super::trouble::merged;
use crate::analysis::state::State;
use crate::decode::counter::measure::Measure;
use crate::flow::pause::PauseKey;
use crate::flow::state::Flow;
use crate::link::counter::Counters;
use crate::link::counter::series::Series;
use crate::link::job::{Job, NetConnectionId, Ownership, Role};
use crate::model::address::{HostAddress, MacAddress};
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// Data that follows the end of a pause within this time had waited for it.
const PROMPT_NS: u64 = 10_000;

/// Pauses at both ends of all connections.
#[derive(Clone, Debug, Default)]
pub struct Pauses<'a> {
    /// When the sender was paused.
    senders: BTreeMap<NetConnectionId, PortPauses<'a>>,
    /// When the receiver paused its switch.
    receivers: BTreeMap<NetConnectionId, PortPauses<'a>>,
}

/// Pauses at one port, of the priority of the connection's data.
#[derive(Clone, Debug, Default)]
pub struct PortPauses<'a> {
    /// From pause frames: disjoint, in order; `None` if no tap of its link saw any.
    seen: Option<Vec<Span>>,
    /// From counters; `None` without any.
    counted: Option<Rc<Counted<'a>>>,
}

/// Pauses of one priority of a port, from counters.
#[derive(Clone, Debug)]
struct Counted<'a> {
    series: Vec<&'a Series>,
    /// By their ends.
    rises: Vec<Rise>,
}

/// An increase of a counter.
#[derive(Clone, Copy, Debug)]
struct Rise {
    /// When the port was paused.
    span: Span,
    /// For how long in it.
    paused_ns: u64,
    /// When this one or a later one begins.
    earliest: Timestamp,
}

impl<'a> Pauses<'a> {
    /// The pauses at the ends of the connections of `job`.
    #[must_use]
    pub fn new(job: &Job, state: &'a State) -> Self {
        let [received, sent] = seen(state);
        let received = (&received, Measure::PauseReceivedTime);
        let sent = (&sent, Measure::PauseSentTime);
        let mut pauses = Self::default();
        let mut counted = BTreeMap::new();
        for (flow, owner) in state.tracker.flows().flows().iter().zip(&job.owners) {
            let Ownership::Connection { connection, role: Role::Data } = *owner else { continue };
            let Some(priority) = priority(flow) else { continue };
            let ends = [
                (&mut pauses.senders, flow.key.source, received),
                (&mut pauses.receivers, flow.key.destination, sent),
            ];
            for (of_end, port, (seen, measure)) in ends {
                let known = of_end.entry(connection).or_default();
                let spans = [Some(priority), None].map(|of| seen.get(&(port, of)));
                for spans in spans.into_iter().flatten() {
                    known.seen.get_or_insert_default().extend(spans);
                }
                let of_port = counted.entry((port, priority, measure)).or_insert_with(|| {
                    let port = port.to_ip();
                    Counted::new(&state.counters, port, priority, measure).map(Rc::new)
                });
                known.counted.clone_from(of_port);
            }
        }
        for of_end in [&mut pauses.senders, &mut pauses.receivers] {
            for one in of_end.values_mut() {
                one.seen = one.seen.take().map(merged);
            }
            of_end.retain(|_, one| one.seen.is_some() || one.counted.is_some());
        }
        pauses
    }

    /// Those of the sender of `connection`; `None` if nothing could show them.
    #[must_use]
    pub fn of_sender(&self, connection: NetConnectionId) -> Option<&PortPauses<'a>> {
        self.senders.get(&connection)
    }

    /// When the receiver of `connection` paused its switch; `None` if nothing could show it.
    #[must_use]
    pub fn by_receiver(&self, connection: NetConnectionId) -> Option<&PortPauses<'a>> {
        self.receivers.get(&connection)
    }
}

impl PortPauses<'_> {
    /// Nanoseconds of pause between `first` and `last`; `None` if unknown.
    #[must_use]
    pub fn within(&self, first: Timestamp, last: Timestamp) -> Option<u64> {
        if let Some(spans) = &self.seen {
            let from = spans.partition_point(|span| span.last <= first);
            let inside = spans.iter().skip(from).take_while(|span| span.first < last);
            return Some(
                inside.map(|span| span.last.min(last).nanos_since(span.first.max(first))).sum(),
            );
        }
        self.counted.as_ref()?.within(Span { first, last })
    }

    /// The pause that the first data at `time` waited for, if it had a buffer from `room` on. Counters
    /// do not show when a pause ended.
    #[must_use]
    pub fn before(&self, room: Timestamp, time: Timestamp) -> u64 {
        let Some(spans) = &self.seen else { return 0 };
        let over = spans.partition_point(|span| span.first < time);
        let last = over.checked_sub(1).and_then(|at| spans.get(at));
        let waited = last.filter(|span| time.nanos_since(span.last) <= PROMPT_NS);
        waited.map_or(0, |span| span.last.min(time).nanos_since(span.first.max(room)))
    }

    /// Whether it rests on frames, not on counters.
    #[must_use]
    pub const fn is_seen(&self) -> bool {
        self.seen.is_some()
    }
}

impl<'a> Counted<'a> {
    /// From the counters of a port of the time in which `priority` was paused; `None` without any.
    fn new(counters: &'a Counters, port: IpAddr, priority: u8, measure: Measure) -> Option<Self> {
        let nics = counters.of_port(port);
        let times = nics.flat_map(|nic| nic.of_measure(measure));
        let of_priority =
            times.filter(|(reading, _)| reading.priority.is_none_or(|of| of == priority));
        let (mut series, mut rises) = (Vec::new(), Vec::new());
        for (reading, one) in of_priority {
            series.push(one);
            for (span, rise) in one.rises().filter(|(_, rise)| *rise > 0) {
                let paused_ns = rise.saturating_mul(reading.scale);
                let back = i64::try_from(paused_ns).unwrap_or(i64::MAX);
                let first = span.last.plus(-back).min(span.first);
                let span = Span { first, ..span };
                rises.push(Rise { span, paused_ns, earliest: first });
            }
        }
        rises.sort_by_key(|rise| rise.span.last);
        let mut earliest = Timestamp::MAX;
        for rise in rises.iter_mut().rev() {
            earliest = earliest.min(rise.span.first);
            rise.earliest = earliest;
        }
        (!series.is_empty()).then_some(Self { series, rises })
    }

    /// Nanoseconds of `span` in which it was paused; `None` if no samples cover it.
    fn within(&self, span: Span) -> Option<u64> {
        self.series.iter().find_map(|series| series.delta(span))?;
        let from = self.rises.partition_point(|rise| rise.span.last <= span.first);
        let inside = self.rises.iter().skip(from).take_while(|rise| rise.earliest < span.last);
        let share = |rise: &Rise| {
            let common = span.last.min(rise.span.last).nanos_since(span.first.max(rise.span.first));
            let part = u128::from(rise.paused_ns) * u128::from(common);
            (part / u128::from(rise.span.length_ns().max(1))) as u64
        };
        let paused_ns = inside.map(share).fold(0, u64::saturating_add);
        Some(paused_ns.min(span.length_ns()))
    }
}

/// The priority of a flow's packets where NICs and switches trust the DSCP: eight DSCPs each.
fn priority(flow: &Flow) -> Option<u8> {
    let tally = flow.headers.dscp();
    let most = tally.iter().max_by_key(|(_, packets)| *packets)?;
    Some(most.0.value() >> 3)
}

/// Pauses of ports and priorities; `None`: of the whole link.
type Seen = BTreeMap<(HostAddress, Option<u8>), Vec<Span>>;

/// The pauses that a tap of a port's own link saw: those that the other end sent, and those that the port
/// sent.
fn seen(state: &State) -> [Seen; 2] {
    let mut seen = [Seen::new(), Seen::new()];
    let macs = macs(state);
    for (PauseKey { tap, station, priority }, pauses) in state.tracker.pauses().iter() {
        let Some(position) = state.positions.get(tap.0 as usize) else { continue };
        let Some(spans) = pauses.pauses() else { continue };
        for port in position.near.keys() {
            let is_own = macs.contains(&(*tap, *port, *station));
            let aligned = |span: &Span| Span {
                first: state.clocks.aligned(*tap, span.first),
                last: state.clocks.aligned(*tap, span.last),
            };
            let spans = spans.iter().map(aligned);
            seen[usize::from(is_own)].entry((*port, *priority)).or_default().extend(spans);
        }
    }
    seen
}

/// The MAC addresses that each port sends from, at each tap.
fn macs(state: &State) -> BTreeSet<(TapId, HostAddress, MacAddress)> {
    let ports = state.tracker.ports().ports().iter();
    ports.filter_map(|port| Some((port.tap, port.address, port.mac?))).collect()
}
