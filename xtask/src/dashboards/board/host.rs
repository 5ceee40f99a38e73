//! Host: what is wrong with one host's NICs?

use super::shared::{blind_spots, up_down, verdicts};
use super::uid::{HOST, RAILS};
use crate::dashboards::layout::Board;
use crate::dashboards::model::dashboard::Dashboard;
use crate::dashboards::model::field::{Override, RED, Thresholds, Unit};
use crate::dashboards::model::panel::Panel;
use crate::dashboards::model::view::View;

pub(super) fn board() -> Dashboard {
    Board::new(HOST, "railscope / Host", "Are this host's NICs well, and does its job use them?")
        .one_host()
        .row(4, [
            are_links_up(),
            tile("Does it pause its switch?", Unit::Share)
                .about(
                    "Share of time for which the worst NIC paused its switch: it takes data too slowly. \
                     Above 10 % it slows other hosts down.",
                )
                .query(&paused("pause_sent_ns", "max"), "paused")
                .thresholds(Thresholds::above(0.01, 0.1))
                .without_answer("no counters of paused time")
                .runbook("pfc_storm"),
            tile("Is it paused?", Unit::Share)
                .about("Share of time for which the switch paused the worst NIC.")
                .query(&paused("pause_received_ns", "max"), "paused")
                .thresholds(Thresholds::above(0.1, 0.8))
                .without_answer("no counters of paused time")
                .runbook("pause"),
            tile("Out of buffers?", Unit::PerSecond)
                .about(
                    "Packets a second dropped because no receive buffer was posted. NCCL posts buffers \
                     before it asks for data, so any is wrong.",
                )
                .query(&sum("packets", "out_of_buffer"), "dropped")
                .thresholds(Thresholds::bad_from(0.01))
                .without_answer("no such counter")
                .runbook("receiver_not_ready"),
            tile("Receivers not ready?", Unit::PerSecond)
                .about(
                    "RNR NAKs a second that this host received: the other side had no receive buffer \
                     posted. NCCL avoids them, so any is wrong.",
                )
                .query(&sum("packets", "rnr_naks_received"), "RNR NAKs")
                .thresholds(Thresholds::bad_from(0.01))
                .without_answer("no such counter")
                .runbook("receiver_not_ready"),
            tile("Losing packets?", Unit::Share)
                .about("Share of packets that the worst port sends again.")
                .query(
                    "max(rdma:retransmitted_packets:rate2m{$F} / (rdma:sent_packets:rate2m{$F} > 0))",
                    "retransmitted",
                )
                .thresholds(Thresholds::above(0.000_01, 0.001))
                .runbook("loss"),
            tile("Congested?", Unit::Share)
                .about("Share of packets that arrive CE-marked, at the worst port.")
                .query(
                    "max(rdma:ce_packets:rate2m{$F} / (rdma:received_packets:rate2m{$F} > 0))",
                    "CE-marked",
                )
                .thresholds(Thresholds::above(0.01, 0.1))
                .runbook("congestion"),
            sockets_tile(),
        ])
        .row(7, [bytes(), pause(), buffers()])
        .row(7, [errors(), sockets(), calls()])
        .row(6, [nics(), verdicts(), blind_spots()])
        .heading("Why? Links, processes, and everything its NICs count")
        .row(7, [links(), peaks(), congestion()])
        .row(9, [processes(), counters()])
        .finish()
}

fn tile(title: &str, unit: Unit) -> Panel {
    Panel::new(View::Stat, title).unit(unit).decimals(1).wide(3)
}

fn are_links_up() -> Panel {
    Panel::new(View::Stat, "Are its links up?")
        .about("Share of the host's RDMA ports whose link carries data.")
        .query("avg(rdma_nic_up{$F})", "links up")
        .unit(Unit::Share)
        .decimals(0)
        .thresholds(Thresholds::below(0.5, 1.0))
        .without_answer("no RDMA device, or sources.counters is off")
        .wide(3)
}

fn sockets_tile() -> Panel {
    Panel::new(View::Stat, "Sockets instead of RDMA?")
        .about(
            "Rate of NCCL data over TCP. 0 means that NCCL was seen to use RDMA; where no communicator \
             was seen, it is not known.",
        )
        .query(
            "8 * sum(rate(nccl_socket_io_bytes_total{$F}[$__rate_interval])) \
             or 0 * max(nccl_communicators{$F, nccl_transport=\"ib\"})",
            "over TCP",
        )
        .unit(Unit::BitsPerSecond)
        .decimals(1)
        .thresholds(Thresholds::bad_from(1.0))
        .without_answer("no communicator seen")
        .wide(3)
        .runbook("socket_fallback")
}

/// Rate of a measure over the host's NICs.
fn sum(kind: &str, measure: &str) -> String {
    format!(
        "sum(rate(rdma_nic_{kind}_total{{$F, rdma_nic_measure=\"{measure}\", \
         rdma_nic_counted=\"true\"}}[$__rate_interval]))"
    )
}

