//! Why the owner of a flow is unknown, in words.

use crate::link::job::Reason;

/// Why a flow belongs to no connection of NCCL. Follows `flows without an NCCL rank:`.
#[must_use]
pub const fn none(reason: Reason) -> &'static str {
    match reason {
        Reason::Datagrams => "datagrams, which NCCL does not send",
        Reason::NotNccl => {
            "messages do not look like NCCL's, and no captured set-up names the queue pair"
        }
        Reason::NoClearToSend => {
            "WRITEs with immediate, as NCCL sends them, but no clear-to-send requested any"
        }
        Reason::NoData => "short WRITEs that could be clear-to-sends, but no data followed",
        Reason::Bootstrap => {
            "a bootstrap over NET/IB (NCCL_OOB_NET_ENABLE), whose check-ins were not captured"
        }
    }
}

/// Why the communicator has no name.
pub const NO_BOOTSTRAP: &str = "its communicator's bootstrap was not captured";

/// Why one of the two ranks is unknown.
pub const NO_RANK: &str = "clear-to-sends name only the sender, and a host may have several ranks";

/// Why the channel is unknown.
pub const NO_CHANNEL: &str = "NCCL sends channel numbers only while it sets up connections";
