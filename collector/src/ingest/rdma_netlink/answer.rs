//! Reads answers: devices, queue pairs, counters.

use super::message::{attribute, attributes, number_u8, number_u32, number_u64, text};
use railscope_core::model::qpn::Qpn;
use railscope_core::model::queue_pair::{
    HostQueuePair, QueuePairKind, QueuePairOwner, QueuePairState,
};

/// An RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number in requests.
    pub index: u32,
    /// Name of the RDMA device: `mlx5_0`.
    pub name: String,
    /// Number of ports.
    pub ports: u32,
}

/// Reads one entry of the device list; `None` if it is malformed.
#[must_use]
pub fn device(message: &[u8]) -> Option<Device> {
    let (mut index, mut name, mut ports) = (None, None, 0);
    for (kind, value) in attributes(message) {
        match kind {
            attribute::DEV_INDEX => index = number_u32(value),
            attribute::DEV_NAME => name = Some(text(value)),
            attribute::PORT_INDEX => ports = number_u32(value).unwrap_or(0),
            _ => {}
        }
    }
    Some(Device { index: index?, name: name?, ports })
}

/// The queue pairs in a message, and the number of malformed entries.
#[must_use]
pub fn queue_pairs(message: &[u8]) -> (Vec<HostQueuePair>, u64) {
    let mut device = String::new();
    let (mut pairs, mut unread) = (Vec::new(), 0);
    for (kind, value) in attributes(message) {
        match kind {
            attribute::DEV_NAME => device = text(value),
            attribute::RES_QP => {
                let entries =
                    attributes(value).filter(|(kind, _)| *kind == attribute::RES_QP_ENTRY);
                for (_, entry) in entries {
                    match queue_pair(&device, entry) {
                        Some(pair) => pairs.push(pair),
                        None => unread += 1,
                    }
                }
            }
            _ => {}
        }
    }
    (pairs, unread)
}

fn queue_pair(device: &str, entry: &[u8]) -> Option<HostQueuePair> {
    let (mut port, mut local, mut remote) = (None, None, None);
    let (mut kind, mut state, mut owner) = (None, None, QueuePairOwner::Unknown);
    for (attribute, value) in attributes(entry) {
        match attribute {
            attribute::PORT_INDEX => port = number_u32(value),
            attribute::RES_LQPN => local = number_u32(value).map(Qpn::new),
            attribute::RES_RQPN => {
                remote = number_u32(value).filter(|number| *number != 0).map(Qpn::new);
            }
            attribute::RES_TYPE => kind = number_u8(value).map(QueuePairKind::from_number),
            attribute::RES_STATE => state = number_u8(value).and_then(QueuePairState::from_number),
            attribute::RES_PID => {
                owner = number_u32(value).map_or(QueuePairOwner::Unknown, QueuePairOwner::Process);
            }
            attribute::RES_KERN_NAME => owner = QueuePairOwner::Kernel(text(value)),
            _ => {}
        }
    }
    let device = device.to_owned();
    Some(HostQueuePair { device, port, local: local?, remote, kind: kind?, state: state?, owner })
}

/// The counters in a message, by name.
#[must_use]
pub fn statistics(message: &[u8]) -> Vec<(String, u64)> {
    let counters = attributes(message).filter(|(kind, _)| *kind == attribute::STAT_HWCOUNTERS);
    let entries = counters.flat_map(|(_, counters)| attributes(counters));
    let entries = entries.filter(|(kind, _)| *kind == attribute::STAT_HWCOUNTER_ENTRY);
    let counter = entries.map(|(_, entry)| {
        let of =
            |wanted| attributes(entry).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
        let name = of(attribute::STAT_HWCOUNTER_ENTRY_NAME).map(text);
        Some((name?, number_u64(of(attribute::STAT_HWCOUNTER_ENTRY_VALUE)?)?))
    });
    counter.flatten().collect()
}
