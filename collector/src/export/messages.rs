//! Completed messages as JSON lines: the second file of `--detail full`.

use std::io::{self, Write};

use serde::Serialize;

use crate::flow::message::MessageKind;
use crate::flow::tracker::MessageEvent;
use crate::model::time::Timestamp;

/// One completed message.
#[derive(Serialize)]
struct MessageLine {
    tap: u32,
    src: String,
    dst: String,
    dest_qpn: u32,
    epoch: u32,
    kind: &'static str,
    /// Time of the first packet relative to the origin; `null` when it was not seen.
    first_ns: Option<i64>,
    last_ns: i64,
    bytes: Option<u64>,
    /// Remote virtual address, in hexadecimal: 64 bits do not fit a JSON number.
    virtual_address: Option<String>,
    remote_key: Option<u32>,
    immediate: Option<u32>,
}

/// Writes one message as one line; times are relative to `origin`.
///
/// # Errors
///
/// When writing fails.
pub fn write(event: &MessageEvent, origin: Timestamp, mut out: impl Write) -> io::Result<()> {
    let relative =
        |time: Timestamp| (time.as_nanos() as i64).wrapping_sub(origin.as_nanos() as i64);
    let MessageEvent { key, epoch, message } = event;
    let line = MessageLine {
        tap: key.tap.0,
        src: key.source.to_string(),
        dst: key.destination.to_string(),
        dest_qpn: key.dest_qpn.value(),
        epoch: *epoch,
        kind: match message.kind {
            MessageKind::Send => "send",
            MessageKind::Write => "write",
            MessageKind::WriteWithImmediate => "write_with_immediate",
            MessageKind::Read => "read",
            MessageKind::Atomic => "atomic",
        },
        first_ns: message.first_time.map(relative),
        last_ns: relative(message.last_time),
        bytes: message.bytes,
        virtual_address: message.virtual_address.map(|address| format!("{address:#018x}")),
        remote_key: message.remote_key,
        immediate: message.immediate,
    };
    serde_json::to_writer(&mut out, &line)?;
    out.write_all(b"\n")
}
