//! Bandwidths of a collective, as nccl-tests computes them.

use super::Collective;
use crate::model::nccl::CollectiveKind;

impl Collective {
    /// Algorithm bandwidth in bytes per second: bytes by duration.
    #[must_use]
    pub fn algorithm_bandwidth(&self) -> Option<u64> {
        let per_second = u128::from(self.bytes?) * 1_000_000_000;
        per_second.checked_div(u128::from(self.duration_ns())).map(|rate| rate as u64)
    }

    /// Bus bandwidth in bytes per second over `nranks` ranks: what each link of a ring carries.
    #[must_use]
    pub fn bus_bandwidth(&self, nranks: u32) -> Option<u64> {
        use CollectiveKind as K;
        let rate = u128::from(self.algorithm_bandwidth()?);
        let nranks = u128::from(nranks);
        let others = nranks.checked_sub(1)?;
        let factor = match self.kind {
            K::AllReduce => 2 * others,
            K::AllGather | K::ReduceScatter | K::AllToAll => others,
            K::Broadcast | K::Reduce | K::SendRecv => nranks,
            K::Unknown => return None,
        };
        u64::try_from((rate * factor).checked_div(nranks)?).ok()
    }

    /// Nanoseconds from its first data packet to its last.
    #[must_use]
    pub const fn duration_ns(&self) -> u64 {
        self.span.last.nanos_since(self.span.first)
    }
}
