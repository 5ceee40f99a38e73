//! What the environment asks for. It is read once, when the first communicator begins.

use std::path::PathBuf;

use crate::abi::bit;

/// Events that NCCL is asked for by default: collectives, sends and receives, proxies and their transfers.
const MASK: u64 = bit::COLL | bit::P2P | bit::PROXY_OP | bit::PROXY_STEP;

/// Where the ring lies by default.
const SHARED_MEMORY: &str = "/dev/shm";

/// Settings of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `RAILSCOPE_PROFILER_MASK`: events asked for while no lease runs.
    pub(crate) mask: u64,
    /// `RAILSCOPE_PROFILER_SHM`: folder of the ring; `None` if `off`.
    pub(crate) shared: Option<PathBuf>,
    /// `RAILSCOPE_PROFILER_DIR`: folder of the file; `None` if no file is wanted.
    pub(crate) folder: Option<PathBuf>,
    /// `RAILSCOPE_PROFILER_RING_KIB`: bytes of a lane of the ring.
    pub(crate) lane: usize,
    /// `RAILSCOPE_PROFILER_LIMIT_MIB`: bytes of the file and of the one before it, together.
    pub(crate) limit: u64,
    /// `RAILSCOPE_PROFILER_NEXT`: a second plugin.
    pub(crate) next: Option<PathBuf>,
}

impl Settings {
    /// Reads variables through `get`. What cannot be understood has its default.
    pub(crate) fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| get(name).filter(|value| !value.is_empty());
        let number = |name: &str| text(name).and_then(|value| number(&value));
        let shared = text("RAILSCOPE_PROFILER_SHM");
        // A ring is at least a page of records, and no one needs more than a gigabyte.
        let kib = number("RAILSCOPE_PROFILER_RING_KIB").unwrap_or(512).clamp(64, 128 << 10);
        let mib = number("RAILSCOPE_PROFILER_LIMIT_MIB").unwrap_or(256).clamp(1, 1 << 20);
        Self {
            mask: number("RAILSCOPE_PROFILER_MASK").unwrap_or(MASK) & 0x7fff_ffff,
            shared: match shared.as_deref() {
                Some("off") => None,
                Some(folder) => Some(PathBuf::from(folder)),
                None => Some(PathBuf::from(SHARED_MEMORY)),
            },
            folder: text("RAILSCOPE_PROFILER_DIR").map(PathBuf::from),
            lane: usize::try_from(kib).unwrap_or(512).next_power_of_two() << 10,
            limit: mib << 20,
            next: text("RAILSCOPE_PROFILER_NEXT").map(PathBuf::from),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a library has no command line")]
    pub(crate) fn from_environment() -> Self {
        Self::read(|name| std::env::var(name).ok())
    }
}

/// A decimal number, or one in hexadecimal digits after `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_or_not_understood_has_its_default() {
        let silent = Settings::read(|_| None);
        assert_eq!(silent.mask, 30);
        assert_eq!(silent.shared, Some(PathBuf::from("/dev/shm")));
        assert_eq!((silent.lane, silent.limit), (512 << 10, 256 << 20));
        assert_eq!((silent.folder, silent.next), (None, None));
        assert_eq!(Settings::read(|_| Some("so-so".into())).mask, 30);
    }

    #[test]
    fn what_is_said_counts() {
        let said = Settings::read(|name| {
            let value = match name {
                "RAILSCOPE_PROFILER_MASK" => "0x46",
                "RAILSCOPE_PROFILER_SHM" => "off",
                "RAILSCOPE_PROFILER_RING_KIB" => "3",
                _ => return None,
            };
            Some(value.into())
        });
        assert_eq!((said.mask, said.shared, said.lane), (70, None, 64 << 10));
    }
}
