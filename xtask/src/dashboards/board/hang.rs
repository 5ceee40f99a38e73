//! Hang: a job stands still; who is silent, and since when?

use super::job::HANGS;
use super::shared::{blind_spots, verdicts, yes_no};
use super::uid::{HANG, HOST, JOB};
use crate::dashboards::layout::Board;
use crate::dashboards::model::dashboard::Dashboard;
use crate::dashboards::model::field::{GREEN, ORANGE, Override, RED, Thresholds, Unit};
use crate::dashboards::model::panel::Panel;
use crate::dashboards::model::view::View;
use crate::dashboards::query::HANG_CLASSES;

/// Seconds of silence that are worth a look, and that mean a hang: NCCL's RAS calls a peer
/// unresponsive after 5 s and dead after 60 s.
const SILENT: f64 = 5.0;
const DEAD: f64 = 60.0;

/// What panels about ranks need.
const NO_RANKS: &str = "not visible: labels.rank is off, or no packets";

pub(super) fn board() -> Dashboard {
    Board::new(
        HANG,
        "railscope / Hang",
        "The job stands still: which rank is silent, and since when?",
    )
    .communicators()
    .row(4, [hangs(), silence(), first_silent(), ranks_seen(), silent_ports(), up()])
    .row(6, [causes()])
    .row(8, [ranks(), timeline()])
    .row(6, [ports(), verdicts().wide(12)])
    .row(6, [blind_spots().wide(12), what_now()])
    .heading("Why? What stopped, and where")
    .row(8, [asked(), flow(), calls()])
    .row(8, [links(), loss(), incomplete()])
    .finish()
}

fn hangs() -> Panel {
    Panel::new(View::Stat, "Does a collective hang?")
        .about(
            "Whether an agent reports a stalled collective: ranks asked for data and got none, for at \
             least 1 s and 5 times the job's longest earlier silence.",
        )
        .query(HANGS, "hang")
        .mapping(yes_no(("yes", RED), ("no", GREEN)))
        .thresholds(Thresholds::bad_from(0.5))
        .without_answer("cannot be checked")
        .wide(4)
        .runbook("stalled_collective")
}

fn causes() -> Panel {
    Panel::new(View::Table, "What stopped, where, and what would decide?")
        .about(
            "Causes that stop a job, by the agents' latest reports: the class, another that the evidence \
             leaves, and the place. Click one for its page: how it is recognised, what it is confused \
             with, and what would decide.",
        )
        .query(
            "count by (railscope_verdict, railscope_verdict_alternative, rdma_port, \
             railscope_verdict_direction, nccl_rank) (railscope_hang_active{$F})",
            "",
        )
        .without_answer("nothing hangs, or nothing that an agent sees")
        .columns(&[
            ("railscope_verdict", "Class"),
            ("railscope_verdict_alternative", "It could also be"),
            ("rdma_port", "Port"),
            ("railscope_verdict_direction", "Direction"),
            ("nccl_rank", "Rank"),
            ("Value", "Agents"),
        ])
        .field(Override::of_field("Class").link("What would decide", HANG_CLASSES))
        .field(Override::of_field("Agents").width(80))
        .wide(24)
}

/// Seconds since a rank last did something.
fn since(activity: &str) -> String {
    format!(
        "time() - max by (nccl_communicator_id, nccl_rank) (nccl_rank_last_activity_timestamp_seconds{{\
         $F, nccl_communicator_id=~\"$communicator\", nccl_activity=\"{activity}\"}})"
    )
}

fn silence() -> Panel {
    Panel::new(View::Stat, "How long has the job been silent?")
        .about(
            "Seconds since any rank last sent data. A job that computes is silent for a part of each \
             training step; 5 s are worth a look, 60 s are a hang (limits of NCCL's RAS) or the end of \
             the job.",
        )
        .query(&format!("min({})", since("data_sent")), "since the last data")
        .unit(Unit::Seconds)
        .decimals(0)
        .thresholds(Thresholds::above(SILENT, DEAD))
        .without_answer(NO_RANKS)
        .wide(4)
}

