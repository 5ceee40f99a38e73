//! Queue pairs of NET/IB: which process owns which number.

use std::net::{IpAddr, Ipv6Addr};

use super::words::{assigned, assigned_word, between, number};
use crate::model::qpn::Qpn;

/// A queue pair being connected, printed by the sender of data, one line per queue pair.
///
/// 2.19 and before: `NET/IB: Dev 0 Port 1 qpn 127 mtu 5 GID 1 (0/100000AFFFF0000)`; 2.20 to 2.28:
/// `NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 127 ...`; later: `NET/IB: FUNCTION: NCCL Dev 0 ... qp_num
/// 127 ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedQueuePair {
    /// Its number.
    pub qpn: Qpn,
    /// NCCL's number of the NIC.
    pub device: Option<u32>,
    /// Address of its port; `None` on InfiniBand.
    pub address: Option<IpAddr>,
    /// R_Key of the memory to which the receiver writes CTS (2.20 and later).
    pub cts_remote_key: Option<u32>,
}

/// A created queue pair, printed by both sides (2.29 and later): `NET/IB: FUNCTION: QP created:
/// port=1 dev=0 devName=mlx5_0 ... qp_num=128 ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairCreated<'a> {
    /// Its number.
    pub qpn: Qpn,
    /// Device name.
    pub device: Option<&'a str>,
    /// Whether it only flushes data to the GPU by reads.
    pub is_flush: bool,
    /// Its end, if the function's name reveals it.
    pub end: Option<super::graph::EdgeEnd>,
}

impl LoggedQueuePair {
    pub(super) fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("NET/IB: ")?;
        let qpn = number(rest, "qpn").or_else(|| number(rest, "qp_num"))?;
        let (_, gid) = rest.split_once(" GID ").unwrap_or(("", ""));
        // The line that sets up ECE also has a number, but nothing else.
        (rest.contains(" mtu ")).then_some(())?;
        let key = assigned_word(rest, "ctsFifoRkey").or_else(|| assigned_word(rest, "fifoRkey"));
        Some(Self {
            qpn: Qpn::new(qpn),
            device: number(rest, "Dev").or_else(|| number(rest, "MergedDev")),
            address: between(gid, "(", ")").and_then(gid_address),
            cts_remote_key: key.and_then(super::words::hex).and_then(|key| key.try_into().ok()),
        })
    }
}

impl<'a> QueuePairCreated<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (function, rest) = text.strip_prefix("NET/IB: ")?.split_once(": ")?;
        let (kind, rest) = rest.split_once("QP created: ")?;
        let end = if function.contains("Sender") {
            Some(super::graph::EdgeEnd::Send)
        } else {
            function.contains("Receiver").then_some(super::graph::EdgeEnd::Receive)
        };
        let qpn = Qpn::new(assigned(rest, "qp_num")?);
        let is_flush = kind.starts_with("Flush");
        Some(Self { qpn, device: assigned_word(rest, "devName"), is_flush, end })
    }
}

/// A GID's two halves, printed as integers of a little-endian host: `0/100000AFFFF0000`.
fn gid_address(halves: &str) -> Option<IpAddr> {
    let (prefix, id) = halves.split_once('/')?;
    let half = |text| u64::from_str_radix(text, 16).ok().map(u64::swap_bytes);
    let bits = (u128::from(half(prefix)?) << 64) | u128::from(half(id)?);
    Some(Ipv6Addr::from_bits(bits).to_canonical())
}
