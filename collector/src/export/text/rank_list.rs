//! Lists of ranks and channels, shortened if long.

/// Longest list written out.
const SHOWN: usize = 16;

/// `0-3, 8`: ascending numbers with runs joined.
pub(super) fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers.iter().copied() {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let shown = runs.iter().take(SHOWN).map(|(first, last)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if runs.len() > SHOWN { format!("{shown}, ...") } else { shown }
}

/// `0 1 2 3`; a long list keeps its first ranks and the last: `0 8 16 24 ... 127 (128 ranks)`.
pub(super) fn sequence(ranks: &[u32]) -> String {
    let words = |ranks: &[u32]| ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    match ranks {
        [.., last] if ranks.len() > SHOWN => {
            format!("{} ... {last} ({} ranks)", words(&ranks[..SHOWN - 2]), ranks.len())
        }
        _ => words(ranks),
    }
}

/// Numbers as ranges: `channel 0`, `channels 0-3, 8`.
pub(super) fn channels(numbers: &[u32]) -> String {
    let noun = if numbers.len() == 1 { "channel" } else { "channels" };
    format!("{noun} {}", ranges(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_and_long_lists_cut() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
        assert_eq!(ranges(&[u32::MAX]), "4294967295");
        assert_eq!(channels(&[3]), "channel 3");
        assert_eq!(sequence(&[0, 3, 2, 1]), "0 3 2 1");
        let ring: Vec<u32> = (0..128).collect();
        assert_eq!(sequence(&ring), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 ... 127 (128 ranks)");
    }
}
