//! The interfaces of a network namespace, as the kernel lists them: rtnetlink(7), linux/if_link.h.

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

use super::rdma_netlink::message::{Message, attributes, messages, number_u8, number_u32, text};

const GET_LINK: u16 = 18;
/// `NLM_F_REQUEST` and `NLM_F_DUMP`.
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const NUMBER: u32 = 1;

/// Bytes of `struct nlmsghdr`, and of `struct ifinfomsg` after it.
const HEADER: usize = 16;
const ABOUT: usize = 16;

/// Attributes: Ethernet address, name, the interface below, the one above, what kind it is, and its programs.
const ADDRESS: u16 = 1;
const NAME: u16 = 3;
const LINK: u16 = 5;
const MASTER: u16 = 10;
const LINK_INFO: u16 = 18;
const INFO_KIND: u16 = 1;
const XDP: u16 = 43;
const XDP_ATTACHED: u16 = 2;
const XDP_PROGRAM: u16 = 4;

/// Bytes of a datagram: the kernel's are 32 KiB at most.
const DATAGRAM_BYTES: usize = 64 * 1024;

/// An interface.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) address: Vec<u8>,
    /// Empty for hardware.
    pub(super) kind: String,
    /// The interface that it is built on.
    pub(super) below: Option<u32>,
    /// The bond or bridge that it is a port of.
    pub(super) master: Option<u32>,
    pub(super) xdp: Xdp,
}

/// What handles frames before the network stack does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Xdp {
    is_attached: bool,
    /// The program's id; `None` if there are several, in the driver and in hardware.
    program: Option<u32>,
}

/// That a program handles the frames of an interface before anything else sees them; `None` if none does, or if
/// that is not known. An answer of the kernel: `IFLA_XDP`, Linux 4.13.
pub(super) fn hidden_by_xdp(name: &str, index: u32) -> Option<String> {
    let own = list().ok()?.into_iter().find(|one| one.index == index)?;
    let program = own.xdp.is_attached.then_some(own.xdp.program)?;
    let which = program.map_or_else(String::new, |id| format!(" (bpftool prog show id {id})"));
    Some(format!(
        "{name}: an XDP program{which} handles frames first: what it drops or redirects is not seen"
    ))
}

/// Those of the calling thread's network namespace.
///
/// # Errors
///
/// The kernel does not list them.
pub(super) fn list() -> io::Result<Vec<Interface>> {
    let (family, kind) = (AddressFamily::Netlink, SockType::Raw);
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let mut request = Vec::with_capacity(HEADER + ABOUT);
    request.extend(((HEADER + ABOUT) as u32).to_ne_bytes());
    request.extend(GET_LINK.to_ne_bytes());
    request.extend((REQUEST | DUMP).to_ne_bytes());
    request.extend(NUMBER.to_ne_bytes());
    request.resize(HEADER + ABOUT, 0);
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut all = Vec::new();
    let mut datagram = vec![0; DATAGRAM_BYTES];
    loop {
        let length = recv(socket.as_raw_fd(), &mut datagram, MsgFlags::empty())?;
        for (message, _) in messages(datagram.get(..length).unwrap_or_default(), NUMBER) {
            match message {
                Message::Attributes(bytes) => all.extend(interface(bytes)),
                Message::End => return Ok(all),
                Message::Refused(error) => return Err(io::Error::from_raw_os_error(error)),
            }
        }
    }
}

/// An interface of an answer: `struct ifinfomsg`, then attributes.
fn interface(bytes: &[u8]) -> Option<Interface> {
    let (about, rest) = bytes.split_at_checked(ABOUT)?;
    let mut one = Interface { index: number_u32(about.get(4..)?)?, ..Interface::default() };
    for (attribute, value) in attributes(rest) {
        match attribute {
            ADDRESS => one.address = value.to_vec(),
            NAME => one.name = text(value),
            LINK => one.below = number_u32(value),
            MASTER => one.master = number_u32(value),
            LINK_INFO => {
                let kind = attributes(value).find(|(attribute, _)| *attribute == INFO_KIND);
                one.kind = kind.map_or_else(String::new, |(_, value)| text(value));
            }
            XDP => one.xdp = xdp(value),
            _ => {}
        }
    }
    Some(one)
}

fn xdp(nested: &[u8]) -> Xdp {
    let mut xdp = Xdp::default();
    for (attribute, value) in attributes(nested) {
        match attribute {
            XDP_ATTACHED => xdp.is_attached = number_u8(value).is_some_and(|mode| mode > 0),
            XDP_PROGRAM => xdp.program = number_u32(value),
            _ => {}
        }
    }
    xdp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_lists_interfaces() {
        let all = list().unwrap();
        let loopback = all.iter().find(|one| one.name == "lo").unwrap();
        assert_eq!((loopback.index, loopback.address.as_slice()), (1, &[0; 6][..]));
        assert_eq!(interface(&[0; 8]), None);
    }
}
