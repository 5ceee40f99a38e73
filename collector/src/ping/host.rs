//! The hosts of the command line, and which of them this one is.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use nix::ifaddrs::getifaddrs;

/// A host as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What it is called in the output.
    pub name: String,
    /// What it is reached by: a name or an address.
    pub target: String,
    /// Its port, if it was given one.
    pub port: Option<u16>,
}

/// Most hosts: a set of them is a number.
pub const MOST_HOSTS: usize = 64;

impl Host {
    /// Parses `NAME`, `ADDRESS`, `NAME=ADDRESS`, each with or without `:PORT`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (name, at) = text.split_once('=').unwrap_or((text, text));
        let (target, port) = split_port(at);
        let name = if text.contains('=') { name } else { &target };
        Self { name: name.to_owned(), target, port }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Its name has no address.
    pub fn addresses(&self, port: u16) -> io::Result<Vec<SocketAddr>> {
        let port = self.port.unwrap_or(port);
        Ok((self.target.as_str(), port).to_socket_addrs()?.collect())
    }
}

fn split_port(at: &str) -> (String, Option<u16>) {
    if let Ok(address) = at.parse::<SocketAddr>() {
        return (address.ip().to_string(), Some(address.port()));
    }
    let bare = at.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<IpAddr>().is_ok() {
        return (bare.to_owned(), None);
    }
    match at.rsplit_once(':').map(|(target, port)| (target, port.parse())) {
        Some((target, Ok(port))) => (target.to_owned(), Some(port)),
        _ => (at.to_owned(), None),
    }
}

/// Parses the hosts of a command line: words, of which each may list several with commas.
///
/// # Errors
/// Too few, too many, or one twice.
pub fn parse_all(words: &[String]) -> Result<Vec<Host>, String> {
    let names = words.iter().flat_map(|word| word.split(',')).filter(|name| !name.is_empty());
    let hosts: Vec<Host> = names.map(Host::parse).collect();
    let mut known = BTreeSet::new();
    for host in &hosts {
        if !known.insert(&host.name) {
            return Err(format!("host {} is named twice", host.name));
        }
        if host.name.len() > 253 || host.target.len() > 253 {
            return Err("a host name has at most 253 characters".to_owned());
        }
    }
    match hosts.len() {
        0 | 1 => Err("name at least two hosts, the same list on each of them".to_owned()),
        count if count > MOST_HOSTS => {
            Err(format!("{count} hosts, at most {MOST_HOSTS}: ping them in parts"))
        }
        _ => Ok(hosts),
    }
}

/// What this machine is called and which addresses it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The kernel's host name.
    pub name: String,
    /// Of all its interfaces, loopback aside.
    pub addresses: BTreeSet<IpAddr>,
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn this() -> Self {
        let name = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
        let mut addresses = BTreeSet::new();
        for interface in getifaddrs().into_iter().flatten() {
            let Some(address) = interface.address else { continue };
            let v4 = address.as_sockaddr_in().map(|at| IpAddr::V4(at.ip()));
            let found = v4.or_else(|| address.as_sockaddr_in6().map(|at| IpAddr::V6(at.ip())));
            addresses.extend(found.filter(|address| !address.is_loopback()));
        }
        Self { name, addresses }
    }
}

/// The index of this machine among `hosts`: by `name` if given, else by host name, else by address.
///
/// # Errors
/// It is none of them, or several; the text says what to do.
pub fn find(hosts: &[Host], machine: &Machine, name: Option<&str>) -> Result<usize, String> {
    let names = || hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(" ");
    if let Some(name) = name {
        let found = hosts.iter().position(|host| host.name == name || host.target == name);
        return found.ok_or_else(|| format!("--as {name}: the hosts are {}", names()));
    }
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let rules: [&dyn Fn(&Host) -> bool; 3] = [
        &|host| host.name.eq_ignore_ascii_case(&machine.name),
        &|host| {
            host.name.parse::<IpAddr>().is_err()
                && !machine.name.is_empty()
                && short(&host.name) == short(&machine.name)
        },
        &|host| {
            let at = host.addresses(0).unwrap_or_default();
            at.iter().any(|address| machine.addresses.contains(&address.ip().to_canonical()))
        },
    ];
    for rule in rules {
        let mut found = (0..hosts.len()).filter(|&index| hosts.get(index).is_some_and(rule));
        match (found.next(), found.next()) {
            (Some(index), None) => return Ok(index),
            (Some(_), Some(_)) => {
                return Err(format!(
                    "several of the hosts {} are this machine ({}): say which one with --as NAME",
                    names(),
                    machine.name
                ));
            }
            _ => {}
        }
    }
    let addresses: Vec<String> = machine.addresses.iter().map(ToString::to_string).collect();
    Err(format!(
        "none of the hosts {} is this machine (name {}, addresses {}): name it among the hosts, \
         or say which one it is with --as NAME",
        names(),
        machine.name,
        addresses.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::{Host, Machine, find, parse_all};

    fn host(name: &str, target: &str, port: Option<u16>) -> Host {
        Host { name: name.to_owned(), target: target.to_owned(), port }
    }

    #[test]
    fn hosts_are_names_addresses_and_ports() {
        for (text, expected) in [
            ("n1", host("n1", "n1", None)),
            ("n1:99", host("n1", "n1", Some(99))),
            ("n1=10.0.0.1", host("n1", "10.0.0.1", None)),
            ("n1=10.0.0.1:99", host("n1", "10.0.0.1", Some(99))),
            ("10.0.0.1", host("10.0.0.1", "10.0.0.1", None)),
            ("fd00::1", host("fd00::1", "fd00::1", None)),
            ("n1=[fd00::1]:99", host("n1", "fd00::1", Some(99))),
            ("n1=[fd00::1]", host("n1", "fd00::1", None)),
        ] {
            assert_eq!(Host::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn wrong_lists_are_refused() {
        let parse =
            |words: &[&str]| parse_all(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(parse(&["a,b", "c"]).unwrap().len(), 3);
        assert!(parse(&["a"]).unwrap_err().contains("at least two"));
        assert!(parse(&["a", "b", "a"]).unwrap_err().contains("a is named twice"));
        let many: Vec<String> = (0..65).map(|n| n.to_string()).collect();
        assert!(parse_all(&many).unwrap_err().contains("at most 64"));
    }

    #[test]
    fn this_machine_is_found_by_name_then_address() {
        let machine = Machine {
            name: "n2.cluster.example".to_owned(),
            addresses: ["10.0.0.3".parse().unwrap()].into(),
        };
        let hosts =
            [Host::parse("n1=10.0.0.1"), Host::parse("n2=10.0.0.2"), Host::parse("n3=10.0.0.3")];
        assert_eq!(find(&hosts, &machine, None), Ok(1));
        assert_eq!(find(&hosts, &machine, Some("n1")), Ok(0));
        let other = Machine { name: "x".to_owned(), ..machine.clone() };
        assert_eq!(find(&hosts, &other, None), Ok(2));
        let said = find(&hosts, &other, Some("n9")).unwrap_err();
        assert!(said.contains("the hosts are n1 n2 n3"), "{said}");
        let nobody = Machine { name: "x".to_owned(), ..Machine::default() };
        let said = find(&hosts, &nobody, None).unwrap_err();
        assert!(said.contains("--as NAME") && said.contains("n1 n2 n3"), "{said}");
        let twice = [Host::parse("a=10.0.0.3"), Host::parse("b=10.0.0.3")];
        assert!(find(&twice, &other, None).unwrap_err().contains("several of the hosts"));
    }
}
