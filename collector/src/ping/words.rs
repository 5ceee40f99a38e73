//! Sentences of the judgement.

use std::fmt::Write;

use super::judge::{Finding, Judgement, Place, Transport, Trouble};
use super::matrix::{Grid, Matrix, Probe};
use super::statistic::median;

/// A figure with two or three digits: `0.4`, `3.1`, `23`, `380`.
#[must_use]
pub fn figure(value: f64) -> String {
    match value {
        value if value < 9.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A bandwidth with its unit: `23 Gb/s`, `190 Mb/s`.
fn rate(gbps: f64) -> String {
    if gbps < 0.995 {
        format!("{} Mb/s", figure(gbps * 1000.0))
    } else {
        format!("{} Gb/s", figure(gbps))
    }
}

/// A round trip with its unit: `23 µs`, `1.5 ms`.
fn delay(us: f64) -> String {
    if us < 999.5 { format!("{} µs", figure(us)) } else { format!("{} ms", figure(us / 1000.0)) }
}

/// The second of two figures, without its unit if it is that of the first.
fn without_same_unit(first: &str, second: &str) -> String {
    match (first.split_once(' '), second.split_once(' ')) {
        (Some((_, unit)), Some((number, same))) if unit == same => number.to_owned(),
        _ => second.to_owned(),
    }
}

/// The first line: what is wrong, or that nothing is.
#[must_use]
pub fn verdict(matrix: &Matrix, judgement: &Judgement) -> String {
    let Some(first) = judgement.findings.first() else { return fine(matrix) };
    let mut text = sentence(matrix, first);
    match judgement.findings.len() - 1 {
        0 => {}
        1 => text.push_str(" (and 1 more finding)"),
        more => {
            // Writing to a string cannot fail.
            let _ = write!(text, " (and {more} more findings)");
        }
    }
    text
}

/// What is fine, in figures.
fn fine(matrix: &Matrix) -> String {
    let directions = matrix.rows.iter().flatten().map(|row| row.cells.len()).sum::<usize>();
    if directions == 0 {
        return "nothing was measured: no other host came".to_owned();
    }
    let hosts = matrix.rows.iter().flatten().count();
    let mut text = format!("{hosts} hosts reach each other, and no host or pair stands out: TCP");
    summarise(&mut text, matrix, &|cell| vec![&cell.tcp]);
    let has_rdma =
        matrix.rows.iter().flatten().any(|row| row.cells.iter().any(|cell| !cell.rails.is_empty()));
    if has_rdma {
        text.push_str("; RDMA");
        summarise(&mut text, matrix, &|cell| {
            let same = cell.rails.iter().filter(|rail| rail.from == rail.to);
            same.map(|rail| &rail.probe).collect()
        });
    } else {
        text.push_str("; RDMA not measured");
    }
    text.push_str(" (medians)");
    text
}

fn summarise(
    text: &mut String,
    matrix: &Matrix,
    probes: &dyn Fn(&super::matrix::Cell) -> Vec<&Probe>,
) {
    let all = |read: &dyn Fn(&Probe) -> Option<f64>| {
        let cells = matrix.rows.iter().flatten().flat_map(|row| &row.cells);
        let mut values: Vec<f64> = cells.flat_map(probes).filter_map(read).collect();
        median(&mut values)
    };
    if let Some(gbps) = all(&|probe| probe.gbps) {
        let _ = write!(text, " {},", rate(gbps));
    }
    if let Some(us) = all(&|probe| probe.rtt_us) {
        let _ = write!(text, " {}", delay(us));
    }
}

/// One finding.
#[must_use]
pub fn sentence(matrix: &Matrix, finding: &Finding) -> String {
    let Finding { low, all, .. } = finding;
    let name = |host: usize| matrix.name(host);
    let over = transport(matrix, finding);
    let cause = finding.cause.as_deref().map(|cause| format!(": {cause}")).unwrap_or_default();
    match (finding.trouble, &finding.place) {
        (Trouble::Absent, Place::Host { host }) => {
            let cause = finding.cause.as_deref().unwrap_or("did not come");
            format!("host {} {cause}", name(*host))
        }
        (Trouble::Unreached | Trouble::Absent, place) => match place {
            Place::Host { host } => format!(
                "host {}, {over}: {low} of {all} directions from and to it fail{cause}",
                name(*host)
            ),
            Place::Sender { host } => {
                format!(
                    "host {} as sender, {over}: {low} of {all} peers are not reached{cause}",
                    name(*host)
                )
            }
            Place::Receiver { host } => {
                format!(
                    "host {} as receiver, {over}: {low} of {all} peers do not reach it{cause}",
                    name(*host)
                )
            }
            Place::Pair { a, b } => {
                format!("{} and {} do not reach each other, {over}{cause}", name(*a), name(*b))
            }
            Place::Direction { from, to } => {
                format!("{} does not reach {}, {over}{cause}", name(*from), name(*to))
            }
            Place::Rail => format!("{over}: no pair of hosts connects, other rails do{cause}"),
        },
        (Trouble::Slow, place) => {
            let (value, typical) = figures(finding, rate);
            low_words(matrix, finding, place, &value, &typical)
        }
        (Trouble::Late, place) => {
            let (value, typical) = figures(finding, delay);
            low_words(matrix, finding, place, &format!("a round trip of {value}"), &typical)
        }
    }
}

fn figures(finding: &Finding, words: fn(f64) -> String) -> (String, String) {
    let text = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), words);
    let (value, typical) = (text(finding.value), text(finding.typical));
    let typical = without_same_unit(&value, &typical);
    (value, typical)
}

