//! Fabric now: is the network well?

use super::shared::{CE_SHARE_OF_RAILS, blind_spots, completeness, verdicts};
use super::uid::{FABRIC, HOST, RAILS};
use crate::dashboards::layout::Board;
use crate::dashboards::model::dashboard::Dashboard;
use crate::dashboards::model::field::{Override, RED, Thresholds, Unit};
use crate::dashboards::model::panel::Panel;
use crate::dashboards::model::view::View;

/// Share of CE marks from which congestion is worth a look: `findings.ce_share` of the agents.
const CE_SHARE: f64 = 0.01;
/// The same for pause: `findings.pause_share`. From 80 % on, the pause storm alert fires.
const PAUSE_SHARE: f64 = 0.1;
const PAUSE_STORM: f64 = 0.8;
/// Share of retransmitted packets from which the alert on loss fires.
const LOSS: f64 = 0.001;

pub(super) fn board() -> Dashboard {
    Board::new(
        FABRIC,
        "railscope / Fabric now",
        "Is the RoCEv2 fabric well, and if not, where and why?",
    )
    .row(
        4,
        [
            is_congested(),
            is_paused(),
            is_lossy(),
            is_bursty(),
            is_incast(),
            do_senders_react(),
            are_links_stable(),
            completeness().wide(3),
        ],
    )
    .row(7, [congestion(), pause(), reaction()])
    .row(7, [retransmissions(), peaks(), fan_in()])
    .row(6, [links(), verdicts(), blind_spots()])
    .heading("Why? Ports and counters")
    .row(8, [congested_ports(), pausing_nics(), paused_nics()])
    .row(8, [loss_signs(), recoveries(), naks()])
    .row(8, [burst_time(), drops(), storms()])
    .finish()
}

fn tile(title: &str) -> Panel {
    Panel::new(View::Stat, title).wide(3).unit(Unit::Share)
}

fn is_congested() -> Panel {
    tile("Congested?")
        .about(
            "Share of packets that arrive CE-marked, at the worst port. Switches mark when a queue is \
             long. From 1 % on (findings.ce_share) worth a look, from 10 % on bad.",
        )
        .query(
            "max(rdma:ce_packets:rate2m{$F} / (rdma:received_packets:rate2m{$F} > 0))",
            "worst port",
        )
        .decimals(1)
        .thresholds(Thresholds::above(CE_SHARE, 0.1))
        .runbook("congestion")
}

fn is_paused() -> Panel {
    tile("Paused?")
        .about(
            "Share of time for which the worst station pauses its link. Above 10 % \
             (findings.pause_share) it costs throughput; above 80 % it is a pause storm.",
        )
        .query("max(rdma:pause_share:rate2m{$F})", "worst link")
        .decimals(1)
        .thresholds(Thresholds::above(PAUSE_SHARE, PAUSE_STORM))
        .runbook("pause")
}

fn is_lossy() -> Panel {
    tile("Losing packets?")
        .about(
            "Share of packets that the worst port sends again. RoCE is meant to lose none; one in a \
             thousand is bad, since one lost packet makes a NIC repeat all that followed.",
        )
        .query(
            "max(rdma:retransmitted_packets:rate2m{$F} / (rdma:sent_packets:rate2m{$F} > 0))",
            "worst port",
        )
        .decimals(2)
        .thresholds(Thresholds::above(0.000_01, LOSS))
        .runbook("loss")
}

fn is_bursty() -> Panel {
    tile("Hidden bursts?")
        .about(
            "How many times the mean rate a port's busiest 100 us had, at the burstiest port. A training \
             job sends in bursts, so a high value alone is no fault; with CE marks or pause beside it, \
             it is their cause. There is no published limit.",
        )
        .query(
            "max(max by (instance, rdma_port, network_io_direction) \
             (rdma_port_peak_rate_bytes_per_second{$F, rdma_bucket=\"100us\"}) \
             / on (instance, rdma_port, network_io_direction) \
             (sum by (instance, rdma_port, network_io_direction) (rdma:io:rate2m{$F}) > 100000))",
            "burstiest port",
        )
        .unit(Unit::Times)
        .decimals(0)
        .thresholds(Thresholds::neutral())
        .without_answer("no packets visible")
}

fn is_incast() -> Panel {
    tile("Incast?")
        .about(
            "Most flows that met at one port within 100 us. Many senders to one port fill the switch's \
             queue. There is no published limit; compare with the number of peers a rank has.",
        )
        .query("max(rdma_port_fan_in{$F})", "flows")
        .unit(Unit::Number)
        .thresholds(Thresholds::neutral())
        .without_answer("no packets visible")
}

