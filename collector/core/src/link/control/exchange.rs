//! NET/IB's exchange of queue pairs: the sender of data connects, both ends describe their queue
//! pairs, the sender confirms.
//!
//! It has no length field: the totals of both directions determine the layout, if the content is
//! valid.

use super::ends::{Ends, Progress, Speaker};
use super::facts::{self, ControlFacts, EndpointQueuePair};
use crate::decode::nccl::ib_devices::device_count;
use crate::decode::nccl::ib_endpoint::{Endpoint, QUEUE_PAIRS, QueuePairEntry};
use crate::decode::nccl::layout::{LAYOUTS, Layout, ReleaseRange, narrow};
use crate::model::witness::Witness;

/// The sender's last bytes, a 1 in 4 bytes; up to 2.17 only when it sends its first message.
const READY: [u8; 4] = 1_u32.to_le_bytes();

/// More than either end sends in any known release, in bytes.
const LIMIT: usize = 8192;

/// Queue pairs of one end are created one after the other: up to 2.23, where undefined bytes follow
/// the last one, numbers further apart are not believed.
const NEIGHBOURHOOD: u32 = 4096;

/// NET/IB's exchange of queue pairs on one TCP connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange {
    sender: Vec<u8>,
    receiver: Vec<u8>,
    read: Option<Read>,
    witness: Option<Witness>,
}

/// The captured bytes.
#[derive(Clone, Debug)]
struct Read {
    sender: Option<facts::Endpoint>,
    receiver: Option<facts::Endpoint>,
    releases: ReleaseRange,
    is_ready: bool,
}

impl Exchange {
    pub(super) fn bytes(&mut self, from: Speaker, bytes: &[u8], witness: Witness) -> Progress {
        let said = match from {
            Speaker::Connector => &mut self.sender,
            Speaker::Listener => &mut self.receiver,
        };
        if said.len() + bytes.len() > LIMIT {
            return Progress::Oversized;
        }
        said.extend_from_slice(bytes);
        self.witness = Some(witness);
        if !self.sender.ends_with(&READY) || self.receiver.is_empty() {
            return Progress::More;
        }
        match self.read() {
            Some(read) if read.is_ready => {
                self.read = Some(read);
                (self.sender, self.receiver) = (Vec::new(), Vec::new());
                Progress::Done
            }
            _ => Progress::More,
        }
    }

    /// Bytes of one end are missing: its data is lost.
    pub(super) fn lose(&mut self, from: Speaker) {
        let said = match from {
            Speaker::Connector => &mut self.sender,
            Speaker::Listener => &mut self.receiver,
        };
        *said = Vec::new();
    }

    /// The connection has ended.
    pub(super) fn end(&mut self) {
        self.read = self.read.take().or_else(|| self.read());
        (self.sender, self.receiver) = (Vec::new(), Vec::new());
    }

    /// Whether something was understood.
    pub(super) const fn is_read(&self) -> bool {
        self.read.is_some()
    }

    /// Parses the bytes so far; `None` if no layout fits.
    fn read(&self) -> Option<Read> {
        if self.sender.is_empty() && self.receiver.is_empty() {
            return None;
        }
        let [sender, receiver] = [&self.sender[..], &self.receiver[..]];
        let bare = sender.strip_suffix(&READY);
        let fits = |layout: &Layout| {
            let is_sender = sender.is_empty()
                || endpoint(sender, layout).is_some()
                || bare.is_some_and(|bare| endpoint(bare, layout).is_some());
            is_sender && (receiver.is_empty() || endpoint(receiver, layout).is_some())
        };
        let layouts = narrow(&LAYOUTS, fits);
        let layout = layouts.first()?;
        let with_ready = bare.and_then(|bare| endpoint(bare, layout));
        let sender = with_ready.or_else(|| endpoint(sender, layout));
        let receiver = endpoint(receiver, layout);
        let count = [sender, receiver].iter().flatten().map(queue_pair_count).min()?;
        Some(Read {
            sender: sender.map(|endpoint| fact(&endpoint, count)),
            receiver: receiver.map(|endpoint| fact(&endpoint, count)),
            releases: ReleaseRange::covering(layouts)?,
            is_ready: with_ready.is_some(),
        })
    }

    pub(super) fn push_fact(&self, ends: &Ends, facts: &mut ControlFacts) {
        let read = self.read.clone().or_else(|| self.read());
        if let (Some(read), Some(witness)) = (read, self.witness) {
            facts.exchanges.push(facts::Exchange {
                connector: ends.connector,
                listener: ends.listener,
                sender: read.sender,
                receiver: read.receiver,
                releases: read.releases,
                witness,
            });
        }
    }

    /// Bytes of memory.
    pub(super) fn kept(&self) -> usize {
        let ends = self.read.iter().flat_map(|read| [&read.sender, &read.receiver]).flatten();
        let read: usize = ends
            .map(|end| {
                end.queue_pairs.capacity() * size_of::<EndpointQueuePair>() + end.device_name.len()
            })
            .sum();
        self.sender.capacity() + self.receiver.capacity() + read
    }
}

/// One end's complete data: in newer releases a list of ports, then the queue pairs.
fn endpoint<'a>(said: &'a [u8], layout: &Layout) -> Option<Endpoint<'a>> {
    let rest = match layout.devices {
        Some(devices) => {
            let (list, rest) = said.split_at_checked(devices.len)?;
            device_count(list, devices)?;
            rest
        }
        None => said,
    };
    Endpoint::decode(rest, layout.endpoint)
}

/// Number of plausible queue pairs from the first on.
fn queue_pair_count(endpoint: &Endpoint<'_>) -> usize {
    let devices = endpoint.device_count as usize;
    let follows = |before: QueuePairEntry, entry: QueuePairEntry| {
        let distance = entry.qpn.value().checked_sub(before.qpn.value());
        distance.is_some_and(|distance| (1..NEIGHBOURHOOD).contains(&distance))
    };
    let may_be = |place: usize| {
        let Some(entry) = endpoint.queue_pair(place) else { return false };
        let before = place.checked_sub(devices).and_then(|place| endpoint.queue_pair(place));
        entry.device as usize == place % devices
            && (endpoint.is_zeroed() || before.is_none_or(|before| follows(before, entry)))
    };
    (0..QUEUE_PAIRS).take_while(|place| may_be(*place)).count()
}

fn fact(endpoint: &Endpoint<'_>, queue_pairs: usize) -> facts::Endpoint {
    let ports: Vec<_> =
        (0..endpoint.device_count).filter_map(|device| endpoint.port(device)).collect();
    let queue_pairs = (0..queue_pairs).filter_map(|place| endpoint.queue_pair(place));
    facts::Endpoint {
        queue_pairs: queue_pairs
            .map(|entry| EndpointQueuePair {
                qpn: entry.qpn,
                address: ports.get(entry.device as usize).and_then(|port| port.address),
            })
            .collect(),
        device_name: endpoint.device_name.to_owned(),
        fifo_address: endpoint.fifo_address,
        fifo_keys: ports.iter().map(|port| port.fifo_key).collect(),
        mtu: ports.first().map(|port| port.mtu),
        traffic_class: endpoint.traffic_class,
    }
}