fn low_words(
    matrix: &Matrix,
    finding: &Finding,
    place: &Place,
    value: &str,
    typical: &str,
) -> String {
    let Finding { low, all, .. } = finding;
    let over = transport(matrix, finding);
    let name = |host: usize| matrix.name(host);
    let elsewhere = format!("where other pairs have {typical} (median)");
    match *place {
        Place::Host { host } => format!(
            "host {} in both directions, {over}: {low} of {all} have {value} {elsewhere}",
            name(host)
        ),
        Place::Sender { host } => format!(
            "host {} as sender, {over}: it has {value} to {low} of {all} peers {elsewhere}",
            name(host)
        ),
        Place::Receiver { host } => format!(
            "host {} as receiver, {over}: {low} of {all} peers reach {value} {elsewhere}",
            name(host)
        ),
        Place::Pair { a, b } => {
            format!("pair {} and {}, {over}: {value} {elsewhere}", name(a), name(b))
        }
        Place::Direction { from, to } if matrix.hosts.len() == 2 => format!(
            "{} to {}, {over}: {value}, the other way {typical}; with two hosts it is unknown which side is at fault",
            name(from),
            name(to)
        ),
        Place::Direction { from, to } => {
            format!("{} to {}, {over}: {value} {elsewhere}", name(from), name(to))
        }
        Place::Rail => format!("{over}: {value} where other rails have {typical} (medians)"),
    }
}

/// `TCP`, `RDMA on rail 2 (mlx5_2)`, `RDMA on all 4 rails`.
fn transport(matrix: &Matrix, finding: &Finding) -> String {
    let Transport::Rdma { rails, is_all } = &finding.transport else { return "TCP".to_owned() };
    if *is_all && rails.len() > 1 {
        let is_same = rails.iter().all(|(from, to)| from == to);
        return if is_same {
            format!("RDMA on all {} rails", rails.len())
        } else {
            "RDMA between all rails".to_owned()
        };
    }
    // The device of the host that is named, else of any.
    let host = match finding.place {
        Place::Host { host } | Place::Sender { host } | Place::Receiver { host } => host,
        Place::Pair { a, .. } => a,
        Place::Direction { from, .. } => from,
        Place::Rail => (0..matrix.hosts.len())
            .find(|&host| matrix.rows.get(host).is_some_and(Option::is_some))
            .unwrap_or_default(),
    };
    let known = rails.iter().take(4).map(|&(from, to)| {
        let own = if matches!(finding.place, Place::Receiver { .. }) { to } else { from };
        let device = matrix.device(host, own).map_or("?", |device| device.name.as_str());
        if from == to { format!("{from} ({device})") } else { format!("{from} to {to}") }
    });
    let known = known.collect::<Vec<_>>().join(", ");
    let more = rails.len().saturating_sub(4);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let word = if rails.len() == 1 { "rail" } else { "rails" };
    format!("RDMA on {word} {known}{more}")
}

/// What to do about the first finding.
#[must_use]
pub fn remedy(matrix: &Matrix, finding: &Finding) -> String {
    let name = |host: usize| matrix.name(host).to_owned();
    let place = match finding.place {
        Place::Host { host } | Place::Sender { host } | Place::Receiver { host } => name(host),
        Place::Pair { a, b } => format!("{} and {}", name(a), name(b)),
        Place::Direction { from, to } => format!("{} and {}", name(from), name(to)),
        Place::Rail => "the leaf switches of this rail".to_owned(),
    };
    let is_tcp = finding.transport == Transport::Tcp;
    match finding.trouble {
        Trouble::Absent => {
            "Start the ping there at the same time (--wait is how long others wait), \
             and check that its port is reachable (--port)."
                .to_owned()
        }
        Trouble::Unreached if is_tcp => format!(
            "Look between {place}: firewalls and ACLs for this port, routes (ip route get), \
             neighbours (ip neigh), link state, duplicate addresses."
        ),
        Trouble::Unreached => format!(
            "Look at {place}: GIDs and their routes (show_gids, ip route get), UDP port 4791 in \
             firewalls and ACLs, MTU (ip link), VLAN, state of the port (rdma link)."
        ),
        Trouble::Slow => format!(
            "Look at {place}: speed and errors of its ports (ethtool, ethtool -S), cables and \
             optics, drops and pause at the switch port, PCIe width (lspci -vv), other traffic."
        ),
        Trouble::Late => format!(
            "Look at {place}: queues on the way, load of the CPUs, power saving (cpupower), \
             interrupt moderation (ethtool -c)."
        ),
    }
}

