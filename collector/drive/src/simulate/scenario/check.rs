//! Checks a scenario.

use super::Scenario;
use super::fabric::Fabric;
use super::job::Job;
use super::map::Map;

/// Most NICs of a simulation, limited by addresses and memory.
const NIC_LIMIT: u32 = 16_384;

/// Most jobs at once, ranks of each (all exchange data with all), and collectives.
const JOB_LIMIT: usize = 1024;
const RANK_LIMIT: u32 = 4096;
const COLLECTIVE_LIMIT: u64 = 1_000_000;

impl Scenario {
    /// # Errors
    /// An invalid value, with the valid ones.
    pub(super) fn check(&self) -> Result<(), String> {
        check_fabric(&self.fabric)?;
        if self.job.is_empty() {
            return Err("[[job]] is missing: who should send anything?".to_owned());
        }
        if self.job.len() > JOB_LIMIT {
            return Err(format!("at most {JOB_LIMIT} jobs"));
        }
        for (number, job) in self.job.iter().enumerate() {
            check_job(job, &self.fabric).map_err(|what| format!("job {number}: {what}"))?;
        }
        if self.capture.counters_every.0 < 100_000 {
            return Err("capture.counters_every: at least 100us".to_owned());
        }
        if self.capture.snaplen < 96 {
            return Err("capture.snaplen: at least 96, which holds the headers".to_owned());
        }
        self.check_ranks()?;
        self.check_places()
    }

    fn check_ranks(&self) -> Result<(), String> {
        let stragglers = self.straggler.iter().map(|trouble| (trouble.job, trouble.rank));
        let receivers = self.slow_receiver.iter().map(|trouble| (trouble.job, trouble.rank));
        let halts = self.halt.iter().map(|trouble| (trouble.job, trouble.rank));
        if !self.halt.is_empty() && self.capture.until.is_none() {
            return Err("[[halt]] stops a job for ever: say when the simulation ends, \
                        `until` in [capture]"
                .to_owned());
        }
        for (number, rank) in stragglers.chain(receivers).chain(halts) {
            let Some(job) = self.job.get(number as usize) else {
                return Err(format!("there is no job {number}"));
            };
            let ranks = job.ranks(&self.fabric);
            if rank >= ranks {
                return Err(format!(
                    "there is no rank {rank}: job {number} has ranks 0 to {}",
                    ranks - 1
                ));
            }
        }
        Ok(())
    }

    fn check_places(&self) -> Result<(), String> {
        let map = Map::new(&self.fabric);
        let taps = self.capture.taps.iter().filter(|tap| map.nics_of_host(tap).is_empty());
        let flaps = self.flap.iter().map(|flap| &flap.port);
        let losses = self.loss.iter().map(|loss| &loss.port);
        let reorders = self.reorder.iter().map(|reorder| &reorder.port);
        let ports = taps
            .chain(flaps)
            .chain(reorders)
            .chain(losses)
            .chain(self.not_ect.iter().map(|link| &link.port));
        if let Some(port) = ports.into_iter().find(|port| map.port(port).is_none()) {
            let known = "there are host0, leaf0:host0, leaf0:uplink0, spine0:leaf0 and so on";
            return Err(format!("there is no port `{port}`; {known}"));
        }
        let ends = self.background.iter().flat_map(|flow| [&flow.sender, &flow.receiver]);
        let slow = self.slow_nic.iter().map(|slow| &slow.nic);
        let destinations = self.loss.iter().filter_map(|loss| loss.to.as_ref());
        let nics = ends
            .chain(slow)
            .chain(destinations)
            .chain(self.pause_storm.iter().map(|storm| &storm.nic));
        if let Some(nic) = nics.into_iter().find(|nic| map.nic(nic).is_none()) {
            return Err(format!("there is no NIC `{nic}`; choose from {}", shown(&map)));
        }
        let hosts = self.wrong_dscp.iter().map(|wrong| &wrong.host);
        if let Some(host) = hosts.into_iter().find(|host| map.nics_of_host(host).is_empty()) {
            return Err(format!("there is no host `{host}`; host0 is the first"));
        }
        Ok(())
    }
}

impl Job {
    /// Its hosts, in order.
    #[must_use]
    pub fn hosts(&self, fabric: &Fabric) -> Vec<u32> {
        if self.hosts.is_empty() { (0..fabric.hosts).collect() } else { self.hosts.clone() }
    }

    /// Its number of ranks.
    #[must_use]
    pub fn ranks(&self, fabric: &Fabric) -> u32 {
        self.hosts(fabric).len() as u32 * self.gpus_per_host
    }
}

fn shown(map: &Map) -> String {
    let first: Vec<_> = map.nics.iter().take(3).map(|nic| nic.name.as_str()).collect();
    format!("{} and so on", first.join(", "))
}

