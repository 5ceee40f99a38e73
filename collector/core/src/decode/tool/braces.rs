//! A JSON object that lines bring piece by piece.

/// Most bytes of an object: what tools print of a node or switch is far less.
const BYTES: usize = 1 << 20;

/// Lines so far, and how many braces are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Braces {
    text: String,
    depth: i64,
}

impl Braces {
    /// An object that begins with this line.
    pub(super) fn begin(line: &str) -> Self {
        let mut open = Self::default();
        open.add(line);
        open
    }

    /// Adds a line; returns whether there was room.
    pub(super) fn add(&mut self, line: &str) -> bool {
        if self.text.len().saturating_add(line.len()) > BYTES {
            return false;
        }
        // Strings have no braces in what is read: names of hosts and tables.
        for byte in line.bytes() {
            self.depth = self.depth.saturating_add(match byte {
                b'{' => 1,
                b'}' => -1,
                _ => 0,
            });
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Whether all braces are closed.
    pub(super) const fn is_closed(&self) -> bool {
        self.depth <= 0
    }

    /// The lines.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}
