//! Congestion control after DCQCN: a receiver answers CE with CNPs; a sender reduces its rate on
//! CNPs and recovers step by step.
//!
//! Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, with the
//! paper's parameters except for the time between increases (`rpg_time_reset` of mlx5), and without
//! its byte counter.

/// Shortest interval between CNPs of a queue pair, in ns.
const CNP_INTERVAL: u64 = 50_000;
/// Interval without CNPs after which alpha decreases, in ns.
const ALPHA_INTERVAL: u64 = 55_000;
/// Interval between rate increases, in ns.
const RISE_INTERVAL: u64 = 300_000;
/// Increases towards the target before the target itself increases.
const FAST_RISES: u32 = 5;
/// Increase of the target in bytes per second: 40 Mbit/s.
const ADDITIVE_INCREASE: f64 = 5e6;
/// Weight of a new observation in alpha.
const GAIN: f64 = 1.0 / 256.0;
/// Lowest rate in bytes per second: 100 Mbit/s.
const SLOWEST: f64 = 12.5e6;
/// Longest idle time that a sender may make up for, in ns.
const BURST: u64 = 100_000;

/// The end that sees CE: decides when to send a CNP.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotificationPoint {
    next_ns: u64,
}

impl NotificationPoint {
    /// Whether a CE-marked packet at `now` calls for a CNP.
    pub fn on_ce(&mut self, now: u64) -> bool {
        let is_due = now >= self.next_ns;
        if is_due {
            self.next_ns = now + CNP_INTERVAL;
        }
        is_due
    }
}

/// The end that receives CNPs: limits its rate.
#[derive(Clone, Copy, Debug)]
pub struct ReactionPoint {
    /// Uncongested rate of the port in bytes per second: as fast as the host can.
    line_rate: f64,
    /// `None` while unlimited.
    limit: Option<Limit>,
}

#[derive(Clone, Copy, Debug)]
struct Limit {
    rate: f64,
    target: f64,
    alpha: f64,
    next_alpha_ns: u64,
    next_rise_ns: u64,
    rises: u32,
    next_packet_ns: u64,
}

impl ReactionPoint {
    /// An unlimited sender; `line_rate` is in bytes per second.
    #[must_use]
    pub fn new(line_rate: f64) -> Self {
        Self { line_rate, limit: None }
    }

    /// Reduces the rate.
    pub fn on_cnp(&mut self, now: u64) {
        self.advance(now);
        let line_rate = self.line_rate;
        let limit = self.limit.get_or_insert(Limit {
            rate: line_rate,
            target: line_rate,
            alpha: 1.0,
            next_alpha_ns: now,
            next_rise_ns: now,
            rises: 0,
            next_packet_ns: now,
        });
        limit.target = limit.rate;
        limit.rate = (limit.rate * (1.0 - limit.alpha / 2.0)).max(SLOWEST);
        limit.alpha += GAIN * (1.0 - limit.alpha);
        limit.next_alpha_ns = now + ALPHA_INTERVAL;
        limit.next_rise_ns = now + RISE_INTERVAL;
        limit.rises = 0;
    }

    /// Earliest time for the next packet; 0 if unlimited.
    pub fn next_packet_ns(&mut self, now: u64) -> u64 {
        self.advance(now);
        self.limit.map_or(0, |limit| limit.next_packet_ns)
    }

    /// Records a sent packet.
    pub fn on_sent(&mut self, bytes: usize, now: u64) {
        if let Some(limit) = &mut self.limit {
            let takes = (bytes as f64 / limit.rate * 1e9) as u64;
            limit.next_packet_ns = limit.next_packet_ns.max(now.saturating_sub(BURST)) + takes;
        }
    }

    /// Current rate in bytes per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.limit.map_or(self.line_rate, |limit| limit.rate)
    }

    /// Runs expired timers.
    fn advance(&mut self, now: u64) {
        while let Some(limit) = &mut self.limit {
            if limit.next_alpha_ns > now && limit.next_rise_ns > now {
                break;
            }
            if limit.next_alpha_ns <= limit.next_rise_ns {
                limit.next_alpha_ns += ALPHA_INTERVAL;
                limit.alpha *= 1.0 - GAIN;
                continue;
            }
            limit.next_rise_ns += RISE_INTERVAL;
            limit.rises += 1;
            if limit.rises > FAST_RISES {
                limit.target = (limit.target + ADDITIVE_INCREASE).min(self.line_rate);
            }
            limit.rate = f64::midpoint(limit.rate, limit.target);
            if limit.rate > 0.99 * self.line_rate {
                self.limit = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cnp_in_fifty_microseconds() {
        let mut point = NotificationPoint::default();
        let sent = (0..1000).filter(|tick| point.on_ce(tick * 1000)).count();
        assert_eq!(sent, 20);
    }

    #[test]
    fn a_cnp_halves_the_rate_and_quiet_brings_it_back() {
        let mut point = ReactionPoint::new(1e9);
        assert_eq!(point.next_packet_ns(0), 0);
        point.on_cnp(1_000_000);
        assert!((point.rate() - 0.5e9).abs() < 1.0);

        // 1000 bytes at 0.5 GB/s take 2 us, after the permitted burst.
        let before = point.next_packet_ns(1_000_000);
        point.on_sent(1000, 1_000_000);
        assert_eq!(point.next_packet_ns(1_000_000), before + 2000);

        point.next_packet_ns(1_400_000);
        assert!(point.rate() > 0.7e9);
        point.next_packet_ns(60_000_000_000);
        assert!((point.rate() - 1e9).abs() < 1.0);
        assert_eq!(point.next_packet_ns(60_000_000_000), 0);
    }

    #[test]
    fn no_number_of_cnps_stops_a_sender() {
        let mut point = ReactionPoint::new(1e9);
        for tick in 0..10_000 {
            point.on_cnp(tick * 50_000);
        }
        assert!(point.rate() >= SLOWEST);
    }
}
