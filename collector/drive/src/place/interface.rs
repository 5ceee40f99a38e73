//! The machine's interfaces, and which of them NCCL would use.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use super::sys;
use crate::{DriveError, Result};

/// An interface and its first address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name in the kernel: `eth0`.
    pub name: String,
    /// Its first address.
    pub address: IpAddr,
    /// MTU in bytes.
    pub mtu: u32,
}

/// The interface that `NCCL_SOCKET_IFNAME` selects; else the first that is neither docker's nor
/// loopback; else loopback (`ncclFindInterfaces`, NCCL `src/misc/socket.cc`).
///
/// # Errors
/// Nothing matches; the message lists the interfaces.
pub fn find_interface(wish: Option<&str>) -> Result<Interface> {
    let all = interfaces()?;
    let found = match wish {
        Some(wish) => all.iter().find(|interface| matches(wish, &interface.name)),
        None => {
            let is_first_choice = |name: &str| !name.starts_with("docker") && name != "lo";
            let first = all.iter().find(|interface| is_first_choice(&interface.name));
            first.or_else(|| all.iter().find(|interface| interface.name == "lo"))
        }
    };
    found.cloned().ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|interface| interface.name.as_str()).collect();
        DriveError::Unusable(format!(
            "NCCL_SOCKET_IFNAME={} matches no interface that is up and has an IPv4 address; \
             choose from: {}",
            wish.unwrap_or_default(),
            names.join(" ")
        ))
    })
}

/// The interface on the route to `remote`.
///
/// # Errors
/// There is no route to it.
pub fn towards(remote: SocketAddr) -> Result<Interface> {
    let no_route = || DriveError::io(format!("find a route to {remote}"));
    let unspecified: IpAddr = match remote {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connecting a datagram socket sends nothing, but selects the source address.
    let socket = UdpSocket::bind((unspecified, 0)).map_err(no_route())?;
    socket.connect(remote).map_err(no_route())?;
    let address = socket.local_addr().map_err(no_route())?.ip();
    let all = getifaddrs().map_err(|error| DriveError::io("list interfaces")(error.into()))?;
    let has_it =
        |item: &nix::ifaddrs::InterfaceAddress| item.address.as_ref().and_then(ip) == Some(address);
    let name = all.into_iter().find(has_it).map(|item| item.interface_name);
    // An address in 127.0.0.0/8 that no interface lists still belongs to loopback.
    named(name.unwrap_or_else(|| "lo".to_owned()), address)
}

/// Interfaces that are up and have an IPv4 address, the first address of each.
fn interfaces() -> Result<Vec<Interface>> {
    let all = getifaddrs().map_err(|error| DriveError::io("list interfaces")(error.into()))?;
    let mut found: Vec<Interface> = Vec::new();
    for item in all.filter(|item| item.flags.contains(InterfaceFlags::IFF_UP)) {
        let Some(address) = item.address.as_ref().and_then(ip).filter(IpAddr::is_ipv4) else {
            continue;
        };
        if found.iter().all(|interface| interface.name != item.interface_name) {
            found.push(named(item.interface_name, address)?);
        }
    }
    Ok(found)
}

fn named(name: String, address: IpAddr) -> Result<Interface> {
    let mtu = sys::mtu(&name)?;
    Ok(Interface { name, address, mtu })
}

fn ip(address: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
}

/// Whether the list in `NCCL_SOCKET_IFNAME` names an interface: prefixes, or whole names after `=`;
/// after `^`, all others (`parseStringList` and `matchIfList`, NCCL `src/misc/utils.cc`).
fn matches(list: &str, name: &str) -> bool {
    let (is_negative, list) = list.strip_prefix('^').map_or((false, list), |rest| (true, rest));
    let (is_exact, list) = list.strip_prefix('=').map_or((false, list), |rest| (true, rest));
    let mut wishes = list.split(',').filter(|wish| !wish.is_empty());
    let is_listed = wishes.any(|wish| if is_exact { name == wish } else { name.starts_with(wish) });
    is_listed != is_negative
}

/// This machine's name.
#[must_use]
pub fn host_name() -> String {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    name.unwrap_or_else(|| "localhost".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_spelt_as_by_nccl() {
        assert!(matches("eth", "eth0") && matches("ib,eth", "eth1") && !matches("ib", "eth0"));
        assert!(matches("=eth0", "eth0") && !matches("=eth0", "eth01"));
        assert!(!matches("^docker,lo", "lo") && matches("^docker,lo", "eth0"));
        assert!(matches("^=eth0", "eth01") && !matches("^=eth0", "eth0"));
    }

    #[test]
    fn loopback_is_found_and_reached() {
        let found = find_interface(Some("=lo")).unwrap();
        assert_eq!(found.address, IpAddr::from(Ipv4Addr::LOCALHOST));
        assert_eq!(towards("127.0.0.1:29500".parse().unwrap()).unwrap(), found);
        let error = find_interface(Some("nosuch")).unwrap_err().to_string();
        assert!(error.contains("NCCL_SOCKET_IFNAME=nosuch") && error.contains("lo"), "{error}");
    }
}
