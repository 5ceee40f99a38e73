//! Number formats for people: three digits and a unit. Findings and tables share them.

/// `12,578`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 flow`, `1,200 flows`, `2 recoveries`, `3 processes`.
#[must_use]
pub fn counted(value: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if value == 1 => format!("1 {noun}"),
        _ if noun.ends_with('s') => format!("{} {noun}es", count(value)),
        Some(stem) => format!("{} {stem}ies", count(value)),
        None => format!("{} {noun}s", count(value)),
    }
}

/// `9.42 MiB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    scaled(value as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// `31.2 Mb/s`.
#[must_use]
pub fn bit_rate(bits_per_second: f64) -> String {
    scaled(bits_per_second, 1000.0, &["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"])
}

/// `0.94 GB/s`: bytes per second, the unit of nccl-tests.
#[must_use]
pub fn byte_rate(bytes_per_second: u64) -> String {
    scaled(bytes_per_second as f64, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"])
}

/// `1.250384 s`: time since the first frame.
#[must_use]
pub fn moment(nanos: i64) -> String {
    format!("{:.6} s", nanos as f64 / 1e9)
}

/// `245 us`.
#[must_use]
pub fn duration(nanos: u64) -> String {
    if nanos >= 120_000_000_000 {
        let seconds = nanos / 1_000_000_000;
        return format!("{} min {:02} s", seconds / 60, seconds % 60);
    }
    scaled(nanos as f64, 1000.0, &["ns", "us", "ms", "s"])
}

/// `31.2 ms`, always with one decimal: the format of straggler evidence.
#[must_use]
pub fn rounded_duration(nanos: u64) -> String {
    let (value, unit) = match nanos {
        0..1_000 => return format!("{nanos} ns"),
        1_000..1_000_000 => (nanos as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (nanos as f64 / 1e6, "ms"),
        _ => (nanos as f64 / 1e9, "s"),
    };
    format!("{value:.1} {unit}")
}

/// `+245 us`, `-3.10 ms`: a time relative to another.
#[must_use]
pub fn offset(nanos: i64) -> String {
    let sign = match nanos {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", duration(nanos.unsigned_abs()))
}

/// `12.345 ms`, without sign, to the microsecond: the precision of clock alignment.
#[must_use]
pub fn clock_offset(nanos: i64) -> String {
    match nanos.unsigned_abs() {
        small @ ..1_000_000 => duration(small),
        middle @ 1_000_000..1_000_000_000 => format!("{:.3} ms", middle as f64 / 1e6),
        large => format!("{:.6} s", large as f64 / 1e9),
    }
}

/// `0.65 %`.
#[must_use]
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{} %", three_digits(part as f64 * 100.0 / whole as f64))
}

/// `0.65 %`, from a share of 0 to 1.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

fn scaled(mut value: f64, factor: f64, units: &[&str]) -> String {
    let mut unit = 0;
    // Below half of the last shown digit the value still rounds to less than the factor.
    while value >= factor - 0.5 && unit + 1 < units.len() {
        value /= factor;
        unit += 1;
    }
    if unit == 0 {
        format!("{value:.0} {}", units[0])
    } else {
        format!("{} {}", three_digits(value), units[unit])
    }
}

fn three_digits(value: f64) -> String {
    if value == 0.0 || value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else if value >= 0.01 {
        format!("{value:.2}")
    } else {
        "<0.01".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "flow"), "1 flow");
        assert_eq!(counted(2, "recovery"), "2 recoveries");
        assert_eq!(counted(3, "process"), "3 processes");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(10 << 20), "10.0 MiB");
        assert_eq!(bit_rate(31_200_000.0), "31.2 Mb/s");
        assert_eq!(duration(999_600), "1.00 ms");
        assert_eq!(duration(245_499), "245 us");
        assert_eq!(duration(125_000_000_000), "2 min 05 s");
        assert_eq!(offset(-3_100_000), "-3.10 ms");
        assert_eq!(clock_offset(-12_345_678), "12.346 ms");
        assert_eq!(moment(1_250_384_900), "1.250385 s");
        assert_eq!(byte_rate(940_000_000), "940 MB/s");
        assert_eq!(share(1, 100_000), "<0.01 %");
    }

    #[test]
    fn rounded_durations_have_one_decimal() {
        let texts = [0, 999, 1_500, 31_234_567, 2_000_000_000].map(rounded_duration);
        assert_eq!(texts, ["0 ns", "999 ns", "1.5 us", "31.2 ms", "2.0 s"]);
    }
}
