//! Job: is a training job slow, and whose fault is it?

use super::shared::{blind_spots, verdicts};
use super::uid::{FABRIC, HANG, HOST, JOB};
use crate::dashboards::layout::Board;
use crate::dashboards::model::dashboard::Dashboard;
use crate::dashboards::model::field::{BLUE, GREEN, ORANGE, Override, RED, Thresholds, Unit};
use crate::dashboards::model::panel::Panel;
use crate::dashboards::model::view::View;

/// Share of its time from which the job waits too much for a rank: that of the alert.
const LATE: f64 = 0.05;

/// The filter of communicators.
const COMMUNICATOR: &str = r#"$C, nccl_communicator_id=~"$communicator""#;

/// What panels about ranks need.
const NO_RANKS: &str = "not visible: labels.rank is off, or no packets";

pub(super) fn board() -> Dashboard {
    let board = Board::new(
        JOB,
        "railscope / Job",
        "Is the training job slow: when, why, and because of whom?",
    );
    board
        .communicators()
        .annotation("Verdicts", ACTIVE_VERDICTS, "{{railscope_verdict}}", RED)
        .row(4, [who_is_late(), duration(), spread(), communication(), is_stuck(), sockets()])
        .row(7, [when(), why()])
        .row(7, [who(), bandwidth()])
        .row(6, [verdicts().wide(12), blind_spots().wide(12)])
        .heading("Why? Ranks and collectives")
        .row(8, [held_up(), own_times(), waited_for()])
        .row(8, [lag(), kinds(), calls()])
        .row(8, [figures(), unknown(), network()])
        .finish()
}

const ACTIVE_VERDICTS: &str = "max by (railscope_verdict) (railscope_verdict_active{$F}) > 0";

fn who_is_late() -> Panel {
    Panel::new(View::NamedStat, "Who holds up the job, and why?")
        .about(
            "The rank that the other ranks wait for, and the share of time that it costs. `enqueue`: its \
             CPU calls collectives late; `compute`: its GPU finishes late; `receiver`: it takes data \
             slowly; `loss`, `congestion`: its path is at fault. Above 5 % the alert fires. The recording \
             rules join the agents of all hosts.",
        )
        .query(
            &format!("nccl:late_rank:share5m{{{COMMUNICATOR}}}"),
            "rank {{nccl_rank}}: {{nccl_straggler_cause}}",
        )
        .query(
            &format!(
                "0 * sum by (nccl_communicator_id) (nccl:rank_start:share5m{{{COMMUNICATOR}}}) \
                 unless on (nccl_communicator_id) nccl:late_rank:share5m{{{COMMUNICATOR}}}"
            ),
            "nobody",
        )
        .unit(Unit::Share)
        .decimals(0)
        .thresholds(Thresholds::above(0.02, LATE))
        .without_answer(NO_RANKS)
        .wide(6)
        .runbook("straggler")
}

fn duration() -> Panel {
    Panel::new(View::Stat, "How long is a training step?")
        .about(
            "Median of whole training steps, from one step's first data packet to the next step's. \
             Compare with what the job reports itself.",
        )
        .query(&quantile("0.5", "nccl_training_step_duration_seconds"), "median")
        .unit(Unit::Seconds)
        .thresholds(Thresholds::neutral())
        .without_answer("no training steps seen")
        .wide(4)
}

fn spread() -> Panel {
    Panel::new(View::Stat, "How regular are they?")
        .about(
            "95th percentile by median. 1 means that all steps take equally long. Above 1.1 (the job-level \
             limit of published straggler studies) some steps are held up; from 2 on they are irregular.",
        )
        .query(
            &format!(
                "{} / ({} > 0)",
                quantile("0.95", "nccl_training_step_duration_seconds"),
                quantile("0.5", "nccl_training_step_duration_seconds"),
            ),
            "95 % by median",
        )
        .unit(Unit::Times)
        .decimals(1)
        .thresholds(Thresholds::above(1.5, 2.0))
        .without_answer("no training steps seen")
        .wide(3)
}

