//! The memory that a rank's collectives use: fresh inputs, and the check of results.

use std::ops::Range;

use crate::collective::buffers::Buffers;
use crate::collective::fill::Inputs;
use crate::collective::{Kind, Operation};
use crate::job::{Seat, Shape, Workload};
use crate::report::Placement;
use crate::workload::Call;

/// Fills fresh output; no result looks like it.
const NO_RESULT: u8 = 0xff;

/// The memory of all rows of the table.
pub(super) struct Memory<'a> {
    workload: &'a Workload,
    rank: u32,
    ranks: u32,
    slots: Vec<Slot>,
}

/// The memory of one row. In place, both are `output`.
#[derive(Default)]
struct Slot {
    input: Vec<u8>,
    output: Vec<u8>,
}

impl<'a> Memory<'a> {
    pub(super) fn new(workload: &'a Workload, seat: &Seat) -> Self {
        Self { workload, rank: seat.rank, ranks: seat.ranks, slots: Vec::new() }
    }

    /// `call` as an NCCL operation.
    pub(super) fn operation(&self, call: &Call) -> Operation {
        let Workload { kind, data_type, operator, root, .. } = *self.workload;
        let bytes = usize::try_from(call.bytes).unwrap_or(usize::MAX);
        let count = Operation::count_of(kind, data_type, bytes, self.ranks);
        Operation { kind, data_type, operator, root, count }
    }

    /// Prepares the memory of a call.
    pub(super) fn fill(&mut self, call: &Call) {
        let inputs = self.inputs(call);
        let operation = inputs.operation;
        if self.slots.len() <= call.row {
            // Rows of a sweep run one after the other and share the memory of one row.
            if matches!(self.workload.shape, Shape::Sweep { .. }) {
                self.slots.fill_with(Slot::default);
            }
            self.slots.resize_with(call.row + 1, Slot::default);
        }
        let given = operation.input_bytes(self.ranks);
        let slot = &mut self.slots[call.row];
        slot.output.clear();
        match call.placement {
            Placement::OutOfPlace => {
                slot.input.resize(given, 0);
                inputs.fill(self.rank, &mut slot.input);
                slot.output.resize(operation.output_bytes(self.ranks), NO_RESULT);
            }
            Placement::InPlace => {
                slot.input = Vec::new();
                slot.output.resize(operation.total_bytes(self.ranks), NO_RESULT);
                let own = own_part(operation.kind == Kind::AllGather, given, self.rank);
                inputs.fill(self.rank, &mut slot.output[own]);
            }
        }
    }

    /// Input and output of `call`; the same buffer if it is in place.
    pub(super) fn buffers(&mut self, call: &Call) -> Buffers<'_> {
        let slot = &mut self.slots[call.row];
        match call.placement {
            Placement::OutOfPlace => {
                Buffers::OutOfPlace { input: &slot.input, output: &mut slot.output }
            }
            Placement::InPlace => Buffers::InPlace(&mut slot.output),
        }
    }

    /// Number of wrong elements in a call's result.
    pub(super) fn wrong(&self, call: &Call) -> u64 {
        let inputs = self.inputs(call);
        let operation = inputs.operation;
        let taken = operation.output_bytes(self.ranks);
        let own = match call.placement {
            Placement::OutOfPlace => 0..taken,
            Placement::InPlace => own_part(operation.kind == Kind::ReduceScatter, taken, self.rank),
        };
        inputs.wrong(self.rank, &self.slots[call.row].output[own])
    }

    fn inputs(&self, call: &Call) -> Inputs {
        let (operation, ranks) = (self.operation(call), self.ranks);
        Inputs { operation, ranks, sequence: call.row as u64 }
    }
}

/// Where a rank's `bytes` are in a buffer that ranks may share.
fn own_part(is_shared_out: bool, bytes: usize, rank: u32) -> Range<usize> {
    let start = if is_shared_out { bytes * rank as usize } else { 0 };
    start..start + bytes
}
