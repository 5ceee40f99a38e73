//! The warning for filters that match nothing: lists the values that the input does have.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::net::IpAddr;

use super::filter::FilterArgs;
use railscope_core::decode::packet::{Body, Packet};
use railscope_core::report::flows::FlowReport;

/// Distinct values kept per kind.
const CAPACITY: usize = 64;

/// Values listed in the warning.
const NAMED: usize = 8;

/// Whether anything passed the filters, and the values in the input.
#[derive(Default)]
pub(super) struct Unmatched {
    has_any: bool,
    has_shown: bool,
    hosts: Values<IpAddr>,
    qpns: Values<u32>,
    opcodes: Values<Cow<'static, str>>,
}

impl Unmatched {
    /// Adds a packet; `is_shown` if it passed the filters.
    pub(super) fn add_packet(&mut self, packet: &Packet<'_>, is_shown: bool, filter: &FilterArgs) {
        self.has_any = true;
        self.has_shown |= is_shown;
        // There will be no warning.
        if self.has_shown {
            return;
        }
        for host in packet.ip.iter().flat_map(|ip| [ip.source, ip.destination]) {
            self.hosts.add(host, &filter.host);
        }
        if let Body::Roce(roce) = &packet.body {
            let source = roce.deth.map(|deth| deth.source_qpn);
            for qpn in [Some(roce.bth.dest_qpn), source].into_iter().flatten() {
                self.qpns.add(qpn.value(), &filter.qpn);
            }
            let opcode = roce.bth.opcode;
            let name = opcode.name().map_or_else(|| opcode.to_string().into(), Cow::Borrowed);
            self.opcodes.add(name, &filter.opcode);
        }
    }

    /// Adds a flow; `is_shown` if it passed the filters.
    pub(super) fn add_flow(&mut self, flow: &FlowReport, is_shown: bool, filter: &FilterArgs) {
        self.has_any = true;
        self.has_shown |= is_shown;
        if self.has_shown {
            return;
        }
        for host in [&flow.src, &flow.dst].into_iter().filter_map(|host| host.parse().ok()) {
            self.hosts.add(host, &filter.host);
        }
        for qpn in [Some(flow.dest_qpn), flow.source_qpn].into_iter().flatten() {
            self.qpns.add(qpn, &filter.qpn);
        }
        for (opcode, _) in flow.opcodes.iter() {
            self.opcodes.add(opcode.to_owned().into(), &filter.opcode);
        }
    }

    /// The warning if the input has `things` (packets, flows) and none passed the filters.
    pub(super) fn warning(&self, things: &str, filter: &FilterArgs) -> Option<String> {
        if self.has_shown || !self.has_any {
            return None;
        }
        let host = |host: &IpAddr| host.to_string();
        let qpn = |qpn: &u32| format!("{qpn:#x}");
        let lacks = [
            self.hosts.lack("--host", names(&filter.host, host), "addresses", host),
            self.qpns.lack("--qpn", names(&filter.qpn, qpn), "queue pair numbers", qpn),
            self.opcodes.lack("--opcode", filter.opcode.clone(), "opcodes", ToString::to_string),
        ];
        let lacks: Vec<String> = lacks.into_iter().flatten().collect();
        if lacks.is_empty() {
            let given: Vec<_> = filter.options().map(|(name, _)| format!("--{name}")).collect();
            let given = given.join(" and ");
            return Some(format!(
                "no {things} match {given} together; each option alone matches some"
            ));
        }
        Some(format!("no {things} match {}", lacks.join("; ")))
    }
}

/// Values of one kind.
struct Values<T> {
    seen: BTreeSet<T>,
    has_wanted: bool,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self { seen: BTreeSet::new(), has_wanted: false }
    }
}

impl<T: Ord> Values<T> {
    fn add<W>(&mut self, value: T, wanted: &[W])
    where
        W: PartialEq<T>,
    {
        self.has_wanted |= wanted.iter().any(|one| *one == value);
        if self.seen.len() < CAPACITY {
            self.seen.insert(value);
        }
    }

    /// The values seen instead of the wanted ones; `None` if a wanted one was seen.
    fn lack(
        &self,
        option: &str,
        wanted: Vec<String>,
        kind: &str,
        name: impl Fn(&T) -> String,
    ) -> Option<String> {
        if wanted.is_empty() || self.has_wanted {
            return None;
        }
        let wanted = wanted.join(", ");
        if self.seen.is_empty() {
            return Some(format!("{option} {wanted}: the input has no {kind}"));
        }
        let seen = names(self.seen.iter().take(NAMED), name).join(", ");
        let more = if self.seen.len() > NAMED { " and others" } else { "" };
        Some(format!("{option} {wanted}; the input has the {kind} {seen}{more}"))
    }
}

fn names<'a, T: 'a>(
    values: impl IntoIterator<Item = &'a T>,
    name: impl Fn(&T) -> String,
) -> Vec<String> {
    values.into_iter().map(name).collect()
}
