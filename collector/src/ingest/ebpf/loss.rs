//! The `health` counter of each loss in the kernel programs.

use railscope_ebpf::loss::Loss;

use railscope_core::model::health::event::HealthEvent;

/// The counter of a loss.
pub(super) const fn health_event(loss: Loss) -> HealthEvent {
    match loss {
        Loss::Event => HealthEvent::EbpfEventsLost,
        Loss::Flow => HealthEvent::EbpfFlowsRefused,
        Loss::Payload => HealthEvent::EbpfPayloadCut,
        Loss::Header => HealthEvent::EbpfHeadersUnread,
        Loss::Call => HealthEvent::CallsLost,
        Loss::Connection => HealthEvent::ConnectionsLost,
        Loss::Return => HealthEvent::CallsReturnsLost,
        Loss::Memory => HealthEvent::CallsMemoryUnread,
        Loss::Stream => HealthEvent::EbpfStreamsRefused,
        Loss::Share => HealthEvent::CallsRefused,
        Loss::Unused => HealthEvent::EbpfUnusedFrames,
    }
}