fn do_senders_react() -> Panel {
    tile("Do senders react?")
        .about(
            "CNPs that slowed a sender, of the CNPs that receivers sent, over all NICs with counters. \
             Near 100 % DCQCN works end to end. Below 50 % CNPs are lost, ignored, or go to hosts \
             without an agent.",
        )
        .query(
            "sum(rate(rdma_nic_packets_total{$F, rdma_nic_measure=\"cnp_handled\", \
             rdma_nic_counted=\"true\"}[$__rate_interval])) \
             / (sum(rate(rdma_nic_packets_total{$F, rdma_nic_measure=\"cnp_sent\", \
             rdma_nic_counted=\"true\"}[$__rate_interval])) > 0)",
            "handled",
        )
        .decimals(0)
        .thresholds(Thresholds::below(0.5, 0.8))
        .without_answer("no CNPs, or no counters")
        .runbook("cnp_without_reaction")
}

fn are_links_stable() -> Panel {
    tile("Links flapping?")
        .about(
            "Times that a link went down in the last 10 minutes, over all NICs. Any is one too many \
             while a job runs.",
        )
        .query(
            "sum(increase(rdma_nic_events_total{$F, rdma_nic_measure=\"link_down\", \
             rdma_nic_counted=\"true\"}[10m]))",
            "link down",
        )
        .unit(Unit::Number)
        .decimals(0)
        .thresholds(Thresholds::bad_from(0.5))
        .without_answer("no NIC counters")
        .board(HOST, "Host")
}

fn congestion() -> Panel {
    Panel::new(View::TimeSeries, "Which rails are congested?")
        .about(
            "Share of packets that arrive CE-marked, by rail: the device name, which is the same on all \
             hosts. One rail alone: a hot uplink or a switch that marks differently. All rails: too much \
             load, or incast.",
        )
        .query(
            CE_SHARE_OF_RAILS,
            "{{rail}}",
        )
        .unit(Unit::Share)
        .from(0.0)
        .limits(Thresholds::above(CE_SHARE, 0.1))
        .runbook("congestion")
        .board(RAILS, "Rails")
}

fn pause() -> Panel {
    Panel::new(View::TimeSeries, "Who pauses whom, at which priority?")
        .about(
            "Share of time for which a station pauses the other end of its link. A host's name: that NIC \
             pauses its switch, because it takes data too slowly. `switch of` a NIC: the switch pauses \
             that NIC, because its own queues are full. A MAC address: the sender of captured pause \
             frames. The source of a pause is the last station on its path.",
        )
        .query(
            "topk(10, max by (rdma_pfc_station, rdma_priority) (rdma:pause_share:rate2m{$F}))",
            "{{rdma_pfc_station}} priority {{rdma_priority}}",
        )
        .unit(Unit::Share)
        .from(0.0)
        .limits(Thresholds::above(PAUSE_SHARE, PAUSE_STORM))
        .runbook("pause")
}

fn reaction() -> Panel {
    Panel::new(View::TimeSeries, "Does DCQCN react to congestion?")
        .about(
            "Packets a second over all hosts. Marked packets without CNPs: receivers do not report \
             congestion. CNPs sent but not handled: senders do not slow down. Ignored must be 0: \
             congestion control is off for that priority. CNPs seen are those in captured packets.",
        )
        .query("sum(rdma:ce_packets:rate2m{$F})", "CE-marked packets")
        .query(&counter("cnp_sent"), "CNPs sent")
        .query(&counter("cnp_handled"), "CNPs handled")
        .query(&counter("cnp_ignored"), "CNPs ignored")
        .query("sum(rate(rdma_cnp_packets_total{$F}[$__rate_interval]))", "CNPs seen")
        .unit(Unit::PerSecond)
        .from(0.0)
        .field(Override::of_field("CNPs ignored").color(RED))
        .runbook("cnp_without_reaction")
        .runbook("ce_without_cnp")
}

/// Packets a second over all NICs, by the vendor-neutral name of the counter.
fn counter(measure: &str) -> String {
    format!(
        "sum(rate(rdma_nic_packets_total{{$F, rdma_nic_measure=\"{measure}\", \
         rdma_nic_counted=\"true\"}}[$__rate_interval]))"
    )
}

fn retransmissions() -> Panel {
    Panel::new(View::TimeSeries, "Who retransmits?")
        .about(
            "Share of a port's packets that it sends again, worst ports first: from packets, or from the \
             NIC's counter where it has one. The loss is on the path from that port. NICs without such a \
             counter show loss below, as NAKs and timeouts.",
        )
        .query(
            "topk(10, max by (rdma_port) (rdma:retransmitted_packets:rate2m{$F} \
             / (rdma:sent_packets:rate2m{$F} > 0)))",
            "{{rdma_port}}",
        )
        .unit(Unit::Share)
        .from(0.0)
        .limits(Thresholds::above(0.000_01, LOSS))
        .runbook("loss")
}

