//! One collective, as a rank requests it, and the size of its buffers.

use super::{DataType, Kind, Operator};

/// One collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// Element type.
    pub data_type: DataType,
    /// Reduction, if the collective reduces.
    pub operator: Operator,
    /// The root of a Broadcast; otherwise unused.
    pub root: u32,
    /// Elements as NCCL's API counts them: of the whole buffer (AllReduce, Broadcast), of a rank's
    /// input (AllGather) or output (ReduceScatter).
    pub count: usize,
}

impl Operation {
    /// The count of a collective of `bytes` as nccl-tests counts them: the buffer, or all inputs
    /// (AllGather) or outputs (ReduceScatter), with a rank's part rounded down to 16 bytes.
    ///
    /// Source: nccl-tests, `src/all_gather.cu` and `src/reduce_scatter.cu`.
    #[must_use]
    pub const fn count_of(kind: Kind, data_type: DataType, bytes: usize, ranks: u32) -> usize {
        let count = bytes / data_type.bytes();
        match kind {
            Kind::AllReduce | Kind::Broadcast => count,
            Kind::AllGather | Kind::ReduceScatter => {
                let part = count / ranks as usize;
                part - part % (16 / data_type.bytes())
            }
        }
    }

    /// Bytes of `count` elements.
    #[must_use]
    pub const fn part_bytes(&self) -> usize {
        self.count * self.data_type.bytes()
    }

    /// Bytes of a rank's input.
    #[must_use]
    pub const fn input_bytes(&self, ranks: u32) -> usize {
        match self.kind {
            Kind::AllReduce | Kind::Broadcast | Kind::AllGather => self.part_bytes(),
            Kind::ReduceScatter => self.part_bytes() * ranks as usize,
        }
    }

    /// Bytes of a rank's output.
    #[must_use]
    pub const fn output_bytes(&self, ranks: u32) -> usize {
        match self.kind {
            Kind::AllReduce | Kind::Broadcast | Kind::ReduceScatter => self.part_bytes(),
            Kind::AllGather => self.part_bytes() * ranks as usize,
        }
    }

    /// Bytes that bus bandwidth is computed from: the larger of input and output.
    #[must_use]
    pub const fn total_bytes(&self, ranks: u32) -> usize {
        match self.kind {
            Kind::AllReduce | Kind::Broadcast => self.part_bytes(),
            Kind::AllGather | Kind::ReduceScatter => self.part_bytes() * ranks as usize,
        }
    }

    /// Element size for cutting the collective. NCCL moves bytes where it does not reduce:
    /// AllGather and Broadcast are collectives of `ncclInt8`.
    ///
    /// Source: NCCL 2.21.5 `src/include/info.h` (`ncclInfoSetDerived`), 2.27.7 `src/enqueue.cc`
    /// (`taskAppend`).
    #[must_use]
    pub const fn unit_bytes(&self) -> usize {
        match self.kind {
            Kind::AllReduce | Kind::ReduceScatter => self.data_type.bytes(),
            Kind::AllGather | Kind::Broadcast => 1,
        }
    }
}
