//! A switch's part in PFC: what the port of a receiver asks for is asked of the sender at once, as by a
//! switch without room.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use nix::poll::{PollFd, PollFlags, poll};

use super::port::Port;
use crate::{DriveError, Result};

/// How long the thread sleeps, in ms, until it looks whether it is over.
const NAP: u16 = 50;

/// Ports of a fabric, on a thread that ends with this value.
#[derive(Debug)]
pub struct Relay {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Relay {
    /// Passes what the other end of each first interface asks for on to that of the second one. Both are in
    /// the calling thread's namespace.
    ///
    /// # Errors
    /// A port cannot be opened, or there is no thread.
    pub fn start<'a>(links: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let open = |(from, to): (&str, &str)| Ok((Port::open(from)?, Port::open(to)?));
        let links = links.map(open).collect::<Result<Vec<_>>>()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let work = move || pass_on(&links, &seen);
        let thread = thread::Builder::new().name("pause".to_owned()).spawn(work);
        let thread = thread.map_err(DriveError::io("start a thread for pause frames"))?;
        Ok(Self { is_over, thread: Some(thread) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A port that failed has ended with its interface.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn pass_on(links: &[(Port, Port)], is_over: &AtomicBool) -> Result<()> {
    loop {
        let is_last = is_over.load(Ordering::Relaxed);
        let mut entries: Vec<PollFd<'_>> =
            links.iter().map(|(from, _)| PollFd::new(from.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut entries, if is_last { 0 } else { NAP }) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(DriveError::io("wait for pause frames")(error.into())),
        }
        for (from, to) in links {
            while let Some((pause, _)) = from.hear()? {
                to.ask(&pause)?;
            }
        }
        if is_last {
            return Ok(());
        }
    }
}
