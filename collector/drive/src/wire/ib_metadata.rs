//! What both ends of a NET/IB connection exchange over TCP: in 2.27.7 first a list of devices
//! (`ncclNetVDeviceProps_t`, 20 bytes: number at 0, indices at 4), then `struct
//! ncclIbConnectionMetadata` (NCCL `src/transport/net_ib.cc`).
//!
//! | | 2.21.5, 3336 bytes | 2.27.7, 3648 bytes |
//! |---|---|---|
//! | queue pairs, 128 of 24 | 0 | 0 |
//! | devices of 56 | 2 at 3072 | 4 at 3072 |
//! | name | 130 at 3184 | 324 at 3296 |
//! | address of the CTS queue (sender) or of the sizes (receiver) | 3320 | 3624 |
//! | number of devices | 3328 | 3632 |
//! | traffic class, service level | | 3636, 3640 |
//!
//! A queue pair: number at 0, ECE at 4 (none here), device at 20. A device: LID at 0, port at 4, MTU
//! code at 8, link layer at 12, GID at 16, rkey at 32. 2.21.5 leaves what it does not set as its stack
//! was; here it is zero.

use super::Parsed;
use super::image::{Fields, Image};
use crate::release::Release;

const QUEUE_PAIRS: usize = 128;
const QUEUE_PAIR_BYTES: usize = 24;
const DEVICES: usize = QUEUE_PAIRS * QUEUE_PAIR_BYTES;
const DEVICE_BYTES: usize = 56;

/// `IBV_LINK_LAYER_ETHERNET`
pub const ETHERNET: u8 = 2;

/// Size of the preceding device list, in 2.27.7.
pub const DEVICE_LIST_BYTES: usize = 20;

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IbMetadata {
    /// Queue pairs, in the order that pairs them with the other end's.
    pub queue_pairs: Vec<QueuePair>,
    /// One NIC, or several merged into one.
    pub devices: Vec<IbDevice>,
    /// The NIC: `mlx5_0`, or `mlx5_0+mlx5_1`.
    pub name: String,
    /// Sender: its clear-to-send queue. Receiver: where it wants sizes of grouped receives.
    pub address: u64,
    /// `NCCL_IB_TC`, in 2.27.7.
    pub traffic_class: u32,
    /// `NCCL_IB_SL`, in 2.27.7.
    pub service_level: u32,
}

/// `struct ncclIbQpInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePair {
    /// Queue pair number, 24 bits.
    pub qpn: u32,
    /// Index among this end's devices.
    pub device: u32,
}

/// `struct ncclIbDevInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IbDevice {
    /// 0 for RoCE.
    pub lid: u32,
    /// Port number, from 1.
    pub port: u8,
    /// `enum ibv_mtu`: 1 for 256 bytes to 5 for 4096.
    pub mtu: u32,
    /// `IBV_LINK_LAYER_*`
    pub link_layer: u8,
    /// The port's GID.
    pub gid: [u8; 16],
    /// Key of `address`.
    pub rkey: u32,
}

struct Layout {
    len: usize,
    devices: usize,
    name: (usize, usize),
    address: usize,
}

const fn layout(release: Release) -> Layout {
    match release {
        Release::V2_21_5 => Layout { len: 3336, devices: 2, name: (3184, 130), address: 3320 },
        Release::V2_27_7 => Layout { len: 3648, devices: 4, name: (3296, 324), address: 3624 },
    }
}

/// Size in bytes.
#[must_use]
pub const fn len(release: Release) -> usize {
    layout(release).len
}

/// The device list of an end with devices 0 to `count`, at most 4.
#[must_use]
pub fn device_list(count: u32) -> Vec<u8> {
    let image = Image::new(DEVICE_LIST_BYTES).u32(0, count);
    (0..count.min(4))
        .fold(image, |image, device| image.u32(4 + 4 * device as usize, device))
        .into_bytes()
}

/// Number of devices in a list.
///
/// # Errors
/// Another length, or an impossible number.
pub fn parse_device_list(bytes: &[u8]) -> Parsed<u32> {
    let count = Fields::new(bytes, DEVICE_LIST_BYTES, "a list of devices")?.u32(0);
    if !(1..=4).contains(&count) {
        return Err(format!("a list of {count} devices"));
    }
    Ok(count)
}

