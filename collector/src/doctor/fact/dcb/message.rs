//! Messages of `RTM_GETDCB` (linux/dcbnl.h): a header, `struct dcbmsg`, then attributes.

use std::io;

use netlink_packet_core::{DefaultNla, Emitable, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader};

use super::Dcb;
use crate::ingest::rdma_netlink::message::attributes;

/// `RTM_GETDCB` of linux/rtnetlink.h.
const GET_DCB: u16 = 78;
/// `DCB_CMD_IEEE_GET`.
const IEEE_GET: u8 = 21;
/// `NLMSG_ERROR`.
const ERROR: u16 = 2;
/// Bytes of `struct dcbmsg`: family, command, padding.
const HEAD: usize = 4;
/// `DCB_ATTR_IFNAME`, `DCB_ATTR_IEEE`.
const NAME: u16 = 1;
const IEEE: u16 = 13;
/// `DCB_ATTR_IEEE_ETS`, `DCB_ATTR_IEEE_PFC`, `DCB_ATTR_IEEE_APP_TABLE`.
const ETS: u16 = 1;
const PFC: u16 = 2;
const APPLICATIONS: u16 = 3;
/// `IEEE_8021QAZ_APP_SEL_DSCP` of `struct dcb_app`.
const BY_DSCP: u8 = 5;
/// The flag of attributes that hold attributes, and of byte order (linux/netlink.h).
const FLAGS: u16 = 0xc000;

/// Asks for everything of one interface.
#[must_use]
pub fn request(interface: &str) -> Vec<u8> {
    let mut name = interface.as_bytes().to_vec();
    name.push(0);
    let name = DefaultNla::new(NAME, name);
    let attributes = [name];
    let attributes = attributes.as_slice();
    let mut header = NetlinkHeader::default();
    let length = header.buffer_len() + HEAD + attributes.buffer_len();
    header.length = length as u32;
    header.message_type = GET_DCB;
    header.flags = NLM_F_REQUEST;
    header.sequence_number = 1;
    let mut bytes = vec![0; length];
    let (head, rest) = bytes.split_at_mut(header.buffer_len());
    header.emit(head);
    let (message, rest) = rest.split_at_mut(HEAD);
    message.iter_mut().zip([0, IEEE_GET]).for_each(|(to, from)| *to = from);
    attributes.emit(rest);
    bytes
}

/// What the kernel answers.
///
/// # Errors
///
/// The kernel's, or `InvalidData` for what is no answer.
pub fn answer(datagram: &[u8]) -> io::Result<Dcb> {
    let invalid =
        || io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer cannot be read");
    let message = NetlinkBuffer::new_checked(datagram).map_err(|_| invalid())?;
    let payload = message.payload();
    if message.message_type() == ERROR {
        let number = payload.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
        return Err(io::Error::from_raw_os_error(number.wrapping_neg()));
    }
    let mut dcb = Dcb::default();
    for (kind, value) in plain(payload.get(HEAD..).ok_or_else(invalid)?) {
        if kind == IEEE {
            plain(value).for_each(|(kind, value)| dcb.take(kind, value));
        }
    }
    Ok(dcb)
}

impl Dcb {
    fn take(&mut self, kind: u16, value: &[u8]) {
        match kind {
            PFC => self.take_pfc(value),
            ETS => self.take_ets(value),
            APPLICATIONS => {
                // `struct dcb_app`: selector, priority, then the DSCP as a number of 16 bits.
                let applications = plain(value).filter_map(|(_, value)| value.first_chunk::<4>());
                let of_dscp = applications.filter(|application| application[0] == BY_DSCP);
                self.dscp.extend(of_dscp.map(|app| {
                    let dscp = u16::from_ne_bytes([app[2], app[3]]);
                    (dscp as u8 & 0x3f, app[1] & 7)
                }));
                self.dscp.sort_unstable();
            }
            _ => {}
        }
    }

    /// `struct ieee_pfc`: capability, then one bit a priority.
    fn take_pfc(&mut self, value: &[u8]) {
        let Some([capability, enabled]) = value.first_chunk::<2>() else { return };
        self.pfc_capability = Some(*capability);
        self.pfc = Some(std::array::from_fn(|priority| enabled >> priority & 1 == 1));
    }

    /// `struct ieee_ets`: three bytes, then tables of eight: bandwidth sent and received, algorithms, and
    /// the class of each priority.
    fn take_ets(&mut self, value: &[u8]) {
        let table = |at: usize| value.get(at..).and_then(|rest| rest.first_chunk::<8>()).copied();
        self.shares = table(3);
        self.classes = table(3 + 3 * 8);
    }
}

/// Attributes with their kinds, without the flags.
fn plain(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    attributes(bytes).map(|(kind, value)| (kind & !FLAGS, value))
}