fn first_silent() -> Panel {
    let since = since("clear_to_send_sent");
    Panel::new(View::NamedStat, "Does one rank stand out?")
        .about(
            "Ranks that asked for data at least 1 s less recently than the middle rank of their \
             communicator: look at these first. In a ring all ranks fall silent within \
             milliseconds of the one that stops; none stands out then, and their order says nothing: see \
             `Which agents report it?`.",
        )
        .query(
            &format!(
                "topk(3, ({since}) > on (nccl_communicator_id) group_left () \
                 (1 + quantile by (nccl_communicator_id) (0.5, {since})))"
            ),
            "rank {{nccl_rank}}",
        )
        .unit(Unit::Seconds)
        .decimals(1)
        .thresholds(Thresholds::above(SILENT, DEAD))
        .without_answer("no rank, or ranks not visible")
        .wide(5)
        .runbook("stalled_collective")
}

fn ranks_seen() -> Panel {
    Panel::new(View::Stat, "How many ranks are seen?")
        .about("Ranks of which an agent saw activity in the last hour. Ranks without an agent are missing.")
        .query(
            "count(count by (nccl_communicator_id, nccl_rank) (\
             nccl_rank_last_activity_timestamp_seconds{$F, nccl_communicator_id=~\"$communicator\"}))",
            "ranks",
        )
        .unit(Unit::Number)
        .thresholds(Thresholds::neutral())
        .without_answer(NO_RANKS)
        .wide(4)
}

fn silent_ports() -> Panel {
    Panel::new(View::Stat, "How many ports are silent?")
        .about("Ports that sent data before and none in the last 5 s.")
        .query(
            &format!(
                "count(time() - max by (rdma_port) (rdma_port_last_data_timestamp_seconds{{$F, \
                 network_io_direction=\"transmit\"}}) > {SILENT}) or \
                 0 * count(rdma_port_last_data_timestamp_seconds{{$F}})"
            ),
            "silent",
        )
        .unit(Unit::Number)
        .thresholds(Thresholds::warn_from(1.0))
        .without_answer("no packets visible")
        .wide(4)
}

fn up() -> Panel {
    Panel::new(View::Stat, "Do all agents answer?")
        .about("Agents that can be scraped. A host that died takes its agent along.")
        .query("avg(up{$F})", "up")
        .unit(Unit::Share)
        .decimals(0)
        .thresholds(Thresholds::below(0.9, 1.0))
        .without_answer("no agent is scraped")
        .wide(3)
}

fn ranks() -> Panel {
    let seconds = |name: &str| {
        Override::of_field(name)
            .unit(Unit::Seconds)
            .decimals(1)
            .thresholds(&Thresholds::above(SILENT, DEAD))
            .colored_cell()
    };
    Panel::new(View::Table, "Who is silent, and since when?")
        .about(
            "Seconds since each rank last asked for data, sent data and received data. In a hang all ranks \
             fall silent almost together; one that is seconds ahead of the others holds them up. If one \
             asks and does not send, it is stuck in the collective.",
        )
        .query(&since("clear_to_send_sent"), "")
        .query(&since("data_sent"), "")
        .query(&since("data_received"), "")
        .merged()
        .columns(&[
            ("nccl_communicator_id", "Communicator"),
            ("nccl_rank", "Rank"),
            ("Value #A", "asked for data"),
            ("Value #B", "sent data"),
            ("Value #C", "received data"),
        ])
        .sorted("asked for data", true)
        .field(seconds("asked for data"))
        .field(seconds("sent data"))
        .field(seconds("received data"))
        .without_answer(NO_RANKS)
        .wide(12)
        .board(JOB, "Job")
}

fn timeline() -> Panel {
    Panel::new(View::StateTimeline, "When did which rank fall silent?")
        .about(
            "Seconds since each rank last sent data: green below 5 s, orange below 60 s, red above. If \
             one row turns orange seconds before the others, look at that rank.",
        )
        .query(&since("data_sent"), "rank {{nccl_rank}}")
        .unit(Unit::Seconds)
        .decimals(0)
        .thresholds(Thresholds::above(SILENT, DEAD))
        .option("showValue", serde_json::json!("never"))
        .without_answer(NO_RANKS)
        .wide(12)
}

