//! XML within a text: the lines of one document.

use super::Taken;

/// Most bytes of a document: the topology of 16 GPUs and 16 NICs takes 60 kB.
const BYTES: usize = 4 << 20;

/// The text of a document until its end.
#[derive(Clone, Debug)]
pub(super) struct XmlText {
    text: String,
    end: &'static str,
}

impl XmlText {
    /// The line that begins with `start`.
    pub(super) fn begin(line: &str, start: &str, end: &'static str) -> Option<Self> {
        let text = line.trim_start().starts_with(start).then(|| line.to_owned())?;
        Some(Self { text, end })
    }

    /// Whether the document is at its end.
    pub(super) fn is_whole(&self) -> bool {
        self.text.contains(self.end)
    }

    /// The next line.
    pub(super) fn take(&mut self, line: &str) -> Taken {
        // A document that was cut would take in what follows.
        let text = line.trim();
        let is_xml = text.is_empty()
            || text.starts_with('<')
            || ["=\"", "/>", "-->"].iter().any(|mark| text.contains(mark));
        if !is_xml || self.text.len().saturating_add(line.len()) > BYTES {
            return Taken::End;
        }
        self.text.push('\n');
        self.text.push_str(line);
        if line.contains(self.end) { Taken::Last } else { Taken::Yes }
    }

    /// The document; `None` if it was cut.
    pub(super) fn text(&self) -> Option<&str> {
        let end = self.text.rfind(self.end)?.checked_add(self.end.len())?;
        self.text.get(..end)
    }
}
