//! Sizes, times, rates and shares as people write them.

use std::time::Duration;

/// Bytes: `8`, `4K`, `32M`, `1G` as nccl-tests has them, `25MiB`, `1GB`.
///
/// # Errors
/// What to write instead.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size; write 8, 4K, 32M, 1G or 25MiB");
    let number_len = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_len);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        _ => return Err(wrong()),
    };
    let bytes = number.parse::<f64>().map_err(|_| wrong())? * factor;
    if (0.0..=9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// A time: `80ms`, `1.5s`, `300us`, `2m`.
///
/// # Errors
/// What to write instead.
pub fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time; write 80ms, 1.5s, 300us or 0s");
    let number_len = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_len);
    let seconds = match unit.trim() {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        "m" | "min" => 60.0,
        _ if text == "0" => 1.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * seconds;
    if seconds > 86_400.0 {
        return Err(format!("`{text}` is longer than a day"));
    }
    // Rounded to what was meant: 0.0003 s is 300 us.
    Ok(Duration::from_nanos((seconds * 1e9).round() as u64))
}

/// A share of packets: `1%`, `0.01`.
///
/// # Errors
/// What to write instead.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let share = number.trim().parse::<f64>().ok().map(|number| number * unit);
    share
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| format!("`{text}` is no share of packets; write 1% or 0.01, at most 100%"))
}

/// A rate in bits per second: `400G`, `25Gbps`, `100M`.
///
/// # Errors
/// What to write instead.
pub fn rate(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no rate; write 400G, 25G or 100M, in bits per second");
    let number_len = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_len);
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
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "K", "-1", "8X", "1e99", "1T"] {
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
