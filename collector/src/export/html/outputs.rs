//! What outputs of other tools say: nodes, switches, benchmarks.

use super::markup::Element;
use super::page::{PATH_WIDTH, Page};
use super::table::{Align, Cell, Table};
use crate::export::text::quantity::count;
use crate::export::text::{label, tool_section};

/// Rows of the table.
const ROWS: usize = 64;

/// The section; `None` without outputs.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    let lines = tool_section::lines(page.report, PATH_WIDTH);
    let caption = match lines.len() {
        0 => return None,
        1..=ROWS => "By node, switch or tool".to_owned(),
        many => format!("The first {ROWS} of {}", count(many as u64)),
    };
    let mut table = Table::new(caption, &[("Of", Align::Words), ("What it says", Align::Words)]);
    for (title, text) in lines.iter().take(ROWS) {
        table.push(vec![Cell::text(label::printable(title)), Cell::text(label::printable(text))]);
    }
    let section = Element::new("section").with("id", "outputs");
    Some(section.child(Element::new("h2").text("Outputs of tools")).child(table))
}
