//! NCCL's data over TCP (NET/Socket), which should be RDMA.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::point::Attributes;
use super::port_names::PortNames;
use super::series::SeriesTable;
use crate::analysis::state::State;
use crate::link::clock::timeline::aligned_span;
use crate::link::control::facts::StreamKind;

/// Bytes that client and server sent as of the last export, by their ends.
pub(super) type SocketGrowth = Growth<(SocketAddr, SocketAddr), 2>;

/// Adds the bytes since the last export.
pub(super) fn add(
    series: &mut SeriesTable,
    counted: &mut SocketGrowth,
    names: &PortNames,
    state: &State,
) {
    let mut bytes = BTreeMap::new();
    for stream in state.streams.iter().filter(|stream| stream.kind == StreamKind::Socket) {
        let Some(totals) = stream.totals else { continue };
        let connection = &stream.connection;
        let span = aligned_span(totals.span, connection.tap, &state.clocks);
        let sums = Sums {
            span: (span.first.as_nanos(), span.last.as_nanos()),
            sums: [Some(totals.client.bytes), Some(totals.server.bytes)],
        };
        // Several taps see the same connection.
        bytes.entry((connection.client, connection.server)).or_insert(sums).join(sums);
    }
    counted.read(bytes, |(client, server), grown| {
        for (sender, receiver, bytes) in [(client, server, grown[0]), (server, client, grown[1])] {
            for (end, direction) in [(sender, "transmit"), (receiver, "receive")] {
                let Some(port) = names.name(end.ip()) else { continue };
                let attributes = Attributes::new([
                    (attribute::PORT.name, port),
                    (attribute::DIRECTION.name, direction.to_owned()),
                ]);
                series.add(&catalog::SOCKET_IO, attributes, bytes.unwrap_or(0));
            }
        }
    });
}
