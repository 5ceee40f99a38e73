//! Failures: failed work requests, events of ports and devices, and the causes of warnings.

use super::words::{after, assigned_word, leading};

/// `NET/IB : Got completion from peer 10.0.0.2<43210> with status=12 ...`: a work request failed. Until
/// 2.8, the peer is missing: `NET/IB : Got completion with error 12, opcode 1, ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedCompletion<'a> {
    /// Address of the peer's control plane; empty if the release does not print it.
    pub peer: &'a str,
    /// `ibv_wc_status`: 12 is a retry limit exceeded, 5 is flushed after another failure.
    pub status: u32,
    /// The vendor's code.
    pub vendor_error: Option<u32>,
    /// Device name.
    pub device: Option<&'a str>,
}

/// `NET/IB : mlx5_0:1 async fatal event: ...` and its other spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncEvent<'a> {
    /// The event, as the driver names it.
    pub text: &'a str,
    /// Whether the port or device has failed for good.
    pub is_fatal: bool,
}

/// `transport/net.cc:1137 -> 6 [Progress Thread]`: a function returned an error to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace<'a> {
    /// File and line.
    pub place: &'a str,
    /// `ncclResult_t`.
    pub code: u32,
}

/// Cause of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A work request failed after all retries: the peer or the path is gone.
    RetryExceeded,
    /// A work request failed otherwise.
    WorkRequest,
    /// A port went down, or a device failed.
    Port,
    /// The out-of-band exchange or the bootstrap failed.
    ControlPlane,
    /// Ranks have different releases of NCCL or disagree on sizes.
    Mismatch,
    /// A network plugin could not be used.
    Plugin,
    /// A library is missing.
    Library,
    /// The topology of the machine could not be read.
    Topology,
    /// CUDA failed.
    Cuda,
    /// Memory ran out or could not be registered.
    Memory,
    /// The call itself is wrong.
    Usage,
    /// Something else.
    Other,
}

impl<'a> FailedCompletion<'a> {
    /// The failure that a warning reports.
    #[must_use]
    pub fn read(text: &'a str) -> Option<Self> {
        let (_, rest) = text.split_once("Got completion ")?;
        let (peer, rest) = match rest.strip_prefix("from peer ") {
            Some(rest) => rest.split_once('<')?,
            None => ("", rest),
        };
        let status = match assigned_word(rest, "status") {
            // 2.20 and later name it: `status=IBV_WC_RETRY_EXC_ERR(12)`.
            Some(word) => word.split_once('(').map_or(word, |(_, number)| number),
            None => after(rest, "error")?,
        };
        let vendor = rest.split_once("vendor err ").and_then(|(_, word)| leading(word));
        let device = after(rest, "hca");
        Some(Self { peer, status: leading(status)?, vendor_error: vendor, device })
    }
}

impl<'a> Trace<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (place, code) = text.split_once(" -> ")?;
        let (file, line) = place.split_once(':')?;
        let is_source = [".cc", ".h", ".cu", ".c"].iter().any(|end| file.ends_with(end));
        let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        (is_source && is_line).then_some(())?;
        Some(Self { place, code: leading(code)? })
    }

    /// The name of the error; `None` if it is none: success, or in progress.
    #[must_use]
    pub const fn error(&self) -> Option<&'static str> {
        // `ncclResult_t` (NCCL `src/nccl.h.in`).
        match self.code {
            1 => Some("unhandled CUDA error"),
            2 => Some("unhandled system error"),
            3 => Some("internal error"),
            4 => Some("invalid argument"),
            5 => Some("invalid usage"),
            6 => Some("remote process exited or network error"),
            8 => Some("time-out"),
            _ => None,
        }
    }
}

impl<'a> AsyncEvent<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        text.starts_with("NET/IB").then_some(())?;
        let is_event = text.contains("async fatal event")
            || text.contains("Got async")
            || text.contains("non-fatal async event");
        let is_fatal = text.contains("fatal") && !text.contains("non-fatal");
        is_event.then_some(Self { text, is_fatal })
    }
}

/// Phrases in warnings and their causes, most specific first.
const CAUSES: &[(&str, Cause)] = &[
    ("RETRY_EXC", Cause::RetryExceeded),
    ("status=12", Cause::RetryExceeded),
    ("with error 12", Cause::RetryExceeded),
    ("Got completion", Cause::WorkRequest),
    ("async", Cause::Port),
    ("Port down", Cause::Port),
    ("mismatch", Cause::Mismatch),
    ("Mismatch", Cause::Mismatch),
    ("Message truncated", Cause::Mismatch),
    ("wrong magic", Cause::ControlPlane),
    ("wrong type", Cause::ControlPlane),
    ("already checked in", Cause::ControlPlane),
    ("Connection refused", Cause::ControlPlane),
    ("Connection closed", Cause::ControlPlane),
    ("Connection reset", Cause::ControlPlane),
    ("socketProgress", Cause::ControlPlane),
    ("socketStartConnect", Cause::ControlPlane),
    ("socketPollConnect", Cause::ControlPlane),
    ("Call to connect", Cause::ControlPlane),
    ("No usable listening interface", Cause::ControlPlane),
    ("Bootstrap", Cause::ControlPlane),
    ("NET/OFI", Cause::Plugin),
    ("Plugin", Cause::Plugin),
    ("Failed to find CUDA library", Cause::Library),
    ("cannot open shared object", Cause::Library),
    ("real path", Cause::Topology),
    ("Topology", Cause::Topology),
    ("Call to ibv_reg_mr", Cause::Memory),
    ("Failed to allocate", Cause::Memory),
    ("out of memory", Cause::Memory),
    ("No space left", Cause::Memory),
    ("Cuda failure", Cause::Cuda),
    ("CUDA", Cause::Cuda),
    ("Call to ibv_", Cause::WorkRequest),
    ("invalid", Cause::Usage),
    ("Invalid", Cause::Usage),
];

impl Cause {
    /// The cause of a warning with this text.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let known = CAUSES.iter().find(|(words, _)| text.contains(words));
        known.map_or(Self::Other, |(_, cause)| *cause)
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RetryExceeded => "retry_exceeded",
            Self::WorkRequest => "work_request",
            Self::Port => "port",
            Self::ControlPlane => "control_plane",
            Self::Mismatch => "mismatch",
            Self::Plugin => "plugin",
            Self::Library => "library",
            Self::Topology => "topology",
            Self::Cuda => "cuda",
            Self::Memory => "memory",
            Self::Usage => "usage",
            Self::Other => "other",
        }
    }
}
