//! The sources of frames, lines and samples. They deliver what they read; later layers understand it.

#[cfg(target_os = "linux")]
pub mod af_packet;
#[cfg(target_os = "linux")]
pub mod capability;
#[cfg(target_os = "linux")]
pub mod counter;
#[cfg(all(target_os = "linux", feature = "live"))]
pub mod ebpf;
pub mod file;
pub mod follow;
#[cfg(all(target_os = "linux", feature = "agent"))]
pub mod kubelet;
#[cfg(target_os = "linux")]
pub mod line_rate;
#[cfg(all(target_os = "linux", feature = "live"))]
pub mod link_events;
pub mod live;
pub mod log;
#[cfg(all(target_os = "linux", feature = "live"))]
pub mod probe;
#[cfg(target_os = "linux")]
pub mod process;
#[cfg(all(target_os = "linux", feature = "agent"))]
pub mod profile_ring;
pub mod ras;
#[cfg(target_os = "linux")]
pub mod sflow_socket;
#[cfg(all(target_os = "linux", feature = "live"))]
pub mod rdma_netlink;

pub mod standard_input;
pub mod whole_file;

#[cfg(target_os = "linux")]
mod guarded;
#[cfg(target_os = "linux")]
mod interface_losses;
#[cfg(all(target_os = "linux", feature = "live"))]
mod interfaces;
#[cfg(target_os = "linux")]
mod kernel_file;