/// What else the reader should know.
#[must_use]
pub fn notes(matrix: &Matrix, judgement: &Judgement) -> Vec<String> {
    let mut notes = Vec::new();
    if judgement.is_rail_only {
        notes.push(
            "rail-only fabric: cross-rail pairs do not connect, which is by design there"
                .to_owned(),
        );
    }
    if judgement.is_software_rdma {
        notes.push(
            "bandwidth over software RDMA (rxe) is not judged: it shows the CPUs of the hosts; whether \
             they reach each other is judged"
                .to_owned(),
        );
    }
    let silent: Vec<&str> = (0..matrix.hosts.len())
        .filter(|&host| matrix.rows.get(host).is_some_and(Option::is_none))
        .filter(|host| matrix.absent.iter().all(|absence| absence.host != *host))
        .map(|host| matrix.name(host))
        .collect();
    if !silent.is_empty() {
        notes.push(format!("no results came from {}: its row is empty", silent.join(", ")));
    }
    notes.extend(shared(matrix, judgement));
    notes.extend(devices(matrix));
    notes
}

/// Hosts that are slow to all but each other: what they share is at fault, not each of them.
fn shared(matrix: &Matrix, judgement: &Judgement) -> Option<String> {
    let slow = judgement.findings.iter().filter(|finding| finding.trouble == Trouble::Slow);
    let named: Vec<(usize, f64)> = slow
        .filter(|finding| finding.transport == Transport::Tcp)
        .filter_map(|finding| match finding.place {
            Place::Host { host } => Some((host, finding.typical?)),
            _ => None,
        })
        .collect();
    let is_named = |host: usize| named.iter().any(|&(known, _)| known == host);
    let grid = matrix.grid(|cell| cell.tcp.gbps);
    let mut among: Vec<f64> = grid
        .iter()
        .filter(|&(from, to, _)| is_named(from) && is_named(to))
        .map(|(_, _, value)| value)
        .collect();
    let mut typical: Vec<f64> = named.iter().map(|&(_, typical)| typical).collect();
    let (middle, typical) = (median(&mut among)?, median(&mut typical)?);
    let names: Vec<&str> = named.iter().map(|&(host, _)| matrix.name(host)).collect();
    (middle >= 0.8 * typical).then(|| {
        format!(
            "{} reach each other at {}: look at what they share on the way to the others, such as \
             the uplinks of their leaf",
            names.join(", "),
            rate(middle)
        )
    })
}

/// Which devices and GIDs were used, hosts with the same ones together.
fn devices(matrix: &Matrix) -> Vec<String> {
    let mut known: Vec<(String, Vec<&str>)> = Vec::new();
    for (host, row) in matrix.rows.iter().enumerate() {
        let Some(row) = row else { continue };
        let used = row.devices.iter().enumerate().map(|(rail, device)| {
            format!(
                "rail {rail} {} GID {} ({})",
                device.name,
                device.gid_index,
                family(&device.address)
            )
        });
        let mut text = used.collect::<Vec<_>>().join(", ");
        match (&row.rdma_note, text.is_empty()) {
            (Some(note), true) => text = format!("not measured: {note}"),
            (Some(note), false) => {
                let _ = write!(text, "; left out: {note}");
            }
            (None, _) => {}
        }
        match known.iter_mut().find(|(same, _)| *same == text) {
            Some((_, hosts)) => hosts.push(matrix.name(host)),
            None => known.push((text, vec![matrix.name(host)])),
        }
    }
    let is_one = known.len() == 1;
    known
        .into_iter()
        .map(|(text, hosts)| {
            let whose = match hosts.as_slice() {
                _ if is_one => "RDMA".to_owned(),
                hosts if hosts.len() > 4 => {
                    let few = hosts.get(..3).unwrap_or_default().join(" ");
                    format!("RDMA of {few} and {} more", hosts.len() - 3)
                }
                hosts => format!("RDMA of {}", hosts.join(" ")),
            };
            format!("{whose}: {text}")
        })
        .collect()
}

fn family(address: &str) -> &'static str {
    if address.contains(':') { "IPv6" } else { "IPv4" }
}

/// Median and longest round trip, with its direction.
#[must_use]
pub fn round_trips(matrix: &Matrix, grid: &Grid) -> Option<String> {
    let mut values: Vec<f64> = grid.iter().map(|(_, _, value)| value).collect();
    let middle = median(&mut values)?;
    let (from, to, longest) = grid.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    Some(format!(
        "round trips: median {}, longest {} ({} to {})",
        delay(middle),
        delay(longest),
        matrix.name(from),
        matrix.name(to)
    ))
}
