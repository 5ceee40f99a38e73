//! Numbers in evidence.

/// A duration with three digits or so: `31.2 ms`.
#[must_use]
pub fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn units_fit_the_number() {
        let texts = [0, 999, 1_500, 31_234_567, 2_000_000_000].map(duration);
        assert_eq!(texts, ["0 ns", "999 ns", "1.5 us", "31.2 ms", "2.0 s"]);
    }
}
