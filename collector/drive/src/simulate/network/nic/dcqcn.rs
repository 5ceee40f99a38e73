//! DCQCN at the sender: the rate of a queue pair (Zhu et al., SIGCOMM 2015, section 3.1, algorithm
//! 1).
//!
//! The first F increases after a cut are fast recovery, as in the fluid model of Zhu et al., "ECN
//! or Delay", CoNEXT 2016. Timers are evaluated on demand, so they cost no events.

use crate::simulate::network::picoseconds::Picoseconds;
use crate::simulate::network::plan::Dcqcn;

/// The rate of one queue pair.
#[derive(Clone, Debug)]
pub(in crate::simulate::network) struct RateControl {
    parameters: Dcqcn,
    /// Upper bound, in bits per second.
    line_bps: f64,
    /// `R_C`.
    current_bps: f64,
    /// `R_T`.
    target_bps: f64,
    alpha: f64,
    alpha_due: Picoseconds,
    increase_due: Picoseconds,
    bytes: u64,
    /// T: increases by the timer since the last cut.
    timer_rises: u32,
    /// BC: increases by the byte counter since the last cut.
    byte_rises: u32,
    /// Whether the rate is below the line rate. If not, only alpha changes.
    limits: bool,
}

impl RateControl {
    pub(in crate::simulate::network) fn new(parameters: Dcqcn, line_bps: u64) -> Self {
        let line_bps = line_bps as f64;
        Self {
            parameters,
            line_bps,
            current_bps: line_bps,
            target_bps: line_bps,
            alpha: 1.0,
            // The first CNP starts it.
            alpha_due: Picoseconds(u64::MAX),
            increase_due: Picoseconds::default(),
            bytes: 0,
            timer_rises: 0,
            byte_rises: 0,
            limits: false,
        }
    }

    /// The rate now, in bits per second.
    pub(in crate::simulate::network) fn rate_bps(&mut self, now: Picoseconds) -> f64 {
        self.catch_up(now);
        self.current_bps
    }

    /// Time until the next frame may follow one of `bytes`; `None`: at once.
    pub(in crate::simulate::network) fn sent(
        &mut self,
        bytes: u32,
        now: Picoseconds,
    ) -> Option<Picoseconds> {
        if !self.limits {
            return None;
        }
        self.catch_up(now);
        self.bytes += u64::from(bytes);
        if self.bytes >= self.parameters.byte_counter {
            self.bytes -= self.parameters.byte_counter;
            self.rise();
            self.byte_rises += 1;
        }
        let seconds = f64::from(bytes) * 8.0 / self.current_bps;
        Some(Picoseconds((seconds * 1e12) as u64))
    }

    /// A CNP arrived.
    pub(in crate::simulate::network) fn notified(&mut self, now: Picoseconds) {
        self.catch_up(now);
        self.target_bps = self.current_bps;
        let cut = self.current_bps * (1.0 - self.alpha / 2.0);
        self.current_bps = cut.max(self.parameters.minimum_bps.min(self.line_bps));
        self.alpha += (1.0 - self.alpha) * self.parameters.gain;
        self.alpha_due = now.after(self.alpha_timer());
        self.increase_due = now.after(self.increase_timer());
        self.bytes = 0;
        self.timer_rises = 0;
        self.byte_rises = 0;
        self.limits = true;
    }

    /// Runs the timers that have expired.
    fn catch_up(&mut self, now: Picoseconds) {
        while self.limits && self.increase_due <= now {
            self.increase_due = self.increase_due.after(self.increase_timer());
            self.rise();
            self.timer_rises += 1;
        }
        if self.alpha_due <= now {
            let timer = self.alpha_timer();
            let times = now.since(self.alpha_due).0 / timer.0 + 1;
            let decays = i32::try_from(times).unwrap_or(i32::MAX);
            self.alpha *= (1.0 - self.parameters.gain).powi(decays);
            self.alpha_due = self.alpha_due.after(Picoseconds(times.saturating_mul(timer.0)));
        }
    }

    fn rise(&mut self) {
        let fast = self.parameters.fast_recovery;
        if self.timer_rises.min(self.byte_rises) > fast {
            self.target_bps += self.parameters.hyper_bps;
        } else if self.timer_rises.max(self.byte_rises) >= fast {
            self.target_bps += self.parameters.additive_bps;
        }
        self.target_bps = self.target_bps.min(self.line_bps);
        self.current_bps = f64::midpoint(self.current_bps, self.target_bps);
        // Halving never reaches the line rate: within a thousandth of it, the limit is lifted.
        if self.current_bps > self.line_bps * 0.999 {
            self.current_bps = self.line_bps;
            self.limits = false;
        }
    }

    const fn alpha_timer(&self) -> Picoseconds {
        Picoseconds::of_nanoseconds(self.parameters.alpha_timer_ns)
    }

    const fn increase_timer(&self) -> Picoseconds {
        Picoseconds::of_nanoseconds(self.parameters.increase_timer_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::{Dcqcn, Picoseconds, RateControl};

    const LINE: u64 = 40_000_000_000;

    fn at(microseconds: u64) -> Picoseconds {
        Picoseconds(microseconds * 1_000_000)
    }

    /// Algorithm 1 by hand: the first cut halves, increases halve the distance to the old rate.
    #[test]
    fn a_cut_and_its_recovery() {
        let mut control = RateControl::new(Dcqcn::published(), LINE);
        assert_eq!(control.rate_bps(at(0)), 40e9);
        control.notified(at(1000));
        let mut rate = 20e9;
        assert_eq!(control.rate_bps(at(1000)), rate);
        for rise in 1..5 {
            rate = f64::midpoint(rate, 40e9);
            assert_eq!(control.rate_bps(at(1000 + 55 * rise)), rate);
        }
        // The second cut comes with a smaller alpha: four decays after it was set to 1.
        control.notified(at(1221));
        let cut = rate * (1.0 - (255.0_f64 / 256.0).powi(4) / 2.0);
        assert!((control.rate_bps(at(1221)) - cut).abs() < 1.0);
    }

    #[test]
    fn the_target_rises_after_fast_recovery() {
        let parameters = Dcqcn { byte_counter: 1_000_000, ..Dcqcn::published() };
        let mut control = RateControl::new(parameters, LINE);
        control.notified(at(0));
        control.notified(at(1));
        let (target, mut rate) = (20e9, 10e9);
        for rise in 1..=5 {
            rate = f64::midpoint(rate, target);
            assert!((control.rate_bps(at(1 + 55 * rise)) - rate).abs() < 1.0);
        }
        // The sixth is additive, because the byte counter has not expired.
        rate = f64::midpoint(rate, target + 40e6);
        assert!((control.rate_bps(at(1 + 55 * 6)) - rate).abs() < 1.0);
        control.rate_bps(at(1 + 55 * 7));
        // It expires seven times: hyper increase once both are past five.
        let mut targets = vec![control.target_bps];
        for _ in 0..700 {
            control.sent(10_000, at(1 + 55 * 7));
            if control.bytes == 0 {
                targets.push(control.target_bps);
            }
        }
        let rises: Vec<_> = targets.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(rises, [40e6, 40e6, 40e6, 40e6, 40e6, 40e6, 400e6]);
    }

    #[test]
    fn a_rate_that_is_the_lines_again_limits_no_more() {
        let mut control = RateControl::new(Dcqcn::published(), LINE);
        control.notified(at(0));
        assert!(control.sent(1000, at(0)).is_some());
        assert_eq!(control.rate_bps(at(10_000_000)), LINE as f64);
        assert_eq!(control.sent(1000, at(10_000_000)), None);
    }
}
