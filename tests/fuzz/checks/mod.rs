//! The checks of the fuzz targets, one file per target: any input, no panic, and the result's
//! invariants. The suite replays every corpus through the same functions.

#[cfg(target_os = "linux")]
pub mod bootstrap;
pub mod bundle;
pub mod call_record;
pub mod connection_manager;
#[cfg(target_os = "linux")]
pub mod drive_packet;
#[cfg(target_os = "linux")]
pub mod drive_store;
pub mod exchange;
pub mod frame;
#[cfg(target_os = "linux")]
pub mod http_request;
pub mod job_log;
#[cfg(target_os = "linux")]
pub mod library;
#[cfg(target_os = "linux")]
pub mod membership;
pub mod nccl;
pub mod nccl_log;
pub mod net_socket;
#[cfg(target_os = "linux")]
pub mod netlink;
pub mod otlp_answer;
#[cfg(target_os = "linux")]
pub mod packet_record;
pub mod part;
pub mod pipeline;
#[cfg(target_os = "linux")]
pub mod probe_record;
pub mod profiler;
pub mod rendezvous;
pub mod roce;
pub mod scrub;
pub mod settings;
pub mod sflow;
pub mod tcp_store;
pub mod tcp_stream;
pub mod train_log;
#[cfg(target_os = "linux")]
pub mod web_config;

pub mod invariants;
pub mod script;
pub mod talk;

/// Passes a record of `len` bytes that begins with `bytes`, aligned as the kernel's rings are.
#[cfg(target_os = "linux")]
fn aligned<T>(bytes: &[u8], len: usize, read: impl FnOnce(&[u8]) -> T) -> T {
    let mut room = vec![0; len + 8];
    let start = room.as_ptr().align_offset(8);
    let record: &mut [u8] = &mut room[start..start + len];
    let given = bytes.len().min(len);
    record[..given].copy_from_slice(&bytes[..given]);
    read(record)
}
