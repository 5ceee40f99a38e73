//! Statements of findings about what processes recorded of their own calls.

use crate::analysis::roll_call::flight::{Turnout, Variant};
use crate::analysis::roll_call::ras::{Behind, Unlike};
use crate::decode::ras::RasProcess;
use crate::link::job::Identity;

/// A statement about calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallsClaim {
    /// Ranks have not called what others wait in.
    NotCalled {
        /// Those ranks.
        ranks: Vec<u32>,
        /// What the others called.
        call: NamedCall,
        /// The ranks that wait.
        waiting: Vec<u32>,
    },
    /// Ranks have launched fewer collectives than others, by RAS.
    Behind {
        /// Their communicator.
        communicator: Identity,
        /// How far they and the others have come.
        behind: Behind,
    },
    /// Ranks called different things.
    Disagree {
        /// The call, by the name that most ranks gave it.
        call: NamedCall,
        /// What was called, and by whom; the commonest first.
        variants: Vec<(Variant, Vec<u32>)>,
    },
    /// Ranks have launched more of one function than others, and less of another, by RAS.
    Unlike {
        /// Their communicator.
        communicator: Identity,
        /// What they have launched.
        unlike: Unlike,
    },
    /// Ranks wait for each other in calls of different groups.
    Circle {
        /// A call that some wait in.
        call: NamedCall,
        /// The ranks that wait in it.
        waiting: Vec<u32>,
        /// Ranks that they wait for, which wait elsewhere.
        awaited: Vec<u32>,
    },
    /// RAS has no answer of processes.
    Silent {
        /// Their communicator; `None` if RAS does not say.
        communicator: Option<Identity>,
        /// The processes.
        processes: Vec<RasProcess>,
        /// RAS gave them up.
        is_dead: bool,
    },
    /// There is no dump of ranks for which all others wait.
    NoDump {
        /// Those ranks.
        ranks: Vec<u32>,
        /// What the others called.
        call: NamedCall,
        /// The ranks that wait.
        waiting: Vec<u32>,
    },
    /// A communicator has an error, by RAS.
    Failed {
        /// The communicator.
        communicator: Identity,
        /// The ranks with the error.
        ranks: Vec<RasProcess>,
        /// NCCL's name of it.
        error: String,
    },
    /// All ranks have called, and the call does not end.
    Inside {
        /// The call.
        call: NamedCall,
        /// The ranks that wait.
        waiting: Vec<u32>,
        /// It has begun on all GPUs.
        is_begun: bool,
    },
}

/// A call of a process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCall {
    /// `all_reduce`.
    pub name: String,
    /// Its number in the group, from 1.
    pub number: u64,
    /// PyTorch's name of the group.
    pub group: String,
    /// What the group is for; may be empty.
    pub about: String,
    /// Ranks of the group whose dumps were read.
    pub turnout: Turnout,
}
