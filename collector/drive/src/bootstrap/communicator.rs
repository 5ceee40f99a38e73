//! A communicator, from the unique id to connected rings (`ncclCommInitRank`,
//! `initTransportsRank` of NCCL `src/init.cc`).

use std::net::{IpAddr, SocketAddr, TcpListener};

use super::gather;
use super::identity::Identity;
use super::peer::Mailbox;
use super::ring::{Newcomer, Ring};
use super::root::{Root, random};
use super::transport_setup::Meeting;
use crate::clock::Deadline;
use crate::job::Seat;
use crate::nccl_log::{CommFacts, Log, Phase};
use crate::net::{ChannelLinks, Net};
use crate::release::Release;
use crate::tcp::{self, Lookout};
use crate::wire::peer_info::PeerInfo;
use crate::wire::ring_data::RingData;
use crate::wire::topology::Topology;
use crate::wire::{Parsed, UniqueId, socket_address};
use crate::{DriveError, Result};

/// Which communicator to join, and as which rank.
#[derive(Clone, Copy, Debug)]
pub struct Joining<'a> {
    /// The release whose wire format is used.
    pub release: Release,
    /// The same for all ranks.
    pub id: &'a UniqueId,
    /// This rank's identity.
    pub seat: &'a Seat,
    /// Number of rings.
    pub channels: u32,
    /// The root, if this process runs it.
    pub root: Option<&'a Root>,
}

/// A communicator of which this process is a rank.
#[derive(Debug)]
pub struct Communicator {
    facts: CommFacts,
    ring: Ring,
    mailbox: Mailbox,
    lookout: Lookout,
    links: Option<Vec<ChannelLinks>>,
    /// Listeners for the proxy and RAS, which no other host uses; open for the communicator's
    /// lifetime.
    _services: [TcpListener; 2],
}

impl Communicator {
    /// Joins the communicator. While ranks wait for each other, the connections of `lookout` (the
    /// store's) are watched too. 2.21.5 connects the rings here.
    ///
    /// # Errors
    /// Ranks are missing, contradict each other or go away.
    pub fn init(
        joining: &Joining<'_>,
        net: &mut dyn Net,
        lookout: Lookout,
        log: &mut Log,
        deadline: Deadline,
    ) -> Result<Self> {
        let made = Self::make(joining, net, lookout, log, deadline);
        made.map_err(|error| {
            let missing = joining.root.and_then(|root| root.missing(joining.seat.ranks));
            match (&error, missing) {
                (DriveError::Late { .. }, Some(missing)) => DriveError::Unusable(missing),
                // The rank that timed out first has left the ring.
                (DriveError::PeerLost { .. }, Some(missing)) => {
                    DriveError::Unusable(format!("{missing} ({error})"))
                }
                _ => error,
            }
        })
    }

    fn make(
        joining: &Joining<'_>,
        net: &mut dyn Net,
        mut lookout: Lookout,
        log: &mut Log,
        deadline: Deadline,
    ) -> Result<Self> {
        let Joining { release, id, seat, channels, root } = *joining;
        if seat.ranks < 2 {
            let alone = "a communicator of one rank sends nothing: ask for at least 2 ranks";
            return Err(DriveError::Unusable(alone.to_owned()));
        }
        let facts = CommFacts::new(release, id, seat, channels);
        log.init(&facts, Phase::Start);
        let Seat { rank, ranks, address, .. } = *seat;
        let newcomer = Newcomer { release, id, rank, ranks, address, root };
        let (ring, ring_listener) = newcomer.join(&lookout, deadline)?;
        ring.watch(&mut lookout)?;

        let identity = Identity::on_host(&seat.host, release);
        let [proxy, ras] = [tcp::listen(address)?, tcp::listen(address)?];
        let listener = match release {
            Release::V2_21_5 => ring_listener,
            Release::V2_27_7 => tcp::listen(address)?,
        };
        let own = RingData {
            peer_listener: tcp::address_of(&listener)?,
            proxy_listener: tcp::address_of(&proxy)?,
            unix_socket: identity.pid_hash.wrapping_add(random()?),
            ras: Some(identity.ras(seat, tcp::address_of(&ras)?)),
        };
        let gatherer = Gatherer { ring: &ring, lookout: &lookout, deadline };
        let addresses = gatherer.addresses(&own, release)?;
        let comm_hash = id.comm_hash(release);
        let own = identity.peer_info(seat, comm_hash, facts.comm, release).encode(release);
        let peers = gatherer.gather(&own, "PeerInfo")?;
        let peers = parsed(&peers, |bytes| PeerInfo::parse(bytes, release))?;
        check_peers(&peers, release)?;
        let own = Topology::of_single_gpu(rank, channels, release).encode(release);
        let topologies = gatherer.gather(&own, "AllGather3")?;
        let topologies = parsed(&topologies, |bytes| Topology::parse(bytes, release))?;
        check_channels(&topologies, channels)?;
        log.rings(&facts, &peers);

        let magic = id.magic();
        let unexpected = Vec::new();
        let mailbox =
            Mailbox { release, magic, rank, address, listener, peers: addresses, unexpected };
        let mut communicator =
            Self { facts, ring, mailbox, lookout, links: None, _services: [proxy, ras] };
        if release == Release::V2_21_5 {
            communicator.connect(net, log, deadline)?;
        }
        log.channels(&communicator.facts);
        log.init(&communicator.facts, Phase::Complete);
        Ok(communicator)
    }

