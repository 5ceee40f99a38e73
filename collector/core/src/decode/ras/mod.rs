//! Answers of NCCL's RAS to `STATUS` and `VERBOSE STATUS` (NCCL 2.24 to 2.32, `src/ras/client_support.cc`):
//! JSON (from 2.28.7 on), or text, which lists only the ranks that differ from most others.

mod json;
mod text;

/// A status of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RasStatus {
    /// When it was taken, by the local clock of the process that answered: `2026-11-25 18:43:20`.
    /// Only JSON has it.
    pub taken: Option<String>,
    /// Communicators.
    pub communicators: Vec<RasCommunicator>,
    /// Processes that RAS considers dead, if it does not say which communicators they are in.
    pub dead: Vec<RasProcess>,
}

/// What RAS knows of one communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RasCommunicator {
    /// `commHash`.
    pub hash: u64,
    /// Its ranks; unknown in text.
    pub size: Option<u32>,
    /// How far ranks have come, by function.
    pub launched: Vec<Launched>,
    /// Ranks of which RAS has no answer.
    pub missing: Vec<Missing>,
    /// Ranks whose communicator has an error, with NCCL's name of it.
    pub failed: Vec<(RasProcess, String)>,
}

/// Ranks that have launched the same number of collectives of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// `AllReduce`; empty before NCCL 2.26, which counted all together.
    pub function: String,
    /// The number of collectives.
    pub count: u64,
    /// How many ranks have launched so many.
    pub ranks: u64,
    /// Those that are named: in JSON all.
    pub named: Vec<RasProcess>,
}

/// A rank, and where it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RasProcess {
    /// The rank in its communicator; `None` if only the process is known.
    pub rank: Option<u32>,
    /// Address or name of its host.
    pub host: Option<String>,
    /// Its process.
    pub pid: Option<u32>,
}

/// A rank without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The rank.
    pub process: RasProcess,
    /// RAS gave it up; otherwise it only has not answered in time.
    pub is_dead: bool,
}

/// It is no status of RAS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoStatus;

impl std::fmt::Display for NoStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no status of NCCL's RAS: save what `ncclras -f json -v` prints")
    }
}

impl std::error::Error for NoStatus {}

impl RasStatus {
    /// Reads a status. Lines around it, such as the answers of the protocol, are skipped.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoStatus> {
        let text = String::from_utf8_lossy(bytes);
        json::status(&text).or_else(|| text::status(&text)).ok_or(NoStatus)
    }
}