fn check_fabric(fabric: &Fabric) -> Result<(), String> {
    let Fabric { hosts, rails, hosts_per_leaf, spines, mtu, priority, .. } = *fabric;
    if hosts < 2 || rails == 0 || rails > 8 || hosts.saturating_mul(rails) > NIC_LIMIT {
        return Err(format!("fabric: 2 or more hosts of 1 to 8 rails, at most {NIC_LIMIT} NICs"));
    }
    if hosts_per_leaf == 0 || spines > 64 {
        return Err("fabric: hosts_per_leaf is at least 1, spines at most 64".to_owned());
    }
    if spines == 0 && (hosts_per_leaf < hosts || rails > 1) {
        let only = "fabric: without spines all hosts are on one leaf of one rail: hosts_per_leaf";
        return Err(format!("{only} = {hosts}, rails = 1"));
    }
    if fabric.spray && spines < 2 {
        return Err("fabric.spray: at least 2 spines, or there is nothing to choose".to_owned());
    }
    if !fabric.uplink_delays.is_empty() && fabric.uplink_delays.len() != spines as usize {
        return Err(format!("fabric.uplink_delays: one for each of {spines} spines"));
    }
    if !matches!(mtu, 256 | 512 | 1024 | 2048 | 4096) {
        return Err(format!("fabric.mtu must be 256, 512, 1024, 2048 or 4096, not {mtu}"));
    }
    if priority > 7 {
        return Err(format!("fabric.priority must be 0 to 7, not {priority}"));
    }
    if fabric.ecn.kmin >= fabric.ecn.kmax {
        return Err("fabric.ecn: kmin is less than kmax".to_owned());
    }
    if fabric.pfc.xon > fabric.pfc.xoff {
        return Err("fabric.pfc: xon is at most xoff".to_owned());
    }
    Ok(())
}

fn check_job(job: &Job, fabric: &Fabric) -> Result<(), String> {
    let hosts = job.hosts(fabric);
    let mut sorted = hosts.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() != hosts.len() || sorted.last().is_none_or(|last| *last >= fabric.hosts) {
        let last = fabric.hosts - 1;
        return Err(format!("hosts: write each as 0 to {last}, and none twice"));
    }
    if hosts.len() < 2 {
        return Err("hosts: at least 2, or nothing is on the network".to_owned());
    }
    if !(1..=8).contains(&job.gpus_per_host) || !(1..=32).contains(&job.channels) {
        return Err("gpus_per_host is 1 to 8, channels 1 to 32".to_owned());
    }
    if !(1..=8).contains(&job.queue_pairs) {
        return Err("queue_pairs is 1 to 8".to_owned());
    }
    if job.ib_timeout > 31 || job.ib_retries > 7 {
        return Err("ib_timeout is 0 to 31, ib_retries 0 to 7".to_owned());
    }
    if job.ranks(fabric) > RANK_LIMIT {
        return Err(format!("at most {RANK_LIMIT} ranks"));
    }
    if job.iterations == 0 || job.buckets.is_empty() {
        return Err("at least one iteration and one bucket".to_owned());
    }
    let rounds = u64::from(job.iterations) + u64::from(job.warmup);
    if rounds.saturating_mul(job.buckets.len() as u64) > COLLECTIVE_LIMIT {
        return Err(format!("at most {COLLECTIVE_LIMIT} collectives: iterations times buckets"));
    }
    if job.buckets.iter().any(|bucket| !(4..=1 << 32).contains(&bucket.0)) {
        return Err("buckets are 4 bytes to 4 GiB".to_owned());
    }
    if job.dscp > 63 {
        return Err(format!("dscp must be 0 to 63, not {}", job.dscp));
    }
    if job.jitter > job.compute {
        return Err("jitter is at most compute".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Scenario;

    #[test]
    fn what_cannot_be_is_refused_with_words() {
        let cases = [
            ("", "job"),
            ("[[job]]\n[fabric]\nhosts = 1", "2 or more hosts"),
            ("[[job]]\nranks = 3", "line 3"),
            ("[[job]]\ncompute = 4", "compute"),
            (
                "[[job]]\n[[straggler]]\nrank = 4\ndelay = \"1ms\"\ncause = \"compute\"",
                "ranks 0 to 3",
            ),
            ("[[job]]\n[[loss]]\nport = \"leaf9:uplink0\"\nshare = \"1%\"", "leaf9:uplink0"),
            ("[[job]]\n[[slow_nic]]\nnic = \"host4\"\nrate = \"1G\"", "host4"),
            ("[[job]]\nhosts = [0, 0]", "none twice"),
            ("[[job]]\niterations = 4000000000", "at most 1000000"),
            ("[[job]]\n[fabric]\nspray = true\nspines = 1", "at least 2 spines"),
            ("[[job]]\n[fabric]\nuplink_delays = [\"1us\"]", "one for each of 2"),
        ];
        for (text, words) in cases {
            let error = Scenario::parse(&format!("title = \"x\"\n{text}")).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        Scenario::parse("title = \"x\"\n[[job]]").unwrap();
    }
}