fn ports() -> Panel {
    Panel::new(View::BarGauge, "Which ports are silent, and for how long?")
        .about("Seconds since a port last sent data, the longest silence first.")
        .query(
            "sort_desc(topk(16, time() - max by (rdma_port) (rdma_port_last_data_timestamp_seconds{$F, \
             network_io_direction=\"transmit\"})))",
            "{{rdma_port}}",
        )
        .unit(Unit::Seconds)
        .decimals(1)
        .from(0.0)
        .thresholds(Thresholds::above(SILENT, DEAD))
        .without_answer("no packets visible")
        .wide(12)
        .board(HOST, "Host")
}

fn what_now() -> Panel {
    Panel::new(View::Table, "Which agents report it?")
        .about(
            "Agents whose latest report has a stalled collective or an incomplete bootstrap. \
             /report.json of that agent names the ranks, with the frames that show it.",
        )
        .query(
            "max by (instance, railscope_finding) (railscope_finding_active{$F, \
             railscope_finding=~\"stalled_collective|bootstrap_incomplete|master_unreachable\"})",
            "",
        )
        .columns(&[("instance", "Host"), ("railscope_finding", "Finding")])
        .without_answer("none")
        .wide(12)
        .runbook("stalled_collective")
        .runbook("bootstrap_incomplete")
}

fn asked() -> Panel {
    Panel::new(View::TimeSeries, "How long since each rank asked for data?")
        .about(
            "A line that rises while others stay low is a rank that stopped; all rise in a hang.",
        )
        .query(&since("clear_to_send_sent"), "rank {{nccl_rank}}")
        .unit(Unit::Seconds)
        .from(0.0)
        .without_answer(NO_RANKS)
}

fn flow() -> Panel {
    Panel::new(View::TimeSeries, "When did data stop?")
        .about("Rate of RDMA bytes by host. Where it ends first is where the job stopped first.")
        .query(
            "8 * sum by (instance) (rdma:io:rate2m{$F, network_io_direction=\"transmit\"})",
            "{{instance}}",
        )
        .unit(Unit::BitsPerSecond)
        .from(0.0)
}

fn calls() -> Panel {
    Panel::new(View::TimeSeries, "Which hosts still call NCCL?")
        .about(
            "NCCL calls a second by host. A host that stopped calling has a process that is stuck or \
             dead outside NCCL; one that calls waits inside.",
        )
        .query("sum by (instance) (rate(nccl_call_count_total{$F}[$__rate_interval]))", "{{instance}}")
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no calls seen: sources.calls is off, or NCCL is linked statically")
}

fn links() -> Panel {
    Panel::new(View::StateTimeline, "Was a link down?")
        .about("State of each port's link over time; ports whose link was always up are left out.")
        .query(
            "rdma_nic_up{$F} and on (instance, rdma_port) \
                (min_over_time(rdma_nic_up{$F}[$__range]) == 0)",
            "{{rdma_port}}",
        )
        .mapping(yes_no(("up", GREEN), ("down", RED)))
        .thresholds(Thresholds(vec![(None, RED), (Some(1.0), GREEN)]))
        .without_answer("all links were up, or no NIC counters")
}

fn loss() -> Panel {
    Panel::new(View::TimeSeries, "Did connections time out?")
        .about(
            "ACK timeouts a second from NIC counters, and recoveries after timeouts seen in packets. A \
             connection that times out again and again ends with an error after minutes.",
        )
        .query(
            "sum by (rdma_port) (rate(rdma_nic_events_total{$F, rdma_nic_measure=\"ack_timeouts\", \
             rdma_nic_counted=\"true\"}[$__rate_interval]))",
            "{{rdma_port}}",
        )
        .query(
            "sum by (rdma_port) (rate(rdma_recovery_episodes_total{$F, \
             rdma_recovery_trigger=\"timeout\"}[$__rate_interval]))",
            "{{rdma_port}} seen",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .field(Override::of_fields("/.* seen/").color(ORANGE))
        .without_answer("no NIC counters, and no packets visible")
        .runbook("timeouts")
}

fn incomplete() -> Panel {
    Panel::new(View::TimeSeries, "Which verdicts came up?")
        .about("Verdicts of the agents' latest reports over time.")
        .query("sum by (railscope_verdict) (railscope_verdict_active{$F})", "{{railscope_verdict}}")
        .unit(Unit::Number)
        .from(0.0)
        .without_answer("no verdicts")
}
