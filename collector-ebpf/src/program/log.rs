//! Losses: counted, and logged if user space enables it (`railscope agent --log-kernel-programs`).

use aya_ebpf::helpers::bpf_get_smp_processor_id;
use aya_log_ebpf::warn;
use railscope_ebpf::loss::Loss;

use super::maps::{self, LOSSES};

/// Counts a loss, and logs the 1st, 2nd, 4th, 8th and so on of each kind
/// and CPU: a full table does not fill the log. A separate function, so that a program grows by one
/// call only, and each message is in the object once.
#[inline(never)]
pub(super) fn lost(loss: Loss) {
    let Some(counter) = LOSSES.get_ptr_mut(loss as u32) else { return };
    // SAFETY: this CPU's own counter.
    let so_far = unsafe {
        *counter += 1;
        *counter
    };
    if !maps::are_losses_logged() || so_far & so_far.wrapping_sub(1) != 0 {
        return;
    }
    // SAFETY: a helper without arguments.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    match loss {
        Loss::Event => warn!((), "ring of packets full: {} lost on CPU {}", so_far, cpu),
        Loss::Flow => {
            warn!((), "flow table full: {} packets without a flow on CPU {}", so_far, cpu)
        }
        Loss::Payload => warn!((), "payload of a segment cut: {} on CPU {}", so_far, cpu),
        Loss::Header => warn!((), "headers not readable: {} packets on CPU {}", so_far, cpu),
        Loss::Call => warn!((), "ring of calls full: {} lost on CPU {}", so_far, cpu),
        Loss::Connection => {
            warn!((), "ring of TCP connections full: {} changes lost on CPU {}", so_far, cpu);
        }
        Loss::Return => warn!((), "table of calls full: {} returns lost on CPU {}", so_far, cpu),
        Loss::Memory => warn!((), "memory of a caller not readable: {} on CPU {}", so_far, cpu),
        Loss::Stream => {
            warn!((), "TCP table full: {} packets without a connection on CPU {}", so_far, cpu);
        }
        // As many as a user likes to cause; and no loss, and common.
        Loss::Share | Loss::Unused => {}
    }
}