/// A quantile of a histogram without labels.
fn quantile(share: &str, metric: &str) -> String {
    format!(
        "histogram_quantile({share}, sum by (le) (rate({metric}_bucket{{$F}}[$__rate_interval])))"
    )
}

fn communication() -> Panel {
    Panel::new(View::Stat, "How much is communication?")
        .about(
            "Share of training steps with a collective in flight. How much is well depends on the model; \
             a rise means that the network or a rank got slower.",
        )
        .query(
            "sum(rate(nccl_training_step_communication_time_seconds_total{$F}[$__rate_interval])) \
             / (sum(rate(nccl_training_step_communication_time_seconds_total{$F}[$__rate_interval])) \
             + sum(rate(nccl_training_step_idle_time_seconds_total{$F}[$__rate_interval])) > 0)",
            "of a step",
        )
        .unit(Unit::Share)
        .decimals(0)
        .thresholds(Thresholds::neutral())
        .without_answer("no training steps seen")
        .wide(4)
}

fn is_stuck() -> Panel {
    Panel::new(View::Stat, "Does it hang?")
        .about(
            "Whether an agent sees a collective that began and does not end. The Hang board shows which \
             rank is silent.",
        )
        .query(HANGS, "hang")
        .mapping(super::shared::yes_no(("hangs", RED), ("runs", GREEN)))
        .thresholds(Thresholds::bad_from(0.5))
        .without_answer("cannot be checked")
        .wide(3)
        .runbook("stalled_collective")
        .board(HANG, "Hang")
}

/// 1 if an agent reports a stalled collective, 0 if one looked for it and found none.
pub(super) const HANGS: &str = "max(clamp_max(railscope_finding_active{$F, \
                                railscope_finding=\"stalled_collective\"}, 1)) \
                                or max(0 * railscope_report_count_total{$F} unless on (instance) \
                                railscope_finding_not_checked{\
                                railscope_finding=\"stalled_collective\"})";

fn sockets() -> Panel {
    Panel::new(View::Stat, "RDMA or sockets?")
        .about(
            "Communicators by what carries their data. `socket` is a fallback: the job runs, many times \
             slower than it could.",
        )
        .query(
            "max(clamp_max(nccl_communicators{$F, nccl_transport=~\"socket|mixed\"}, 1)) \
             or 0 * max(nccl_communicators{$F, nccl_transport=\"ib\"})",
            "transport",
        )
        .mapping(super::shared::yes_no(("sockets", RED), ("RDMA", GREEN)))
        .thresholds(Thresholds::bad_from(0.5))
        .without_answer("no communicator seen")
        .wide(4)
        .runbook("socket_fallback")
        .board(HOST, "Host")
}

fn when() -> Panel {
    Panel::new(View::TimeSeries, "When are training steps slow?")
        .about(
            "Duration of training steps, and, as bars, how many of them a rank held up, by cause. Red \
             marks are verdicts.",
        )
        .query(&quantile("0.5", "nccl_training_step_duration_seconds"), "median")
        .query(&quantile("0.95", "nccl_training_step_duration_seconds"), "95 %")
        .query(
            "sum by (nccl_straggler_cause) (increase(\
             nccl_training_step_stragglers_total{$F}[$__rate_interval])) > 0",
            "held up: {{nccl_straggler_cause}}",
        )
        .unit(Unit::Seconds)
        .from(0.0)
        .field(Override::of_fields("/held up.*/").drawn_as_bars(Unit::Number))
        .field(Override::of_field("95 %").color(ORANGE))
        .without_answer("no training steps seen")
        .wide(12)
        .runbook("straggler")
}

