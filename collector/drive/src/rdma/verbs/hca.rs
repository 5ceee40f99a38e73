//! `NCCL_IB_HCA`: which devices and ports may be used, in NCCL's syntax.
//!
//! `mlx5_0,mlx5_1:1` lists device prefixes, with or without a port; `=` in front requires whole
//! names, `^` selects all others, `^=` does both (`src/misc/utils.cc`: `parseStringList`,
//! `matchIfList`; `src/transport/net_ib.cc`: `ncclIbInit`).

/// A parsed `NCCL_IB_HCA`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HcaList {
    entries: Vec<Entry>,
    is_exact: bool,
    is_exclusion: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    port: Option<u8>,
}

impl HcaList {
    /// Parses the syntax; an empty text allows everything.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (is_exclusion, text) = strip(text, '^');
        let (is_exact, text) = strip(text, '=');
        let names = text.split(',').filter(|name| !name.is_empty());
        Self { entries: names.map(Entry::parse).collect(), is_exact, is_exclusion }
    }

    /// Whether a port of a device may be used.
    #[must_use]
    pub fn accepts(&self, device: &str, port: u8) -> bool {
        let is_named = self.entries.is_empty()
            || self.entries.iter().any(|entry| entry.names(device, port, self.is_exact));
        is_named != self.is_exclusion
    }
}

impl Entry {
    fn parse(text: &str) -> Self {
        let (name, port) = text.split_once(':').unwrap_or((text, ""));
        Self { name: name.to_owned(), port: port.parse().ok() }
    }

    fn names(&self, device: &str, port: u8, is_exact: bool) -> bool {
        let is_device =
            if is_exact { device == self.name } else { device.starts_with(self.name.as_str()) };
        is_device && self.port.is_none_or(|own| own == port)
    }
}

fn strip(text: &str, mark: char) -> (bool, &str) {
    text.strip_prefix(mark).map_or((false, text), |rest| (true, rest))
}

#[cfg(test)]
mod tests {
    use super::HcaList;

    const PORTS: [(&str, u8); 4] = [("mlx5_1", 1), ("mlx5_1", 2), ("mlx5_10", 1), ("rxe0", 1)];

    /// Examples of NCCL's documentation of `NCCL_IB_HCA`, and corner cases.
    #[test]
    fn lists_are_read_as_nccl_reads_them() {
        for (text, accepted) in [
            ("", [true, true, true, true]),
            ("mlx5", [true, true, true, false]),
            ("mlx5_1", [true, true, true, false]),
            ("=mlx5_1", [true, true, false, false]),
            ("=mlx5_1:2", [false, true, false, false]),
            ("mlx5_1:1,rxe", [true, false, true, true]),
            ("^mlx5_1:1", [false, true, false, true]),
            ("^=mlx5_1,mlx5_10", [false, false, false, true]),
            ("^", [false, false, false, false]),
        ] {
            let list = HcaList::parse(text);
            assert_eq!(PORTS.map(|(device, port)| list.accepts(device, port)), accepted, "{text}");
        }
    }
}
