//! What the messages of a training step add up to, on connections and on ports.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use foldhash::fast::FixedState;

use super::Iteration;
use super::thresholds::{LONGEST_MESSAGE_NS, PEAK_WINDOW_NS};
use crate::analysis::collective::Collective;
use crate::link::job::{CommunicatorId, Job, NetConnection, NetConnectionId, Transfer};
use crate::model::direction::Direction;

/// The sums over all messages of one training step.
#[derive(Debug)]
pub(super) struct Totals {
    /// Bytes on the wire; `None` if those of a message are unknown.
    pub(super) bytes: Option<u64>,
    /// Data packets, resends not counted.
    pub(super) packets: u64,
    /// Of these, packets with a CE mark.
    pub(super) ce_packets: u64,
    /// Connections with messages.
    pub(super) connections: BTreeSet<NetConnectionId>,
    /// Their communicators.
    pub(super) communicators: BTreeSet<CommunicatorId>,
    /// Addresses from which and to which messages went.
    pub(super) ports: BTreeSet<IpAddr>,
    windows: Windows,
}

/// Bytes that each port sent or received in each window of time.
type Windows = HashMap<(IpAddr, Direction, u64), f64, FixedState>;

/// Bytes of one queue pair in one window. Messages of a connection follow each other, so several are added up
/// before they are looked up in the table.
#[derive(Clone, Copy)]
struct Share {
    queue_pair: u8,
    window: u64,
    bytes: f64,
}

impl Totals {
    /// Of a training step.
    pub(super) fn new(job: &Job, collectives: &[Collective], iteration: &Iteration) -> Self {
        let mut totals = Self {
            bytes: Some(0),
            packets: 0,
            ce_packets: 0,
            connections: BTreeSet::new(),
            communicators: BTreeSet::new(),
            ports: BTreeSet::new(),
            windows: Windows::default(),
        };
        let own = iteration.collectives.iter().filter_map(|at| collectives.get(*at));
        for part in own.flat_map(|one| &one.transfers) {
            let Some(connection) = job.connection(part.connection) else { continue };
            let transfers = connection.transfers.get(part.places.clone()).unwrap_or_default();
            if !transfers.is_empty() {
                totals.connections.insert(part.connection);
                totals.communicators.insert(connection.communicator);
                totals.add(connection, transfers);
            }
        }
        totals
    }

    fn add(&mut self, connection: &NetConnection, transfers: &[Transfer]) {
        let mut queue_pairs = BTreeSet::new();
        let mut open: Option<Share> = None;
        for transfer in transfers {
            self.bytes = self.bytes.zip(transfer.bytes).map(|(sum, bytes)| sum + bytes);
            self.packets += u64::from(transfer.packets);
            self.ce_packets += u64::from(transfer.ce_packets);
            queue_pairs.insert(transfer.queue_pair);
            for share in shares(transfer) {
                match &mut open {
                    Some(known)
                        if (known.queue_pair, known.window) == (share.queue_pair, share.window) =>
                    {
                        known.bytes += share.bytes;
                    }
                    _ => self.put(connection, open.replace(share)),
                }
            }
        }
        self.put(connection, open);
        let pairs =
            queue_pairs.iter().filter_map(|at| connection.queue_pairs.get(usize::from(*at)));
        self.ports.extend(pairs.flat_map(|pair| [pair.sender, pair.receiver]));
    }

    fn put(&mut self, connection: &NetConnection, share: Option<Share>) {
        let Some(Share { queue_pair, window, bytes }) = share else { return };
        let Some(pair) = connection.queue_pairs.get(usize::from(queue_pair)) else { return };
        *self.windows.entry((pair.sender, Direction::Sent, window)).or_insert(0.0) += bytes;
        *self.windows.entry((pair.receiver, Direction::Received, window)).or_insert(0.0) += bytes;
    }

    /// The highest rate of a port in one direction, in bits per second.
    pub(super) fn peak_bps(&self) -> Option<u64> {
        let most = self.windows.values().copied().max_by(f64::total_cmp)?;
        Some((most * 8.0 * 1e9 / PEAK_WINDOW_NS as f64).round() as u64)
    }
}

/// The bytes of a message by window, spread evenly from its first packet to its last.
fn shares(transfer: &Transfer) -> impl Iterator<Item = Share> {
    let times = transfer.first_time().zip(transfer.last_time());
    // Clocks of two taps may differ.
    let times = times.map(|(first, last)| (first.as_nanos(), last.max(first).as_nanos()));
    let known = times.zip(transfer.bytes);
    let known = known.filter(|((first, last), _)| last - first <= LONGEST_MESSAGE_NS);
    let queue_pair = transfer.queue_pair;
    known.into_iter().flat_map(move |((first, last), bytes)| {
        let per_nano = bytes as f64 / (last - first + 1) as f64;
        (first / PEAK_WINDOW_NS..=last / PEAK_WINDOW_NS).map(move |window| {
            let from = first.max(window * PEAK_WINDOW_NS);
            let to = last.min(window * PEAK_WINDOW_NS + (PEAK_WINDOW_NS - 1));
            Share { queue_pair, window, bytes: per_nano * (to - from + 1) as f64 }
        })
    })
}