    /// The links of the rings, in channel order. Connects them if they are not connected yet:
    /// 2.27.7 does so at the first collective.
    ///
    /// # Errors
    /// A rank goes away, or the network cannot be set up.
    pub fn rings(
        &mut self,
        net: &mut dyn Net,
        log: &mut Log,
        deadline: Deadline,
    ) -> Result<&[ChannelLinks]> {
        if self.links.is_none() {
            self.connect(net, log, deadline)?;
        }
        Ok(self.links.as_deref().unwrap_or_default())
    }

    fn connect(&mut self, net: &mut dyn Net, log: &mut Log, deadline: Deadline) -> Result<()> {
        let CommFacts { rank, ranks, channels, .. } = self.facts;
        let meeting = Meeting {
            mailbox: &mut self.mailbox,
            lookout: &self.lookout,
            deadline,
            before: (rank + ranks - 1) % ranks,
            next: (rank + 1) % ranks,
        };
        let links = meeting.connect(net, channels, log)?;
        if self.facts.release == Release::V2_27_7 {
            // useNetPXN, useGdr.
            self.all_gather(&[0, 0], "useNetPXN and useGdr", deadline)?;
        }
        log.connected();
        self.links = Some(links);
        Ok(())
    }

    /// Gathers a few KiB at most from every rank; `what` names it in errors.
    ///
    /// # Errors
    /// A neighbour goes away, times out or sends another number of bytes.
    pub fn all_gather(&self, own: &[u8], what: &str, deadline: Deadline) -> Result<Vec<Vec<u8>>> {
        gather::all_gather(&self.ring, own, what, &self.lookout, deadline)
    }

    /// From now on the end of the store's and the neighbours' connections is not noticed.
    pub fn look_away(&mut self) {
        self.lookout = Lookout::default();
    }

    /// Checks, without waiting, that the store and the neighbours on the ring are still connected.
    ///
    /// # Errors
    /// One has gone while `during`.
    pub fn check_alive(&self, during: impl Fn() -> String) -> Result<()> {
        self.lookout.check(during)
    }

    /// The communicator as logs and the truth describe it.
    #[must_use]
    pub fn facts(&self) -> &CommFacts {
        &self.facts
    }

    /// The ranks' addresses, in rank order.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.mailbox.peers.iter().map(SocketAddr::ip).collect()
    }
}

struct Gatherer<'a> {
    ring: &'a Ring,
    lookout: &'a Lookout,
    deadline: Deadline,
}

impl Gatherer<'_> {
    fn gather(&self, own: &[u8], what: &str) -> Result<Vec<Vec<u8>>> {
        gather::all_gather(self.ring, own, what, self.lookout, self.deadline)
    }

    /// Where each rank receives messages.
    fn addresses(&self, own: &RingData, release: Release) -> Result<Vec<SocketAddr>> {
        match release {
            Release::V2_21_5 => {
                let listeners = socket_address::encode(own.peer_listener);
                let listeners = self.gather(&listeners, "listening addresses")?;
                let proxies = socket_address::encode(own.proxy_listener);
                self.gather(&proxies, "proxy addresses")?;
                self.gather(&own.unix_socket.to_le_bytes(), "proxy sockets")?;
                parsed(&listeners, |bytes| {
                    let address = bytes.try_into().ok().and_then(socket_address::parse);
                    address.ok_or_else(|| "no listening address".to_owned())
                })
            }
            Release::V2_27_7 => {
                let data = self.gather(&own.encode(), "ring data")?;
                parsed(&data, |bytes| RingData::parse(bytes).map(|data| data.peer_listener))
            }
        }
    }
}

/// Parses what each rank sent.
fn parsed<T>(sent: &[Vec<u8>], parse: impl Fn(&[u8]) -> Parsed<T>) -> Result<Vec<T>> {
    let refused = |(rank, bytes): (usize, &Vec<u8>)| {
        parse(bytes).map_err(|what| DriveError::Protocol { peer: format!("rank {rank}"), what })
    };
    sent.iter().enumerate().map(refused).collect()
}

/// Checks that every peer is who it should be and uses the same release.
fn check_peers(peers: &[PeerInfo], release: Release) -> Result<()> {
    let expected = match release {
        Release::V2_21_5 => 0,
        Release::V2_27_7 => release.version_code(),
    };
    let wrong =
        peers.iter().zip(0..).find(|(peer, rank)| peer.rank != *rank || peer.version != expected);
    let Some((peer, rank)) = wrong else { return Ok(()) };
    Err(DriveError::Protocol {
        peer: format!("rank {rank}"),
        what: format!("PeerInfo of rank {} with NCCL code {}", peer.rank, peer.version),
    })
}

/// Checks that all ranks found the same number of channels: a ring needs every rank.
fn check_channels(topologies: &[Topology], channels: u32) -> Result<()> {
    let found = |topology: &Topology| topology.channels.len();
    let expected = channels.div_ceil(2) as usize;
    match topologies.iter().map(found).zip(0..).find(|(found, _)| *found != expected) {
        None => Ok(()),
        Some((found, rank)) => Err(DriveError::Unusable(format!(
            "rank {rank} found {found} channels, others {expected}: ask for the same number of \
             channels everywhere"
        ))),
    }
}