fn peaks() -> Panel {
    Panel::new(View::TimeSeries, "How far above the mean are the peaks?")
        .about(
            "Rates of the busiest port: its mean, its busiest millisecond and its busiest 100 us. Where \
             the mean is low and peaks reach the line rate, averages hide bursts. Peaks cover the last \
             two reports.",
        )
        .query("8 * max(rdma:io:rate2m{$F})", "mean")
        .query(
            "8 * max(rdma_port_peak_rate_bytes_per_second{$F, rdma_bucket=\"1ms\"})",
            "busiest 1 ms",
        )
        .query(
            "8 * max(rdma_port_peak_rate_bytes_per_second{$F, rdma_bucket=\"100us\"})",
            "busiest 100 us",
        )
        .query("8 * max(rdma_port_line_rate_bytes_per_second{$F})", "line rate")
        .unit(Unit::BitsPerSecond)
        .from(0.0)
        .field(Override::of_field("line rate").color("#808080").drawn_as_limit())
}

fn fan_in() -> Panel {
    Panel::new(View::TimeSeries, "How many flows meet at one port?")
        .about(
            "Most flows towards a port within 100 us, for the ports with the most. A rise together with \
             CE marks at the same port is incast.",
        )
        .query("topk(10, max by (rdma_port) (rdma_port_fan_in{$F}))", "{{rdma_port}}")
        .unit(Unit::Number)
        .from(0.0)
        .without_answer("no packets visible")
}

