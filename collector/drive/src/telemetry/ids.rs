//! Ids of a collective's trace and spans, by the rule in `docs/opentelemetry.md`.

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use sha2::{Digest, Sha256};

/// Ids of one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallIds {
    trace: TraceId,
    collective: SpanId,
}

impl CallIds {
    /// Ids of collective `sequence`, counted from the start of the communicator.
    pub(super) fn new(communicator: &str, sequence: u64) -> Self {
        let lines = ["railscope collective 1", communicator, &sequence.to_string(), "init"];
        let mut hash = Sha256::new();
        for line in lines {
            hash.update(line);
            hash.update("\n");
        }
        let digest = hash.finalize();
        let (mut trace, mut collective) = ([0; 16], [0; 8]);
        trace.copy_from_slice(&digest[..16]);
        collective.copy_from_slice(&digest[16..24]);
        Self { trace: TraceId::from_bytes(trace), collective: SpanId::from_bytes(collective) }
    }

    /// The span of the whole collective, which railscope sends: the parent of all ranks' spans.
    pub(super) fn parent(self) -> SpanContext {
        let Self { trace, collective } = self;
        SpanContext::new(trace, collective, TraceFlags::SAMPLED, true, TraceState::default())
    }
}

#[cfg(test)]
mod tests {
    use super::CallIds;

    /// `printf 'railscope collective 1\n9f2c4e6d8a1b3c5d\n41\ninit\n' | sha256sum`
    #[test]
    fn ids_are_those_of_the_page() {
        let parent = CallIds::new("9f2c4e6d8a1b3c5d", 41).parent();
        assert_eq!(parent.trace_id().to_string(), "087ce681ebcf03dd0cd6da43e040e870");
        assert_eq!(parent.span_id().to_string(), "867327f0dafcfb6a");
    }
}
