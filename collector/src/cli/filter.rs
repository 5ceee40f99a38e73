//! Display filters for flows and packets. They do not change the counts.

use std::net::IpAddr;

use clap::Args;

use super::number::parse_number;
use super::opcode_name::parse_opcode;
use crate::filter::{Filter, FilterError};
use railscope_core::decode::packet::{Body, Packet};
use railscope_core::report::flows::FlowReport;

/// The options, as typed.
#[derive(Args)]
#[command(next_help_heading = "Show only")]
pub(super) struct FilterArgs {
    /// From or to this address; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(super) host: Vec<IpAddr>,
    /// To this queue pair number (23, 0x17); `analyze` also shows what it sends, although packets
    /// carry only the destination's number; may be repeated
    #[arg(long, value_name = "QPN", value_parser = parse_qpn)]
    pub(super) qpn: Vec<u32>,
    /// With this opcode (RDMA_WRITE_FIRST, ACKNOWLEDGE, CNP, 0x81); may be repeated
    #[arg(long, value_name = "OPCODE", value_parser = parse_opcode)]
    pub(super) opcode: Vec<String>,
    /// Packets for which this holds: nak, rank == 3, step in 4..7, joined by and, or, not; `analyze`
    /// shows flows with such a packet; `railscope packets --help` lists all fields
    #[arg(short = 'Y', long = "filter", value_name = "EXPR")]
    expression: Option<String>,
}

impl FilterArgs {
    /// The filter, if there is one.
    ///
    /// # Errors
    ///
    /// When it is not valid.
    pub(super) fn filter(&self) -> Result<Option<Filter>, FilterError> {
        self.expression.as_deref().map(str::parse).transpose()
    }

    /// Whether the options, but not the filter, show a flow.
    pub(super) fn shows_flow(&self, flow: &FlowReport) -> bool {
        let ends = [&flow.src, &flow.dst];
        let host = |host: &IpAddr| ends.iter().any(|end| **end == host.to_string());
        let qpn = |qpn: &u32| flow.dest_qpn == *qpn || flow.source_qpn == Some(*qpn);
        let opcode = |opcode: &String| flow.opcodes.get(opcode).is_some();
        any(&self.host, host) && any(&self.qpn, qpn) && any(&self.opcode, opcode)
    }

    /// The given filters, to be listed in the report.
    pub(super) fn options(&self) -> impl Iterator<Item = (String, String)> {
        let joined = |values: Vec<String>| values.join(",");
        let given = [
            ("host", joined(self.host.iter().map(ToString::to_string).collect())),
            ("qpn", joined(self.qpn.iter().map(ToString::to_string).collect())),
            ("opcode", joined(self.opcode.clone())),
            ("filter", self.expression.clone().unwrap_or_default()),
        ];
        given
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| (name.to_owned(), values))
    }

    /// Whether the options, but not the filter, show a packet.
    pub(super) fn shows_packet(&self, packet: &Packet<'_>) -> bool {
        let ends = packet.ip.map(|ip| [ip.source, ip.destination]);
        let host = |host: &IpAddr| ends.is_some_and(|ends| ends.contains(host));
        let roce = match &packet.body {
            Body::Roce(roce) => Some(roce),
            _ => None,
        };
        let qpn = |qpn: &u32| {
            roce.is_some_and(|roce| {
                roce.bth.dest_qpn.value() == *qpn
                    || roce.deth.is_some_and(|deth| deth.source_qpn.value() == *qpn)
            })
        };
        let opcode = |name: &String| roce.is_some_and(|roce| roce.bth.opcode.to_string() == *name);
        any(&self.host, host) && any(&self.qpn, qpn) && any(&self.opcode, opcode)
    }
}

/// Whether there is no filter, or one matches.
fn any<T>(filters: &[T], holds: impl Fn(&T) -> bool) -> bool {
    filters.is_empty() || filters.iter().any(holds)
}

/// A queue pair number: decimal, or hexadecimal with 0x.
pub(super) fn parse_qpn(text: &str) -> Result<u32, String> {
    parse_number(text)
        .filter(|qpn| *qpn < 1 << 24)
        .ok_or_else(|| format!("`{text}` is not a 24-bit queue pair number; write 23 or 0x17"))
}
