//! Who measures with whom and when: a round-robin tournament, which every host computes alike.
//!
//! In each round every host has one partner or none; after all rounds every pair has met once.

/// Rounds of a tournament of this many hosts.
#[must_use]
pub const fn rounds(hosts: usize) -> usize {
    if hosts < 2 { 0 } else { even(hosts) - 1 }
}

/// The partner of `host` in `round`; `None` where it pauses, which happens with an odd number of hosts.
#[must_use]
pub fn partner(hosts: usize, round: usize, host: usize) -> Option<usize> {
    let last = even(hosts).checked_sub(1)?;
    if host >= hosts || round >= last {
        return None;
    }
    // All but the last sit in a circle; the pairs of a round have places that add up to its number.
    let found = if host == last {
        // Twice its place is the round: exists, because the circle is odd.
        (0..last).find(|place| (place * 2) % last == round)?
    } else {
        let opposite = (round + last - host % last) % last;
        if opposite == host { last } else { opposite }
    };
    (found < hosts).then_some(found)
}

const fn even(hosts: usize) -> usize {
    hosts + hosts % 2
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{partner, rounds};

    #[test]
    fn every_pair_meets_once_and_no_host_twice_at_once() {
        for hosts in 2..=64 {
            let mut met = BTreeSet::new();
            for round in 0..rounds(hosts) {
                for host in 0..hosts {
                    let Some(other) = partner(hosts, round, host) else { continue };
                    assert_ne!(other, host);
                    assert_eq!(partner(hosts, round, other), Some(host), "{hosts} {round}");
                    if host < other {
                        assert!(met.insert((host, other)), "{hosts}: {host} {other} twice");
                    }
                }
            }
            assert_eq!(met.len(), hosts * (hosts - 1) / 2);
        }
    }

    #[test]
    fn what_is_out_of_range_has_no_partner() {
        assert_eq!(partner(4, 3, 0), None);
        assert_eq!(partner(3, 0, 3), None);
        assert_eq!(partner(0, 0, 0), None);
    }
}
