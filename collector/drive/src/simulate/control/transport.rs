//! How data connections are made: messages between neighbours, then the exchange of queue pairs, in
//! the order of `bootstrap::transport_setup` and `net::ib`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::bootstrap::{self, Listeners, Ring, THINK_NS};
use super::cast::Cast;
use super::transcript::{Speaker, Transcript};
use crate::release::Release;
use crate::simulate::job::{Connection, TrainingJob};
use crate::simulate::scenario::map::{Map, Nic};
use crate::simulate::time::VirtualTime;
use crate::wire::greeting::{self, SOCKET_MAGIC, SocketType};
use crate::wire::ib_metadata::{self, IbDevice, IbMetadata, QueuePair};
use crate::wire::{connect_entry, ib_handle};

/// The ring is graph 0.
const GRAPH_TAG: u32 = 1;
const CLOSING: u32 = 1 << 7;

/// Time a rank takes to register its queue pairs and memory with the NIC, ns.
const REGISTER_NS: u64 = 1_500_000;

/// Both ends of the exchange of a data connection.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The data sender connects.
    pub connector: SocketAddr,
    /// The data receiver listens.
    pub listener: SocketAddr,
}

/// The visible properties of a data connection.
struct Setting<'a> {
    cast: &'a Cast,
    job: &'a TrainingJob,
    map: &'a Map,
    traffic_class: u32,
    mtu: u16,
}

/// Connects the rings; returns the addresses at which each sender's and channel's queue pairs were
/// exchanged.
pub(super) fn connect(
    transcript: &mut Transcript<'_>,
    cast: &Cast,
    (ring, listeners): (&Ring, &Listeners),
    (job, map): (&TrainingJob, &Map),
    (dscp, mtu): (u8, u16),
    times: &mut [VirtualTime],
) -> BTreeMap<(u32, u32), Exchange> {
    let ranks = cast.actors.len();
    let setting = Setting { cast, job, map, traffic_class: u32::from(dscp) << 2, mtu };
    let mut oob = BTreeMap::new();
    for rank in 0..ranks as u32 {
        for (channel, receiver, _) in setting.links(rank) {
            oob.insert((rank, channel), transcript.port(setting.address(receiver)));
        }
    }
    let mut finished = times.to_vec();
    for distance in 1..ranks {
        setting.meet(transcript, listeners, &oob, (distance, 0), &mut finished);
    }
    let mut exchanges = BTreeMap::new();
    let begin: Vec<_> = finished.iter().map(|time| time.after(REGISTER_NS)).collect();
    for rank in 0..ranks as u32 {
        let mut at = begin[rank as usize];
        for (channel, receiver, connection) in setting.links(rank) {
            let Some(&listener) = oob.get(&(rank, channel)) else { continue };
            at = at.max(begin[receiver as usize]);
            let (connector, ready) =
                setting.exchange(transcript, (rank, receiver, channel), connection, listener, at);
            exchanges.insert((rank, channel), Exchange { connector, listener });
            at = at.after(THINK_NS);
            for end in [rank, receiver] {
                finished[end as usize] = finished[end as usize].max(ready);
            }
        }
    }
    for distance in 1..ranks {
        setting.meet(transcript, listeners, &oob, (distance, CLOSING), &mut finished);
    }
    if cast.release == Release::V2_27_7 {
        // useNetPXN, useGdr.
        ring.gather(transcript, cast, &vec![vec![0, 0]; ranks], &mut finished);
    }
    times.copy_from_slice(&finished);
    exchanges
}

