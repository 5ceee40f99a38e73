//! What else an interface is part of: a program in its driver would drop frames of that, too.
//!
//! rtnetlink(7) lists the interfaces of the calling thread's network namespace (linux/if_link.h).

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

use crate::ingest::rdma_netlink::message::{Message, attributes, messages, number_u32, text};

const GET_LINK: u16 = 18;
/// `NLM_F_REQUEST` and `NLM_F_DUMP`.
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const NUMBER: u32 = 1;

/// Bytes of `struct nlmsghdr`, and of `struct ifinfomsg` after it.
const HEADER: usize = 16;
const ABOUT: usize = 16;

/// Attributes: Ethernet address, name, the interface below, the one above, and what kind it is.
const ADDRESS: u16 = 1;
const NAME: u16 = 3;
const LINK: u16 = 5;
const MASTER: u16 = 10;
const LINK_INFO: u16 = 18;
const INFO_KIND: u16 = 1;

/// Bytes of a datagram: the kernel's are 32 KiB at most.
const DATAGRAM_BYTES: usize = 64 * 1024;

/// An interface.
#[derive(Debug, Default, PartialEq, Eq)]
struct Interface {
    index: u32,
    name: String,
    address: Vec<u8>,
    /// Empty for hardware.
    kind: String,
    /// The interface that it is built on.
    below: Option<u32>,
    /// The bond or bridge that it is a port of.
    master: Option<u32>,
}

/// Why frames must not be dropped in the driver of the interface with this index; `None` if they may.
pub(super) fn obstacle(index: u32) -> Option<String> {
    match interfaces() {
        Ok(all) => of(&all, index),
        Err(error) => Some(format!("what else it is part of is not known: {error}")),
    }
}

fn of(all: &[Interface], index: u32) -> Option<String> {
    let own = all.iter().find(|one| one.index == index)?;
    if matches!(own.kind.as_str(), "bond" | "team") {
        return Some(format!("it is a {}: name its ports", own.kind));
    }
    let master = all.iter().find(|one| Some(one.index) == own.master);
    if let Some(Interface { name, kind, .. }) = master
        && matches!(kind.as_str(), "bridge" | "openvswitch")
    {
        return Some(format!("it is a port of the bridge {name}, which needs frames to others"));
    }
    let is_built_on = |one: &&Interface| {
        let takes_frames = matches!(one.kind.as_str(), "vlan" | "macvlan" | "macvtap" | "macsec");
        takes_frames && one.below == Some(index)
    };
    let mut uppers = all.iter().filter(is_built_on).chain(master);
    let other = uppers.find(|one| one.address != own.address)?;
    Some(format!("{}, which is built on it, has another address", other.name))
}

fn interfaces() -> io::Result<Vec<Interface>> {
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
            _ => {}
        }
    }
    Some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_its_own_driver_and_address() {
        let one = |index, name: &str, kind: &str, address, [below, master]: [u32; 2]| Interface {
            index,
            name: name.to_owned(),
            address: vec![address],
            kind: kind.to_owned(),
            below: (below > 0).then_some(below),
            master: (master > 0).then_some(master),
        };
        let all = [
            one(1, "plain", "", 1, [0, 0]),
            one(2, "tagged", "", 2, [0, 0]),
            one(3, "tagged.5", "vlan", 2, [2, 0]),
            one(4, "leaf", "", 4, [0, 5]),
            one(5, "bond0", "bond", 4, [0, 0]),
            one(6, "parent", "", 6, [0, 0]),
            one(7, "macvlan0", "macvlan", 7, [6, 0]),
            one(8, "port", "", 8, [0, 9]),
            one(9, "br0", "bridge", 8, [0, 0]),
            one(10, "near", "veth", 10, [11, 0]),
            one(11, "far", "veth", 11, [10, 0]),
            one(12, "vxlan0", "vxlan", 12, [1, 0]),
            one(13, "backup", "", 13, [0, 5]),
        ];
        let obstacle = |index| of(&all, index).unwrap_or_default();
        for index in [1, 2, 4, 10, 11, 99] {
            assert_eq!(obstacle(index), "", "{index}");
        }
        assert_eq!(obstacle(5), "it is a bond: name its ports");
        assert_eq!(obstacle(6), "macvlan0, which is built on it, has another address");
        assert_eq!(obstacle(8), "it is a port of the bridge br0, which needs frames to others");
        assert_eq!(obstacle(13), "bond0, which is built on it, has another address");
    }

    #[test]
    fn the_kernel_lists_interfaces() {
        let all = interfaces().unwrap();
        let loopback = all.iter().find(|one| one.name == "lo").unwrap();
        assert_eq!((loopback.index, loopback.address.as_slice()), (1, &[0; 6][..]));
        assert_eq!(interface(&[0; 8]), None);
    }
}
