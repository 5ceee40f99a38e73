//! Time stamps of Python's `logging` and `datetime`: wall clock, without a zone.

/// A time without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Nanoseconds since 1970-01-01 00:00:00 by the same clock.
    pub local_ns: u64,
    /// Resolution in nanoseconds: the actual time is later by less than this.
    pub resolution_ns: u64,
}

impl Stamp {
    /// The last bracketed one: `[2024-06-21 10:50:42,167]`, with any number of decimals.
    pub(super) fn last_in_brackets(text: &str) -> Option<Self> {
        let mut rest = text;
        while let Some((before, after)) = rest.rsplit_once('[') {
            let inside = after.split(']').next().unwrap_or(after);
            if let Some(stamp) = Self::parse(inside) {
                return Some(stamp);
            }
            rest = before;
        }
        None
    }

    fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once([',', '.']).unwrap_or((text, ""));
        let are_digits = decimals.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() != "2024-06-21 10:50:42".len() || decimals.len() > 9 || !are_digits {
            return None;
        }
        let local: jiff::civil::DateTime = whole.parse().ok()?;
        let seconds = jiff::tz::Offset::UTC.to_timestamp(local).ok()?.as_second();
        let missing = u32::try_from(9_usize.checked_sub(decimals.len())?).ok()?;
        let resolution_ns = 10_u64.checked_pow(missing)?;
        let decimals: u64 = if decimals.is_empty() { 0 } else { decimals.parse().ok()? };
        let nanos = u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?;
        let local_ns = nanos.checked_add(decimals.checked_mul(resolution_ns)?)?;
        Some(Self { local_ns, resolution_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::Stamp;

    #[test]
    fn decimals_tell_how_sure_a_time_is() {
        let stamp =
            |text| Stamp::last_in_brackets(text).map(|one| (one.local_ns, one.resolution_ns));
        assert_eq!(stamp("[1970-01-01 00:00:01] x"), Some((1_000_000_000, 1_000_000_000)));
        assert_eq!(stamp("[1970-01-01 00:00:01,5] [INFO]"), Some((1_500_000_000, 100_000_000)));
        assert_eq!(stamp("[0] [1970-01-01 00:00:00.000007]"), Some((7_000, 1_000)));
        for none in ["", "[", "[1969-01-01 00:00:00]", "[2024-13-01 00:00:00]", "[2024-01-01]"] {
            assert_eq!(stamp(none), None, "{none}");
        }
    }
}
