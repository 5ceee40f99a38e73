//! Queue pairs.

use super::{CAPTURE, Entry};
use crate::export::parquet::catalog::Table;
use crate::export::parquet::column::Columns;
use crate::export::parquet::context::Context;
use railscope_core::report::queue_pairs::QueuePairReport;

pub(in crate::export::parquet) struct QueuePairs;

impl Table for QueuePairs {
    const NAME: &'static str = "queue_pairs";
    const ABOUT: &'static str = "One row a queue pair and direction: `queue_pairs[]`.";
    type Row<'a> = Entry<'a, QueuePairReport>;

    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>> {
        Entry::list(context, &context.report.queue_pairs)
    }

    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>) {
        to.text("capture", CAPTURE, |row| Some(&row.context.capture));
        to.integer("id", "Number in its capture.", |row| row.one.id);
        to.text("src", "Sender's address.", |row| Some(&row.one.src));
        to.text("src_host", "Its host.", |row| row.context.host_of_port(&row.one.src));
        to.text("dst", "Receiver's address.", |row| Some(&row.one.dst));
        to.text("dst_host", "Its host.", |row| row.context.host_of_port(&row.one.dst));
        to.integer("rail", "The sender's rail.", |row| {
            row.context.port(&row.one.src).and_then(|port| port.rail)
        });
        to.integer("dest_qpn", "The queue pair that it goes to.", |row| row.one.dest_qpn);
        to.integer("source_qpn", "The queue pair that sends it.", |row| row.one.source_qpn);
        to.integer("epoch", "Number of the QPN's use, from 0.", |row| row.one.epoch);
        to.text("severity", "`critical`, `warning`, `info`, or null.", |row| row.one.severity);
        to.text("communicator", "Its communicator.", |row| row.one.communicator.as_deref());
        to.integer("rank", "The rank whose side sends it.", |row| row.one.rank);
        to.integer("peer_rank", "The other rank.", |row| row.one.peer_rank);
        to.integer("channel", "NCCL's channel.", |row| row.one.channel);
        to.text("role", "`data` or `control`.", |row| row.one.role);
        to.time("first_at", "First frame.", |row| Some(row.context.micros(row.one.first_ns)));
        to.time("last_at", "Last frame.", |row| Some(row.context.micros(row.one.last_ns)));
        to.integer("frames", "Frames at the tap that saw most.", |row| row.one.frames);
        to.integer("payload_bytes", "Payload.", |row| row.one.payload_bytes);
        to.integer("rate_bps", "Its rate from first to last frame.", |row| row.one.rate_bps);
        to.integer("path_mtu_bytes", "Path MTU.", |row| row.one.path_mtu_bytes);
        to.integer("missing_packets", "Packets missing when later ones passed.", |row| {
            row.one.missing_packets
        });
        to.integer("out_of_order_packets", "Packets out of order.", |row| {
            row.one.out_of_order_packets
        });
        to.integer("retransmitted_packets", "Request packets that were sent again.", |row| {
            row.one.retransmitted_packets
        });
        to.integer("recoveries", "Recoveries, of any trigger.", |row| {
            row.one.recoveries.iter().map(|one| one.count).sum::<u64>()
        });
        to.integer("recovery_ns", "Time in recovery.", |row| {
            row.one.recoveries.iter().map(|one| one.recovery_ns).sum::<u64>()
        });
        to.integer("timeouts", "Recoveries that a timeout began.", |row| {
            row.one.recoveries("timeout")
        });
        to.integer(
            "sequence_naks",
            "NAKs for a sequence error (`naks.psn_sequence_error`).",
            |row| row.one.naks.psn_sequence_error,
        );
        to.integer("fatal_naks", "NAKs that end a connection: all other `naks`.", |row| {
            row.one.fatal_naks()
        });
        to.integer("rnr_naks", "Receiver-not-ready NAKs.", |row| row.one.rnr_naks);
        to.integer("ce_packets", "CE-marked packets.", |row| row.one.ce_packets);
        to.integer(
            "ce_among_packets",
            "Packets that were checked for marks; 0 if there are none.",
            |row| row.one.ce_among_packets,
        );
        to.integer("cnps", "CNPs that came back.", |row| row.one.cnps);
        to.integer("ack_rtt_p50_ns", "Median ACK round trip.", |row| row.one.ack_rtt_p50_ns);
    }
}