/// Rate of a measure, by port and priority.
fn by_port(kind: &str, measure: &str) -> String {
    sum(kind, measure).replacen("sum(", "sum by (rdma_port, rdma_priority) (", 1)
}

/// A share of time. `rate` extrapolates: it may exceed 1.
fn paused(measure: &str, how: &str) -> String {
    format!("clamp_max({how}({}), 1)", by_port("time_seconds", measure))
}

fn bytes() -> Panel {
    Panel::new(View::TimeSeries, "How much do its NICs carry?")
        .about("Rate of RDMA bytes by port and direction, from packets, else from NIC counters.")
        .query(
            "8 * sum by (rdma_port, network_io_direction) (rdma:io:rate2m{$F})",
            "{{rdma_port}} {{network_io_direction}}",
        )
        .query("8 * max(rdma_port_line_rate_bytes_per_second{$F})", "line rate")
        .unit(Unit::BitsPerSecond)
        .from(0.0)
        .field(Override::of_field("line rate").color("#808080").drawn_as_limit())
        .board(RAILS, "Rails")
}

fn pause() -> Panel {
    Panel::new(View::TimeSeries, "Who pauses whom, at which priority?")
        .about(
            "Share of time. `sends`: this NIC pauses its switch, because the host takes data too slowly. \
             `receives`: the switch pauses this NIC.",
        )
        .query(
            &by_port("time_seconds", "pause_sent_ns"),
            "{{rdma_port}} sends, priority {{rdma_priority}}",
        )
        .query(
            &by_port("time_seconds", "pause_received_ns"),
            "{{rdma_port}} receives, priority {{rdma_priority}}",
        )
        .unit(Unit::Share)
        .from(0.0)
        .limits(Thresholds::above(0.1, 0.8))
        .without_answer("no counters of paused time")
        .runbook("pause")
}

fn buffers() -> Panel {
    Panel::new(View::TimeSeries, "Does it run out of buffers?")
        .about(
            "Packets a second. Out of buffer: no receive buffer was posted here. RNR NAKs: none was posted \
             at the other side. Discards: the port itself had no room, where PFC should have stopped the \
             sender.",
        )
        .query(&by_port("packets", "out_of_buffer"), "out of buffer {{rdma_port}}")
        .query(&by_port("packets", "rnr_naks_received"), "RNR NAKs {{rdma_port}}")
        .query(&by_port("packets", "discards"), "discards {{rdma_port}}")
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no NIC counters")
        .runbook("receiver_not_ready")
}

