//! The buffers of one rank in one collective.

use super::{Kind, Operation};

/// Where a rank's input and output are.
#[derive(Debug)]
pub enum Buffers<'a> {
    /// Separate buffers.
    OutOfPlace {
        /// The rank's input.
        input: &'a [u8],
        /// The rank's output.
        output: &'a mut [u8],
    },
    /// One buffer, the larger of the two. The rank's own part is its input (AllGather) or its
    /// output (ReduceScatter).
    InPlace(&'a mut [u8]),
}

/// Buffers whose input and output offsets are known.
#[derive(Debug)]
pub(super) struct Memory<'a> {
    buffers: Buffers<'a>,
    /// Offset of the input when in place.
    input: usize,
    output: usize,
}

impl<'a> Memory<'a> {
    /// What is wrong with the sizes, if anything.
    pub(super) fn new(
        buffers: Buffers<'a>,
        operation: &Operation,
        rank: u32,
        ranks: u32,
    ) -> Result<Self, String> {
        let own = operation.part_bytes() * rank as usize;
        let (input, output) = match (&buffers, operation.kind) {
            (Buffers::InPlace(_), Kind::AllGather) => (own, 0),
            (Buffers::InPlace(_), Kind::ReduceScatter) => (0, own),
            _ => (0, 0),
        };
        let (given, taken) = (operation.input_bytes(ranks), operation.output_bytes(ranks));
        let fits = match &buffers {
            Buffers::OutOfPlace { input, output } => input.len() == given && output.len() == taken,
            Buffers::InPlace(both) => both.len() == operation.total_bytes(ranks),
        };
        if !fits {
            let name = operation.kind.name();
            return Err(format!("{name}: buffers must hold {given} bytes in and {taken} out"));
        }
        Ok(Self { buffers, input, output })
    }

    pub(super) fn input(&self, offset: usize, bytes: usize) -> &[u8] {
        match &self.buffers {
            Buffers::OutOfPlace { input, .. } => &input[offset..offset + bytes],
            Buffers::InPlace(both) => &both[self.input + offset..self.input + offset + bytes],
        }
    }

    /// Copies the input to the output, for a rank without peers.
    pub(super) fn copy_all(&mut self, bytes: usize) {
        if let Buffers::OutOfPlace { input, output } = &mut self.buffers {
            output[..bytes].copy_from_slice(&input[..bytes]);
        }
    }

    pub(super) fn output(&mut self, offset: usize, bytes: usize) -> &mut [u8] {
        match &mut self.buffers {
            Buffers::OutOfPlace { output, .. } => &mut output[offset..offset + bytes],
            Buffers::InPlace(both) => &mut both[self.output + offset..self.output + offset + bytes],
        }
    }
}
