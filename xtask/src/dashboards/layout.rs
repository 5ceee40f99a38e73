//! Panels on the board's grid, row by row.

use serde_json::json;

use super::model::dashboard::{self, Dashboard};
use super::model::link::Link;
use super::model::panel::{GridPos, Heading, Panel, Placed};
use super::model::variable::{constant_variable, data_source_variable, label_variable};
use super::query::RUNBOOKS;

/// The tag of all boards, by which they link to each other.
const TAG: &str = "railscope";

/// A board that is being filled.
pub(crate) struct Board {
    dashboard: Dashboard,
    next_id: u32,
    next_row: u32,
}

impl Board {
    /// An empty board with the variables that all have.
    pub(crate) fn new(uid: &str, title: &str, about: &'static str) -> Self {
        let mut dashboard = dashboard::dashboard(uid, title, about);
        dashboard.tags = vec![TAG];
        dashboard.links = vec![Link::to_tag(TAG, "railscope")];
        let of_label = |name, head, label, about| {
            let query = format!("label_values(railscope_report_count_total, {label})");
            label_variable(name, head, &query, about)
        };
        dashboard.templating.list = vec![
            data_source_variable(),
            of_label("cluster", "Cluster", "cluster", "As your Prometheus names them."),
            of_label("job", "Scrape job", "job", "The name of the scrape job of the agents."),
            of_label("node", "Host", "instance", "Hosts by the address of their agents."),
            constant_variable("runbooks", RUNBOOKS, "Where docs/FINDINGS.md is, for links."),
        ];
        Self { dashboard, next_id: 1, next_row: 0 }
    }

    /// Adds a row of panels, all `height` grid rows high.
    pub(crate) fn row(mut self, height: u32, panels: impl IntoIterator<Item = Panel>) -> Self {
        let mut column = 0;
        for panel in panels {
            let width = panel.width;
            let place = GridPos { h: height, w: width, x: column, y: self.next_row };
            let id = self.id();
            self.dashboard.panels.push(panel.placed(id, place));
            column += width;
        }
        debug_assert_eq!(column, 24, "a row of {} is {column} wide", self.dashboard.title);
        self.next_row += height;
        self
    }

    /// Adds a heading.
    pub(crate) fn heading(mut self, title: &str) -> Self {
        let id = self.id();
        self.dashboard.panels.push(Placed::Heading(Heading {
            collapsed: false,
            grid_pos: GridPos { h: 1, w: 24, x: 0, y: self.next_row },
            id,
            panels: Vec::new(),
            title: title.to_owned(),
            kind: "row",
        }));
        self.next_row += 1;
        self
    }

    /// Adds a choice of communicators.
    pub(crate) fn communicators(mut self) -> Self {
        let query = "label_values(nccl_rank_observed_time_seconds_total, nccl_communicator_id)";
        let about = "NCCL's communicators by their hashes; a job has several.";
        let variable = label_variable("communicator", "Communicator", query, about);
        let last = self.dashboard.templating.list.len() - 1;
        self.dashboard.templating.list.insert(last, variable);
        self
    }

    /// One host at a time.
    pub(crate) fn one_host(mut self) -> Self {
        for variable in &mut self.dashboard.templating.list {
            if variable["name"] == "node" {
                variable["multi"] = json!(false);
                variable["current"] = json!({ "selected": true, "text": "All", "value": "$__all" });
            }
        }
        self
    }

    /// Marks the times of findings.
    pub(crate) fn annotation(
        mut self,
        name: &str,
        expression: &str,
        title: &str,
        color: &str,
    ) -> Self {
        let expression = super::query::filtered(expression);
        let one = dashboard::annotation(name, &expression, title, color);
        self.dashboard.annotations.list.push(one);
        self
    }

    pub(crate) fn finish(self) -> Dashboard {
        self.dashboard
    }

    fn id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }
}
