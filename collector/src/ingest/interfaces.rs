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

/// Kinds that take frames of the interface that they are built on.
pub(super) const BUILT_ON_ANOTHER: [&str; 4] = ["vlan", "macvlan", "macvtap", "macsec"];

/// How often the kernel is asked while interfaces come and go.
const TRIES: u32 = 3;

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

/// Sentences about XDP programs that handle the frames of an interface, or of those that it is built on, before
/// anything else sees them; none if that is not known. An answer of the kernel: `IFLA_XDP`, Linux 4.13.
pub(super) fn hidden_by_xdp(index: u32) -> Vec<String> {
    let all = list().unwrap_or_default();
    with_those_below(&all, index).into_iter().filter_map(sentence).collect()
}

fn sentence(of: &Interface) -> Option<String> {
    let program = of.xdp.is_attached.then_some(of.xdp.program)?;
    let which = program.map_or_else(String::new, |id| format!(" (bpftool prog show id {id})"));
    Some(format!(
        "{}: an XDP program{which} handles frames first: what it drops, redirects or sends back is not seen",
        of.name
    ))
}

/// An interface, the one that it is built on, and its ports, also of those.
fn with_those_below(all: &[Interface], index: u32) -> Vec<&Interface> {
    let mut found: Vec<&Interface> = all.iter().filter(|one| one.index == index).collect();
    let mut at = 0;
    while let Some(one) = found.get(at).copied() {
        at += 1;
        let is_built_on = BUILT_ON_ANOTHER.contains(&one.kind.as_str());
        let has_ports = matches!(one.kind.as_str(), "bond" | "team");
        for other in all {
            let is_below = is_built_on && one.below == Some(other.index)
                || has_ports && other.master == Some(one.index);
            if is_below && found.iter().all(|known| known.index != other.index) {
                found.push(other);
            }
        }
    }
    found
}

/// Those of the calling thread's network namespace.
///
/// # Errors
///
/// The kernel does not list them, or they change all the time.
pub(super) fn list() -> io::Result<Vec<Interface>> {
    for _ in 0..TRIES {
        if let Some(all) = listed_once()? {
            return Ok(all);
        }
    }
    Err(io::Error::from(io::ErrorKind::Interrupted))
}

/// `None` if some came or went meanwhile, so that others may be missing.
fn listed_once() -> io::Result<Option<Vec<Interface>>> {
    let (family, kind) = (AddressFamily::Netlink, SockType::Raw);
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let mut request = Vec::with_capacity(HEADER + ABOUT);
    request.extend(((HEADER + ABOUT) as u32).to_ne_bytes());
    request.extend(GET_LINK.to_ne_bytes());
    request.extend((REQUEST | DUMP).to_ne_bytes());
    request.extend(NUMBER.to_ne_bytes());
    request.resize(HEADER + ABOUT, 0);
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    let (mut all, mut is_stable) = (Vec::new(), true);
    let mut datagram = vec![0; DATAGRAM_BYTES];
    loop {
        let length = recv(socket.as_raw_fd(), &mut datagram, MsgFlags::empty())?;
        let answers = messages(datagram.get(..length).unwrap_or_default(), NUMBER);
        for (message, has_changed) in answers {
            is_stable &= !has_changed;
            match message {
                Message::Attributes(bytes) => all.extend(interface(bytes)),
                Message::End => return Ok(is_stable.then_some(all)),
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

    #[test]
    fn programs_below_are_named() {
        let one = |index, kind: &str, [below, master]: [u32; 2], xdp| Interface {
            index,
            name: format!("eth{index}"),
            kind: kind.to_owned(),
            below: (below > 0).then_some(below),
            master: (master > 0).then_some(master),
            xdp,
            ..Interface::default()
        };
        let program = |id| Xdp { is_attached: true, program: id };
        let all = [
            one(1, "", [0, 3], program(Some(7))),
            one(2, "", [0, 3], Xdp::default()),
            one(3, "bond", [0, 0], Xdp::default()),
            one(4, "vlan", [3, 0], Xdp::default()),
            // The other end, and the bridge that it is a port of, are no part of it.
            one(5, "veth", [1, 6], Xdp::default()),
            one(6, "bridge", [0, 0], program(None)),
        ];
        let names = |index| -> Vec<String> {
            let found = with_those_below(&all, index).into_iter().filter_map(sentence);
            found.map(|text| text.split(" handles").next().unwrap_or_default().to_owned()).collect()
        };
        let port = ["eth1: an XDP program (bpftool prog show id 7)"];
        assert_eq!([names(1), names(3), names(4)], [port, port, port]);
        assert_eq!([names(2), names(5)], [[""; 0]; 2]);
        assert_eq!(names(6), ["eth6: an XDP program"]);
    }

    #[test]
    fn programs_as_the_kernel_says_it() {
        // `struct nlattr`: length, type; the value is padded to 4 bytes.
        let mode = |mode: u8| [5, 0, 2, 0, mode, 0, 0, 0];
        let id = [8, 0, 4, 0, 7, 0, 0, 0];
        assert_eq!(xdp(&mode(0)), Xdp::default());
        let one = xdp(&[mode(1), id].concat());
        assert_eq!(one, Xdp { is_attached: true, program: Some(7) });
        // Several: one in the driver, one in hardware.
        assert_eq!(xdp(&mode(4)), Xdp { is_attached: true, program: None });
        assert_eq!(xdp(&[5, 0, 2]), Xdp::default());
    }
}
