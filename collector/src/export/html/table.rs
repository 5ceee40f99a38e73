//! Tables that sort and filter where scripts run, and are plain tables elsewhere.

use super::markup::{Element, Markup};

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Words,
    Numbers,
}

/// A cell.
pub(super) struct Cell {
    content: Markup,
    /// What it is sorted by; `None` for its text.
    key: Option<f64>,
    class: Option<&'static str>,
}

impl Cell {
    pub(super) fn text(text: impl std::fmt::Display) -> Self {
        Self::markup(Element::new("span").text(text))
    }

    pub(super) fn markup(content: impl Into<Markup>) -> Self {
        Self { content: content.into(), key: None, class: None }
    }

    /// A number and how it is written; a 0 is dimmed.
    pub(super) fn number(value: u64, text: impl std::fmt::Display) -> Self {
        let cell = Self::text(text).sorted_by(value as f64);
        if value == 0 { Self { class: Some("zero"), ..cell } } else { cell }
    }

    /// What the input cannot show: sorted after everything else.
    pub(super) fn unknown(why: &'static str) -> Self {
        let dash = Element::new("span").with("title", why).text("–");
        let said = Element::new("span").class("heard").text(why);
        let content: Markup = [dash, said].into_iter().collect();
        Self { content, key: Some(-1.0), class: Some("zero") }
    }

    pub(super) fn maybe(
        value: Option<u64>,
        shape: impl Fn(u64) -> String,
        why: &'static str,
    ) -> Self {
        value.map_or_else(|| Self::unknown(why), |value| Self::number(value, shape(value)))
    }

    pub(super) fn sorted_by(self, key: f64) -> Self {
        Self { key: Some(key), ..self }
    }
}

/// A table.
pub(super) struct Table {
    caption: String,
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
    /// Its name in the label of the filter; `None` for a table without one.
    filter: Option<&'static str>,
}

impl Table {
    /// `caption` names it for screen readers.
    pub(super) fn new(caption: impl Into<String>, columns: &[(&'static str, Align)]) -> Self {
        Self { caption: caption.into(), columns: columns.to_vec(), rows: Vec::new(), filter: None }
    }

    pub(super) fn filtered(self, of: &'static str) -> Self {
        Self { filter: Some(of), ..self }
    }

    pub(super) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    fn head(&self) -> Element {
        let heads = self.columns.iter().map(|(name, align)| {
            let cell = Element::new("th").with("scope", "col").text(name);
            if *align == Align::Numbers { cell.class("number") } else { cell }
        });
        Element::new("thead").child(Element::new("tr").children(heads))
    }

    fn body(&self) -> Element {
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter().enumerate().zip(&self.columns).map(|((at, cell), column)| {
                let element = match at {
                    0 => Element::new("th").with("scope", "row"),
                    _ => Element::new("td"),
                };
                let classes = match (column.1, cell.class) {
                    (Align::Numbers, Some(_)) => Some("number zero"),
                    (Align::Numbers, None) => Some("number"),
                    (Align::Words, class) => class,
                };
                let element = classes.into_iter().fold(element, Element::class);
                let element =
                    cell.key.into_iter().fold(element, |it, key| it.with("data-key", key));
                element.child(cell.content.clone())
            });
            Element::new("tr").children(cells)
        });
        Element::new("tbody").children(rows)
    }
}

impl From<Table> for Markup {
    fn from(table: Table) -> Self {
        let mut all = Self::default();
        if let Some(of) = table.filter {
            let field = Element::new("input").with("type", "search").with("autocomplete", "off");
            let label = Element::new("label").text(format!("Filter {of} ")).child(field);
            let said = Element::new("output").with("aria-live", "polite");
            all.push(Element::new("p").class("filter").flag("hidden").child(label).child(said));
        }
        let grid = Element::new("table").child(Element::new("caption").text(&table.caption));
        let grid = grid.child(table.head()).child(table.body());
        let region = Element::new("div").class("scroll").with("tabindex", "0");
        let region = region.with("role", "region").with("aria-label", &table.caption);
        all.push(region.child(grid));
        all
    }
}
