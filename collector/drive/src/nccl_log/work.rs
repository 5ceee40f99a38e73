//! Collectives: the call, and how it is executed (`src/enqueue.cc`).

use super::{CommFacts, Log};
use crate::collective::{DataType, Kind, Operator};
use crate::release::Release;

/// One call of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Number of the call on its communicator, from 0.
    pub sequence: u64,
    /// The function.
    pub kind: Kind,
    /// Bytes as nccl-tests counts them: the buffer; all ranks' parts for AllGather and
    /// ReduceScatter.
    pub bytes: u64,
    /// Element type.
    pub data_type: DataType,
    /// Reduction, for kinds that reduce.
    pub operator: Operator,
    /// Root of a Broadcast; otherwise 0.
    pub root: u32,
    /// Addresses of the send and receive buffers.
    pub buffers: [u64; 2],
}

impl Log {
    /// A rank calls a collective.
    pub fn call(&mut self, work: &Work, facts: &CommFacts) {
        let Work { sequence, kind, data_type, root, buffers: [from, to], .. } = *work;
        let CommFacts { comm, ranks, .. } = *facts;
        let parts = match kind {
            Kind::AllReduce | Kind::Broadcast => 1,
            Kind::AllGather | Kind::ReduceScatter => u64::from(ranks),
        };
        let count = work.bytes / parts / data_type.bytes() as u64;
        let operator = match kind {
            Kind::AllReduce | Kind::ReduceScatter => work.operator.code(),
            Kind::AllGather | Kind::Broadcast => 0,
        };
        self.info(format_args!(
            "{name}: opCount {sequence:x} sendbuff 0x{from:x} recvbuff 0x{to:x} count {count} \
             datatype {data_type} op {operator} root {root} comm 0x{comm:x} [nranks={ranks}] \
             stream 0x{stream:x}",
            name = kind.name(),
            data_type = data_type.code(),
            stream = comm >> 8,
        ));
    }

    /// Logs how it is executed: ring, Simple, on all channels. Only rank 0 does.
    pub fn choice(&mut self, work: &Work, facts: &CommFacts) {
        if facts.rank != 0 {
            return;
        }
        let (name, bytes) = (work.kind.name(), work.bytes);
        match self.release {
            Release::V2_21_5 => {
                let time = estimate_us(bytes);
                self.info(format_args!("{bytes} Bytes -> Algo 1 proto 2 time {time:.6}"));
            }
            Release::V2_27_7 => {
                let last = facts.channels.saturating_sub(1);
                self.info(format_args!(
                    "{name}: {bytes} Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..{last}}}"
                ));
            }
        }
    }
}

/// The estimate of NCCL's model for a ring of 0.8 GB/s.
fn estimate_us(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a number to be read, of a model")]
    let bytes = bytes as f64;
    151.76 + bytes / 800.0
}
