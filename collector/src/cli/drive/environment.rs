//! The environment: NCCL's settings, and the launcher's variables for a rank.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Context, bail, ensure};

/// PyTorch's default of `MASTER_PORT`.
const DEFAULT_PORT: u16 = 29500;

/// The environment's variables.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Environment {
    variables: BTreeMap<String, String>,
}

/// This process's rank, from the launcher's variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launched {
    pub(super) rank: u32,
    pub(super) ranks: u32,
    pub(super) local_rank: u32,
    pub(super) master: String,
    pub(super) port: u16,
}

impl Environment {
    /// The variables of this process.
    pub(in crate::cli) fn of_process() -> Self {
        let all = std::env::vars_os();
        let text = all.filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self { variables: text.collect() }
    }

    /// A variable that is set and not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A variable that is a number in `range`.
    pub(super) fn number<T>(
        &self,
        name: &str,
        range: RangeInclusive<T>,
    ) -> anyhow::Result<Option<T>>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.text(name) else { return Ok(None) };
        let value = text.trim().parse().ok().filter(|value| range.contains(value));
        let (from, to) = range.into_inner();
        value
            .map(Some)
            .with_context(|| format!("{name}={text}: set it to a number from {from} to {to}"))
    }

    /// `MASTER_PORT`, or its default.
    pub(super) fn port(&self) -> anyhow::Result<u16> {
        Ok(self.number("MASTER_PORT", 1..=u16::MAX)?.unwrap_or(DEFAULT_PORT))
    }

    /// This process's rank, if a launcher set its variables.
    pub(super) fn launched(&self) -> anyhow::Result<Option<Launched>> {
        if self.text("WORLD_SIZE").is_some() && (self.has("RANK") || self.has("LOCAL_RANK")) {
            return self.torchrun().map(Some);
        }
        if self.has("OMPI_COMM_WORLD_RANK") {
            return self.open_mpi().map(Some);
        }
        if self.has("SLURM_PROCID") {
            return self.slurm().map(Some);
        }
        Ok(None)
    }

    fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    fn need(&self, name: &str, by: &str) -> anyhow::Result<u32> {
        let value = self.number(name, 0..=u32::MAX)?;
        value.with_context(|| format!("{name} is not set: {by}"))
    }

    fn torchrun(&self) -> anyhow::Result<Launched> {
        let ranks = self.need("WORLD_SIZE", "torchrun sets it")?;
        let local = self.number("LOCAL_RANK", 0..=u32::MAX)?;
        let rank = match self.number("RANK", 0..=u32::MAX)? {
            Some(rank) => rank,
            None => self.rank_of_node(local.unwrap_or(0))?,
        };
        let master = self.text("MASTER_ADDR").context(
            "WORLD_SIZE is set but MASTER_ADDR is not set: set it to the address of rank 0's host, \
             or start all ranks here with --ranks N",
        )?;
        let mut launched = self.launched_as(rank, ranks, local.unwrap_or(0), master.to_owned())?;
        if self.text("TORCHELASTIC_USE_AGENT_STORE") == Some("True") {
            // torchrun itself serves a store at that port; ours uses the next one.
            launched.port = launched
                .port
                .checked_add(1)
                .context("MASTER_PORT=65535: the store needs the next port; use a lower one")?;
        }
        Ok(launched)
    }

    /// The rank, from a launcher that numbers nodes and the ranks of each.
    fn rank_of_node(&self, local: u32) -> anyhow::Result<u32> {
        let node = match self.number("GROUP_RANK", 0..=u32::MAX)? {
            Some(node) => node,
            None => self.need("NODE_RANK", "without RANK, it or GROUP_RANK is needed")?,
        };
        let per_node = match self.number("LOCAL_WORLD_SIZE", 1..=u32::MAX)? {
            Some(per_node) => per_node,
            None => {
                self.need("NPROC_PER_NODE", "without RANK, it or LOCAL_WORLD_SIZE is needed")?
            }
        };
        ensure!(
            local < per_node,
            "LOCAL_RANK={local} must be less than the number of ranks per node, {per_node}"
        );
        node.checked_mul(per_node)
            .and_then(|first| first.checked_add(local))
            .context("NODE_RANK is too large")
    }

    fn open_mpi(&self) -> anyhow::Result<Launched> {
        let by = "Open MPI's mpirun sets it";
        let rank = self.need("OMPI_COMM_WORLD_RANK", by)?;
        let ranks = self.need("OMPI_COMM_WORLD_SIZE", by)?;
        let local = self.need("OMPI_COMM_WORLD_LOCAL_RANK", by)?;
        let on_this_host = self.number("OMPI_COMM_WORLD_LOCAL_SIZE", 1..=u32::MAX)?;
        let master = match self.text("MASTER_ADDR") {
            Some(master) => master,
            None if on_this_host == Some(ranks) => "127.0.0.1",
            None => bail!(
                "Open MPI does not give ranks the address of rank 0: use mpirun -x \
                 MASTER_ADDR=HOST with the first host of the job"
            ),
        };
        self.launched_as(rank, ranks, local, master.to_owned())
    }

    fn slurm(&self) -> anyhow::Result<Launched> {
        let by = "Slurm's srun sets it";
        let rank = self.need("SLURM_PROCID", by)?;
        let ranks = self.need("SLURM_NTASKS", by)?;
        let local = self.need("SLURM_LOCALID", by)?;
        let nodes = ["SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NODELIST"];
        let nodes = nodes.into_iter().find_map(|name| self.text(name));
        let master = match (self.text("MASTER_ADDR"), nodes) {
            (Some(master), _) => master.to_owned(),
            (None, Some(nodes)) => first_host(nodes).with_context(|| {
                format!("cannot read a host from Slurm's node list `{nodes}`: set MASTER_ADDR")
            })?,
            (None, None) => bail!(
                "neither MASTER_ADDR nor SLURM_NODELIST is set: set MASTER_ADDR to rank 0's host"
            ),
        };
        self.launched_as(rank, ranks, local, master)
    }

    fn launched_as(
        &self,
        rank: u32,
        ranks: u32,
        local_rank: u32,
        master: String,
    ) -> anyhow::Result<Launched> {
        ensure!(
            rank < ranks,
            "rank {rank} of {ranks}: ranks go from 0 to {}",
            ranks.saturating_sub(1)
        );
        Ok(Launched { rank, ranks, local_rank, master, port: self.port()? })
    }
}

