//! What packets prove about the path MTU that each end of a queue pair uses.
//!
//! Every packet of a message but the last one is as large as its sender's path MTU. A READ takes a PSN
//! for each packet of its answer, and its sender counts them by its own path MTU, before any answer. So
//! a new request within the PSNs of an answered READ shows that its sender counted too few.

use serde::{Deserialize, Serialize};

use super::requester::Requester;
use super::sighting::Sighting;
use super::state::Flow;
use crate::decode::roce::packet::RocePacket;
use crate::model::opcode::Operation;
use crate::model::psn::Psn;

/// The path MTUs in bytes (IBTA volume 1, section 5.2).
pub const PATH_MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];

/// Sizes of the packets of a flow that are not the last of their message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullPackets {
    smallest: u32,
    largest: u32,
}

/// A READ whose answer had more packets than its sender counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MiscountedRead {
    /// Bytes read.
    pub bytes: u32,
    /// Packets of the answer.
    pub packets: u32,
    /// Bytes of a full packet of the answer.
    pub packet_bytes: u32,
    /// Packets that the sender of the READ counted.
    pub counted: u32,
    /// The smallest path MTU by which it counted.
    pub counted_by: u32,
    /// The request that took one of the READ's PSNs.
    pub overlap: Sighting,
}

/// The READs of a flow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Reads {
    latest: Read,
    first_miscounted: Option<MiscountedRead>,
}

/// The latest READ request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Read {
    psn: Psn,
    address: u64,
    bytes: u32,
    /// How many PSNs it took was unknown when it was seen, and still is.
    is_open: bool,
    /// Bytes of a full packet of its answer; 0 if none was seen.
    packet_bytes: u32,
    /// The last packet of its answer was seen.
    is_answered: bool,
}

impl FullPackets {
    /// A packet that is not the last of its message carried `payload_len` bytes.
    pub(super) fn add(&mut self, payload_len: u32) {
        self.largest = self.largest.max(payload_len);
        self.smallest =
            if self.smallest == 0 { payload_len } else { self.smallest.min(payload_len) };
    }

    /// The path MTU of the sender; `None` if no full packet was seen, or sizes that are no path MTU.
    #[must_use]
    pub fn path_mtu(self) -> Option<u32> {
        let is_one = self.smallest == self.largest && PATH_MTUS.contains(&self.largest);
        is_one.then_some(self.largest)
    }
}

impl Read {
    /// Packets of its answer, by the size of those seen.
    fn packets(&self) -> Option<u32> {
        (self.packet_bytes > 0).then(|| self.bytes.div_ceil(self.packet_bytes))
    }

    /// What a request shows that begins within the PSNs of the answer.
    fn miscounted(&self, roce: &RocePacket<'_>, sighting: Sighting) -> Option<MiscountedRead> {
        let packets = self.packets().filter(|_| self.is_answered)?;
        let counted = u32::try_from(roce.bth.psn.distance_from(self.psn)).ok()?;
        if counted == 0 || counted >= packets || self.is_rest(roce, counted) {
            return None;
        }
        let mut larger = PATH_MTUS.into_iter().filter(|mtu| *mtu > self.packet_bytes);
        let counted_by = larger.find(|mtu| self.bytes.div_ceil(*mtu) == counted)?;
        let Self { bytes, packet_bytes, .. } = *self;
        let overlap = sighting;
        Some(MiscountedRead { bytes, packets, packet_bytes, counted, counted_by, overlap })
    }

    /// Whether `roce` asks for the rest of it again: what came after `packets` packets was lost on the
    /// way behind the tap.
    fn is_rest(&self, roce: &RocePacket<'_>, packets: u32) -> bool {
        let is_read = roce.bth.opcode.operation() == Some(Operation::RdmaReadRequest);
        let had = u64::from(packets) * u64::from(self.packet_bytes);
        is_read
            && roce.reth.is_some_and(|reth| reth.virtual_address == self.address.wrapping_add(had))
    }
}

impl Flow {
    /// The READ request `roce` was seen; `is_open`: how many PSNs it takes is unknown.
    pub(super) fn note_read(&mut self, roce: &RocePacket<'_>, is_open: bool) {
        let Some(reth) = roce.reth else { return };
        let latest = Read {
            psn: roce.bth.psn,
            address: reth.virtual_address,
            bytes: reth.dma_len,
            is_open,
            packet_bytes: 0,
            is_answered: false,
        };
        let reads = &mut self.requester_mut().reads;
        match reads {
            Some(reads) => reads.latest = latest,
            None => *reads = Some(Box::new(Reads { latest, first_miscounted: None })),
        }
    }

    /// A full packet of the answer to a READ of this flow: if how many PSNs the latest one took is
    /// unknown, it shows that.
    pub(super) fn note_read_answer(&mut self, answer: &RocePacket<'_>) {
        let Requester { messages, reads, requests, .. } = self.requester_mut();
        let is_first = messages.path_mtu().is_none() && answer.payload_len > 0;
        if is_first {
            messages.learn_path_mtu(answer.payload_len);
        }
        let Some(reads) = reads else { return };
        let latest = &mut reads.latest;
        latest.packet_bytes = answer.payload_len;
        if is_first && latest.is_open {
            latest.is_open = false;
            let packets = latest.bytes.div_ceil(answer.payload_len);
            let psn = latest.psn;
            requests.extend_read(psn, packets);
        }
    }

    /// The last packet of the answer to a READ of this flow.
    pub(super) fn note_read_end(&mut self, psn: Psn) {
        let requester = self.requester.as_deref_mut();
        let Some(reads) = requester.and_then(|one| one.reads.as_mut()) else { return };
        let latest = &mut reads.latest;
        let last = latest.packets().map(|packets| latest.psn.plus(packets.saturating_sub(1)));
        latest.is_answered |= last == Some(psn);
    }

    /// Whether how many PSNs the latest READ took is unknown.
    pub(super) fn has_open_read(&self) -> bool {
        self.requester().reads.as_ref().is_some_and(|reads| reads.latest.is_open)
    }

    /// If the request `roce` begins within the PSNs of an answered READ, its sender counted fewer
    /// packets than were sent: the request is new, and the next in order.
    pub(super) fn settle_read(&mut self, roce: &RocePacket<'_>, sighting: Sighting) {
        let Requester { requests, reads, acknowledged, .. } = self.requester_mut();
        let Some(reads) = reads else { return };
        let Some(miscounted) = reads.latest.miscounted(roce, sighting) else { return };
        let end = reads.latest.psn.plus(miscounted.packets - 1);
        // Later requests were seen: this one is sent again.
        if requests.high() != Some(end) {
            return;
        }
        reads.first_miscounted.get_or_insert(miscounted);
        requests.end_read_before(roce.bth.psn);
        let before = requests.unwrap(roce.bth.psn) - 1;
        *acknowledged = acknowledged.map(|acknowledged| acknowledged.min(before));
    }

    /// The first READ whose sender counted fewer packets than its answer had.
    #[must_use]
    pub fn miscounted_read(&self) -> Option<&MiscountedRead> {
        self.requester().reads.as_ref()?.first_miscounted.as_ref()
    }
}
