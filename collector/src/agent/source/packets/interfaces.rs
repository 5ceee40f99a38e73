//! Interfaces of this host.

use std::collections::BTreeMap;
use std::io;

use glob::Pattern;
use nix::ifaddrs::getifaddrs;

/// `ARPHRD_ETHER` (linux/if_arp.h). Other kinds have no Ethernet header.
const ETHERNET: u16 = 1;

/// Interfaces by name, each with the kernel's index: one that was removed and made again has another.
pub(in crate::agent) type Interfaces = BTreeMap<String, usize>;

/// All interfaces with Ethernet frames.
///
/// # Errors
///
/// When they cannot be listed.
pub(in crate::agent) fn ethernet() -> io::Result<Interfaces> {
    of_kind(|kind| kind == ETHERNET)
}

/// All interfaces without.
///
/// # Errors
///
/// When they cannot be listed.
pub(in crate::agent) fn others() -> io::Result<Interfaces> {
    of_kind(|kind| kind != ETHERNET)
}

fn of_kind(is_wanted: impl Fn(u16) -> bool) -> io::Result<Interfaces> {
    let named = |interface: nix::ifaddrs::InterfaceAddress| {
        let address = *interface.address.as_ref()?.as_link_addr()?;
        is_wanted(address.hatype()).then_some((interface.interface_name, address.ifindex()))
    };
    Ok(getifaddrs()?.filter_map(named).collect())
}

/// The `names` that a pattern matches, in order. If packets pass several interfaces, such as a
/// bridge and its ports, each of them is a tap.
pub(in crate::agent) fn matching(
    pattern: &Pattern,
    exclude: &[Pattern],
    names: &Interfaces,
) -> Vec<String> {
    let is_excluded = |name: &str| exclude.iter().any(|one| one.matches(name));
    let is_wanted = |name: &&String| pattern.matches(name) && !is_excluded(name);
    names.keys().filter(is_wanted).cloned().collect()
}
