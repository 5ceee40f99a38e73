//! Taps: the traffic of a port, as capture files.
//!
//! `frame` and `tcp` make bytes, `pcapng` the files. RoCE frames come from the running network;
//! control plane frames are known in advance and inserted between them.

mod frame;
mod pcapng;
mod tcp;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use frame::Way;
use pcapng::{Interface, PcapngFile};

use super::control::Conversation;
use super::control::segments::{Segment, segments};
use super::epoch::epoch_ns;
use super::network::Network;
use super::network::id::{NicId, NodeId, PortId, TapId};
use super::network::packet::{Body, FlowKey, Packet};
use super::network::plan::NetworkPlan;
use super::network::tap::{Direction, TapSink};
use super::scenario::Scenario;
use super::scenario::map::Map;
use super::time::VirtualTime;
use crate::{DriveError, Result};

/// TTL of TCP when it leaves its host.
const FIRST_TTL: u8 = 64;

/// All capture files.
#[derive(Debug)]
pub struct Taps {
    files: Vec<PcapngFile>,
    /// Per file: control plane frames that are still to come.
    announced: Vec<VecDeque<Announced>>,
    taps: Vec<Tap>,
    /// Addresses of the NICs.
    addresses: Vec<IpAddr>,
    snaplen: usize,
    /// Whether taps see pause frames.
    sees_pause: bool,
    frame: Vec<u8>,
    failure: Option<DriveError>,
}

/// One port.
#[derive(Clone, Copy, Debug)]
struct Tap {
    /// The file and its interface.
    file: usize,
    interface: u32,
    /// MAC addresses of the port and its neighbour.
    macs: [[u8; 6]; 2],
}

/// A frame of the control plane.
#[derive(Debug)]
struct Announced {
    at: VirtualTime,
    interface: u32,
    bytes: Vec<u8>,
}

impl Taps {
    /// Creates the files in `folder`: `host3.pcapng`, `leaf1-uplink0.pcapng`.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn create(
        folder: &Path,
        scenario: &Scenario,
        map: &Map,
        plan: &NetworkPlan,
    ) -> Result<Self> {
        let mut files = Vec::new();
        let mut taps = Vec::new();
        let mut ports = plan.taps.iter();
        for tap in scenario.taps(map) {
            let mut interfaces = Vec::new();
            for port in ports.by_ref().take(tap.ports.len()) {
                let speed = link_of(plan, port.port).map_or(0, |link| link.rate_bps);
                let macs = [port.port, port.port.peer()].map(|port| mac(plan, port));
                let interface = interfaces.len() as u32;
                taps.push(Tap { file: files.len(), interface, macs });
                interfaces.push(Interface { name: port.name.clone(), speed });
            }
            let path = folder.join(format!("{}.pcapng", tap.name.replace(':', "-")));
            files.push(PcapngFile::create(&path, &interfaces)?);
        }
        let addresses = plan.nics.iter().map(|nic| nic.address).collect();
        let announced = files.iter().map(|_| VecDeque::new()).collect();
        Ok(Self {
            files,
            announced,
            taps,
            addresses,
            snaplen: scenario.capture.snaplen as usize,
            sees_pause: scenario.capture.pause_frames,
            frame: Vec::new(),
            failure: None,
        })
    }

    /// Schedules the frames of conversations at the taps on their current path through `network`.
    pub fn expect(
        &mut self,
        conversations: &[Conversation],
        plan: &NetworkPlan,
        network: &Network,
    ) {
        let taps: BTreeMap<PortId, Tap> =
            (plan.taps.iter().map(|tap| tap.port)).zip(self.taps.iter().copied()).collect();
        let mut ways = Ways::new(plan, network);
        let mut identifications: BTreeMap<IpAddr, u16> = BTreeMap::new();
        let mut bytes = Vec::new();
        let mut all: Vec<Segment> = conversations.iter().flat_map(segments).collect();
        all.sort_by_key(|segment| segment.leaves);
        for segment in &all {
            let addresses = [segment.from.ip(), segment.to.ip()];
            let identification = identifications.entry(addresses[0]).or_default();
            *identification = identification.wrapping_add(1);
            let path = ways.path(segment.from, segment.to);
            let lasts = segment.comes.since(segment.leaves);
            for (hop, port) in (0..).zip(path) {
                let macs = [*port, port.peer()].map(|port| mac(plan, port));
                let ttl = FIRST_TTL.saturating_sub(hop);
                for (end, hops) in [(*port, hop), (port.peer(), hop + 1)] {
                    let Some(&Tap { file, interface, .. }) = taps.get(&end) else { continue };
                    let Some(announced) = self.announced.get_mut(file) else { continue };
                    let share = lasts * u64::from(hops) / path.len() as u64;
                    let at = segment.leaves.after(share);
                    tcp::write(segment, Way { macs, addresses }, ttl, *identification, &mut bytes);
                    announced.push_back(Announced { at, interface, bytes: bytes.clone() });
                }
            }
        }
        for announced in &mut self.announced {
            announced.make_contiguous().sort_by_key(|frame| frame.at);
        }
    }

    /// Writes the rest and closes the files; returns their number of frames.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn finish(mut self) -> Result<u64> {
        for file in 0..self.files.len() {
            self.pass_announced(file, VirtualTime::NEVER);
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.files.iter_mut().try_for_each(PcapngFile::flush)?;
        Ok(self.files.iter().map(|file| file.frames).sum())
    }

    /// # Errors
    /// Something could not be written.
    pub fn check(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Writes the control plane frames before `time`.
    fn pass_announced(&mut self, file: usize, time: VirtualTime) {
        let Some(announced) = self.announced.get_mut(file) else { return };
        let Some(file) = self.files.get_mut(file) else { return };
        while let Some(frame) = announced.pop_front_if(|frame| frame.at <= time) {
            let Announced { at, interface, bytes } = frame;
            if let Err(error) = file.write(interface, epoch_ns(at), &bytes, bytes.len()) {
                self.failure.get_or_insert(error);
            }
        }
    }
}

