//! Interfaces of this host.

use std::collections::BTreeSet;
use std::io;

use glob::Pattern;
use nix::ifaddrs::getifaddrs;

/// `ARPHRD_ETHER` (linux/if_arp.h). Other kinds have no Ethernet header.
const ETHERNET: u16 = 1;

/// Names of all interfaces with Ethernet frames.
///
/// # Errors
///
/// When they cannot be listed.
pub(in crate::agent) fn ethernet() -> io::Result<BTreeSet<String>> {
    let is_ethernet = |interface: &nix::ifaddrs::InterfaceAddress| {
        let address = interface.address.as_ref().and_then(|address| address.as_link_addr());
        address.is_some_and(|address| address.hatype() == ETHERNET)
    };
    Ok(getifaddrs()?.filter(is_ethernet).map(|interface| interface.interface_name).collect())
}

/// The `names` that a pattern matches, in order. If packets pass several interfaces, such as a
/// bridge and its ports, each of them is a tap.
pub(in crate::agent) fn matching(
    pattern: &Pattern,
    exclude: &[Pattern],
    names: &BTreeSet<String>,
) -> Vec<String> {
    let is_excluded = |name: &str| exclude.iter().any(|one| one.matches(name));
    let is_wanted = |name: &&String| pattern.matches(name) && !is_excluded(name);
    names.iter().filter(is_wanted).cloned().collect()
}
