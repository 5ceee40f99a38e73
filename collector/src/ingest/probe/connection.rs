//! Changes of TCP state: the program at the kernel's tracepoint, and its records.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::thread;

use aya::programs::TracePoint;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use railscope_ebpf::connection::ConnectionEvent;

use crate::ingest::capability::Host;
use crate::ingest::ebpf::clock::Clock;
use crate::ingest::ebpf::error::EbpfError;
use railscope_core::model::connection::{ConnectionChange, ConnectionOwner, TcpState};

/// The program.
pub(super) const CHANGED: &str = "connection_changed";

/// Where the loader looks for tracepoints first.
const TRACEFS: &str = "/sys/kernel/tracing";

/// Begins to watch.
///
/// # Errors
///
/// When the kernel refuses.
pub(super) fn attach(ebpf: &mut aya::Ebpf, host: &Host) -> Result<(), EbpfError> {
    let missing = || EbpfError::Object { part: CHANGED.to_owned() };
    let program: &mut TracePoint =
        ebpf.program_mut(CHANGED).ok_or_else(missing)?.try_into().map_err(|_| missing())?;
    program.load().map_err(EbpfError::program)?;
    let mut attach = || {
        let attached = program.attach("sock", "inet_sock_set_state");
        attached.map(drop).map_err(|error| EbpfError::attach("sock:inet_sock_set_state", error))
    };
    if host.tracefs.is_some() {
        return attach();
    }
    // Only this thread sees its mount; the program stays attached after the thread ends.
    let mounted = || {
        mount_tracefs()
            .map_err(|source| EbpfError::Namespace { path: TRACEFS.to_owned(), source })?;
        attach()
    };
    let failed = || EbpfError::Namespace {
        path: TRACEFS.to_owned(),
        source: io::Error::other("the thread that mounts it failed"),
    };
    thread::scope(|scope| scope.spawn(mounted).join()).map_err(|_| failed())?
}

fn mount_tracefs() -> io::Result<()> {
    const NONE: Option<&Path> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    Ok(mount(Some("tracefs"), TRACEFS, Some("tracefs"), MsFlags::empty(), NONE)?)
}

/// Sockets with a remembered owner. Beyond that all are forgotten.
const MEMORY_LIMIT: usize = 1 << 16;

/// Reads records in the order of the ring.
#[derive(Debug, Default)]
pub(super) struct Reader {
    owners: HashMap<u64, ConnectionOwner>,
}

impl Reader {
    /// A record; `None` for states that Linux does not have.
    pub(super) fn read(
        &mut self,
        event: &ConnectionEvent,
        clock: &Clock,
    ) -> Option<ConnectionChange> {
        let (before, after) =
            (TcpState::from_number(event.old_state)?, TcpState::from_number(event.new_state)?);
        // A process makes these changes itself, by `connect` and `listen`. All others may be caused by
        // a packet, which is handled in whatever process is running.
        if matches!((before, after), (TcpState::Close, TcpState::SynSent | TcpState::Listen)) {
            let name = event.name.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            if self.owners.len() >= MEMORY_LIMIT {
                self.owners.clear();
            }
            let owner = ConnectionOwner { pid: event.pid, cgroup: event.cgroup, name };
            self.owners.insert(event.socket, owner);
        }
        let owner = match after {
            TcpState::Close => self.owners.remove(&event.socket),
            _ => self.owners.get(&event.socket).cloned(),
        };
        Some(ConnectionChange {
            time: clock.timestamp(event.time),
            socket: event.socket,
            local: address(event.local, event.local_port),
            remote: address(event.remote, event.remote_port),
            before,
            after,
            owner,
        })
    }
}

fn address(bytes: [u8; 16], port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical(), port)
}
