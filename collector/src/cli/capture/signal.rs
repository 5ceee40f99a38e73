//! SIGUSR1: save the ring.

use std::io;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Collects the signals.
pub(super) struct SaveSignal {
    descriptor: SignalFd,
}

impl SaveSignal {
    /// From now on the signal is read here, and interrupts neither this thread nor those that it starts.
    pub(super) fn block() -> io::Result<Self> {
        let set = set();
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
pub(super) fn unblock() -> io::Result<()> {
    Ok(set().thread_unblock()?)
}

fn set() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGUSR1);
    set
}
