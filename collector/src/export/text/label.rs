//! Names from captures and logs, safe for a terminal and short enough for a line.

/// Longest name of an interface or host.
const NAME_WIDTH: usize = 24;

/// The path of a capture; a long one keeps its end. `-` is standard input.
pub(in crate::export) fn file(path: &str, width: usize) -> String {
    if path == "-" {
        return "standard input".to_owned();
    }
    let path = printable(path);
    let excess = path.chars().count().saturating_sub(width);
    if excess == 0 {
        return path;
    }
    let kept: String = path.chars().skip(excess + 1).collect();
    // Cut at a folder if possible.
    let start = kept.find('/').filter(|start| start + 1 < kept.len()).unwrap_or(0);
    format!("…{}", &kept[start..])
}

/// The name of an interface or host; a long one keeps its start.
pub(in crate::export) fn name(name: &str) -> String {
    let name = printable(name);
    if name.chars().count() <= NAME_WIDTH {
        return name;
    }
    let kept: String = name.chars().take(NAME_WIDTH - 1).collect();
    format!("{kept}…")
}

/// Captures may contain escape sequences: none may reach the terminal.
pub(in crate::export) fn printable(text: &str) -> String {
    crate::printable::printable(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_distinctive_part() {
        assert_eq!(file("captures/host1.pcap", 30), "captures/host1.pcap");
        assert_eq!(file("/a/very/long/way/to/host1.pcap", 20), "…/way/to/host1.pcap");
        assert_eq!(file("a_very_long_name_of_one_file.pcap", 20), "…me_of_one_file.pcap");
        assert_eq!(name("host"), "host");
        assert_eq!(name("a-very-long-name-of-a-host.example"), "a-very-long-name-of-a-h…");
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(name("ho\u{1b}[31mst"), "ho\u{fffd}[31mst");
    }
}
