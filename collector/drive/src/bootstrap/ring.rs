//! The ring of TCP connections that lasts as long as the communicator: every rank sends to the next
//! one and receives from the previous one.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use super::connection::Connection;
use super::root::Root;
use crate::clock::Deadline;
use crate::release::Release;
use crate::tcp::{self, Lookout};
use crate::wire::check_in::CheckIn;
use crate::wire::{UniqueId, root_reply};
use crate::{DriveError, Result};

/// A rank's place on the ring.
#[derive(Debug)]
pub struct Ring {
    pub(super) next: Connection,
    pub(super) previous: Connection,
    pub(super) rank: u32,
    pub(super) ranks: u32,
}

/// The rank that joins.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer<'a> {
    /// The release whose wire format is used.
    pub release: Release,
    /// Id of the communicator.
    pub id: &'a UniqueId,
    /// Rank number, from 0.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// The address the rank listens at and connects from.
    pub address: IpAddr,
    /// The root, if this process runs it.
    pub root: Option<&'a Root>,
}

impl Newcomer<'_> {
    /// Checks in with the root and takes a place on the ring. Returns the ring and, for 2.21.5, the
    /// listener for messages: there the predecessor connects to the same one.
    ///
    /// # Errors
    /// Ranks are missing, contradict each other or go away.
    pub fn join(&self, lookout: &Lookout, deadline: Deadline) -> Result<(Ring, TcpListener)> {
        let Self { release, rank, ranks, address, .. } = *self;
        let root = self.id.root().ok_or_else(|| {
            DriveError::Unusable("the unique id names no root: take one that NCCL made".to_owned())
        })?;
        let magic = self.id.magic();
        let ring_listener = tcp::listen(address)?;
        let root_listener = tcp::listen(address)?;
        let check_in = CheckIn {
            rank,
            ranks,
            root_listener: tcp::address_of(&root_listener)?,
            ring_listener: tcp::address_of(&ring_listener)?,
        };
        let connection = Connection::open(address, root, magic, "the root", lookout, deadline)?;
        connection.send_frame(&check_in.encode(release), lookout, deadline)?;
        drop(connection);

        let answer = self.await_answer(&root_listener, root, lookout, deadline)?;
        let frame = answer.receive_frame(
            root_reply::len(release),
            lookout,
            deadline,
            "the address of the next rank",
        )?;
        drop((answer, root_listener));
        let to = root_reply::parse(&frame, release);
        let to =
            to.map_err(|what| DriveError::Protocol { peer: format!("the root at {root}"), what })?;

        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let name = format!("rank {next}");
        let next = Connection::open(address, to, magic, name, lookout, deadline)?;
        let name = format!("rank {before}");
        let what = || format!("{name} to join the ring");
        let mut previous = Connection::accept(&ring_listener, magic, lookout, deadline, what)?;
        previous.name(&name);
        Ok((Ring { next, previous, rank, ranks }, ring_listener))
    }

    /// The connection on which the root answers.
    fn await_answer(
        &self,
        listener: &TcpListener,
        root: SocketAddr,
        lookout: &Lookout,
        deadline: Deadline,
    ) -> Result<Connection> {
        loop {
            let glance = Deadline::after(Duration::from_millis(100).min(deadline.left()));
            let what = || {
                let rank = self.rank;
                format!(
                    "the root's answer to rank {rank} (rank 0, at {root}, knows who is missing)"
                )
            };
            let magic = self.id.magic();
            match Connection::accept(listener, magic, lookout, glance, what) {
                Err(DriveError::Late { .. }) => {}
                ended => return ended,
            }
            if let Some(root) = self.root {
                root.check()?;
            }
            deadline.check(what)?;
        }
    }
}

impl Ring {
    /// Watches both neighbours, so that nobody waits for a rank that has gone.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn watch(&self, lookout: &mut Lookout) -> Result<()> {
        for neighbour in [&self.previous, &self.next] {
            let (stream, peer) = neighbour.stream();
            lookout.watch(stream, peer)?;
        }
        Ok(())
    }
}
