//! How one end of a NET/IB connection describes its queue pairs (`struct ncclIbQpInfo` up to 2.19,
//! then `struct ncclIbConnectionMetadata`, of NCCL `src/transport/net_ib*`).
//!
//! It does not contain the number of queue pairs, and up to 2.23 the unused part is whatever was on
//! the stack. So [`Endpoint::queue_pair`] returns an entry if it is plausible as a queue pair;
//! which ones are real is decided from both ends.

use std::net::{IpAddr, Ipv6Addr};

use super::structure::Structure;
use crate::model::qpn::Qpn;

/// Most queue pairs of a connection (`NCCL_IB_MAX_QPS`).
pub const QUEUE_PAIRS: usize = 128;

/// `link_layer` of RoCE (`IBV_LINK_LAYER_ETHERNET`).
const ETHERNET: u8 = 2;

/// Offsets of the fields, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointLayout {
    /// Size.
    pub len: usize,
    /// Whether unused fields are zero.
    pub is_zeroed: bool,
    /// `fifoAddr` or `addr`.
    pub fifo_address: usize,
    /// Ports and the queue pairs on them.
    pub ports: PortLayout,
}

/// Layout of queue pairs and their ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortLayout {
    /// All queue pairs on one port.
    One {
        /// `spn` and `iid`, which form the GID; `mtu` and `fifoRkey` follow.
        gid: usize,
    },
    /// Queue pairs on the ports of a merged device.
    Several(SeveralPorts),
}

/// Offsets of the fields of a merged device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeveralPorts {
    /// `devs`.
    pub devices: usize,
    /// Size of an element of `devs`.
    pub device_len: usize,
    /// Number of elements of `devs`.
    pub device_limit: u32,
    /// `devName`.
    pub name: usize,
    /// Size of `devName`.
    pub name_len: usize,
    /// `ndevs`.
    pub device_count: usize,
    /// `tc`.
    pub traffic_class: Option<usize>,
}

/// First queue pair number, and size of one, of a structure with one port.
pub const ONE_PORT_QPN: (usize, usize) = (8, 4);
/// `link_layer` of a structure with one port.
pub const ONE_PORT_LINK_LAYER: usize = 5;
/// Size of `struct ncclIbQpInfo` since 2.20; its number is the first field.
pub const QP_INFO_LEN: usize = 24;
/// `ece_supported` in `struct ncclIbQpInfo`.
pub const QP_ECE_SUPPORTED: usize = 16;
/// `devIndex` in `struct ncclIbQpInfo`.
pub const QP_DEVICE: usize = 20;
/// `mtu` in `struct ncclIbDevInfo`.
pub const DEVICE_MTU: usize = 8;
/// `link_layer` in `struct ncclIbDevInfo`.
pub const DEVICE_LINK_LAYER: usize = 12;
/// `gid` in `struct ncclIbDevInfo`.
pub const DEVICE_GID: usize = 16;
/// `fifoRkey` or `rkey` in `struct ncclIbDevInfo`.
pub const DEVICE_RKEY: usize = 32;

