//! A table that can be sorted by any column and filtered by words.

use std::cmp::Ordering;

/// How a row is to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    /// It stands out.
    Odd,
    /// Something is wrong.
    Bad,
}

/// One cell: what is shown, and what it is sorted by where that is a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) text: String,
    value: Option<f64>,
}

impl Cell {
    pub(super) fn word(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None }
    }

    /// A number as people read it, and as it is.
    pub(super) fn number(text: String, value: u64) -> Self {
        Self { text, value: Some(value as f64) }
    }

    /// Empty where there is none; unknown sorts below everything that is known.
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

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    pub(super) tone: Tone,
    /// What is told of it when it is chosen.
    pub(super) detail: String,
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading {
    pub(super) name: &'static str,
    /// Numbers stand at the right.
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

/// A table, as its view puts it in order.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) headings: Vec<Heading>,
    pub(super) rows: Vec<Row>,
    /// What is said where there is no row.
    pub(super) empty: String,
}

/// Which column a table is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sort {
    pub(super) column: usize,
    pub(super) is_descending: bool,
}

impl Grid {
    /// Keeps the rows that have `filter` in a cell, whatever its case, and puts them in order.
    pub(super) fn arrange(&mut self, filter: &str, sort: Option<Sort>) {
        let filter = filter.to_lowercase();
        if !filter.is_empty() {
            let has = |cell: &Cell| cell.text.to_lowercase().contains(&filter);
            self.rows.retain(|row| row.cells.iter().any(has));
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

    /// Characters that each column needs when it is sorted as by `sort`.
    pub(super) fn widths(&self, sort: Option<Sort>) -> Vec<u16> {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(at));
            let widest = cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0);
            let arrow = usize::from(sort.is_some_and(|sort| sort.column == at));
            let name = self.headings.get(at).map_or(0, |one| one.name.chars().count() + arrow);
            u16::try_from(widest.max(name)).unwrap_or(u16::MAX)
        };
        (0..self.headings.len()).map(width).collect()
    }
}

/// How the columns of a grid lie in a room.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// Characters of each that has room, from the left.
    pub(super) widths: Vec<u16>,
    /// Blanks between two.
    pub(super) spacing: u16,
    /// How many have no room.
    pub(super) left_out: usize,
}

impl Columns {
    /// As many of `widths` as `room` characters hold: close together if need be, whole or not at
    /// all.
    pub(super) fn fit(mut widths: Vec<u16>, room: u16) -> Self {
        let needed = |spacing: u16, widths: &[u16]| {
            let gaps = usize::from(spacing) * widths.len().saturating_sub(1);
            widths.iter().map(|width| usize::from(*width)).sum::<usize>() + gaps
        };
        let room = usize::from(room);
        if needed(2, &widths) <= room {
            return Self { widths, spacing: 2, left_out: 0 };
        }
        let all = widths.len();
        // One is shown, cut or not.
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
            let Columns { widths, spacing, left_out } = Columns::fit(vec![3, 4, 5], room);
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
        };
        let rows = vec![row("b", Some(9)), row("a", None), row("Long", Some(10))];
        Grid { headings: vec![words("NAME"), numbers("T")], rows, empty: String::new() }
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
    fn a_filter_ignores_case() {
        let mut some = grid();
        some.arrange("lONG", None);
        assert_eq!(names(&some), ["Long"]);
        some.arrange("9 ms", None);
        assert!(some.rows.is_empty());
    }
}
