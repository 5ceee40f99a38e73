//! Opens the best source of packets: kernel programs if they may run, else packet sockets.

use std::path::PathBuf;

use glob::Pattern;

use crate::ingest::af_packet::{AfPacket, AfPacketConfig, AfPacketError, ROCE_BYTES, WHOLE};
#[cfg(feature = "live")]
use crate::ingest::ebpf::{Ebpf, EbpfConfig, EbpfError};
use crate::ingest::live::LiveSource;

/// Size of the ring, MiB.
const RING_MEBIBYTES: u32 = 32;

/// Bytes of payload that kernel programs deliver of each direction of a TCP connection.
#[cfg(feature = "live")]
const STREAM_LIMIT: u32 = 256 << 10;

/// Which source of packets to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Kernel programs if they may run here, else packet sockets.
    Auto,
    /// Kernel programs: packets in the middle of messages are counted in the kernel.
    Ebpf,
    /// Packet sockets: every frame is copied.
    AfPacket,
}

/// An open source of packets.
pub struct Packets {
    /// Delivers the packets.
    pub source: Box<dyn LiveSource>,
    /// Its kind: `ebpf` or `af_packet`.
    pub name: &'static str,
    /// Why it is packet sockets and not kernel programs, in words.
    pub why_not_better: Option<String>,
}

/// Why there is no source of packets.
#[derive(Debug, thiserror::Error)]
pub enum PacketsError {
    /// No packet sockets.
    #[error(transparent)]
    AfPacket(#[from] AfPacketError),
    /// No kernel programs.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Ebpf(#[from] EbpfError),
    /// This program was built without kernel programs.
    #[error("this program was built without kernel programs (feature `live`)")]
    NotBuilt,
}

/// Where packets are observed, and how.
#[derive(Clone, Debug, Default)]
pub struct PacketsConfig {
    /// Names of the interfaces.
    pub interfaces: Vec<String>,
    /// Their network namespace; `None` for that of the calling thread.
    pub namespace: Option<PathBuf>,
    /// Every frame is received, as at a mirror port, not only what is addressed to this host.
    pub promiscuous: bool,
    /// Names or patterns of mirror ports: interfaces that only receive copies from a switch, which kernel programs
    /// read in the driver and drop there.
    pub mirrors: Vec<Pattern>,
    /// Kernel programs log what they lose.
    pub logs_losses: bool,
}

/// Opens the interfaces.
///
/// # Errors
///
/// When an interface does not exist, or cannot be observed.
pub fn open(choice: Choice, config: PacketsConfig) -> Result<Packets, PacketsError> {
    let why_not_better = match choice {
        Choice::AfPacket => None,
        Choice::Ebpf | Choice::Auto => match ebpf(&config) {
            Ok(source) => return Ok(Packets { source, name: "ebpf", why_not_better: None }),
            Err(error) if choice == Choice::Ebpf => return Err(error),
            Err(error) => Some(chain(&error)),
        },
    };
    let PacketsConfig { interfaces, namespace, promiscuous, .. } = config;
    let source = Box::new(AfPacket::open(&AfPacketConfig {
        interfaces,
        namespace,
        promiscuous,
        roce_bytes: ROCE_BYTES,
        other_bytes: WHOLE,
        ring_mebibytes: RING_MEBIBYTES as usize,
    })?);
    Ok(Packets { source, name: "af_packet", why_not_better })
}

#[cfg(feature = "live")]
fn ebpf(config: &PacketsConfig) -> Result<Box<dyn LiveSource>, PacketsError> {
    let PacketsConfig { interfaces, namespace, promiscuous, mirrors, logs_losses } = config.clone();
    Ok(Box::new(Ebpf::open(&EbpfConfig {
        interfaces,
        namespace,
        promiscuous,
        mirrors,
        ring_mebibytes: RING_MEBIBYTES,
        stream_limit: STREAM_LIMIT,
        logs: logs_losses,
    })?))
}

#[cfg(not(feature = "live"))]
fn ebpf(_: &PacketsConfig) -> Result<Box<dyn LiveSource>, PacketsError> {
    Err(PacketsError::NotBuilt)
}

/// The first line of an error and of each of its causes, without repetition.
fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut below = error.source();
    while let Some(error) = below {
        let line = error.to_string();
        let line = line.lines().next().unwrap_or_default();
        if !words.contains(line) {
            words = format!("{words}: {line}");
        }
        below = error.source();
    }
    words
}