/// `enum ibv_mtu` of a payload size, rounded down.
#[must_use]
pub const fn mtu_code(bytes: u16) -> u32 {
    match bytes {
        0..512 => 1,
        512..1024 => 2,
        1024..2048 => 3,
        2048..4096 => 4,
        4096.. => 5,
    }
}

/// Payload size of an `enum ibv_mtu`.
///
/// # Errors
/// There is no such code.
pub fn mtu_bytes(code: u32) -> Parsed<u16> {
    match code {
        1..=5 => Ok(128 << code),
        _ => Err(format!("MTU code {code}; codes are 1 to 5")),
    }
}

impl IbMetadata {
    /// The bytes on the wire. Queue pairs, devices and letters of the name that do not fit are left
    /// out.
    #[must_use]
    pub fn encode(&self, release: Release) -> Vec<u8> {
        let layout = layout(release);
        let mut image = Image::new(layout.len);
        for (index, pair) in self.queue_pairs.iter().take(QUEUE_PAIRS).enumerate() {
            let at = index * QUEUE_PAIR_BYTES;
            image = image.u32(at, pair.qpn).u32(at + 20, pair.device);
        }
        for (index, device) in self.devices.iter().take(layout.devices).enumerate() {
            let at = DEVICES + index * DEVICE_BYTES;
            image = image.u32(at, device.lid).put(at + 4, &[device.port]).u32(at + 8, device.mtu);
            image = image.put(at + 12, &[device.link_layer]).put(at + 16, &device.gid);
            image = image.u32(at + 32, device.rkey);
        }
        let (name_at, name_room) = layout.name;
        let name = self.name.as_bytes();
        image = image.put(name_at, name.get(..name_room - 1).unwrap_or(name));
        let devices = u32::try_from(self.devices.len()).unwrap_or(u32::MAX);
        image = image.u64(layout.address, self.address).u32(layout.address + 8, devices);
        if release == Release::V2_27_7 {
            image = image.u32(layout.address + 12, self.traffic_class);
            image = image.u32(layout.address + 16, self.service_level);
        }
        image.into_bytes()
    }

    /// Reads `queue_pairs` queue pairs, a number that both ends know; in 2.21.5, the bytes after
    /// them are undefined.
    ///
    /// # Errors
    /// Another length, no or too many devices, or more queue pairs than fit.
    pub fn parse(bytes: &[u8], queue_pairs: usize, release: Release) -> Parsed<Self> {
        let layout = layout(release);
        let fields = Fields::new(bytes, layout.len, "NET/IB metadata")?;
        let devices = fields.u32(layout.address + 8) as usize;
        if devices == 0 || devices > layout.devices {
            return Err(format!("NET/IB metadata with {devices} devices"));
        }
        if queue_pairs > QUEUE_PAIRS {
            return Err(format!("NET/IB metadata for {queue_pairs} queue pairs"));
        }
        let queue_pair = |index: usize| {
            let at = index * QUEUE_PAIR_BYTES;
            QueuePair { qpn: fields.u32(at), device: fields.u32(at + 20) }
        };
        let device = |index: usize| {
            let at = DEVICES + index * DEVICE_BYTES;
            let [port] = fields.array(at + 4);
            let [link_layer] = fields.array(at + 12);
            IbDevice {
                lid: fields.u32(at),
                port,
                mtu: fields.u32(at + 8),
                link_layer,
                gid: fields.array(at + 16),
                rkey: fields.u32(at + 32),
            }
        };
        let (name_at, name_room) = layout.name;
        let name = bytes.iter().skip(name_at).take(name_room).take_while(|byte| **byte != 0);
        let is_new = release == Release::V2_27_7;
        let number = |at: usize| if is_new { fields.u32(at) } else { 0 };
        Ok(Self {
            queue_pairs: (0..queue_pairs).map(queue_pair).collect(),
            devices: (0..devices).map(device).collect(),
            name: String::from_utf8_lossy(&name.copied().collect::<Vec<_>>()).into_owned(),
            address: fields.u64(layout.address),
            traffic_class: number(layout.address + 12),
            service_level: number(layout.address + 16),
        })
    }
}