impl Setting<'_> {
    /// A rank's connections over the network: channel, receiver and connection.
    fn links(&self, rank: u32) -> Vec<(u32, u32, &Connection)> {
        let channels = 0..self.job.seats().channels;
        let link = |channel| {
            let (receiver, connection) = self.job.connection(rank, channel);
            connection.map(|connection| (channel, receiver, connection))
        };
        channels.filter_map(link).collect()
    }

    fn address(&self, rank: u32) -> IpAddr {
        let actor = self.cast.actors.get(rank as usize);
        actor.map_or(IpAddr::from([0; 4]), |actor| actor.address)
    }

    /// Each rank sends its entries, or its confirmation, to the ranks at this distance on both
    /// sides.
    fn meet(
        &self,
        transcript: &mut Transcript<'_>,
        listeners: &Listeners,
        oob: &BTreeMap<(u32, u32), SocketAddr>,
        (distance, closing): (usize, u32),
        times: &mut [VirtualTime],
    ) {
        let tag = (distance as u32) << 8 | closing | GRAPH_TAG;
        let closing_word: &[u8] = match self.cast.release {
            Release::V2_21_5 => &[0; 4],
            Release::V2_27_7 => &[],
        };
        let mut heard_by: Vec<(usize, VirtualTime)> = Vec::new();
        for (rank, at) in times.iter_mut().enumerate() {
            for (to, letter) in self.letters(rank, distance, oob) {
                let letter = if closing > 0 { closing_word } else { &letter };
                let heard = self.message(transcript, listeners, (rank, to), tag, letter, *at);
                heard_by.push((to, heard));
                *at = at.after(THINK_NS);
            }
        }
        for (rank, heard) in heard_by {
            times[rank] = times[rank].max(heard);
        }
    }

    /// What a rank sends at a distance: receive entries to the previous rank, send entries to the
    /// next one; in one message if they are the same.
    fn letters(
        &self,
        rank: usize,
        distance: usize,
        oob: &BTreeMap<(u32, u32), SocketAddr>,
    ) -> Vec<(usize, Vec<u8>)> {
        let release = self.cast.release;
        let before = self.cast.after(rank, self.cast.actors.len() - distance);
        let behind = self.cast.after(rank, distance);
        let of = |sender: usize, receiver: usize| {
            let links = self.links(sender as u32).into_iter();
            let links = links.filter(move |(_, to, _)| *to as usize == receiver);
            links.map(move |(channel, ..)| (sender as u32, channel))
        };
        let handles = of(before, rank).filter_map(|link| oob.get(&link));
        let receive: Vec<u8> = handles
            .flat_map(|listener| connect_entry::of_receiver(&ib_handle::encode(*listener), release))
            .collect();
        let send: Vec<u8> =
            of(rank, behind).flat_map(|_| connect_entry::of_sender(rank as u32, release)).collect();
        let letters = if before == behind {
            vec![(behind, [receive, send].concat())]
        } else {
            vec![(before, receive), (behind, send)]
        };
        letters.into_iter().filter(|(_, letter)| !letter.is_empty()).collect()
    }

    /// A message from rank to rank, on its own connection.
    fn message(
        &self,
        transcript: &mut Transcript<'_>,
        listeners: &Listeners,
        (from, to): (usize, usize),
        tag: u32,
        bytes: &[u8],
        at: VirtualTime,
    ) -> VirtualTime {
        let Some(&listener) = listeners.peers.get(to) else { return at };
        let (line, _) = bootstrap::call(transcript, self.cast, (from, listener), at);
        let (rank, tag) = ((from as u32).to_le_bytes(), tag.to_le_bytes());
        match self.cast.release {
            Release::V2_21_5 => {
                bootstrap::frame(transcript, line, at, &rank);
                bootstrap::frame(transcript, line, at, &tag);
            }
            Release::V2_27_7 => {
                bootstrap::frame(transcript, line, at, &[rank, tag].concat());
            }
        }
        let heard = bootstrap::frame(transcript, line, at, bytes);
        transcript.close(line);
        heard
    }

    /// Both ends exchange their queue pairs; the connection stays open.
    fn exchange(
        &self,
        transcript: &mut Transcript<'_>,
        (sender, receiver, channel): (u32, u32, u32),
        connection: &Connection,
        listener: SocketAddr,
        at: VirtualTime,
    ) -> (SocketAddr, VirtualTime) {
        let release = self.cast.release;
        let connector = transcript.port(self.address(sender));
        let line = transcript.open_from(connector, listener, at);
        let (magic, kind) = greeting::encode(SOCKET_MAGIC, SocketType::NetIb);
        transcript.say(line, Speaker::Client, at, magic);
        let mut heard = transcript.say(line, Speaker::Client, at, kind);
        if release == Release::V2_27_7 {
            let list = ib_metadata::device_list(1);
            heard = transcript.say(line, Speaker::Client, at, list.clone());
            heard = transcript.say(line, Speaker::Server, heard.after(THINK_NS), list);
        }
        let rail = self.job.seats().rail(channel);
        let of_sender = self.metadata(sender, rail, connection, true).encode(release);
        let of_receiver = self.metadata(receiver, rail, connection, false).encode(release);
        let heard = transcript.say(line, Speaker::Client, heard.after(THINK_NS), of_sender);
        let heard = transcript.say(line, Speaker::Server, heard.after(REGISTER_NS), of_receiver);
        let ready = 1_u32.to_le_bytes();
        (connector, transcript.say(line, Speaker::Client, heard.after(THINK_NS), ready))
    }

    fn metadata(
        &self,
        rank: u32,
        rail: u32,
        connection: &Connection,
        is_sender: bool,
    ) -> IbMetadata {
        let pairs = if is_sender { &connection.sending } else { &connection.receiving };
        // The receiver announces where it wants sizes of grouped receives; there are none.
        let (buffer, key) = connection.buffer;
        let (address, rkey) =
            if is_sender { connection.fifo } else { (buffer + SIZES_WITHIN, key ^ 1) };
        let nic = self.map.nics.get(self.map.nic_of(self.job.seats().host(rank), rail));
        let gid = match nic.map(|nic| nic.address) {
            Some(IpAddr::V4(address)) => address.to_ipv6_mapped().octets(),
            Some(IpAddr::V6(address)) => address.octets(),
            None => [0; 16],
        };
        IbMetadata {
            queue_pairs: pairs.iter().map(|pair| QueuePair { qpn: pair.qpn, device: 0 }).collect(),
            devices: vec![IbDevice {
                lid: 0,
                port: 1,
                mtu: ib_metadata::mtu_code(self.mtu),
                link_layer: ib_metadata::ETHERNET,
                gid,
                rkey,
            }],
            name: nic.map(Nic::device).unwrap_or_default(),
            address,
            traffic_class: self.traffic_class,
            service_level: 0,
        }
    }
}

/// After the buffer and the clear-to-send queue.
const SIZES_WITHIN: u64 = 6 << 20;
