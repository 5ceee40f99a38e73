//! Records of the ring that the kernel's programs write, as events.

use railscope_ebpf::call::CallEvent;
use railscope_ebpf::connection::ConnectionEvent;

use super::record::Reading;
use super::{ProbeEvent, connection, record};
use crate::ingest::ebpf::clock::Clock;
use railscope_core::model::health::event::HealthEvent;

/// Reads records in the order of the ring.
#[derive(Debug)]
pub struct Records {
    calls: record::Reader,
    connections: connection::Reader,
    clock: Clock,
}

impl Default for Records {
    fn default() -> Self {
        let (calls, connections) = Default::default();
        Self { calls, connections, clock: Clock::new() }
    }
}

impl Records {
    /// Notes whether the clock was set meanwhile.
    pub(super) fn look_at_clock(&mut self) {
        self.clock.look();
    }

    /// Reads a record, aligned to 8 bytes, whose kind follows from its length; `None` for a duplicate.
    pub fn read(&mut self, bytes: &[u8]) -> Option<ProbeEvent> {
        let unknown = || ProbeEvent::Missed { event: HealthEvent::CallsUnknownRecords, count: 1 };
        if let Ok(event) = bytemuck::try_from_bytes::<CallEvent>(bytes) {
            return match self.calls.read(event, &self.clock) {
                Reading::Call(call) => Some(ProbeEvent::Call(call)),
                Reading::Again => None,
                Reading::Unknown => Some(unknown()),
            };
        }
        let Ok(event) = bytemuck::try_from_bytes::<ConnectionEvent>(bytes) else {
            return Some(unknown());
        };
        self.connections.read(event, &self.clock).map(ProbeEvent::Connection)
    }
}