fn errors() -> Panel {
    Panel::new(View::TimeSeries, "Does it lose packets?")
        .about(
            "Events a second. Sequence NAKs and timeouts: packets that this host sent were lost. Out of \
             sequence: packets to this host were lost or overtaken. Wrong ICRC: packets were damaged.",
        )
        .query(&by_port("packets", "sequence_naks_received"), "sequence NAKs {{rdma_port}}")
        .query(&by_port("events", "ack_timeouts"), "ACK timeouts {{rdma_port}}")
        .query(&by_port("events", "out_of_sequence"), "out of sequence {{rdma_port}}")
        .query(&by_port("packets", "icrc_errors"), "wrong ICRC {{rdma_port}}")
        .query(
            "sum by (rdma_port) (rdma:retransmitted_packets:rate2m{$F})",
            "retransmitted {{rdma_port}}",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no NIC counters, and no packets visible")
        .runbook("loss")
}

fn sockets() -> Panel {
    Panel::new(View::TimeSeries, "Does NCCL use sockets instead of RDMA?")
        .about(
            "Rate of NCCL data over TCP (NET/Socket) by port and direction, beside what goes over RDMA. \
             Any data over sockets is a performance incident.",
        )
        .query(
            "8 * sum by (rdma_port, network_io_direction) (rate(\
             nccl_socket_io_bytes_total{$F}[$__rate_interval]))",
            "TCP {{rdma_port}} {{network_io_direction}}",
        )
        .query("8 * sum by (network_io_direction) (rdma:io:rate2m{$F})", "RDMA {{network_io_direction}}")
        .unit(Unit::BitsPerSecond)
        .from(0.0)
        .field(Override::of_fields("/TCP.*/").color(RED))
        .without_answer("no data of NCCL seen")
        .runbook("socket_fallback")
}

fn calls() -> Panel {
    Panel::new(View::TimeSeries, "What do its processes ask of NCCL?")
        .about(
            "Bytes a second that processes of this host asked NCCL to move, by function and, if \
             labels.rank is on, by rank. Seen with any NIC.",
        )
        .query(
            "sum by (nccl_call, nccl_rank) (rate(nccl_call_io_bytes_total{$F}[$__rate_interval]))",
            "{{nccl_call}} {{nccl_rank}}",
        )
        .unit(Unit::Bytes)
        .from(0.0)
        .without_answer("no calls seen: sources.calls is off, or NCCL is linked statically")
}

fn nics() -> Panel {
    Panel::new(View::Table, "What are its NICs?")
        .about("From sysfs, looked up once a minute; the link's state is read with the counters.")
        .query(
            "max by (instance, rdma_port, rdma_nic_model, rdma_nic_firmware, rdma_nic_mtu) \
             (rdma_nic_info{$F})",
            "",
        )
        .query("max by (instance, rdma_port) (rdma_nic_up{$F})", "")
        .merged()
        .columns(&[
            ("rdma_port", "Port"),
            ("rdma_nic_model", "Model"),
            ("rdma_nic_firmware", "Firmware"),
            ("rdma_nic_mtu", "MTU"),
            ("Value #B", "Link"),
        ])
        .field(
            Override::of_field("Link")
                .mappings(serde_json::json!([up_down()]))
                .thresholds(&Thresholds(vec![(None, RED), (Some(1.0), "green")]))
                .colored_cell()
                .width(70),
        )
        .without_answer("no RDMA device, or sources.counters is off")
}

fn links() -> Panel {
    Panel::new(View::StateTimeline, "When were its links down?")
        .about("State of each port's link over time.")
        .query("rdma_nic_up{$F}", "{{rdma_port}}")
        .mapping(up_down())
        .thresholds(Thresholds(vec![(None, RED), (Some(1.0), "green")]))
        .without_answer("no RDMA device, or sources.counters is off")
}

fn peaks() -> Panel {
    Panel::new(View::TimeSeries, "How bursty is its traffic?")
        .about("Rate of the busiest 100 us of each port in the last two reports, by direction.")
        .query(
            "8 * max by (rdma_port, network_io_direction) \
             (rdma_port_peak_rate_bytes_per_second{$F, rdma_bucket=\"100us\"})",
            "{{rdma_port}} {{network_io_direction}}",
        )
        .unit(Unit::BitsPerSecond)
        .from(0.0)
        .without_answer("no packets visible")
}

fn congestion() -> Panel {
    Panel::new(View::TimeSeries, "Does it take part in congestion control?")
        .about(
            "Packets a second. CE-marked packets arrive, so this host should send CNPs; CNPs arrive, so \
             it should slow down (handled). Ignored must be 0.",
        )
        .query("sum(rdma:ce_packets:rate2m{$F})", "CE-marked packets")
        .query(&sum("packets", "cnp_sent"), "CNPs sent")
        .query(&sum("packets", "cnp_handled"), "CNPs handled")
        .query(&sum("packets", "cnp_ignored"), "CNPs ignored")
        .query("sum(rate(rdma_cnp_packets_total{$F}[$__rate_interval]))", "CNPs to it seen")
        .unit(Unit::PerSecond)
        .from(0.0)
        .field(Override::of_field("CNPs ignored").color(RED))
        .runbook("ce_without_cnp")
}

fn processes() -> Panel {
    Panel::new(View::Table, "Which processes and pods use its NICs?")
        .about(
            "Queue pairs of each NIC by process, pod and Slurm job, as the kernel lists them. \
             /queue_pairs.json on the host has each one, with its peer and rank.",
        )
        .query(
            "sum by (rdma_port, process_executable_name, k8s_namespace_name, k8s_pod_name, \
             k8s_container_name, k8s_pod_uid, slurm_job_id, slurm_job_name) (rdma_queue_pairs{$F})",
            "",
        )
        .columns(&[
            ("rdma_port", "Port"),
            ("process_executable_name", "Process"),
            ("k8s_namespace_name", "Namespace"),
            ("k8s_pod_name", "Pod"),
            ("k8s_container_name", "Container"),
            ("k8s_pod_uid", "Pod UID"),
            ("slurm_job_id", "Slurm job"),
            ("slurm_job_name", "Job name"),
            ("Value", "Queue pairs"),
        ])
        .without_answer("no queue pairs, or sources.processes is off")
        .wide(12)
}

fn counters() -> Panel {
    Panel::new(View::Table, "Which counters of its NICs rise?")
        .about("Every counter that rose in the last 10 minutes, by the vendor's name.")
        .query(
            "sort_desc(topk(40, {__name__=~\"rdma_nic_(packets|events|other)_total\", $F} \
             - {__name__=~\"rdma_nic_(packets|events|other)_total\", $F} offset 10m > 0))",
            "",
        )
        .columns(&[
            ("rdma_port", "Port"),
            ("rdma_nic_counter", "Counter"),
            ("rdma_nic_measure", "Measure"),
            ("rdma_priority", "Priority"),
            ("Value", "Rise in 10 min"),
        ])
        .without_answer("none rose, or no NIC counters")
        .wide(12)
}
