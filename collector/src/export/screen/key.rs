//! The keys that the screen knows.

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// The next view.
    Tab,
    /// The previous view.
    BackTab,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// Sorts by the previous column.
    Left,
    /// Sorts by the next column.
    Right,
    /// Ten rows up.
    PageUp,
    /// Ten rows down.
    PageDown,
    /// The first row.
    Home,
    /// The last row.
    End,
    /// Opens the chosen row, or ends typing a filter.
    Enter,
    /// Closes a page; clears filter and sorting.
    Escape,
    /// Deletes the last typed character.
    Backspace,
    /// Quits from anywhere.
    Quit,
}
