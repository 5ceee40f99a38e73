//! Rails: do all rails carry their share, and are all hosts set up alike?

use super::shared::{CE_SHARE_OF_RAILS, blind_spots};
use super::uid::{FABRIC, HOST, RAILS};
use crate::dashboards::layout::Board;
use crate::dashboards::model::dashboard::Dashboard;
use crate::dashboards::model::field::{Override, Thresholds, Unit};
use crate::dashboards::model::panel::Panel;
use crate::dashboards::model::view::View;

pub(super) fn board() -> Dashboard {
    Board::new(
        RAILS,
        "railscope / Rails",
        "Does every rail carry its share, and are all hosts set up alike?",
    )
    .row(
        4,
        [
            is_lame(),
            compared(),
            count("One DSCP?", DSCPS, "DSCPs that ports use for most of their packets")
                .runbook("dscp_differs"),
            count("One path MTU?", MTUS, "Path MTUs of flows").runbook("path_mtu"),
            count("One MTU?", NIC_MTUS, "MTUs of the interfaces of RDMA NICs").runbook("path_mtu"),
            count(
                "One IP version?",
                VERSIONS,
                "IP versions of RoCE traffic, which follow from the GIDs",
            ),
            count(
                "One firmware?",
                FIRMWARE,
                "Firmware versions of the model with the most of them",
            ),
            count("One driver?", DRIVERS, "Drivers of RDMA NICs"),
        ],
    )
    .row(7, [bytes(), balance()])
    .row(7, [lame_ports(), wrong_rail()])
    .row(6, [differs(), blind_spots().wide(8)])
    .heading("Why? Rails and what their NICs are")
    .row(8, [congestion(), loss(), line_rates()])
    .row(9, [nics()])
    .row(8, [dscps(), path_mtus()])
    .finish()
}

/// The DSCP of most packets of each port: CNPs have another one.
const MAIN_DSCP: &str = "topk by (instance, rdma_port) (1, sum by (instance, rdma_port, rdma_dscp, \
                         network_type) (rate(rdma_port_dscp_total{$F}[$__rate_interval])) > 0)";

const DSCPS: &str = "count(count by (rdma_dscp) (MAIN))";
const VERSIONS: &str = "count(count by (network_type) (MAIN))";
const MTUS: &str = "count(count_values(\"mtu\", rdma_port_path_mtu_bytes{$F}))";
const NIC_MTUS: &str = "count(count by (rdma_nic_mtu) (rdma_nic_info{$F, rdma_nic_mtu!=\"\"}))";
const DRIVERS: &str =
    "count(count by (rdma_nic_driver) (rdma_nic_info{$F, rdma_nic_driver!=\"\"}))";
const FIRMWARE: &str = "max(count by (rdma_nic_model) (count by (rdma_nic_model, rdma_nic_firmware) \
                        (rdma_nic_info{$F, rdma_nic_firmware!=\"\"})))";

fn is_lame() -> Panel {
    Panel::new(View::Stat, "Is a rail lame?")
        .about(
            "Bytes of the least loaded rail by those of the most loaded one. NCCL spreads its channels over \
             all rails, so 100 % is normal; below 80 % a rail is slow, unused, or used for something else.",
        )
        .query(
            "min(sum by (rail) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"})) \
             / (max(sum by (rail) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"})) > 100000)",
            "least by most",
        )
        .unit(Unit::Share)
        .decimals(0)
        .thresholds(Thresholds::below(0.5, 0.8))
        .without_answer("no traffic")
        .wide(3)
        .runbook("uneven_paths")
}

fn compared() -> Panel {
    Panel::new(View::Stat, "Ports compared?")
        .about(
            "Ports with traffic. The other tiles compare them; hosts without an agent are missing.",
        )
        .query("count(count by (instance, rdma_port) (rdma:io:rate2m{$F}))", "ports")
        .unit(Unit::Number)
        .thresholds(Thresholds::neutral())
        .without_answer("no traffic")
        .wide(3)
}

/// A tile that counts different values, of which there should be one.
fn count(title: &str, expression: &str, about: &str) -> Panel {
    Panel::new(View::Stat, title)
        .about(&format!(
            "{about}. All hosts of a job should have one; `Which ports differ from most others?` has \
             those that differ."
        ))
        .query(&expression.replace("MAIN", MAIN_DSCP), "values")
        .unit(Unit::Number)
        .thresholds(Thresholds::warn_from(2.0))
        .wide(3)
}

