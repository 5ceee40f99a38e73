//! Whether the fabric sprays packets: each packet takes another way, and NICs place them out of order.

use crate::analysis::queue_pair::{LATE_A_RESEND, QueuePair};

/// Of the packets of all data, this share comes late at least: single overtakings are no design.
const LEAST_LATE: f64 = 0.01;

/// Whether most data comes out of order, and hardly any NIC asks for it again.
#[must_use]
pub fn are_sprayed(flows: &[QueuePair]) -> bool {
    let data = || flows.iter().filter(|flow| flow.has_requests && flow.is_data());
    let sum = |of: fn(&QueuePair) -> u64| data().map(of).sum::<u64>();
    let (late, frames) = (sum(|flow| flow.late), sum(|flow| flow.frames));
    let disturbed = data().filter(|flow| flow.late > 0).count();
    late as f64 > LEAST_LATE * frames as f64
        && 2 * disturbed >= data().count()
        && LATE_A_RESEND * (sum(|flow| flow.resent) + sum(|flow| flow.naks.psn_sequence_error))
            <= late
}
