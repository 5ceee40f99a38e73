//! The buffer of a switch: one pool for all ports, and headroom for each lossless ingress port and
//! priority.

use crate::simulate::network::id::PRIORITIES;
use crate::simulate::network::plan::Pfc;

/// Bytes stored of one ingress port and priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stored {
    /// In the shared pool.
    shared_bytes: u64,
    /// In the headroom of a lossless priority, which is used after XOFF.
    headroom_bytes: u64,
}

/// Admission and pause thresholds.
#[derive(Debug)]
pub(in crate::simulate::network) struct Buffer {
    capacity_bytes: u64,
    shared_bytes: u64,
    stored: Vec<[Stored; PRIORITIES]>,
    pfc: [Option<Pfc>; PRIORITIES],
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::simulate::network) struct Admission {
    /// Whether it fits.
    pub(in crate::simulate::network) stored: bool,
    /// Whether its sender must pause.
    pub(in crate::simulate::network) pause: bool,
}

impl Buffer {
    pub(in crate::simulate::network) fn new(
        capacity_bytes: u64,
        ports: usize,
        pfc: [Option<Pfc>; PRIORITIES],
    ) -> Self {
        let stored = vec![[Stored::default(); PRIORITIES]; ports];
        Self { capacity_bytes, shared_bytes: 0, stored, pfc }
    }

    /// Stores a packet if it fits: in the pool up to XOFF; beyond, or if the pool is full, in the
    /// headroom.
    pub(in crate::simulate::network) fn admit(
        &mut self,
        port: usize,
        priority: u8,
        bytes: u64,
    ) -> Admission {
        let place = usize::from(priority & 7);
        let stored = &mut self.stored[port][place];
        let fits = self.shared_bytes + bytes <= self.capacity_bytes;
        let Some(pfc) = self.pfc[place] else {
            if fits {
                stored.shared_bytes += bytes;
                self.shared_bytes += bytes;
            }
            return Admission { stored: fits, pause: false };
        };
        if fits && stored.shared_bytes + bytes <= pfc.xoff_bytes {
            stored.shared_bytes += bytes;
            self.shared_bytes += bytes;
            return Admission { stored: true, pause: false };
        }
        let fits = stored.headroom_bytes + bytes <= pfc.headroom_bytes;
        if fits {
            stored.headroom_bytes += bytes;
        }
        // Only stored bytes can end a pause when they leave.
        let pause = stored.shared_bytes + stored.headroom_bytes > 0;
        Admission { stored: fits, pause }
    }

    /// A packet has left; returns whether its sender may resume.
    pub(in crate::simulate::network) fn release(
        &mut self,
        port: usize,
        priority: u8,
        bytes: u64,
    ) -> bool {
        let place = usize::from(priority & 7);
        let stored = &mut self.stored[port][place];
        let from_headroom = bytes.min(stored.headroom_bytes);
        stored.headroom_bytes -= from_headroom;
        stored.shared_bytes -= bytes - from_headroom;
        self.shared_bytes -= bytes - from_headroom;
        self.pfc[place]
            .is_some_and(|pfc| stored.headroom_bytes == 0 && stored.shared_bytes <= pfc.xon_bytes)
    }

    /// Bytes stored of one ingress port and priority.
    pub(in crate::simulate::network) fn stored_bytes(&self, port: usize, priority: u8) -> u64 {
        let stored = &self.stored[port][usize::from(priority & 7)];
        stored.shared_bytes + stored.headroom_bytes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::{Buffer, Pfc};

    const XOFF: u64 = 4000;
    const XON: u64 = 2000;
    const HEADROOM: u64 = 3000;
    const CAPACITY: u64 = 10_000;

    proptest! {
        /// Packets in any order: pauses only above XOFF or with a full pool, never more stored than
        /// fits, and an empty buffer in the end.
        #[test]
        fn pauses_only_above_xoff(
            moves in prop::collection::vec((0_usize..3, 0_u8..2, 1_u64..1500, any::<bool>()), 1..300)
        ) {
            let mut pfc = [None; 8];
            pfc[1] = Some(Pfc { xoff_bytes: XOFF, xon_bytes: XON, headroom_bytes: HEADROOM });
            let mut buffer = Buffer::new(CAPACITY, 3, pfc);
            let mut inside: VecDeque<(usize, u8, u64)> = VecDeque::new();
            for (port, priority, bytes, leaves) in moves {
                if leaves && let Some((port, priority, bytes)) = inside.pop_front() {
                    let before = buffer.stored_bytes(port, priority);
                    let may_go_on = buffer.release(port, priority, bytes);
                    let after = buffer.stored_bytes(port, priority);
                    prop_assert_eq!(after, before - bytes);
                    prop_assert_eq!(may_go_on && after > XON, false);
                }
                let stored = buffer.stored_bytes(port, priority);
                let shared = buffer.shared_bytes;
                let admission = buffer.admit(port, priority, bytes);
                if admission.stored {
                    inside.push_back((port, priority, bytes));
                }
                if admission.pause {
                    prop_assert_eq!(priority, 1);
                    prop_assert!(stored + bytes > XOFF || shared + bytes > CAPACITY);
                }
                if !admission.stored && priority == 0 {
                    prop_assert!(shared + bytes > CAPACITY);
                } else if !admission.stored {
                    prop_assert!(stored + bytes > HEADROOM);
                }
                prop_assert!(buffer.shared_bytes <= CAPACITY);
            }
            for (port, priority, bytes) in inside {
                buffer.release(port, priority, bytes);
            }
            prop_assert_eq!(buffer.shared_bytes, 0);
            prop_assert!((0..3).all(|port| (0..8).all(|p| buffer.stored_bytes(port, p) == 0)));
        }
    }
}
