//! Recording rules and alerts at another pace: in a test, minutes are too long to wait.

/// `rules`, in Prometheus' format, with every range (`[5m]`) and every `for` multiplied by `factor`.
#[must_use]
pub fn scaled(rules: &str, factor: f64) -> String {
    let mut all = String::with_capacity(rules.len());
    for line in rules.split_inclusive('\n') {
        match line.split_once("for: ") {
            Some((head, length)) if head.trim().is_empty() => {
                all.push_str(head);
                all.push_str("for: ");
                all.push_str(&scaled_duration(length.trim_end(), factor).unwrap_or_default());
                all.push('\n');
            }
            _ => all.push_str(&scaled_ranges(line, factor)),
        }
    }
    all
}

fn scaled_ranges(line: &str, factor: f64) -> String {
    let mut rest = line;
    let mut all = String::new();
    while let Some((before, behind)) = rest.split_once('[') {
        all.push_str(before);
        all.push('[');
        let (range, after) = behind.split_once(']').unwrap_or((behind, ""));
        // A character class of a regular expression is no range.
        all.push_str(&scaled_duration(range, factor).unwrap_or_else(|| range.to_owned()));
        if behind.len() > range.len() {
            all.push(']');
        }
        rest = after;
    }
    all + rest
}

/// Milliseconds, as Prometheus spells them; `None` for what is no duration of one unit.
fn scaled_duration(length: &str, factor: f64) -> Option<String> {
    let unit = length.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = length.split_at_checked(unit)?;
    let unit_ms = match unit {
        "s" => 1_000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        _ => return None,
    };
    let ms = number.parse::<f64>().ok()? * unit_ms * factor;
    Some(format!("{}ms", ms.round()))
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn ranges_and_waiting_times_shrink_alike() {
        let rules =
            "expr: rate(a_total[5m]) > 0.1 and b{c=~\"[xy]\"}\nfor: 2m\n  summary: for: ever\n";
        let fast = "expr: rate(a_total[15000ms]) > 0.1 and b{c=~\"[xy]\"}\nfor: 6000ms\n  summary: for: ever\n";
        assert_eq!(scaled(rules, 0.05), fast);
    }
}
