//! Text in UTF-16, as editors and consoles of Windows save it, turned into UTF-8.

/// Byte order of UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Utf16 {
    Little,
    Big,
}

impl Utf16 {
    /// By its byte order mark.
    pub(crate) fn of_mark(start: &[u8]) -> Option<Self> {
        match start {
            [0xff, 0xfe, ..] => Some(Self::Little),
            [0xfe, 0xff, ..] => Some(Self::Big),
            _ => None,
        }
    }

    const fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    /// How many bytes are whole characters: an odd byte and the first half of a pair wait.
    pub(crate) fn whole(self, bytes: &[u8]) -> usize {
        let even = bytes.len() / 2 * 2;
        let last = bytes[..even].last_chunk::<2>().map(|pair| self.unit(*pair));
        match last {
            Some(0xd800..=0xdbff) => even - 2,
            _ => even,
        }
    }

    /// The text of all whole units, without a mark.
    pub(crate) fn text(self, bytes: &[u8]) -> String {
        let units = bytes.chunks_exact(2).map(|pair| self.unit([pair[0], pair[1]]));
        let text =
            char::decode_utf16(units).map(|read| read.unwrap_or(char::REPLACEMENT_CHARACTER));
        text.filter(|character| *character != '\u{feff}').collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Utf16;

    #[test]
    fn both_orders_and_halves() {
        let little = b"\xff\xfeA\0\xe9\0\n";
        assert_eq!(Utf16::of_mark(little), Some(Utf16::Little));
        assert_eq!(Utf16::Little.text(little), "A\u{e9}");
        let big = b"\xfe\xff\xd8\x3d\xde\0\0B";
        assert_eq!(Utf16::of_mark(big), Some(Utf16::Big));
        assert_eq!(Utf16::Big.text(big), "\u{1f600}B");
        assert_eq!(Utf16::Little.text(b"\0\xd8A\0"), "\u{fffd}A");
        assert_eq!(Utf16::of_mark(b"\xff"), None);
    }
}
