//! Foreign text made harmless, where it leaves the program.
//!
//! Names of processes, files, devices and hosts, log lines, captures and answers of servers hold whatever
//! their authors like: escape sequences that drive a terminal, line ends that forge lines of a log,
//! characters that reorder or hide the text around them. Here is the one list of them. What passes text
//! to people or to programs that read lines uses it: the log, text reports, pages, metrics.

use std::borrow::Cow;
use std::io::{self, Write};

/// Whether a character shows itself and nothing else: no control character (C0, C1, DEL), and none that
/// reorders, hides or breaks the text around it.
#[must_use]
pub fn is_printable(c: char) -> bool {
    let hides = matches!(c, '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    let reorders = matches!(c, '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    !(c.is_control() || hides || reorders || breaks)
}

/// `text` on one line: every character that is not printable is replaced.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    replaced(text, is_printable)
}

/// `text` on as many lines as it has, otherwise as [`printable`] gives it.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| c == '\n' || is_printable(c))
}

fn replaced(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&is_kept) {
        return text.into();
    }
    let kept = |c| if is_kept(c) { c } else { char::REPLACEMENT_CHARACTER };
    text.chars().map(kept).collect::<String>().into()
}

/// Passes what this program formats, of which parts are foreign: printable characters and line ends as they
/// are, others as its form has them.
#[derive(Debug)]
pub struct PrintableWriter<W> {
    out: W,
    form: Form,
    /// The beginning of a character.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    /// Colours of this program pass; what is not printable is replaced.
    Text,
    /// Only strings can have such characters: they are escaped, so that no value changes.
    Json,
}

/// Bold, dimmed, red, green, yellow, and back to plain.
const COLOURS: [&str; 6] = ["\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"];

impl<W: Write> PrintableWriter<W> {
    /// Writes text to `out`: lines, in the colours that this program uses.
    pub const fn text(out: W) -> Self {
        Self { out, form: Form::Text, held: Vec::new() }
    }

    /// Writes JSON to `out`.
    pub const fn json(out: W) -> Self {
        Self { out, form: Form::Json, held: Vec::new() }
    }

    /// What it writes to.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn pass(&mut self, text: &str) -> io::Result<()> {
        match self.form {
            Form::Text => self.pass_text(text),
            Form::Json => self.pass_json(text),
        }
    }

    fn pass_json(&mut self, text: &str) -> io::Result<()> {
        let is_kept = |c: char| c == '\n' || is_printable(c);
        if text.chars().all(is_kept) {
            return self.out.write_all(text.as_bytes());
        }
        let mut escaped = String::with_capacity(text.len() + 16);
        for c in text.chars() {
            if is_kept(c) {
                escaped.push(c);
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped += &format!("\\u{unit:04x}");
            }
        }
        self.out.write_all(escaped.as_bytes())
    }

    fn pass_text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let colour = COLOURS.iter().find(|colour| rest.starts_with(**colour));
            let (piece, behind) = match colour {
                Some(colour) => rest.split_at(colour.len()),
                None => {
                    let next = rest.char_indices().skip(1).find(|(_, c)| *c == '\x1b');
                    rest.split_at(next.map_or(rest.len(), |(at, _)| at))
                }
            };
            let shown = if colour.is_some() { piece.into() } else { printable_lines(piece) };
            self.out.write_all(shown.as_bytes())?;
            rest = behind;
        }
        Ok(())
    }
}

impl<W: Write> Write for PrintableWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
        if self.held.is_empty() && bytes.iter().all(is_plain) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.pass(text)?;
                    return Ok(bytes.len());
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    self.pass(&String::from_utf8_lossy(good))?;
                    let Some(length) = error.error_len() else {
                        self.held = bad.to_vec();
                        return Ok(bytes.len());
                    };
                    self.pass("\u{fffd}")?;
                    rest = &bad[length..];
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b]0;x\x07b\rc\u{9b}2Jd\u{202e}e\u{2028}f\0\u{7f}";
    const HARMLESS: &str =
        "a\u{fffd}]0;x\u{fffd}b\u{fffd}c\u{fffd}2Jd\u{fffd}e\u{fffd}f\u{fffd}\u{fffd}";

    #[test]
    fn what_drives_a_terminal_is_replaced() {
        assert_eq!(printable(HOSTILE), HARMLESS);
        assert_eq!(printable("a\nb"), "a\u{fffd}b");
        assert_eq!(printable_lines("a\nb\r"), "a\nb\u{fffd}");
        for harmless in ["", "mlx5_0", "Straße 東京 \u{a0}é"] {
            assert!(matches!(printable(harmless), Cow::Borrowed(text) if text == harmless));
        }
    }

    #[test]
    fn colours_and_lines_pass_in_any_pieces() {
        let text = format!("\x1b[1mé{HOSTILE}\x1b[0m\nend\x1b[8m");
        let expected = format!("\x1b[1mé{HARMLESS}\x1b[0m\nend\u{fffd}[8m");
        let mut whole = PrintableWriter::text(Vec::new());
        whole.write_all(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(whole.out).unwrap(), expected);
        let mut pieces = PrintableWriter::text(Vec::new());
        // A colour comes as one piece, a character need not.
        let (colour, rest) = text.split_at(4);
        pieces.write_all(colour.as_bytes()).unwrap();
        let (body, end) = rest.split_at(rest.len() - "\x1b[0m\nend\x1b[8m".len());
        body.bytes().for_each(|byte| pieces.write_all(&[byte]).unwrap());
        pieces.write_all(end.as_bytes()).unwrap();
        pieces.write_all(b"\xff").unwrap();
        assert_eq!(String::from_utf8(pieces.out).unwrap(), format!("{expected}\u{fffd}"));
    }

    #[test]
    fn json_keeps_its_values() {
        let value = serde_json::json!({ "name": format!("{HOSTILE}\u{e0001}é\n") });
        let mut out = PrintableWriter::json(Vec::new());
        serde_json::to_writer_pretty(&mut out, &value).unwrap();
        let text = String::from_utf8(out.into_inner()).unwrap();
        assert!(text.chars().all(|c| c == '\n' || is_printable(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