fn bytes() -> Panel {
    Panel::new(View::TimeSeries, "How much does each rail carry?")
        .about(
            "Rate of sent RDMA bytes by rail: the device name, which is the same on all hosts. Lines of a \
             healthy job lie on top of each other.",
        )
        .query(
            "8 * sum by (rail) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"})",
            "{{rail}}",
        )
        .unit(Unit::BitsPerSecond)
        .from(0.0)
        .wide(12)
        .runbook("uneven_paths")
}

fn balance() -> Panel {
    Panel::new(View::TimeSeries, "How even are the rails?")
        .about(
            "Least loaded by most loaded rail; and the same for the ports of one host, at the host where it \
             is lowest. If only hosts are uneven, some ports are lame, not a whole rail.",
        )
        .query(
            "min(sum by (rail) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"})) \
             / (max(sum by (rail) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"})) > 100000)",
            "rails",
        )
        .query(
            "min(min by (instance) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"}) \
             / (max by (instance) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"}) > 100000))",
            "ports of the least even host",
        )
        .unit(Unit::Share)
        .between(0.0, 1.0)
        .limits(Thresholds::below(0.5, 0.8))
        .without_answer("no traffic")
        .wide(12)
        .runbook("uneven_paths")
}

fn lame_ports() -> Panel {
    Panel::new(View::BarGauge, "Which ports carry less than their rail?")
        .about(
            "Sent bytes of a port by the mean of its rail, the ten lowest. 100 % is the mean. A single \
             port far below is a slow link or a host that does not use it.",
        )
        .query(
            "sort(bottomk(10, sum by (rdma_port, rail) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"}) \
             / on (rail) group_left () (avg by (rail) \
             (rdma:io:rate2m{$F, network_io_direction=\"transmit\"}) > 100000)))",
            "{{rdma_port}}",
        )
        .unit(Unit::Share)
        .between(0.0, 1.5)
        .thresholds(Thresholds::below(0.5, 0.8))
        .without_answer("no traffic")
        .wide(12)
        .board(HOST, "Host")
}

fn wrong_rail() -> Panel {
    Panel::new(View::Table, "Which ports are on a rail that most hosts do not use?")
        .about(
            "Ports with traffic on a rail that fewer than half of the hosts use: a wrong NCCL_IB_HCA, a \
             management NIC, or devices numbered differently. Empty if there is none. Whether a packet \
             goes to another rail is not visible to an agent, which knows the devices of its own host only.",
        )
        .query(
            "sum by (instance, rdma_port, rail) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"} \
             > 100000) and on (rail) (count by (rail) (count by (rail, instance) (rdma:io:rate2m{$F, \
             network_io_direction=\"transmit\"} > 100000)) / on () group_left () \
             count(count by (instance) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"} > 100000)) \
             < 0.5)",
            "",
        )
        .columns(&[
            ("instance", "Host"),
            ("rdma_port", "Port"),
            ("rail", "Rail"),
            ("Value", "Bytes a second"),
        ])
        .field(Override::of_field("Bytes a second").unit(Unit::Bytes))
        .without_answer("none, of the ports that are compared")
        .wide(12)
}

