//! A report on a terminal: an overview, one table per subject, and a page for the chosen row.
//! It only formats the report and knows nothing of terminals: keys come in, [`draw()`] fills a frame.

mod draw;
mod grid;
mod key;
mod page;
mod view;

pub use draw::draw;
pub use key::Key;

use self::grid::{Grid, Sort};
use self::page::Page;
use self::view::View;
use railscope_core::report::Report;

/// Rows that `PageUp` and `PageDown` move.
const LEAP: usize = 10;

/// Longest filter.
const FILTER_CHARS: usize = 64;

/// The state of the screen: the report, and what the user chose to see of it.
#[derive(Debug, Default)]
pub struct Screen {
    /// The latest report.
    report: Option<Box<Report>>,
    /// The report shown while frozen.
    frozen: Option<Box<Report>>,
    is_frozen: bool,
    view: View,
    sort: Option<Sort>,
    filter: String,
    is_typing: bool,
    has_help: bool,
    /// The chosen row.
    row: usize,
    /// The chosen row at full length, while it is open.
    page: Option<Page>,
    /// The latest message that is not part of a report.
    message: String,
    /// The message goes when the first report arrives.
    is_introduction: bool,
    is_over: bool,
    /// The rows on the screen; `None` when they must be built again.
    grid: Option<Grid>,
}

impl Screen {
    /// A screen that waits for its first report.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows a newer report, unless frozen.
    pub fn set_report(&mut self, report: Box<Report>) {
        self.report = Some(report);
        if std::mem::take(&mut self.is_introduction) {
            self.message.clear();
        }
        if !self.is_frozen {
            self.grid = None;
        }
    }

    /// Shows a message at the bottom, instead of the keys.
    pub fn say(&mut self, text: &str) {
        text.clone_into(&mut self.message);
        self.is_introduction = false;
    }

    /// Shows a message until the first report.
    pub fn introduce(&mut self, text: &str) {
        self.say(text);
        self.is_introduction = true;
    }

    /// Whether the user quit.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Handles one key.
    pub fn press(&mut self, key: Key) {
        if key == Key::Quit {
            self.is_over = true;
            return;
        }
        if self.is_typing {
            self.type_filter(key);
            return;
        }
        if std::mem::take(&mut self.has_help) && key != Key::Char('q') {
            return;
        }
        if let Some(page) = &mut self.page
            && !matches!(key, Key::Char('q' | '?' | 'h'))
        {
            if !page.press(key) {
                self.page = None;
            }
            return;
        }
        match key {
            Key::Char('q') => self.is_over = true,
            Key::Char('?' | 'h') => self.has_help = true,
            Key::Char('/') => self.is_typing = true,
            Key::Char(' ' | 'f') => self.freeze(),
            Key::Char('r') => {
                self.sort = self.sort.map(|Sort { column, is_descending }| Sort {
                    column,
                    is_descending: !is_descending,
                });
            }
            Key::Char('j') | Key::Down => self.row = self.row.saturating_add(1),
            Key::Char('k') | Key::Up => self.row = self.row.saturating_sub(1),
            Key::PageDown => self.row = self.row.saturating_add(LEAP),
            Key::PageUp => self.row = self.row.saturating_sub(LEAP),
            Key::Char('g') | Key::Home => self.row = 0,
            Key::Char('G') | Key::End => self.row = usize::MAX,
            Key::Char('<') | Key::Left => self.sort_beside(-1),
            Key::Char('>') | Key::Right => self.sort_beside(1),
            Key::Tab => self.show(1),
            Key::BackTab => self.show(-1),
            Key::Char(digit @ '1'..='7') => {
                let at = digit.to_digit(10).map_or(0, |digit| digit as usize - 1);
                self.show_view(View::ALL.get(at).copied().unwrap_or_default());
            }
            Key::Escape => {
                self.sort = None;
                self.filter.clear();
            }
            Key::Enter => {
                let row = self.row;
                self.page = self.grid().and_then(|grid| Page::of_row(grid, row));
            }
            Key::Char(_) | Key::Backspace | Key::Quit => return,
        }
        self.grid = None;
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Char(c) if self.filter.chars().count() < FILTER_CHARS => self.filter.push(c),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.is_typing = false;
                self.filter.clear();
            }
            _ => return,
        }
        self.row = 0;
        self.grid = None;
    }

    fn freeze(&mut self) {
        self.is_frozen = !self.is_frozen;
        self.frozen = self.report.clone().filter(|_| self.is_frozen);
    }

    /// Shows the view `by` tabs further, round the ends.
    fn show(&mut self, by: isize) {
        let at = View::ALL.iter().position(|view| *view == self.view).unwrap_or(0);
        let next = at.wrapping_add_signed(by + View::ALL.len().cast_signed()) % View::ALL.len();
        self.show_view(View::ALL.get(next).copied().unwrap_or_default());
    }

    fn show_view(&mut self, view: View) {
        self.view = view;
        self.sort = None;
        self.row = 0;
    }

    /// Sorts by the column `by` places further; past either end, restores the view's own order.
    fn sort_beside(&mut self, by: isize) {
        let columns = self.grid().map_or(0, |grid| grid.headings.len());
        let next = match self.sort {
            None if by > 0 => Some(0),
            None => columns.checked_sub(1),
            Some(Sort { column, .. }) => column.checked_add_signed(by).filter(|at| *at < columns),
        };
        self.sort = next.map(|column| Sort { column, is_descending: true });
    }

    /// The report on the screen: the frozen one, or the latest.
    fn shown(&self) -> Option<&Report> {
        let frozen = self.frozen.as_deref().filter(|_| self.is_frozen);
        frozen.or(self.report.as_deref())
    }

    /// The rows on the screen; `None` before the first report.
    fn grid(&mut self) -> Option<&Grid> {
        if self.grid.is_none() {
            let mut grid = self.view.grid(self.shown()?);
            grid.arrange(&self.filter, self.sort);
            self.row = self.row.min(grid.rows.len().saturating_sub(1));
            self.grid = Some(grid);
        }
        self.grid.as_ref()
    }
}
