//! Statistics of network interfaces, as shown by `ethtool -S`: pause, discards and the physical
//! layer are here and not among an RDMA device's counters.
//!
//! By `ioctl`: the netlink family of ethtool has no drivers' own statistics.

mod sys;

use std::io;
use std::os::fd::OwnedFd;

use self::sys::{Answer, Query};

/// Where statistics of network interfaces come from.
pub trait NetdevStatistics {
    /// The statistics of an interface, by its driver's names; empty where it has none.
    ///
    /// # Errors
    ///
    /// When the interface is gone, or its driver does not support them.
    fn read(&mut self, netdev: &str) -> io::Result<Vec<(String, u64)>>;
}

/// Whether link-level pause (802.3x) is on, as `ethtool -a` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPause {
    /// The port stops when the other end asks.
    pub receives: bool,
    /// It asks the other end to stop.
    pub sends: bool,
}

/// The kernel's statistics.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
}

/// `ETH_SS_STATS` of linux/ethtool.h: the set of strings that name statistics.
const STATISTICS_SET: u32 = 1;
/// `ETH_GSTRING_LEN`: bytes of a name.
const NAME_BYTES: usize = 32;
/// Most statistics of one interface: large NICs with a queue for each CPU have some ten thousand.
const STATISTIC_LIMIT: usize = 65_536;
/// Attempts, as the number of statistics changes with the number of queues.
const TRIES: usize = 3;

impl Ethtool {
    /// # Errors
    ///
    /// When no socket can be opened.
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: sys::open()? })
    }

    /// Link-level pause of an interface: `struct ethtool_pauseparam`, after its command whether it
    /// is negotiated, then received, then sent.
    ///
    /// # Errors
    ///
    /// When the interface is gone, or its driver has no pause.
    pub fn pause(&self, netdev: &str) -> io::Result<LinkPause> {
        let mut answer = Answer::new(16)?;
        sys::ask(&self.socket, netdev, Query::Pause, &mut answer)?;
        let is_set = |at| number(answer.bytes(), at) != 0;
        Ok(LinkPause { receives: is_set(8), sends: is_set(12) })
    }

    /// How many statistics there are: `struct ethtool_sset_info`, a mask of sets and then a number
    /// for each of them.
    fn count(&self, netdev: &str) -> nix::Result<usize> {
        const MASK: std::ops::Range<usize> = 8..16;
        const COUNT: usize = 16;
        let mut answer = Answer::new(COUNT + 4)?;
        put(answer.bytes_mut(), MASK.start, &(1_u64 << STATISTICS_SET).to_ne_bytes());
        match sys::ask(&self.socket, netdev, Query::SetInfo, &mut answer) {
            Err(nix::errno::Errno::EOPNOTSUPP) => return Ok(0),
            result => result?,
        }
        // The kernel clears sets that the interface lacks from the mask.
        let has_statistics =
            answer.bytes().get(MASK).is_some_and(|mask| mask.iter().any(|&b| b != 0));
        let count = if has_statistics { number(answer.bytes(), COUNT) } else { 0 };
        Ok(count.min(STATISTIC_LIMIT))
    }

    /// Names: `struct ethtool_gstrings`, preceded by the set and the count.
    fn names(&self, netdev: &str, count: usize) -> nix::Result<Option<Answer>> {
        let mut answer = Answer::new(NAMES + count * NAME_BYTES)?;
        put(answer.bytes_mut(), 4, &STATISTICS_SET.to_ne_bytes());
        put(answer.bytes_mut(), 8, &(count as u32).to_ne_bytes());
        sys::ask(&self.socket, netdev, Query::Strings, &mut answer)?;
        Ok((number(answer.bytes(), 8) == count).then_some(answer))
    }

    /// Values: `struct ethtool_stats`, preceded by the count.
    fn values(&self, netdev: &str, count: usize) -> nix::Result<Option<Answer>> {
        let mut answer = Answer::new(VALUES + count * 8)?;
        put(answer.bytes_mut(), 4, &(count as u32).to_ne_bytes());
        sys::ask(&self.socket, netdev, Query::Statistics, &mut answer)?;
        Ok((number(answer.bytes(), 4) == count).then_some(answer))
    }
}

/// Offsets of names and values.
const NAMES: usize = 12;
const VALUES: usize = 8;

impl NetdevStatistics for Ethtool {
    fn read(&mut self, netdev: &str) -> io::Result<Vec<(String, u64)>> {
        for _ in 0..TRIES {
            let count = self.count(netdev)?;
            if count == 0 {
                return Ok(Vec::new());
            }
            let Some(names) = or_changed(self.names(netdev, count))? else { continue };
            let Some(values) = or_changed(self.values(netdev, count))? else { continue };
            let names = names.bytes().get(NAMES..).unwrap_or_default().chunks_exact(NAME_BYTES);
            let values = values.bytes().get(VALUES..).unwrap_or_default().as_chunks().0;
            let named = names.zip(values).take(count);
            let named = named.map(|(name, value)| (text(name), u64::from_ne_bytes(*value)));
            return Ok(named.filter(|(name, _)| !name.is_empty()).collect());
        }
        Err(io::Error::other("the number of its statistics changed while they were read"))
    }
}

/// `None` if the answer did not fit: there are more statistics than a moment ago.
fn or_changed(answer: nix::Result<Option<Answer>>) -> nix::Result<Option<Answer>> {
    match answer {
        Err(nix::errno::Errno::EFAULT) => Ok(None),
        answer => answer,
    }
}

fn put(to: &mut [u8], at: usize, bytes: &[u8]) {
    to.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
}

fn number(bytes: &[u8], at: usize) -> usize {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u32::from_ne_bytes(*word) as usize)
}

/// A name, up to its first 0; some drivers pad with spaces.
fn text(name: &[u8]) -> String {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(name.get(..end).unwrap_or_default()).trim().to_owned()
}
