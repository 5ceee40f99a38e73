//! Ids of traces and spans. Every host computes the same ones, so the parts of one collective join without
//! a central authority.
//!
//! The digest of a collective is SHA-256 of the text `railscope collective 1`, the communicator's id,
//! the collective's number on it and the start of the numbering, each followed by a line end. Bytes 0 to 15
//! are the trace id, bytes 16 to 23 the id of the collective's span. The span of rank R has bytes 0 to
//! 7 of SHA-256 of the digest, followed by R as four bytes, the highest first.
//!
//! Numbers that start with the communicator (`init`) are the same on all hosts. If its start was not
//! captured, they start with the capture: then the origin's date is hashed too, so that unrelated
//! collectives are not joined.

use sha2::{Digest, Sha256};

use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;

/// Ids of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceIds([u8; 32]);

/// Randomness that OpenTelemetry's samplers look at: the last 56 bits of the trace id.
const RANDOM_BITS: u32 = 56;

impl TraceIds {
    /// The ids of a collective of `report`.
    #[must_use]
    pub fn of_collective(report: &Report, collective: &CollectiveReport) -> Self {
        let CollectiveReport { communicator, sequence, sequence_origin, .. } = collective;
        let origin = match *sequence_origin {
            "init" => "init".to_owned(),
            other => format!("{other} {}", report.capture.origin_ns.as_nanos()),
        };
        Self::new(communicator, *sequence, &origin)
    }

    fn new(communicator: &str, sequence: u64, origin: &str) -> Self {
        let text = format!("railscope collective 1\n{communicator}\n{sequence}\n{origin}\n");
        Self(Sha256::digest(text).into())
    }

    /// The 16 bytes of the trace id.
    #[must_use]
    pub fn trace(&self) -> [u8; 16] {
        first(&self.0)
    }

    /// The span of the whole collective.
    #[must_use]
    pub fn collective(&self) -> [u8; 8] {
        first(self.0.get(16..).unwrap_or_default())
    }

    /// The span of a rank.
    #[must_use]
    pub fn rank(&self, rank: u32) -> [u8; 8] {
        let digest = Sha256::new().chain_update(self.0).chain_update(rank.to_be_bytes()).finalize();
        first(&digest)
    }

    /// Whether the trace is sampled at this ratio, the same on every host: its randomness is compared with a
    /// threshold, as in OpenTelemetry's consistent probability sampling.
    #[must_use]
    pub fn is_sampled(&self, ratio: f64) -> bool {
        let randomness = self.trace().iter().fold(0_u128, |all, byte| all << 8 | u128::from(*byte));
        randomness & ((1 << RANDOM_BITS) - 1) >= u128::from(threshold(ratio))
    }
}

/// The threshold: traces with less randomness, of 56 bits, are not sampled.
fn threshold(ratio: f64) -> u64 {
    ((1.0 - ratio.clamp(0.0, 1.0)) * (1_u64 << RANDOM_BITS) as f64) as u64
}

/// The trace state with the sampling threshold: `ot=th:` and its hexadecimal digits without trailing
/// zeros.
#[must_use]
pub fn trace_state(ratio: f64) -> String {
    let digits = format!("{:014x}", threshold(ratio));
    let digits = digits.trim_end_matches('0');
    format!("ot=th:{}", if digits.is_empty() { "0" } else { digits })
}

/// The first bytes of `digest`.
fn first<const N: usize>(digest: &[u8]) -> [u8; N] {
    digest.first_chunk().copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_documentation() {
        let ids = TraceIds::new("9f2c4e6d8a1b3c5d", 41, "init");
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        // printf 'railscope collective 1\n9f2c4e6d8a1b3c5d\n41\ninit\n' | sha256sum
        assert_eq!(hex(&ids.trace()), "087ce681ebcf03dd0cd6da43e040e870");
        assert_eq!(hex(&ids.collective()), "867327f0dafcfb6a");
        assert_ne!(ids.rank(0), ids.rank(1));
        assert_ne!(ids, TraceIds::new("9f2c4e6d8a1b3c5d", 41, "capture 1700000000000000000"));
    }

    #[test]
    fn a_share_of_traces_is_kept_and_a_larger_one_keeps_them_too() {
        let all = || (0..4000).map(|sequence| TraceIds::new("c", sequence, "init"));
        let kept = |ratio| all().filter(|ids| ids.is_sampled(ratio)).count();
        assert_eq!((kept(0.0), kept(1.0)), (0, 4000));
        assert!((900..1100).contains(&kept(0.25)), "{}", kept(0.25));
        assert!(all().all(|ids| !ids.is_sampled(0.25) || ids.is_sampled(0.5)));
    }

    #[test]
    fn the_threshold_is_said() {
        assert_eq!(trace_state(1.0), "ot=th:0");
        assert_eq!(trace_state(0.5), "ot=th:8");
        assert_eq!(trace_state(0.25), "ot=th:c");
        assert_eq!(trace_state(0.125), "ot=th:e");
    }
}