/// 2.12 to 2.18.
pub const ENDPOINT_552: EndpointLayout = EndpointLayout {
    len: 552,
    is_zeroed: false,
    fifo_address: 544,
    ports: PortLayout::One { gid: 520 },
};
/// 2.19.
pub const ENDPOINT_2600: EndpointLayout = EndpointLayout {
    len: 2600,
    is_zeroed: false,
    fifo_address: 2592,
    ports: PortLayout::One { gid: 2568 },
};
/// 2.20 to 2.23.
pub const ENDPOINT_3336: EndpointLayout = EndpointLayout {
    len: 3336,
    is_zeroed: false,
    fifo_address: 3320,
    ports: PortLayout::Several(SeveralPorts {
        devices: 3072,
        device_len: 56,
        device_limit: 2,
        name: 3184,
        name_len: 130,
        device_count: 3328,
        traffic_class: None,
    }),
};
/// 2.24 and 2.25.
pub const ENDPOINT_3576: EndpointLayout = EndpointLayout {
    len: 3576,
    is_zeroed: true,
    fifo_address: 3560,
    ports: PortLayout::Several(SeveralPorts {
        devices: 3072,
        device_len: 56,
        device_limit: 4,
        name: 3296,
        name_len: 260,
        device_count: 3568,
        traffic_class: None,
    }),
};
/// 2.26.
pub const ENDPOINT_3584: EndpointLayout = EndpointLayout {
    len: 3584,
    is_zeroed: true,
    fifo_address: 3560,
    ports: PortLayout::Several(SeveralPorts {
        devices: 3072,
        device_len: 56,
        device_limit: 4,
        name: 3296,
        name_len: 260,
        device_count: 3568,
        traffic_class: Some(3572),
    }),
};
/// 2.27 to 2.29.3.
pub const ENDPOINT_3648: EndpointLayout = EndpointLayout {
    len: 3648,
    is_zeroed: true,
    fifo_address: 3624,
    ports: PortLayout::Several(SeveralPorts {
        devices: 3072,
        device_len: 56,
        device_limit: 4,
        name: 3296,
        name_len: 324,
        device_count: 3632,
        traffic_class: Some(3636),
    }),
};
/// 2.29.7.
pub const ENDPOINT_3744: EndpointLayout = EndpointLayout {
    len: 3744,
    is_zeroed: true,
    fifo_address: 3720,
    ports: PortLayout::Several(SeveralPorts {
        devices: 3168,
        device_len: 56,
        device_limit: 4,
        name: 3392,
        name_len: 324,
        device_count: 3728,
        traffic_class: Some(3732),
    }),
};
/// 2.30.
pub const ENDPOINT_4576: EndpointLayout = EndpointLayout {
    len: 4576,
    is_zeroed: true,
    fifo_address: 4552,
    ports: PortLayout::Several(SeveralPorts {
        devices: 3456,
        device_len: 56,
        device_limit: 8,
        name: 3904,
        name_len: 648,
        device_count: 4560,
        traffic_class: Some(4564),
    }),
};
/// 2.31 and 2.32.
pub const ENDPOINT_4712: EndpointLayout = EndpointLayout {
    len: 4712,
    is_zeroed: true,
    fifo_address: 4680,
    ports: PortLayout::Several(SeveralPorts {
        devices: 3456,
        device_len: 72,
        device_limit: 8,
        name: 4032,
        name_len: 648,
        device_count: 4700,
        traffic_class: Some(4704),
    }),
};

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    structure: Structure<'a>,
    layout: &'a EndpointLayout,
    /// Number of ports.
    pub device_count: u32,
    /// Where the other end writes: for a sender of data the CTS FIFO, for a receiver sizes.
    pub fifo_address: u64,
    /// Name of the (merged) device; empty up to 2.19.
    pub device_name: &'a str,
    /// Requested traffic class; `None` up to 2.25.
    pub traffic_class: Option<i32>,
}

/// A port of the device behind an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IbPort {
    /// Its GID as an address, which for RoCEv2 is the IP address of its packets; `None` for
    /// InfiniBand.
    pub address: Option<IpAddr>,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// `R_Key` of the memory at [`Endpoint::fifo_address`].
    pub fifo_key: u32,
}

/// An entry of the queue pair array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairEntry {
    /// Its number.
    pub qpn: Qpn,
    /// Index of its port.
    pub device: u32,
}

