//! Completed messages, one by one: the second file of `--detail full`.
//!
//! They are written while frames are read, before clocks are aligned: their times are the
//! timestamps of their tap's file. `taps[].clock_*` of the report has the offsets.

use schemars::JsonSchema;
use serde::Serialize;

use crate::flow::message::MessageKind;
use crate::flow::tracker::MessageEvent;
use crate::model::time::Timestamp;

/// One completed message.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MessageReport {
    /// The tap that saw it.
    pub tap: u32,
    /// Source address.
    pub src: String,
    /// Destination address.
    pub dst: String,
    /// Destination QPN.
    pub dest_qpn: u32,
    /// The flow's epoch.
    pub epoch: u32,
    /// `send`, `write`, `write_with_immediate`, `read` or `atomic`.
    pub kind: String,
    /// Time of the first packet on its tap's own clock, relative to the origin; `null` if it was
    /// not seen.
    pub first_ns: Option<i64>,
    /// Time at which the last packet was first seen, on its tap's own clock, relative to the
    /// origin.
    pub last_ns: i64,
    /// Bytes; `null` if the first packet was not seen.
    pub bytes: Option<u64>,
    /// Remote address in hexadecimal: 64 bits do not fit a JSON number.
    pub virtual_address: Option<String>,
    /// R_Key.
    pub remote_key: Option<u32>,
    /// Immediate data.
    pub immediate: Option<u32>,
}

impl MessageReport {
    /// The message of `event`; times are relative to `origin`.
    #[must_use]
    pub fn new(event: &MessageEvent, origin: Timestamp) -> Self {
        let MessageEvent { key, epoch, message } = event;
        Self {
            tap: key.tap.0,
            src: key.source.to_string(),
            dst: key.destination.to_string(),
            dest_qpn: key.dest_qpn.value(),
            epoch: *epoch,
            kind: kind_name(message.kind).to_owned(),
            first_ns: message.first_time.map(|time| time.relative_to(origin)),
            last_ns: message.last_time.relative_to(origin),
            bytes: message.bytes,
            virtual_address: message.virtual_address.map(|address| format!("{address:#018x}")),
            remote_key: message.remote_key,
            immediate: message.immediate,
        }
    }
}

const fn kind_name(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Send => "send",
        MessageKind::Write => "write",
        MessageKind::WriteWithImmediate => "write_with_immediate",
        MessageKind::Read => "read",
        MessageKind::Atomic => "atomic",
    }
}