/// The first host of a list as Slurm writes it: `gpu-[003-010,012],login1` begins with `gpu-003`.
fn first_host(list: &str) -> Option<String> {
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (prefix, rest) = list.split_at_checked(end)?;
    let Some(numbers) = rest.strip_prefix('[') else {
        return Some(prefix.to_owned()).filter(|host| !host.is_empty());
    };
    let (numbers, after) = numbers.split_once(']')?;
    let first = numbers.split([',', '-']).next().filter(|first| !first.is_empty())?;
    // Hosts with two ranges end with the first of the second range.
    let suffix = after.split(',').next().unwrap_or_default();
    let suffix = if suffix.is_empty() { String::new() } else { first_host(suffix)? };
    Some(format!("{prefix}{first}{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(variables: &[(&str, &str)]) -> anyhow::Result<Option<Launched>> {
        let owned = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        Environment { variables: owned.collect() }.launched()
    }

    #[test]
    fn torchrun_open_mpi_and_slurm_tell_the_rank() {
        let of = |rank, ranks, local_rank, master: &str, port| {
            Some(Launched { rank, ranks, local_rank, master: master.to_owned(), port })
        };
        let torchrun = [
            ("RANK", "5"),
            ("WORLD_SIZE", "8"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "node0"),
            ("MASTER_PORT", "1234"),
        ];
        assert_eq!(launched(&torchrun).unwrap(), of(5, 8, 1, "node0", 1234));
        let agent = [&torchrun[..], &[("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat();
        assert_eq!(launched(&agent).unwrap(), of(5, 8, 1, "node0", 1235));
        let by_node = [
            ("WORLD_SIZE", "8"),
            ("NODE_RANK", "1"),
            ("LOCAL_WORLD_SIZE", "4"),
            ("LOCAL_RANK", "2"),
            ("MASTER_ADDR", "node0"),
        ];
        assert_eq!(launched(&by_node).unwrap(), of(6, 8, 2, "node0", 29500));
        let mpi = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ];
        assert_eq!(launched(&mpi).unwrap(), of(1, 2, 1, "127.0.0.1", 29500));
        let slurm = [
            ("SLURM_PROCID", "3"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_LOCALID", "0"),
            ("SLURM_NODELIST", "gpu-[003-006],x"),
        ];
        assert_eq!(launched(&slurm).unwrap(), of(3, 4, 0, "gpu-003", 29500));
        assert_eq!(launched(&[("PATH", "/bin")]).unwrap(), None);
    }

    #[test]
    fn what_a_launcher_left_out_is_named() {
        let cases: [(&[(&str, &str)], &str); 5] = [
            (&[("RANK", "0"), ("WORLD_SIZE", "2")], "MASTER_ADDR is not set"),
            (&[("RANK", "2"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "a")], "rank 2 of 2"),
            (&[("LOCAL_RANK", "0"), ("WORLD_SIZE", "2")], "NODE_RANK is not set"),
            (
                &[
                    ("OMPI_COMM_WORLD_RANK", "0"),
                    ("OMPI_COMM_WORLD_SIZE", "2"),
                    ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
                ],
                "mpirun -x MASTER_ADDR",
            ),
            (&[("SLURM_PROCID", "x")], "SLURM_PROCID=x: set it to a number"),
        ];
        for (variables, said) in cases {
            let error = launched(variables).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn lists_of_hosts() {
        let cases = [
            ("a", "a"),
            ("a,b", "a"),
            ("gpu-[003-010,012],login1", "gpu-003"),
            ("r[1-2]n[07-09]", "r1n07"),
            ("n[5]", "n5"),
        ];
        for (list, first) in cases {
            assert_eq!(first_host(list).as_deref(), Some(first), "{list}");
        }
        assert_eq!(first_host(""), None);
        assert_eq!(first_host("n[]"), None);
    }
}
