//! A table that can be sorted by any column and filtered by words.

use std::cmp::Ordering;

use crate::filter::{Facts, Filter};
use crate::printable::printable;

/// How serious a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    /// It stands out.
    Odd,
    /// Something is wrong.
    Bad,
}

/// One cell: its text and, if it is a number, the value to sort by.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) text: String,
    value: Option<f64>,
}

impl Cell {
    pub(super) fn word(text: impl Into<String>) -> Self {
        Self { text: printable(&text.into()).into_owned(), value: None }
    }

    /// A number: how it reads, and its value.
    pub(super) fn number(text: String, value: u64) -> Self {
        Self { text, value: Some(value as f64) }
    }

    /// Empty if `value` is 0 or unknown; unknown sorts below 0.
    pub(super) fn some(value: Option<u64>, shape: fn(u64) -> String) -> Self {
        match value {
            None => Self::default(),
            Some(0) => Self { text: String::new(), value: Some(0.0) },
            Some(value) => Self::number(shape(value), value),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.value, other.value) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            (Some(_), None) => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (None, None) => self.text.cmp(&other.text),
        }
    }
}

/// A row of a view: its cells, its tone, and what opens with Enter.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    pub(super) tone: Tone,
    /// What the screen adds when the row is chosen; may have several lines.
    pub(super) detail: String,
    /// What a filter may ask of it.
    pub(super) facts: Facts,
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading {
    pub(super) name: &'static str,
    /// Numbers are aligned to the right.
    pub(super) is_number: bool,
}

/// A column of words.
pub(super) const fn words(name: &'static str) -> Heading {
    Heading { name, is_number: false }
}

/// A column of numbers.
pub(super) const fn numbers(name: &'static str) -> Heading {
    Heading { name, is_number: true }
}

/// The rows of a view, in the view's own order.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) headings: Vec<Heading>,
    pub(super) rows: Vec<Row>,
    /// Shown when there are no rows.
    pub(super) empty: String,
    /// The second cell is a sentence: rows are wrapped at words instead of standing in columns.
    pub(super) is_list: bool,
}

/// Which column a table is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sort {
    pub(super) column: usize,
    pub(super) is_descending: bool,
}

impl Grid {
    /// Keeps the rows that `filter` selects, and sorts them. If it is no filter, or asks for fields
    /// that no row has, rows with this text in some cell are kept, ignoring case.
    pub(super) fn arrange(&mut self, filter: &str, sort: Option<Sort>) {
        let expression = filter.parse::<Filter>().ok();
        let selects = |row: &Row| expression.as_ref()?.selects_row(&row.facts);
        let text = filter.to_lowercase();
        let has_text =
            |row: &Row| row.cells.iter().any(|one| one.text.to_lowercase().contains(&text));
        let has_fields = self.rows.iter().any(|row| selects(row).is_some());
        match has_fields {
            true => self.rows.retain(|row| selects(row) == Some(true)),
            false if filter.is_empty() => {}
            false => self.rows.retain(has_text),
        }
        let Some(Sort { column, is_descending }) = sort else { return };
        self.rows.sort_by(|one, other| {
            let order = match (one.cells.get(column), other.cells.get(column)) {
                (Some(one), Some(other)) => one.compare(other),
                _ => Ordering::Equal,
            };
            if is_descending { order.reverse() } else { order }
        });
    }

    /// The columns that hold something, with the characters that each needs; the sorted one has an
    /// arrow.
    pub(super) fn widths(&self, sort: Option<Sort>) -> Vec<(usize, u16)> {
        let width = |(at, heading): (usize, &Heading)| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(at));
            let widest = cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0);
            let is_sorted = sort.is_some_and(|sort| sort.column == at);
            let width = widest.max(heading.name.chars().count() + usize::from(is_sorted));
            (widest > 0 || is_sorted).then(|| (at, u16::try_from(width).unwrap_or(u16::MAX)))
        };
        self.headings.iter().enumerate().filter_map(width).collect()
    }
}