fn why() -> Panel {
    Panel::new(View::Stacked, "Why? What do collectives wait for?")
        .about(
            "Time of collectives by what it was spent on, in seconds a second over all ranks. `transfer`: \
             data was moving. `start`: other ranks had not begun. `input`: the rank before in the ring had \
             sent nothing yet. `receiver`: the receiver had no buffer ready. `sender`: the sender had \
             all it needed and did not send. `recovery`: lost packets.",
        )
        .query(
            "sum by (nccl_wait) (rate(nccl_wait_time_seconds_total{$F}[$__rate_interval]))",
            "{{nccl_wait}}",
        )
        .unit(Unit::Seconds)
        .from(0.0)
        .field(Override::of_field("transfer").color(GREEN))
        .field(Override::of_field("input").color(BLUE))
        .field(Override::of_field("sender").color(ORANGE))
        .field(Override::of_field("start").color("purple"))
        .field(Override::of_field("receiver").color("yellow"))
        .field(Override::of_field("recovery").color(RED))
        .without_answer("no rank's packets are visible at its own NIC")
        .wide(12)
}

fn who() -> Panel {
    Panel::new(View::Heatmap, "Who? How long does the job wait for each rank?")
        .about(
            "Share of time that the job waits for each rank: the darker, the longer. One dark row is a \
             slow host; a dark column is something that hit all ranks at once.",
        )
        .query(
            &format!(
                "sum by (nccl_rank) (clamp_min(nccl:rank_held_up:share5m{{{COMMUNICATOR}}}, 0))"
            ),
            "{{nccl_rank}}",
        )
        .unit(Unit::Share)
        .option("cellValues", serde_json::json!({ "unit": "percentunit" }))
        .without_answer(NO_RANKS)
        .wide(12)
        .runbook("straggler")
}

fn bandwidth() -> Panel {
    Panel::new(View::TimeSeries, "How near is bus bandwidth to the line rate?")
        .about(
            "Median bus bandwidth of collectives, computed as nccl-tests does, against the line rate of \
             one NIC and of all NICs of one host. Large collectives of a healthy job come near the host's \
             rate; small ones do not.",
        )
        .query(
            "8 * histogram_quantile(0.5, sum by (nccl_collective_kind, le) (rate(\
             nccl_collective_bus_bandwidth_bytes_per_second_bucket{$F}[$__rate_interval])))",
            "{{nccl_collective_kind}}",
        )
        .query("8 * max(rdma_port_line_rate_bytes_per_second{$F})", "line rate of a NIC")
        .query(
            "8 * max(sum by (instance) (rdma_port_line_rate_bytes_per_second{$F}))",
            "line rate of a host",
        )
        .unit(Unit::BitsPerSecond)
        .from(0.0)
        .field(Override::of_fields("/line rate.*/").color("#808080").drawn_as_limit())
        .without_answer("no collectives seen")
        .wide(12)
        .board(FABRIC, "Fabric now")
}

fn held_up() -> Panel {
    Panel::new(View::BarGauge, "How long does the job wait for which rank, and why?")
        .about("Share of time that the job waits for each rank, by cause, the costliest first.")
        .query(
            &format!(
                "sort_desc(topk(10, sum by (nccl_rank, nccl_straggler_cause) \
                 (nccl:rank_held_up:share5m{{{COMMUNICATOR}}}) > 0))"
            ),
            "rank {{nccl_rank}}: {{nccl_straggler_cause}}",
        )
        .unit(Unit::Share)
        .between(0.0, 1.0)
        .thresholds(Thresholds::above(0.02, LATE))
        .without_answer(NO_RANKS)
        .runbook("straggler")
}

fn own_times() -> Panel {
    Panel::new(View::TimeSeries, "What do ranks account for themselves?")
        .about(
            "Share of time that each rank accounts for by itself, by cause. Every rank computes; what \
             counts is how far one rank stands above the others.",
        )
        .query(
            &format!(
                "topk(15, sum by (nccl_rank, nccl_straggler_cause) \
                 (nccl:rank_own_time:share5m{{{COMMUNICATOR}}}))"
            ),
            "rank {{nccl_rank}}: {{nccl_straggler_cause}}",
        )
        .unit(Unit::Share)
        .from(0.0)
        .without_answer(NO_RANKS)
}