fn links() -> Panel {
    Panel::new(View::TimeSeries, "Do links flap or correct errors?")
        .about(
            "Events a second over all NICs. Link down: any is bad. Symbol errors that FEC could not \
             correct: above 10 a second the link is degraded (NVSentinel). Corrected bits are normal at \
             100 Gb/s and more; a port that corrects far more than others has bad optics.",
        )
        .query(
            "sum(rate(rdma_nic_events_total{$F, rdma_nic_measure=\"link_down\", \
             rdma_nic_counted=\"true\"}[$__rate_interval]))",
            "link down",
        )
        .query(
            "sum(rate(rdma_nic_events_total{$F, rdma_nic_measure=\"symbol_errors\", \
             rdma_nic_counted=\"true\"}[$__rate_interval]))",
            "symbol errors",
        )
        .query(
            "topk(5, sum by (rdma_port) (rate(rdma_nic_events_total{$F, \
             rdma_nic_measure=\"corrected_bits\", rdma_nic_counted=\"true\"}[$__rate_interval])))",
            "corrected bits {{rdma_port}}",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .field(Override::of_field("link down").color(RED))
        .without_answer("no NIC counters")
}

fn congested_ports() -> Panel {
    Panel::new(View::TimeSeries, "At which ports do marked packets arrive?")
        .about("Share of CE-marked packets by receiving port, worst first.")
        .query(
            "topk(10, max by (rdma_port) (rdma:ce_packets:rate2m{$F} \
             / (rdma:received_packets:rate2m{$F} > 0)))",
            "{{rdma_port}}",
        )
        .unit(Unit::Share)
        .from(0.0)
        .limits(Thresholds::above(CE_SHARE, 0.1))
        .runbook("congestion")
}

fn pausing_nics() -> Panel {
    Panel::new(View::TimeSeries, "Which NICs pause their switch?")
        .about(
            "Share of time, from NIC counters, by priority. These hosts take data too slowly: PCIe, \
             memory, or a NIC without receive buffers. Above 10 %, isolate the host before the pause \
             spreads.",
        )
        .query(&paused("pause_sent_ns"), "{{rdma_port}} priority {{rdma_priority}}")
        .unit(Unit::Share)
        .from(0.0)
        .limits(Thresholds::above(PAUSE_SHARE, PAUSE_STORM))
        .without_answer("no counters of paused time")
        .runbook("pfc_storm")
}

fn paused_nics() -> Panel {
    Panel::new(View::TimeSeries, "Which NICs are paused by their switch?")
        .about(
            "Share of time, from NIC counters, by priority. The switch's queue towards some other host is \
             full: look for the NIC that pauses its switch, or for a congested uplink.",
        )
        .query(&paused("pause_received_ns"), "{{rdma_port}} priority {{rdma_priority}}")
        .unit(Unit::Share)
        .from(0.0)
        .limits(Thresholds::above(PAUSE_SHARE, PAUSE_STORM))
        .without_answer("no counters of paused time")
        .runbook("pause")
}

/// Share of time that NICs sent or received pause. `rate` extrapolates: a share may exceed 1.
fn paused(measure: &str) -> String {
    format!(
        "clamp_max(topk(10, sum by (rdma_port, rdma_priority) (rate(rdma_nic_time_seconds_total{{$F, \
         rdma_nic_measure=\"{measure}\", rdma_nic_counted=\"true\"}}[$__rate_interval]))), 1)"
    )
}

fn loss_signs() -> Panel {
    Panel::new(View::TimeSeries, "Which signs of loss do NICs count?")
        .about(
            "Events a second over all NICs. Out of sequence and sequence NAKs: packets were lost or \
             overtaken. ACK timeouts: above 1 a second the path is degraded (NVSentinel). Discards: the \
             NIC itself had no buffer.",
        )
        .query(&event("out_of_sequence"), "out of sequence")
        .query(&counter("sequence_naks_received"), "sequence NAKs")
        .query(&event("ack_timeouts"), "ACK timeouts")
        .query(&counter("discards"), "discards")
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no NIC counters")
        .runbook("loss")
        .runbook("timeouts")
}

/// Events a second over all NICs.
fn event(measure: &str) -> String {
    format!(
        "sum(rate(rdma_nic_events_total{{$F, rdma_nic_measure=\"{measure}\", \
         rdma_nic_counted=\"true\"}}[$__rate_interval]))"
    )
}

fn recoveries() -> Panel {
    Panel::new(View::TimeSeries, "How long do senders recover, and from what?")
        .about(
            "Seconds a second that flows spend in recovery, summed over flows, by what made the sender go \
             back: a NAK costs a round trip, a timeout costs the whole ACK timeout.",
        )
        .query(
            "sum by (rdma_recovery_trigger) (rate(rdma_recovery_time_seconds_total{$F}[$__rate_interval]))",
            "{{rdma_recovery_trigger}}",
        )
        .unit(Unit::Seconds)
        .from(0.0)
        .without_answer("no recoveries, or no packets visible")
        .runbook("timeouts")
}

fn naks() -> Panel {
    Panel::new(View::TimeSeries, "Which NAKs are sent?")
        .about(
            "NAKs a second by code. `psn_sequence_error` asks for lost packets; `rnr` says that no \
             receive buffer was posted, which NCCL avoids.",
        )
        .query(
            "sum by (rdma_nak) (rate(rdma_nak_packets_total{$F}[$__rate_interval]))",
            "{{rdma_nak}}",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no NAKs, or no packets visible")
        .runbook("receiver_not_ready")
}

fn burst_time() -> Panel {
    Panel::new(View::TimeSeries, "How much of the time are ports in a burst?")
        .about(
            "Share of time in milliseconds above half of the line rate (Millisampler's definition of a \
             burst), for the busiest ports.",
        )
        .query(
            "topk(10, max by (rdma_port, network_io_direction) (rate(\
             rdma_port_burst_time_seconds_total{$F, rdma_bucket=\"1ms\"}[$__rate_interval])))",
            "{{rdma_port}} {{network_io_direction}}",
        )
        .unit(Unit::Share)
        .from(0.0)
        .without_answer("line rate unknown, or no packets visible")
}

fn drops() -> Panel {
    Panel::new(View::TimeSeries, "Which NICs drop packets?")
        .about("Packets a second that the port dropped because it had no buffer; should be 0.")
        .query(
            "topk(10, sum by (rdma_port) (rate(rdma_nic_packets_total{$F, \
             rdma_nic_measure=\"discards\", rdma_nic_counted=\"true\"}[$__rate_interval])))",
            "{{rdma_port}}",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .limits(Thresholds::warn_from(0.01))
        .without_answer("no NIC counters")
        .runbook("loss")
}

fn storms() -> Panel {
    Panel::new(View::TimeSeries, "Are there pause storms?")
        .about(
            "PFC storms in five minutes: 95 % of 100 ms paused, from captured pause frames; and the NICs' \
             own counters of stalled pause. Any is critical.",
        )
        .query(
            "sum by (rdma_pfc_station) (increase(rdma_pfc_storms_total{$F}[5m]))",
            "{{rdma_pfc_station}}",
        )
        .query(
            "sum by (rdma_port, rdma_nic_measure) (increase(rdma_nic_events_total{$F, \
             rdma_nic_measure=~\"pause_storm_.*\", rdma_nic_counted=\"true\"}[5m]))",
            "{{rdma_port}} {{rdma_nic_measure}}",
        )
        .unit(Unit::Number)
        .from(0.0)
        .limits(Thresholds::bad_from(0.5))
        .without_answer("no pause frames captured, and no such counters")
        .runbook("pfc_storm")
}
