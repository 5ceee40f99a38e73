//! Ends of TCP connections, as their hosts' kernels announce them: a FIN when a process closes its end or
//! dies, an RST when something comes for a process that is no longer there.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use crate::decode::packet::{TcpFlags, TcpSegment};
use crate::model::frame::Frame;
use crate::model::time::Timestamp;
use crate::model::witness::Witness;

/// Most hosts; further ones are counted.
const HOSTS: usize = 4096;

/// FINs kept of one host, and RSTs: the latest.
const LATEST: usize = 64;

/// A FIN or an RST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Farewell {
    /// The other end of the connection.
    pub to: IpAddr,
    /// When it was seen, by the clock of its tap.
    pub time: Timestamp,
    /// Its frame.
    pub witness: Witness,
    /// An RST.
    pub is_reset: bool,
}

/// The farewells of one host. Those who look for a dead process get one RST after the other: they must not crowd
/// out its FINs.
#[derive(Clone, Debug, Default)]
struct Said {
    fins: VecDeque<Farewell>,
    resets: VecDeque<Farewell>,
}

/// The latest farewells of each host.
#[derive(Clone, Debug, Default)]
pub struct Farewells {
    by_host: BTreeMap<IpAddr, Said>,
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
        if known.len() >= LATEST {
            known.pop_front();
        }
        let (tap, number, time) = (frame.tap, frame.number, frame.time);
        let witness = Witness::Frame { tap, number, time };
        known.push_back(Farewell { to, time, witness, is_reset });
    }

    /// The latest ones of a host: FINs, then RSTs.
    pub fn of(&self, host: IpAddr) -> impl Iterator<Item = &Farewell> {
        let said = self.by_host.get(&host).into_iter();
        said.flat_map(|said| said.fins.iter().chain(&said.resets))
    }

    /// Farewells of hosts that did not fit.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}
