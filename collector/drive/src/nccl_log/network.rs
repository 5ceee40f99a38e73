//! Interfaces, devices, connections and queue pairs (`src/bootstrap.cc`, `src/transport/net*.cc`).

use super::facts::interface;
use super::{Log, Network};
use crate::job::Seat;
use crate::net::{LinkFacts, LinkSpec};
use crate::rdma::Device;
use crate::release::Release;
use crate::wire::ib_metadata::mtu_code;

impl Log {
    /// The start of the library: its settings, interface and network.
    pub fn start(&mut self, seat: &Seat, settings: &[(&str, String)], network: Network) {
        for (name, value) in settings {
            let stop = if value.parse::<i64>().is_ok() { "." } else { "" };
            self.info(format_args!("{name} set by environment to {value}{stop}"));
        }
        let release = self.release;
        let oob = interface(&seat.interface, seat.address);
        let blank = if release == Release::V2_21_5 { " " } else { "" };
        self.info(format_args!("Bootstrap{blank}: Using {oob}"));
        self.info("cudaDriverVersion 12040");
        self.info(format_args!("NCCL version {release}+cuda12.9"));
        match &network {
            Network::Ib(device) => self.ib(device, &oob),
            Network::Socket => {
                self.info("NET/IB : No device found.");
                self.info(format_args!("NET/Socket : Using [0]{oob}"));
            }
        }
        let name = network.name();
        match release {
            Release::V2_21_5 => self.info("Using non-device net plugin version 0"),
            Release::V2_27_7 => {
                self.info(format_args!("Initialized NET plugin {name}"));
                self.info(format_args!("Assigned NET plugin {name} to comm"));
            }
        }
        self.info(format_args!("Using network {name}"));
        self.network = Some(network);
    }

    fn ib(&mut self, device: &Device, oob: &str) {
        let Device { name, port, speed, .. } = device;
        if self.release == Release::V2_27_7 {
            self.info(format_args!(
                "NET/IB: [0] {name}:uverbs0:{port}/RoCE provider=None speed={speed} context=(nil) \
                 pciPath=(null) ar=0"
            ));
            self.info(format_args!(
                "NET/IB : Made virtual device [0] name={name} speed={speed} ndevs=1"
            ));
        }
        self.info(format_args!("NET/IB : Using [0]{name}:{port}/RoCE [RO]; OOB {oob}"));
    }

    /// The receiving end of a link, before it connects.
    pub fn receiver(&mut self, link: &LinkSpec, net: &str) {
        self.link(link, "receive", net);
    }

    /// The sending end of a link, before it connects.
    pub fn sender(&mut self, link: &LinkSpec, net: &str) {
        self.link(link, "send", net);
    }

    fn link(&mut self, link: &LinkSpec, direction: &str, net: &str) {
        let LinkSpec { channel, sender, receiver } = *link;
        let device = |rank: u32| self.devices.get(rank as usize).copied().unwrap_or(0);
        let (from, to) = (device(sender), device(receiver));
        self.info(format_args!(
            "Channel {channel:02}/0 : {sender}[{from}] -> {receiver}[{to}] [{direction}] via \
             NET/{net}/0"
        ));
    }

    /// The queue pairs of a sending end, once it is connected.
    pub fn queue_pairs(&mut self, link: &LinkFacts) {
        let Some(Network::Ib(device)) = self.network.clone() else { return };
        let ece = match self.release {
            Release::V2_21_5 => {
                "query_ece={supported=0, vendor_id=0x0, options=0x0, comp_mask=0x0} "
            }
            Release::V2_27_7 => "",
        };
        let (prefix, interface) = gid_halves(&device.gid);
        let Device { port, gid_index, mtu, .. } = device;
        let (_, rkey) = link.fifo.unwrap_or_default();
        for qpn in &link.qpns {
            self.info(format_args!(
                "NET/IB: NCCL Dev 0 IbDev 0 Port {port} qpn {qpn} mtu {mtu} {ece}GID {gid_index} \
                 ({prefix:X}/{interface:X}) fifoRkey=0x{rkey:x} fifoLkey=0x{rkey:x}",
                mtu = mtu_code(mtu)
            ));
        }
    }

    /// All rings are connected.
    pub fn connected(&mut self) {
        match self.release {
            Release::V2_21_5 => self.info("Connected all rings"),
            Release::V2_27_7 => self.info("Connected all rings, use ring PXN 0 GDR 0"),
        }
    }
}

/// Subnet prefix and interface id, read in little-endian order: NCCL does not swap them.
fn gid_halves(gid: &[u8; 16]) -> (u64, u64) {
    let half = |at: usize| {
        let half = gid.get(at..).and_then(|rest| rest.first_chunk());
        half.map_or(0, |half| u64::from_le_bytes(*half))
    };
    (half(0), half(8))
}
