//! The IP addresses in a connection request: the first 36 bytes of its private data, when its
//! service is an IP port (IBTA volume 1, annex A11).
//!
//! ```text
//! byte 0                     1                       2..3         4..19      20..35
//!      major(4)|minor(4)     IP version(4)|reserved  source port  source IP  destination IP
//!
//! service ID 0x0000_0000_01 | IP protocol | destination port (2)
//! ```
//!
//! IPv4 addresses are in the last four of their sixteen bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::fields::Fields;

/// Bytes of the header.
pub const LEN: usize = 36;

/// Who connects, in terms of IP.
#[doc(alias = "infiniband.cm.req.ip_cm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpService {
    /// IP protocol whose port space is used: 6 for reliable connections, 17 for datagrams.
    #[doc(alias = "infiniband.cm.req.serviceid.protocol")]
    pub protocol: u8,
    /// Port of the requester.
    #[doc(alias = "infiniband.cm.req.ip_cm.sport")]
    pub source_port: u16,
    /// Port that is connected to, from the service ID.
    #[doc(alias = "infiniband.cm.req.serviceid.dport")]
    pub destination_port: u16,
    /// Address of the requester.
    #[doc(alias = "infiniband.cm.req.ip_cm.sip4")]
    pub source: IpAddr,
    /// Address that is connected to.
    #[doc(alias = "infiniband.cm.req.ip_cm.dip4")]
    pub destination: IpAddr,
}

impl IpService {
    /// Reads the private data of a request for `service_id`; `None` if that is not an IP
    /// port, the header is truncated, or its version is unknown.
    #[must_use]
    pub fn decode(service_id: u64, private_data: &[u8]) -> Option<Self> {
        let [0, 0, 0, 0, 1, protocol, p0, p1] = service_id.to_be_bytes() else { return None };
        let header = Fields(private_data.first_chunk::<LEN>()?);
        let (source, destination) = (header.gid::<4>(), header.gid::<20>());
        let (source, destination) = match (header.u8::<0>() >> 4, header.u8::<1>() >> 4) {
            (0, 4) => (last_four(source).into(), last_four(destination).into()),
            (0, 6) => (source.into(), destination.into()),
            _ => return None,
        };
        Some(Self {
            protocol,
            source_port: header.u16::<2>(),
            destination_port: u16::from_be_bytes([p0, p1]),
            source,
            destination,
        })
    }
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}
