//! `/proc/PID/stat`: one line, whose second field is a name of any characters.

/// Index of `starttime` among the fields after the name: it is field 22 (proc_pid_stat(5)), and the first
/// after the name is field 3.
const START_TIME: usize = 22 - 3;

/// The name, and the start of the process in ticks since boot.
#[must_use]
pub fn read(stat: &str) -> Option<(&str, u64)> {
    let (_, rest) = stat.split_once('(')?;
    // Names may have parentheses and spaces; later fields have none.
    let (name, fields) = rest.rsplit_once(')')?;
    let start = fields.split_ascii_whitespace().nth(START_TIME)?;
    Some((name, start.parse().ok()?))
}

/// Whether the process still runs: a zombie is listed, but dead.
#[must_use]
pub fn is_alive(stat: &str) -> bool {
    let state = stat.rsplit_once(')').and_then(|(_, fields)| fields.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X' | 'x'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEHIND: &str = "S 1 2 3 0 -1 4194560 6 7 8 9 10 11 12 13 20 0 1 0 8765432 16 17 18";

    #[test]
    fn names_hold_anything() {
        for name in ["python3", "a b", ") R 1 (", "", "((x))"] {
            let line = format!("4711 ({name}) {BEHIND}\n");
            assert_eq!(read(&line), Some((name, 8_765_432)), "{name}");
        }
        for line in ["", "4711 (x", "4711 (x) S 1", "4711 x) S"] {
            assert_eq!(read(line), None, "{line}");
        }
        assert!(is_alive(&format!("4711 (Z) {BEHIND}")));
        for line in ["4711 (x) Z 1 2", "4711 (x) X 1 2", "4711 (x)", ""] {
            assert!(!is_alive(line), "{line}");
        }
    }
}
