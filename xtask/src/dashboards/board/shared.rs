//! Panels that several boards have.

use super::uid::AGENTS;
use crate::dashboards::model::field::{
    GREEN, GREY, ORANGE, Override, RED, Thresholds, Unit, words,
};
use crate::dashboards::model::panel::Panel;
use crate::dashboards::model::view::View;
use crate::dashboards::query::VERDICTS;

/// Verdicts of the last reports, each with a link to its runbook.
pub(super) fn verdicts() -> Panel {
    Panel::new(View::Table, "What is wrong, and what to do?")
        .about(
            "Verdicts of the agents' latest reports: the causes of what was found, the severest first, \
             with their place. Click one for how it is recognised. `No verdicts` holds only for what \
             could be seen: see `What cannot be seen here, and why?`.",
        )
        .query(&by_severity(), "")
        .without_answer("no verdicts")
        .columns(&[
            ("railscope_verdict_severity", "Severity"),
            ("railscope_verdict", "Verdict"),
            ("rdma_port", "Port"),
            ("railscope_verdict_direction", "Direction"),
            ("nccl_rank", "Rank"),
            ("Value", "Agents"),
        ])
        .field(
            Override::of_field("Severity")
                .mappings(serde_json::json!([words(&[
                    ("critical", "critical", RED),
                    ("warning", "warning", ORANGE),
                    ("info", "info", GREEN),
                ])]))
                .colored_cell()
                .width(90),
        )
        .field(
            Override::of_field("Verdict")
                .link("Runbook", VERDICTS),
        )
        .field(Override::of_field("Agents").width(80))
}

/// Agents by verdict, the severest first.
fn by_severity() -> String {
    let of = |severity: &str| {
        format!(
            "sort_desc(count by (railscope_verdict, railscope_verdict_severity, rdma_port, \
             railscope_verdict_direction, nccl_rank) \
             (railscope_verdict_active{{$F, railscope_verdict_severity=\"{severity}\"}}))"
        )
    };
    ["critical", "warning"].map(of).join(" or ")
}

/// Share of packets that arrive CE-marked, by rail.
pub(super) const CE_SHARE_OF_RAILS: &str = "sum by (rail) (rdma:ce_packets:rate2m{$F}) \
     / (sum by (rail) (rdma:received_packets:rate2m{$F}) > 0)";

/// Sources that see nothing, and findings that cannot be checked.
pub(super) fn blind_spots() -> Panel {
    Panel::new(View::Table, "What cannot be seen here, and why?")
        .about(
            "Sources that see no data, and findings that could not be checked because data is missing, \
             with the number of agents affected. What is listed here is unknown, not healthy. A host with a \
             hardware RDMA NIC never shows packets: the board then has NIC counters only.",
        )
        .query(
            "count by (railscope_source, railscope_device, railscope_reason) \
             (railscope_source_visible{$F} == 0)",
            "",
        )
        .query(
            "count by (railscope_finding, railscope_reason) (railscope_finding_not_checked{$F})",
            "",
        )
        .without_answer("all sources see their data, and all findings are checked")
        .merged()
        .columns(&[
            ("railscope_source", "Source"),
            ("railscope_device", "Device"),
            ("railscope_finding", "Finding"),
            ("railscope_reason", "Reason"),
            ("Value", "Agents"),
            ("Value #A", "Blind at"),
            ("Value #B", "Not checked by"),
        ])
        .field(Override::of_field("Not checked by").width(110))
        .field(Override::of_field("Blind at").width(80))
        .field(Override::of_field("Source").width(90))
        .field(Override::of_field("Device").width(90))
        .board(AGENTS, "Agents")
}

/// How much of what agents should see they do see.
pub(super) fn completeness() -> Panel {
    Panel::new(View::Stat, "Trust this board?")
        .about(
            "Share of the agents' sources of data that see something. Below 100 %, part of the board is \
             unknown: `What cannot be seen here, and why?` names it.",
        )
        .query("avg(railscope_source_visible{$F})", "sources that see")
        .unit(Unit::Share)
        .decimals(0)
        .between(0.0, 1.0)
        .thresholds(Thresholds::below(0.5, 1.0))
        .without_answer("no agent reports")
        .board(AGENTS, "Agents")
}

/// Words and colours of a value that is 1 if something is so.
pub(super) fn yes_no(yes: (&str, &str), no: (&str, &str)) -> serde_json::Value {
    words(&[("1", yes.0, yes.1), ("0", no.0, no.1)])
}

/// Words for whether something works.
pub(super) fn up_down() -> serde_json::Value {
    yes_no(("up", GREEN), ("down", RED))
}

/// Words for whether something is seen.
pub(super) fn seen_or_not() -> serde_json::Value {
    yes_no(("sees", GREEN), ("sees nothing", GREY))
}
