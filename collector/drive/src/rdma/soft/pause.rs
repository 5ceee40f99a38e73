//! Pause at an adapter's port: what it asks the other end for, and what it keeps.

use crate::Result;
use crate::pfc::{Pause, Port, QUANTUM_BITS};

/// From one pause that it asks for to the next, in ns: shorter than the longest that a frame can ask for at
/// 10 Gbit/s, 3.36 ms.
const PERIOD: u64 = 3_000_000;

/// A pause that a port asked for or kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortPause {
    /// Whether it asked.
    pub is_asked: bool,
    /// The class, from 0 to 7.
    pub class: u8,
    /// From when on, in ns.
    pub start_ns: u64,
    /// Until when.
    pub end_ns: u64,
}

/// A port that asks, or is asked.
#[derive(Debug)]
pub struct PortPauses {
    port: Port,
    /// The class of the job's data.
    class: u8,
    /// Of a quantum.
    quantum_ns: f64,
    /// Share of the time that it asks for.
    share: f64,
    /// When it asks again.
    next_ns: u64,
    happened: Vec<PortPause>,
}

impl PortPauses {
    /// At a port of `line_rate` bytes per second, whose data is of `class`.
    #[must_use]
    pub fn new(port: Port, class: u8, line_rate: f64) -> Self {
        let quantum_ns = QUANTUM_BITS as f64 / 8.0 / line_rate * 1e9;
        Self { port, class, quantum_ns, share: 0.0, next_ns: 0, happened: Vec::new() }
    }

    /// Asks for this share of the time from now on, from 0 to 1.
    pub fn set_share(&mut self, share: f64) {
        self.share = share;
    }

    /// Asks if that is due.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn ask(&mut self, now: u64) -> Result<()> {
        if self.share <= 0.0 || now < self.next_ns {
            return Ok(());
        }
        self.next_ns = if now < self.next_ns + PERIOD { self.next_ns } else { now } + PERIOD;
        let quanta = (self.share * PERIOD as f64 / self.quantum_ns).round();
        let quanta = quanta.clamp(1.0, f64::from(u16::MAX)) as u16;
        if self.port.ask(&Pause::of_class(self.class, quanta))? {
            let (class, end_ns) = (self.class, now + self.length_ns(quanta));
            self.happened.push(PortPause { is_asked: true, class, start_ns: now, end_ns });
        }
        Ok(())
    }

    /// Puts what the other end has asked for into `until`, by class; `epoch` is `CLOCK_REALTIME` when `now`
    /// was 0.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn hear(&mut self, (now, epoch): (u64, u64), until: &mut [u64; 8]) -> Result<()> {
        while let Some((pause, wall_ns)) = self.port.hear()? {
            let came = wall_ns.saturating_sub(epoch).min(now);
            for (class, quanta) in pause.classes() {
                let end_ns = came + self.length_ns(quanta);
                until[usize::from(class & 7)] = end_ns;
                // While nobody looked, nothing was sent either; but that was no pause.
                if end_ns > now {
                    self.happened.push(PortPause { is_asked: false, class, start_ns: now, end_ns });
                }
            }
        }
        Ok(())
    }

    /// When [`Self::ask`] is due; `None`: never.
    #[must_use]
    pub fn wakes_at(&self) -> Option<u64> {
        (self.share > 0.0).then_some(self.next_ns)
    }

    /// What happened since the last call.
    pub fn take(&mut self) -> Vec<PortPause> {
        std::mem::take(&mut self.happened)
    }

    fn length_ns(&self, quanta: u16) -> u64 {
        (f64::from(quanta) * self.quantum_ns) as u64
    }
}
