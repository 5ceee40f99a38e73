//! Which incidents there are: a round has one of every kind, in an order that the seed decides.

use anyhow::{Result, ensure};
use fastrand::Rng;

use crate::incident::draw::{self, Drawn};
use crate::incident::hang;
use crate::incident::hang::kind::HangKind;
use crate::incident::kind::Kind;

/// A kind of incident that the simulator makes, in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// A job that is slow, or healthy.
    Slow(Kind),
    /// A job that stops for ever, or only looks like it.
    Hang(HangKind),
}

/// One incident, before it is made.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// Its number, and nothing that tells what it is.
    pub(super) name: String,
    pub(super) case: Case,
    pub(super) seed: u64,
}

impl Case {
    pub(super) fn all() -> Vec<Self> {
        let slow = Kind::ALL.into_iter().filter(|kind| !kind.is_driven()).map(Self::Slow);
        let hangs = HangKind::ALL.into_iter().filter(|kind| !kind.is_driven()).map(Self::Hang);
        slow.chain(hangs).collect()
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Slow(kind) => kind.name().to_owned(),
            Self::Hang(kind) => format!("hang_{}", kind.name()),
        }
    }

    pub(super) fn draw(self, seed: u64) -> Drawn {
        match self {
            Self::Slow(kind) => draw::draw(kind, seed),
            Self::Hang(kind) => hang::draw::draw(kind, seed),
        }
    }
}

/// Seeds of one set of incidents: those of `cargo xtask incidents` are below.
const SET: u64 = 1_000_000;

/// So many incidents of the set of this seed, always the same ones; a smaller set is the beginning of a greater.
pub(super) fn plan(count: usize, seed: u32) -> Result<Vec<Planned>> {
    ensure!(count > 0 && count < 100_000, "from 1 to 99,999 incidents, not {count}");
    ensure!(seed > 0, "seeds begin with 1");
    let mut planned = Vec::with_capacity(count);
    for round in 0.. {
        let mut cases = Case::all();
        let seed = u64::from(seed) * SET + round;
        Rng::with_seed(seed).shuffle(&mut cases);
        for case in cases {
            if planned.len() == count {
                return Ok(planned);
            }
            let name = format!("{:05}", planned.len() + 1);
            planned.push(Planned { name, case, seed });
        }
    }
    Ok(planned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_set_begins_a_greater_one() -> Result<()> {
        let [few, many] = [plan(50, 3)?, plan(500, 3)?];
        for (one, other) in few.iter().zip(&many) {
            let of = |one: &Planned| (one.name.clone(), one.case.name(), one.seed);
            assert_eq!(of(one), of(other));
        }
        let kinds = Case::all().len();
        let mut round: Vec<String> = many.iter().take(kinds).map(|one| one.case.name()).collect();
        round.sort();
        round.dedup();
        assert_eq!(round.len(), kinds);
        Ok(())
    }

    #[test]
    fn incidents_of_different_seeds_differ() -> Result<()> {
        let [one, other] = [plan(20, 1)?, plan(20, 2)?];
        assert!(one.iter().zip(&other).all(|(one, other)| one.seed != other.seed));
        assert!(plan(0, 1).is_err() && plan(1, 0).is_err());
        Ok(())
    }
}