/// The columns that fit a width.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// Place and characters of each column that fits, from the left.
    pub(super) widths: Vec<(usize, u16)>,
    /// Blanks between two columns.
    pub(super) spacing: u16,
    /// Columns that do not fit.
    pub(super) left_out: usize,
}

impl Columns {
    /// As many of `widths` as `room` characters hold. Columns move closer together before the last
    /// ones are left out; none is cut.
    pub(super) fn fit(mut widths: Vec<(usize, u16)>, room: u16) -> Self {
        let needed = |spacing: u16, widths: &[(usize, u16)]| {
            let gaps = usize::from(spacing) * widths.len().saturating_sub(1);
            widths.iter().map(|(_, width)| usize::from(*width)).sum::<usize>() + gaps
        };
        let room = usize::from(room);
        if needed(2, &widths) <= room {
            return Self { widths, spacing: 2, left_out: 0 };
        }
        let all = widths.len();
        // The first column is always shown, even cut.
        while widths.len() > 1 && needed(1, &widths) > room {
            widths.pop();
        }
        Self { left_out: all - widths.len(), widths, spacing: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_closer_before_the_last_are_left_out() {
        let fit = |room| {
            let Columns { widths, spacing, left_out } =
                Columns::fit(vec![(0, 3), (2, 4), (3, 5)], room);
            (widths.len(), spacing, left_out)
        };
        assert_eq!(fit(16), (3, 2, 0));
        assert_eq!(fit(15), (3, 1, 0));
        assert_eq!(fit(14), (3, 1, 0));
        assert_eq!(fit(13), (2, 1, 1));
        assert_eq!(fit(1), (1, 1, 2));
    }

    fn grid() -> Grid {
        let row = |name: &str, value: Option<u64>| Row {
            cells: vec![Cell::word(name), Cell::some(value, |value| format!("{value} ms"))],
            tone: Tone::Plain,
            detail: String::new(),
            facts: Facts::default()
                .number("rank", [Some(name.len() as u32), None])
                .flag("nak", value == Some(9)),
        };
        let rows = vec![row("b", Some(9)), row("a", None), row("Long", Some(10))];
        Grid {
            headings: vec![words("NAME"), numbers("T")],
            rows,
            empty: String::new(),
            is_list: false,
        }
    }

    fn names(grid: &Grid) -> Vec<&str> {
        grid.rows.iter().map(|row| row.cells[0].text.as_str()).collect()
    }

    #[test]
    fn numbers_sort_as_numbers_and_unknown_last() {
        let mut sorted = grid();
        sorted.arrange("", Some(Sort { column: 1, is_descending: true }));
        assert_eq!(names(&sorted), ["Long", "b", "a"]);
        sorted.arrange("", Some(Sort { column: 0, is_descending: false }));
        assert_eq!(names(&sorted), ["Long", "a", "b"]);
        sorted.arrange("", Some(Sort { column: 7, is_descending: true }));
        assert_eq!(names(&sorted), ["Long", "a", "b"]);
    }

    #[test]
    fn empty_columns_take_no_room_unless_sorted() {
        let mut some = grid();
        some.arrange("long", None);
        some.rows[0].cells[1] = Cell::default();
        assert_eq!(some.widths(None), [(0, 4)]);
        let sort = Some(Sort { column: 1, is_descending: true });
        assert_eq!(some.widths(sort), [(0, 4), (1, 2)]);
    }

    #[test]
    fn a_filter_ignores_case() {
        let mut some = grid();
        some.arrange("lONG", None);
        assert_eq!(names(&some), ["Long"]);
        some.arrange("9 ms", None);
        assert!(some.rows.is_empty());
    }

    #[test]
    fn an_expression_selects_rows_that_have_its_fields() {
        let kept = |filter: &str| {
            let mut some = grid();
            some.arrange(filter, None);
            names(&some).join(" ")
        };
        assert_eq!(kept("rank == 4"), "Long");
        assert_eq!(kept("nak or rank > 3"), "b Long");
        assert_eq!(kept("not nak"), "a Long");
        // No row has sequence numbers, so this is a text.
        assert_eq!(kept("psn == 4"), "");
        assert_eq!(kept("LO"), "Long");
    }
}
