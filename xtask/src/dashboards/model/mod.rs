//! What the boards use of Grafana's dashboard JSON, the classic one, which Grafana 11 to 13 read.
//!
//! Names are Grafana's own. `cargo xtask dashboards --types` compares the result with Grafana's types.

pub(super) mod dashboard;
pub(super) mod field;
pub(super) mod link;
pub(super) mod panel;
pub(super) mod variable;
pub(super) mod view;
