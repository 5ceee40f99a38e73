//! Durations, sizes and line rates, as written on the command line and in settings.
//!
//! `railscope drive` uses the grammar of nccl-tests instead, in which `4K` is 4096.

use std::time::Duration;

use bytesize::ByteSize;

/// A duration: `500ms`, `1.5s`, `10m`, `1h 30m`, or `PT1H30M` (ISO 8601).
///
/// # Errors
///
/// The text is not valid; the error says what to write instead.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if let Ok(time) = humantime::parse_duration(text) {
        return Ok(time);
    }
    scaled(text)
        .or_else(|| Duration::try_from(text.parse::<jiff::SignedDuration>().ok()?).ok())
        .ok_or_else(|| format!("`{text}` is not a time; write 500ms, 1.5s, 10m or 1h 30m"))
}

/// A single number that is finer than a nanosecond or has no digit before its point: humantime refuses
/// these, but parses the unit.
fn scaled(text: &str) -> Option<Duration> {
    let (number, unit) = split(text);
    let unit = humantime::parse_duration(&format!("1{unit}")).ok()?;
    let seconds = number.parse::<f64>().ok()? * unit.as_secs_f64();
    Duration::try_from_secs_f64(seconds).ok()
}

/// A size with its unit: `64 KiB`, `16MB`, `1.5 GiB`. A `K` alone is refused, because it means 1000 to
/// some and 1024 to others.
///
/// # Errors
///
/// The text is not valid; the error says what to write instead.
pub fn size(text: &str) -> Result<ByteSize, String> {
    let size = text.parse::<ByteSize>().ok();
    let has_unit = text.ends_with(['B', 'b']);
    // A value out of range becomes the largest one.
    size.filter(|size| has_unit && size.0 < u64::MAX)
        .ok_or_else(|| format!("`{text}` is not a size; write 64 KiB, 16MB or 1 GiB"))
}

/// A line rate in bits per second: `400G`, `25Gb/s`, `100GbE`, `100000000000`. Hand-written because
/// no crate parses rates in this form.
///
/// # Errors
///
/// The text is not valid; the error says what to write instead.
pub fn line_rate(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text.trim());
    if unit.contains("B/") {
        return Err(format!("`{text}` is in bytes; line rates are in bits: 400G, 25Gb/s"));
    }
    let unit = unit.to_ascii_lowercase();
    let suffixes = ["b/s", "bps", "bit", "be"];
    let prefix = suffixes.iter().find_map(|suffix| unit.strip_suffix(suffix)).unwrap_or(&unit);
    let factor = match prefix {
        "" => 1.0,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        _ => return Err(format!("`{text}` has no known unit; write 100G, 400G or 25Gb/s")),
    };
    let rate = number
        .parse::<f64>()
        .map_err(|_| format!("`{text}` is not a number; write 100G, 400G or 25Gb/s"))?
        * factor;
    if (1e6..=1e14).contains(&rate) {
        Ok(rate as u64)
    } else {
        Err(format!(
            "`{text}` is not a line rate between 1 Mb/s and 100 Tb/s; write 400G for 400 Gb/s"
        ))
    }
}

/// Splits a text into its number and the unit after it.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            ("1.5s", 1_500_000_000),
            ("10m", 600_000_000_000),
            ("3min", 180_000_000_000),
            ("0.5 h", 1_800_000_000_000),
            ("1h 30m", 5_400_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("PT1H30M", 5_400_000_000_000),
            ("1 hour, 30 minutes", 5_400_000_000_000),
            ("1day", 86_400_000_000_000),
            ("300us", 300_000),
            ("300µs", 300_000),
            (".5s", 500_000_000),
            ("1.23456789049s", 1_234_567_890),
            ("7ns", 7),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        for wrong in ["", "10", "-1s", "soon", "1x", "1h30", "ms", "1e9999s"] {
            let error = duration(wrong).unwrap_err();
            assert!(error.starts_with(&format!("`{wrong}` is not a time; write 500ms")), "{error}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("64 KiB", 65_536),
            ("64 kib", 65_536),
            ("16MB", 16_000_000),
            ("1.5 MiB", 3 << 19),
            ("7 B", 7),
        ] {
            assert_eq!(size(text), Ok(ByteSize(bytes)), "{text}");
        }
        let too_large = ["99999999999999999999 B", "18446744073709551615 KiB"];
        for wrong in ["64", "64K", "KiB", "-1 B", "1 XB"].iter().chain(&too_large) {
            let error = size(wrong).unwrap_err();
            assert!(
                error.starts_with(&format!("`{wrong}` is not a size; write 64 KiB")),
                "{error}"
            );
        }
    }

    #[test]
    fn line_rates_with_and_without_units() {
        for (text, rate) in [
            ("400G", 400_000_000_000),
            ("2.5Gb/s", 2_500_000_000),
            (" 25 Gbps ", 25_000_000_000),
            ("100GbE", 100_000_000_000),
            ("100Gbit", 100_000_000_000),
            ("1.6Tb/s", 1_600_000_000_000),
            ("100Mbit", 100_000_000),
            ("100000000000", 100_000_000_000),
            ("1000000 b/s", 1_000_000),
        ] {
            assert_eq!(line_rate(text), Ok(rate), "{text}");
        }
        for wrong in ["", "fast", "100", "100X", "-1G", "1e400G", "400GB/s", "400GB", "4Gi"] {
            let error = line_rate(wrong).unwrap_err();
            assert!(error.starts_with(&format!("`{wrong}` ")) && error.contains("400G"), "{error}");
        }
    }
}
