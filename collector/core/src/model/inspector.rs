//! Records of NCCL Inspector.

/// One collective, as one rank measured it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Hash of the communicator, as printed: `0x7f8c496ae9f661`.
    pub communicator: String,
    /// The rank that measured.
    pub rank: u32,
    /// Ranks of the communicator.
    pub nranks: u32,
    /// The rank's host.
    pub host: Option<String>,
    /// `AllReduce`.
    pub operation: String,
    /// Its number on the communicator.
    pub sequence: u64,
    /// Bytes, as Inspector counts them.
    pub bytes: u64,
    /// How long it took, in nanoseconds.
    pub time_ns: u64,
    /// Bus bandwidth, bytes per second.
    pub bus_bandwidth: u64,
    /// The time is the GPU's, not the host's; `None` in records before format v4.
    pub is_timed_on_gpu: Option<bool>,
}
