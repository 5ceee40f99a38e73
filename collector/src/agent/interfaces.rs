//! Interfaces of this host.

use std::collections::BTreeSet;
use std::io;

use glob::Pattern;
use nix::ifaddrs::getifaddrs;

use crate::config::TapConfig;

/// `ARPHRD_ETHER` (linux/if_arp.h): others have no Ethernet header.
const ETHERNET: u16 = 1;

/// Names of interfaces that are asked for, in order. Where packets pass several interfaces of the
/// kernel one after the other (a bridge and its ports), each of them is a tap.
///
/// # Errors
///
/// When they cannot be listed.
pub(super) fn matching(taps: &TapConfig) -> io::Result<Vec<String>> {
    let has = |patterns: &[Pattern], name: &str| patterns.iter().any(|one| one.matches(name));
    let is_ethernet = |interface: &nix::ifaddrs::InterfaceAddress| {
        let address = interface.address.as_ref().and_then(|address| address.as_link_addr());
        address.is_some_and(|address| address.hatype() == ETHERNET)
    };
    let all = getifaddrs()?.filter(is_ethernet).map(|interface| interface.interface_name);
    let wanted = |name: &String| has(&taps.interfaces, name) && !has(&taps.exclude, name);
    let names: BTreeSet<String> = all.filter(wanted).collect();
    Ok(names.into_iter().collect())
}

/// The kernel's name of this host.
pub(super) fn host_name() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
