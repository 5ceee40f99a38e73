//! Ends of TCP connections, as their hosts' kernels announce them: a FIN when a process closes its end or
//! dies, an RST when something comes for a process that is no longer there.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use crate::decode::packet::{TcpFlags, TcpSegment};
use crate::model::frame::Frame;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;
use crate::model::witness::Witness;

/// Most hosts; further ones are counted.
const HOSTS: usize = 4096;

/// Bursts of FINs kept of one host, and of RSTs: the latest. Each process of a job says dozens when it ends, seen
/// by several taps, and so does that of the next job.
const LATEST: usize = 512;

/// Farewells to one host with shorter pauses are one burst, but none is longer than `BURST_NS`.
const PAUSE_NS: u64 = 10_000_000;
const BURST_NS: u64 = 100_000_000;

/// How many bursts may go on at a time.
const GOING_ON: usize = 16;

/// Kept of one host where there are many of others.
const LEAST: usize = 64;

/// With more than this of all hosts, each has [`LEAST`].
const MANY: usize = 65_536;

/// A burst of FINs, or of RSTs, of connections between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Farewell {
    /// The other end of the connections.
    pub to: IpAddr,
    /// When the first was seen, by the clock of its tap.
    pub time: Timestamp,
    /// How many.
    pub count: u64,
    /// The tap, and the frame of the first.
    pub witness: Witness,
    /// RSTs.
    pub is_reset: bool,
    last: Timestamp,
}

impl Farewell {
    /// Whether one more, to `to` at `tap`, belongs to it.
    fn goes_on(&self, to: IpAddr, tap: TapId, time: Timestamp) -> bool {
        let is_there = matches!(self.witness, Witness::Frame { tap: own, .. } if own == tap);
        let is_soon = time.nanos_since(self.last) <= PAUSE_NS && time >= self.time;
        is_there && self.to == to && is_soon && time.nanos_since(self.time) <= BURST_NS
    }
}

/// The farewells of one host. Those who look for a dead process get one RST after the other: they must not crowd
/// out its FINs.
#[derive(Clone, Debug, Default)]
struct Said {
    fins: VecDeque<Farewell>,
    resets: VecDeque<Farewell>,
    /// When the latest of those was seen that had to make room.
    crowded_out: Option<Timestamp>,
}

/// The latest farewells of each host.
#[derive(Clone, Debug, Default)]
pub struct Farewells {
    by_host: BTreeMap<IpAddr, Said>,
    count: usize,
    dropped: u64,
}

impl Farewells {
    /// Processes a segment from `source` to `destination`.
    #[inline]
    pub fn observe(
        &mut self,
        frame: &Frame<'_>,
        source: IpAddr,
        destination: IpAddr,
        segment: &TcpSegment<'_>,
    ) {
        if segment.flags.has(TcpFlags::FIN) || segment.flags.has(TcpFlags::RST) {
            self.note(frame, source, destination, segment.flags.has(TcpFlags::RST));
        }
    }

    #[cold]
    fn note(&mut self, frame: &Frame<'_>, source: IpAddr, to: IpAddr, is_reset: bool) {
        if self.by_host.len() >= HOSTS && !self.by_host.contains_key(&source) {
            self.dropped += 1;
            return;
        }
        let said = self.by_host.entry(source).or_default();
        let known = if is_reset { &mut said.resets } else { &mut said.fins };
        let (tap, number, time) = (frame.tap, frame.number, frame.time);
        let mut recent = known.iter_mut().rev().take(GOING_ON);
        if let Some(burst) = recent.find(|burst| burst.goes_on(to, tap, time)) {
            burst.last = burst.last.max(time);
            burst.count += 1;
            return;
        }
        let most = if self.count < MANY { LATEST } else { LEAST };
        let old = (known.len() + 1).saturating_sub(most);
        let dropped = known.drain(..old).map(|burst| burst.time).max();
        said.crowded_out = said.crowded_out.max(dropped);
        self.count = (self.count + 1).saturating_sub(old);
        let witness = Witness::Frame { tap, number, time };
        known.push_back(Farewell { to, time, count: 1, witness, is_reset, last: time });
    }

    /// Drops those before `time`.
    pub fn forget_before(&mut self, time: Timestamp) {
        for said in self.by_host.values_mut() {
            for known in [&mut said.fins, &mut said.resets] {
                known.retain(|farewell| farewell.time >= time);
            }
        }
        self.by_host.retain(|_, said| !(said.fins.is_empty() && said.resets.is_empty()));
        let kept = self.by_host.values().map(|said| said.fins.len() + said.resets.len());
        self.count = kept.sum();
    }

    /// The latest ones of a host: FINs, then RSTs.
    pub fn of(&self, host: IpAddr) -> impl Iterator<Item = &Farewell> {
        let said = self.by_host.get(&host).into_iter();
        said.flat_map(|said| said.fins.iter().chain(&said.resets))
    }

    /// Whether those of a host from `time` on are all there, but for those that are too old.
    #[must_use]
    pub fn are_whole(&self, host: IpAddr, time: Timestamp) -> bool {
        let crowded_out = self.by_host.get(&host).and_then(|said| said.crowded_out);
        crowded_out.is_none_or(|latest| latest < time)
    }

    /// Farewells of hosts that did not fit.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::model::frame::Frame;
    use crate::model::tap::LinkType;

    fn note(farewells: &mut Farewells, host: u8, number: u64) {
        let frame = Frame {
            tap: TapId(0),
            number,
            time: Timestamp::from_nanos(number * 2 * PAUSE_NS),
            wire_len: 60,
            bytes: &[],
            link_type: LinkType::Ethernet,
            direction: None,
        };
        let address = |last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last));
        farewells.note(&frame, address(host), address(200), false);
    }

    #[test]
    fn the_latest_are_kept_while_there_is_room() {
        let mut farewells = Farewells::default();
        for number in 1..=600 {
            note(&mut farewells, 1, number);
        }
        let host = IpAddr::from(Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(farewells.of(host).count(), LATEST);
        farewells.count = MANY;
        note(&mut farewells, 1, 601);
        assert_eq!(farewells.of(host).count(), LEAST);
        let time = |number: u64| Timestamp::from_nanos(number * 2 * PAUSE_NS);
        assert!(farewells.are_whole(host, time(538)) && !farewells.are_whole(host, time(537)));
        farewells.forget_before(time(600));
        assert_eq!(
            farewells.of(host).map(|one| one.time).collect::<Vec<_>>(),
            [time(600), time(601)]
        );
        farewells.forget_before(time(602));
        assert!(farewells.by_host.is_empty() && farewells.count == 0);
    }

    #[test]
    fn what_a_process_says_at_its_end_is_one_burst() {
        let mut farewells = Farewells::default();
        let address = |last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last));
        for number in 0..90 {
            let frame = Frame {
                tap: TapId((number % 2) as u32),
                number,
                time: Timestamp::from_nanos(number * 1_000_000),
                wire_len: 60,
                bytes: &[],
                link_type: LinkType::Ethernet,
                direction: None,
            };
            farewells.note(&frame, address(1), address(2 + (number % 3) as u8), number >= 60);
        }
        let bursts: Vec<u64> = farewells.of(address(1)).map(|burst| burst.count).collect();
        assert_eq!(bursts, [[10; 6], [5; 6]].concat());
    }
}
