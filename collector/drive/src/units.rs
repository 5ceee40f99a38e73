//! Sizes, times, rates and shares as people write them, on the command line and in scenarios. Sizes are
//! nccl-tests': `4K` is 4096.

use std::time::Duration;

use bytesize::ByteSize;

const DAY: Duration = Duration::from_secs(86_400);

/// Bytes: `8`, `4K`, `32M`, `1G` as nccl-tests has them, `25MiB`, `1GB`.
///
/// # Errors
/// What to write instead.
pub fn size(text: &str) -> Result<u64, String> {
    let rest_of_unit = match text.chars().last() {
        Some('0'..='9' | '.') => "B",
        Some('k' | 'K' | 'm' | 'M' | 'g' | 'G' | 't' | 'T') => "iB",
        _ => "",
    };
    let size = format!("{text}{rest_of_unit}")
        .parse()
        .ok()
        .filter(|ByteSize(bytes)| *bytes <= 9_000_000_000_000_000);
    size.map(|ByteSize(bytes)| bytes)
        .ok_or_else(|| format!("`{text}` is not a size; write 8, 4K, 32M, 1G or 25MiB"))
}

/// A time: `80ms`, `1.5s`, `300us`, `2m`.
///
/// # Errors
/// What to write instead.
pub fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).ok().or_else(|| scaled(text));
    match time {
        None => Err(format!("`{text}` is not a time; write 80ms, 1.5s, 300us or 0s")),
        Some(time) if time > DAY => Err(format!("`{text}` is longer than a day")),
        Some(time) => Ok(time),
    }
}

/// One number that is finer than a nanosecond or has no digit before its point: humantime refuses
/// these, but knows the unit.
fn scaled(text: &str) -> Option<Duration> {
    let (number, unit) = split(text);
    let unit = humantime::parse_duration(&format!("1{}", unit.trim())).ok()?;
    let seconds = number.parse::<f64>().ok()? * unit.as_secs_f64();
    Duration::try_from_secs_f64(seconds).ok()
}

/// A number, and what stands behind it.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

/// A share of packets: `1%`, `0.01`.
///
/// # Errors
/// What to write instead.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let share = number.trim().parse::<f64>().ok().map(|number| number * unit);
    share.filter(|share| *share > 0.0 && *share <= 1.0).ok_or_else(|| {
        format!("`{text}` is not a share of packets; write 1% or 0.01, at most 100%")
    })
}

/// A rate in bits per second: `400G`, `25Gbps`, `100M`.
///
/// # Errors
/// What to write instead.
pub fn rate(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a rate; write 400G, 25G or 100M, in bits per second");
    let (number, unit) = split(text);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = match unit.strip_suffix("bps").or(unit.strip_suffix("b/s")).unwrap_or(&unit) {
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        _ => return Err(wrong()),
    };
    let rate = number.parse::<f64>().map_err(|_| wrong())? * factor;
    if (1e6..=1e13).contains(&rate) { Ok(rate as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_nccl_tests_and_as_people_write_them() {
        let cases = [
            ("8", 8),
            ("4K", 4096),
            ("4k", 4096),
            ("32M", 32 << 20),
            ("1G", 1 << 30),
            ("25MiB", 25 << 20),
            ("1.5K", 1536),
            ("1MB", 1_000_000),
            ("1 kb", 1000),
            ("64 B", 64),
            (".5K", 512),
            ("2.", 2),
            ("1.5", 1),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "K", "-1", "8X", "1e99", "9999T", "1KK"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(rate("400G"), Ok(400_000_000_000));
        assert_eq!(rate("2.5 Gb/s"), Ok(2_500_000_000));
        assert_eq!(rate("100Mbps"), Ok(100_000_000));
        for wrong in ["", "400", "0G", "-1G", "4 GiB", "99999T"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_and_shares() {
        assert_eq!(time("80ms"), Ok(Duration::from_millis(80)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("0"), Ok(Duration::ZERO));
        assert_eq!(time("0.0003 s"), Ok(Duration::from_micros(300)));
        assert_eq!(time(".5ms"), Ok(Duration::from_micros(500)));
        assert_eq!(time("1.4ns"), Ok(Duration::from_nanos(1)));
        assert_eq!(time("2min"), time("2m"));
        assert!(time("25h").is_err_and(|error| error.contains("longer than a day")));
        for wrong in ["", "80", "ms", "-1s", "1h30"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("0.25"), Ok(0.25));
        for wrong in ["", "0", "0%", "101%", "-1%", "NaN", "x"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
