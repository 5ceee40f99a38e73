//! The checks of the fuzz targets, one file per target: any input, no panic, and the result's
//! invariants. The suite replays every corpus through the same functions.

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
pub mod nccl;
pub mod nccl_log;
pub mod net_socket;
#[cfg(target_os = "linux")]
pub mod netlink;
pub mod pipeline;
pub mod roce;
pub mod settings;
pub mod tcp_store;
pub mod tcp_stream;
pub mod train_log;
#[cfg(target_os = "linux")]
pub mod web_config;

pub mod invariants;
pub mod script;