impl<'a> Endpoint<'a> {
    /// Parses a complete structure; `None` if it is invalid: no port, or an impossible port or
    /// first queue pair.
    #[must_use]
    pub fn decode(bytes: &'a [u8], layout: &'a EndpointLayout) -> Option<Self> {
        if bytes.len() != layout.len {
            return None;
        }
        let structure = Structure(bytes);
        let mut endpoint = Self {
            structure,
            layout,
            device_count: 1,
            fifo_address: structure.u64(layout.fifo_address)?,
            device_name: "",
            traffic_class: None,
        };
        if let PortLayout::Several(ports) = &layout.ports {
            let count = structure.count(ports.device_count)?;
            endpoint.device_count = (1..=ports.device_limit).contains(&count).then_some(count)?;
            endpoint.device_name = endpoint.name(ports)?;
            endpoint.traffic_class = ports.traffic_class.and_then(|at| structure.i32(at));
        }
        let has_ports = (0..endpoint.device_count).all(|device| endpoint.port(device).is_some());
        (has_ports && endpoint.queue_pair(0).is_some()).then_some(endpoint)
    }

    fn name(&self, ports: &SeveralPorts) -> Option<&'a str> {
        let name = self.structure.0.get(ports.name..)?.get(..ports.name_len)?;
        let name = name.split(|byte| *byte == 0).next()?;
        let is_name = name.iter().all(u8::is_ascii_graphic) && name.len() < ports.name_len;
        is_name.then(|| str::from_utf8(name).ok())?
    }

    /// A port; `None` if it is impossible.
    #[must_use]
    pub fn port(&self, device: u32) -> Option<IbPort> {
        let (link_layer, gid, mtu, fifo_key) = match self.layout.ports {
            PortLayout::One { gid } => {
                let (mtu, fifo_key) = (gid.checked_add(16)?, gid.checked_add(20)?);
                (ONE_PORT_LINK_LAYER, gid, mtu, fifo_key)
            }
            PortLayout::Several(ports) => {
                let place = ports.device_len.checked_mul(device as usize)?;
                let start = ports.devices.checked_add(place)?;
                let at = |field: usize| start.checked_add(field);
                (at(DEVICE_LINK_LAYER)?, at(DEVICE_GID)?, at(DEVICE_MTU)?, at(DEVICE_RKEY)?)
            }
        };
        let mtu = match self.structure.u32(mtu)? {
            code @ 1..=5 => 128 << code,
            _ => return None,
        };
        let gid = Ipv6Addr::from(*self.structure.bytes::<16>(gid)?);
        let address = match self.structure.u8(link_layer)? {
            ETHERNET if gid.is_unspecified() => return None,
            ETHERNET => Some(gid.to_ipv4_mapped().map_or(IpAddr::V6(gid), IpAddr::V4)),
            0 | 1 => None,
            _ => return None,
        };
        Some(IbPort { address, mtu, fifo_key: self.structure.u32(fifo_key)? })
    }

    /// The entry at `place`; `None` if it is not a queue pair.
    #[must_use]
    pub fn queue_pair(&self, place: usize) -> Option<QueuePairEntry> {
        if place >= QUEUE_PAIRS {
            return None;
        }
        let (qpn, device) = match self.layout.ports {
            PortLayout::One { .. } => {
                let (first, len) = ONE_PORT_QPN;
                let at = first.checked_add(len.checked_mul(place)?)?;
                (self.structure.u32(at)?, 0)
            }
            PortLayout::Several(_) => {
                let start = QP_INFO_LEN.checked_mul(place)?;
                let at = |field: usize| start.checked_add(field);
                let is_flag = self.structure.u32(at(QP_ECE_SUPPORTED)?)? <= 1;
                let device = self.structure.u32(at(QP_DEVICE)?)?;
                if !is_flag || device >= self.device_count {
                    return None;
                }
                (self.structure.u32(start)?, device)
            }
        };
        // 0 and 1 are the management queue pairs.
        (2..1 << 24).contains(&qpn).then(|| QueuePairEntry { qpn: Qpn::new(qpn), device })
    }

    /// Entries after the last queue pair are zero.
    #[must_use]
    pub const fn is_zeroed(&self) -> bool {
        self.layout.is_zeroed
    }
}