/// The paths of the control plane through the network.
struct Ways<'a> {
    network: &'a Network,
    nics: BTreeMap<IpAddr, NicId>,
    known: BTreeMap<[SocketAddr; 2], Vec<PortId>>,
}

impl<'a> Ways<'a> {
    fn new(plan: &NetworkPlan, network: &'a Network) -> Self {
        let nics = (0..).zip(&plan.nics).map(|(place, nic)| (nic.address, NicId(place)));
        Self { network, nics: nics.collect(), known: BTreeMap::new() }
    }

    /// The ports that forward it; none inside a host.
    fn path(&mut self, from: SocketAddr, to: SocketAddr) -> &[PortId] {
        self.known.entry([from, to]).or_insert_with(|| {
            let nics = self.nics.get(&from.ip()).zip(self.nics.get(&to.ip()));
            let Some((&source, &destination)) = nics.filter(|(from, to)| from != to) else {
                return Vec::new();
            };
            let (udp_source_port, udp_destination_port) = (from.port(), to.port());
            self.network.path(FlowKey {
                source,
                destination,
                udp_source_port,
                udp_destination_port,
            })
        })
    }
}

impl TapSink for Taps {
    fn packet(&mut self, tap: TapId, time: VirtualTime, direction: Direction, packet: &Packet) {
        let Some(&Tap { file, interface, mut macs }) = self.taps.get(tap.0 as usize) else {
            return;
        };
        self.pass_announced(file, time);
        if matches!(packet.body, Body::Pause { .. }) && !self.sees_pause {
            return;
        }
        let address = |nic: u32| self.addresses.get(nic as usize).copied();
        let (Some(source), Some(destination)) =
            (address(packet.source.0), address(packet.destination.0))
        else {
            return;
        };
        if direction == Direction::In {
            macs.reverse();
        }
        let way = Way { macs, addresses: [source, destination] };
        frame::write(packet, way, self.snaplen, &mut self.frame);
        let kept = self.frame.get(..self.snaplen).unwrap_or(&self.frame);
        let Some(file) = self.files.get_mut(file) else { return };
        let length = usize::from(packet.frame_bytes);
        if let Err(error) = file.write(interface, epoch_ns(time), kept, length) {
            self.failure.get_or_insert(error);
        }
    }
}

fn link_of(plan: &NetworkPlan, port: PortId) -> Option<&super::network::plan::LinkPlan> {
    plan.links.get(port.link().0 as usize)
}

fn mac(plan: &NetworkPlan, port: PortId) -> [u8; 6] {
    let end = link_of(plan, port).and_then(|link| link.ends.get(port.end()));
    let mac = end.and_then(|end| match end.node {
        NodeId::Nic(nic) => plan.nics.get(nic.0 as usize).map(|nic| nic.mac),
        NodeId::Switch(switch) => plan.switches.get(switch.0 as usize).map(|switch| switch.mac),
    });
    mac.unwrap_or_default()
}