fn waited_for() -> Panel {
    Panel::new(View::Table, "Which rank waits for which?")
        .about(
            "Seconds a second that a rank waits for a peer, longest first; needs labels.peer. Follow the \
             chain: the rank that everybody waits for waits for nobody.",
        )
        .query(
            "sort_desc(topk(20, sum by (nccl_rank, nccl_peer, nccl_wait) (rate(\
             nccl_wait_time_seconds_total{$F, nccl_peer!=\"\"}[$__rate_interval])) > 0))",
            "",
        )
        .columns(&[
            ("nccl_rank", "Rank"),
            ("nccl_peer", "waits for"),
            ("nccl_wait", "Why"),
            ("Value", "Seconds a second"),
        ])
        .unit(Unit::Seconds)
        .without_answer("not visible: labels.peer is off, or no packets")
}

fn lag() -> Panel {
    Panel::new(View::TimeSeries, "How long do ranks wait for a straggler?")
        .about("95th percentile of how long the others waited in one collective, by cause.")
        .query(
            "histogram_quantile(0.95, sum by (nccl_straggler_cause, le) (rate(\
             nccl_straggler_lag_seconds_bucket{$F}[$__rate_interval])))",
            "{{nccl_straggler_cause}}",
        )
        .unit(Unit::Seconds)
        .from(0.0)
        .without_answer("no straggler, or no ranks visible")
        .runbook("straggler")
}

fn kinds() -> Panel {
    Panel::new(View::TimeSeries, "How long do collectives take?")
        .about("Median duration by kind, from first to last data packet.")
        .query(
            "histogram_quantile(0.5, sum by (nccl_collective_kind, le) (rate(\
             nccl_collective_duration_seconds_bucket{$F}[$__rate_interval])))",
            "{{nccl_collective_kind}}",
        )
        .unit(Unit::Seconds)
        .from(0.0)
        .without_answer("no collectives seen")
}

fn calls() -> Panel {
    Panel::new(View::TimeSeries, "What does the job ask of NCCL?")
        .about(
            "NCCL calls a second by function, counted when made, with any NIC. A rank that stops calling \
             while others go on is the one to look at.",
        )
        .query(
            "sum by (nccl_call) (rate(nccl_call_count_total{$F}[$__rate_interval]))",
            "{{nccl_call}}",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no calls seen: sources.calls is off, or NCCL is linked statically")
}

fn figures() -> Panel {
    Panel::new(View::TimeSeries, "What happened to training steps on the network?")
        .about(
            "Per second of training steps: retransmitted packets, CE-marked packets, CNPs; they count \
             only what happened during steps.",
        )
        .query(
            "sum(rate(nccl_training_step_retransmits_total{$F}[$__rate_interval]))",
            "retransmitted",
        )
        .query(
            "sum(rate(nccl_training_step_ce_packets_total{$F}[$__rate_interval]))",
            "CE-marked",
        )
        .query("sum(rate(nccl_training_step_cnps_total{$F}[$__rate_interval]))", "CNPs")
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no training steps seen")
}

fn unknown() -> Panel {
    Panel::new(View::TimeSeries, "How much of it is not known?")
        .about(
            "Training steps a second with missing calls, and those for which a figure is unknown. The \
             panels above leave them out.",
        )
        .query(
            "sum(rate(nccl_training_step_incomplete_total{$F}[$__rate_interval]))",
            "calls missing",
        )
        .query(
            "sum by (railscope_figure) (rate(\
             railscope_training_step_unknown_total{$F}[$__rate_interval]))",
            "{{railscope_figure}} unknown",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no training steps seen")
}

fn network() -> Panel {
    Panel::new(View::TimeSeries, "How many bytes does the job send?")
        .about("Rate of RoCEv2 traffic over all ports: seen from packets, else from NIC counters.")
        .query(
            "8 * sum by (network_io_direction) (rdma:io:rate2m{$F})",
            "{{network_io_direction}}",
        )
        .query(
            "8 * sum by (network_io_direction) (rate(nccl_socket_io_bytes_total{$F}[$__rate_interval]))",
            "over sockets: {{network_io_direction}}",
        )
        .unit(Unit::BitsPerSecond)
        .from(0.0)
}
