//! How often each opcode was seen on a flow.

use serde::{Deserialize, Serialize};

use crate::model::opcode::Opcode;

/// Operations of its transport that a flow counts in place: NCCL's WRITEs have six.
const PLACES: usize = 6;

/// Counts by opcode. A flow has one transport and few operations, which have small counters in place; full
/// counters and other opcodes go to a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpcodeCounts {
    /// In order of first sight; those not used yet count nothing.
    own: [Counted; PLACES],
    others: Option<Box<Others>>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Counted {
    opcode: u8,
    count: u32,
}

/// Further opcodes and full counters: few flows have any.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Others(Vec<(Opcode, u64)>);

impl Default for OpcodeCounts {
    fn default() -> Self {
        Self { own: [Counted::default(); PLACES], others: None }
    }
}

impl OpcodeCounts {
    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, opcode: Opcode) {
        self.add_many(opcode, 1);
    }

    /// Counts packets of one opcode.
    #[inline]
    pub fn add_many(&mut self, opcode: Opcode, packets: u32) {
        for own in &mut self.own {
            let is_own = own.opcode == opcode.0 || own.count == 0;
            if is_own && let Some(sum) = own.count.checked_add(packets) {
                *own = Counted { opcode: opcode.0, count: sum };
                return;
            }
        }
        self.add_other(opcode, packets);
    }

    /// The opcodes seen, with counts, ascending.
    #[must_use]
    pub fn to_vec(&self) -> Vec<(Opcode, u64)> {
        let own = self.own.iter().filter(|own| own.count > 0);
        let own = own.map(|own| (Opcode(own.opcode), u64::from(own.count)));
        let mut all: Vec<_> =
            own.chain(self.others.iter().flat_map(|others| others.0.iter().copied())).collect();
        all.sort_unstable_by_key(|(opcode, _)| *opcode);
        all.dedup_by(|(opcode, count), (first, sum)| {
            let is_same = opcode == first;
            *sum += if is_same { *count } else { 0 };
            is_same
        });
        all
    }

    #[cold]
    fn add_other(&mut self, opcode: Opcode, packets: u32) {
        let packets = u64::from(packets);
        let Others(others) = &mut **self.others.get_or_insert_default();
        match others.iter_mut().find(|(known, _)| *known == opcode) {
            Some((_, count)) => *count += packets,
            None => others.push((opcode, packets)),
        }
    }
}
