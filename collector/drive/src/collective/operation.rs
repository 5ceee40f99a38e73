//! One collective, as a rank asks for it, and how large its buffers are.

use super::{DataType, Kind, Operator};

/// One collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// To numbers of this type.
    pub data_type: DataType,
    /// Reduced this way, where anything is reduced.
    pub operator: Operator,
    /// The root of a Broadcast; of no meaning elsewhere.
    pub root: u32,
    /// Elements as NCCL's API counts them: of the whole buffer (AllReduce, Broadcast), of what a
    /// rank gives (AllGather) or gets (ReduceScatter).
    pub count: usize,
}

impl Operation {
    /// The count of a collective of `bytes` as nccl-tests counts them: the buffer, or what all
    /// ranks give (AllGather) or get (ReduceScatter); then a rank's part is rounded down to
    /// 16 bytes.
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

    /// Bytes that a rank gives.
    #[must_use]
    pub const fn input_bytes(&self, ranks: u32) -> usize {
        match self.kind {
            Kind::AllReduce | Kind::Broadcast | Kind::AllGather => self.part_bytes(),
            Kind::ReduceScatter => self.part_bytes() * ranks as usize,
        }
    }

    /// Bytes that a rank gets.
    #[must_use]
    pub const fn output_bytes(&self, ranks: u32) -> usize {
        match self.kind {
            Kind::AllReduce | Kind::Broadcast | Kind::ReduceScatter => self.part_bytes(),
            Kind::AllGather => self.part_bytes() * ranks as usize,
        }
    }

    /// Bytes of the buffer that bus bandwidth is counted by: the larger of the two.
    #[must_use]
    pub const fn total_bytes(&self, ranks: u32) -> usize {
        match self.kind {
            Kind::AllReduce | Kind::Broadcast => self.part_bytes(),
            Kind::AllGather | Kind::ReduceScatter => self.part_bytes() * ranks as usize,
        }
    }

    /// Bytes of an element as NCCL cuts this collective. What is only moved is moved as bytes:
    /// NCCL makes AllGather and Broadcast collectives of `ncclInt8`.
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
