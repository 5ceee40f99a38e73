//! Keys, as far as they mean something here.

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// The next table.
    Tab,
    /// The table before.
    BackTab,
    /// A row up.
    Up,
    /// A row down.
    Down,
    /// The column before, to sort by.
    Left,
    /// The next column, to sort by.
    Right,
    /// Ten rows up.
    PageUp,
    /// Ten rows down.
    PageDown,
    /// The first row.
    Home,
    /// The last row.
    End,
    /// Done with what was typed.
    Enter,
    /// Away with what is on top.
    Escape,
    /// The last character of what was typed goes.
    Backspace,
    /// An end, whatever is shown.
    Quit,
}