/// Ports that differ from most others, with what differs and its value.
fn differs() -> Panel {
    let differs = |what: &str, label: &str, all: &str, most: &str| {
        format!(
            "label_replace(label_replace(count by (instance, rdma_port, {label}) ({all} unless on \
             ({most}) topk{group} (1, count by ({most}) ({all}))), \"differs\", \"{what}\", \"\", \"\"), \
             \"value\", \"$1\", \"{label}\", \"(.*)\")",
            group = if most.contains("model") { " by (rdma_nic_model)" } else { "" },
        )
    };
    let of_nic = |what, label: &str, most| {
        differs(what, label, &format!("rdma_nic_info{{$F, {label}!=\"\"}}"), most)
    };
    Panel::new(View::Table, "Which ports differ from most others?")
        .about(
            "Ports whose DSCP, IP version, path MTU, MTU, firmware or driver is not that of most ports. One \
             host that differs can slow down the whole job: its packets wait in another queue, or are cut \
             smaller. Compare the number of ports with `Ports compared?`.",
        )
        .query(&differs("DSCP", "rdma_dscp", &format!("({MAIN_DSCP})"), "rdma_dscp"), "")
        .query(
            &differs("IP version", "network_type", &format!("({MAIN_DSCP})"), "network_type"),
            "",
        )
        .query(
            "label_replace(count_values by (instance, rdma_port) (\"value\", rdma_port_path_mtu_bytes{$F} \
             != on () group_left () quantile(0.5, rdma_port_path_mtu_bytes{$F})), \
             \"differs\", \"path MTU\", \"\", \"\")",
            "",
        )
        .query(&of_nic("MTU of the NIC", "rdma_nic_mtu", "rdma_nic_mtu"), "")
        .query(
            &of_nic("firmware", "rdma_nic_firmware", "rdma_nic_model, rdma_nic_firmware"),
            "",
        )
        .query(&of_nic("driver", "rdma_nic_driver", "rdma_nic_driver"), "")
        .merged()
        .columns(&[
            ("instance", "Host"),
            ("rdma_port", "Port"),
            ("differs", "What differs"),
            ("value", "Its value"),
        ])
        .sorted("What differs", false)
        .without_answer("none, of the ports that are compared")
        .wide(16)
        .runbook("dscp_differs")
        .runbook("path_mtu")
}

fn congestion() -> Panel {
    Panel::new(View::TimeSeries, "Which rails are congested?")
        .about("Share of packets that arrive CE-marked, by rail.")
        .query(CE_SHARE_OF_RAILS, "{{rail}}")
        .unit(Unit::Share)
        .from(0.0)
        .runbook("congestion")
        .board(FABRIC, "Fabric now")
}

fn loss() -> Panel {
    Panel::new(View::TimeSeries, "Which rails lose packets?")
        .about("Share of sent packets that are sent again, by rail.")
        .query(
            "sum by (rail) (rdma:retransmitted_packets:rate2m{$F}) \
             / (sum by (rail) (rdma:sent_packets:rate2m{$F}) > 0)",
            "{{rail}}",
        )
        .unit(Unit::Share)
        .from(0.0)
        .runbook("loss")
}

fn line_rates() -> Panel {
    Panel::new(View::Table, "Do all links run at the same rate?")
        .about("Number of ports by negotiated line rate. A link that came up slower is lame.")
        .query("count_values(\"rate\", rdma_port_line_rate_bytes_per_second{$F} * 8 / 1e9)", "")
        .columns(&[("rate", "Line rate, Gb/s"), ("Value", "Ports")])
        .without_answer("line rates unknown")
}

fn nics() -> Panel {
    Panel::new(View::Table, "What are the NICs, and how are they set up?")
        .about("From sysfs, looked up once a minute.")
        .query("rdma_nic_info{$F}", "")
        .columns(&[
            ("instance", "Host"),
            ("rdma_port", "Port"),
            ("rdma_nic_model", "Model"),
            ("rdma_nic_firmware", "Firmware"),
            ("rdma_nic_driver", "Driver"),
            ("rdma_nic_mtu", "MTU"),
            ("rdma_nic_link_layer", "Link layer"),
        ])
        .without_answer("no RDMA device, or sources.counters is off")
        .wide(24)
}

fn dscps() -> Panel {
    Panel::new(View::TimeSeries, "Which DSCPs do packets have?")
        .about("Packets a second by DSCP over all ports. CNPs usually have a DSCP of their own.")
        .query(
            "sum by (rdma_dscp, network_type) (rate(rdma_port_dscp_total{$F}[$__rate_interval]))",
            "DSCP {{rdma_dscp}} {{network_type}}",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no packets visible")
        .wide(12)
        .runbook("dscp_differs")
}

fn path_mtus() -> Panel {
    Panel::new(View::Table, "Which path MTUs are used?")
        .about("Number of ports by path MTU. 1024 means that interfaces have an MTU of 1500.")
        .query("count_values(\"mtu\", rdma_port_path_mtu_bytes{$F})", "")
        .columns(&[("mtu", "Path MTU, bytes"), ("Value", "Ports")])
        .without_answer("no packets visible")
        .wide(12)
        .runbook("path_mtu")
}
