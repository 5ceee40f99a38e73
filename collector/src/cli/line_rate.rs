//! Line rates as people write them: `400G`, `25Gb/s`, `100000000000`.

/// Parses a line rate into bits per second.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let number_len =
        trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(number_len);
    if unit.contains("B/") {
        return Err(format!("`{text}` is in bytes; line rates are in bits: 400G, 25Gb/s"));
    }
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b/s" | "bps" => 1.0,
        "m" | "mb/s" | "mbps" | "mbit" => 1e6,
        "g" | "gb/s" | "gbps" | "gbit" | "gbe" => 1e9,
        "t" | "tb/s" | "tbps" => 1e12,
        _ => return Err(format!("`{text}` has no known unit; write 100G, 400G or 25Gb/s")),
    };
    let value: f64 =
        number.parse().map_err(|_| format!("`{text}` is no number; write 100G, 400G or 25Gb/s"))?;
    let rate = value * factor;
    if (1e6..=1e14).contains(&rate) {
        Ok(rate as u64)
    } else {
        Err(format!(
            "`{text}` is no line rate between 1 Mb/s and 100 Tb/s; write 400G for 400 Gb/s"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn rates_with_and_without_units() {
        assert_eq!(parse("400G"), Ok(400_000_000_000));
        assert_eq!(parse("2.5Gb/s"), Ok(2_500_000_000));
        assert_eq!(parse("100000000000"), Ok(100_000_000_000));
        for wrong in ["", "fast", "100", "100X", "-1G", "1e400G", "400GB/s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
