//! A signal that is read between other work, and interrupts nothing.

use std::io;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Collects a signal.
pub(super) struct BlockedSignal {
    descriptor: SignalFd,
}

impl BlockedSignal {
    /// From now on the signal is read here, and interrupts neither this thread nor those that it starts.
    pub(super) fn block(signal: Signal) -> io::Result<Self> {
        let set = set(signal);
        set.thread_block()?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Self { descriptor: SignalFd::with_flags(&set, flags)? })
    }

    /// Whether it has come since the last call.
    pub(super) fn take(&mut self) -> bool {
        matches!(self.descriptor.read_signal(), Ok(Some(_)))
    }
}

/// The calling thread takes the signal again, as do the programs that it starts.
pub(super) fn unblock(signal: Signal) -> io::Result<()> {
    Ok(set(signal).thread_unblock()?)
}

fn set(signal: Signal) -> SigSet {
    let mut set = SigSet::empty();
    set.add(signal);
    set
}
