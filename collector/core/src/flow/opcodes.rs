//! How often each opcode was seen on a flow.

use serde::{Deserialize, Serialize};

use crate::model::opcode::Opcode;

/// Counts by opcode. A flow has one transport, whose 32 operations have small counters; full
/// counters and other opcodes go to a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpcodeCounts {
    /// The transport (top three bits) of `own`.
    transport: u8,
    own: [u32; 32],
    others: Vec<(Opcode, u64)>,
}

impl OpcodeCounts {
    /// Counters of a flow whose first packet has `first`. A CNP belongs to a reliable connection.
    #[must_use]
    pub const fn new(first: Opcode) -> Self {
        let transport = if first.0 == Opcode::CNP.0 { 0 } else { first.0 >> 5 };
        Self { transport, own: [0; 32], others: Vec::new() }
    }

    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, opcode: Opcode) {
        let own = &mut self.own[usize::from(opcode.0 & 0x1f)];
        if opcode.0 >> 5 == self.transport && *own < u32::MAX {
            *own += 1;
        } else {
            self.add_other(opcode);
        }
    }

    /// Counts packets of one opcode.
    pub fn add_many(&mut self, opcode: Opcode, packets: u32) {
        let own = &mut self.own[usize::from(opcode.0 & 0x1f)];
        if let (true, Some(sum)) = (opcode.0 >> 5 == self.transport, own.checked_add(packets)) {
            *own = sum;
        } else {
            (0..packets).for_each(|_| self.add_other(opcode));
        }
    }

    /// The opcodes seen, with counts, ascending.
    #[must_use]
    pub fn to_vec(&self) -> Vec<(Opcode, u64)> {
        let own = (0u8..32).zip(self.own).filter(|(_, count)| *count > 0);
        let own = own
            .map(|(operation, count)| (Opcode(self.transport << 5 | operation), u64::from(count)));
        let mut all: Vec<_> = own.chain(self.others.iter().copied()).collect();
        all.sort_unstable_by_key(|(opcode, _)| *opcode);
        all.dedup_by(|(opcode, count), (first, sum)| {
            let is_same = opcode == first;
            *sum += if is_same { *count } else { 0 };
            is_same
        });
        all
    }

    #[cold]
    fn add_other(&mut self, opcode: Opcode) {
        match self.others.iter_mut().find(|(known, _)| *known == opcode) {
            Some((_, count)) => *count += 1,
            None => self.others.push((opcode, 1)),
        }
    }
}
