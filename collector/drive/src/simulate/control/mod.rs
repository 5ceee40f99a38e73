//! The control plane of a job as TCP: PyTorch's store, NCCL's bootstrap, the exchange of queue
//! pairs.
//!
//! The driver's encoders and store produce the bytes; this module decides who sends what when, rank
//! by rank, without a socket. `transcript.rs` collects it, `segments.rs` turns it into TCP.

mod bootstrap;
mod cast;
pub mod segments;
mod store;
mod transcript;
mod transport;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use cast::Cast;
use transcript::Transcript;

pub use transcript::{Conversation, Ports, Word};
pub use transport::Exchange;

use super::job::TrainingJob;
use super::scenario::Scenario;
use super::scenario::map::Map;
use super::time::VirtualTime;
use crate::wire::UniqueId;

/// Processes of a job start within this time of each other, ns.
const SPREAD_NS: u64 = 40_000_000;

/// The store starts this long before any rank but 0 arrives, ns.
const STORE_FIRST_NS: u64 = 2_000_000;

/// The control plane of one job.
#[derive(Debug)]
pub struct ControlPlane {
    /// All connections, including those inside a host.
    pub conversations: Vec<Conversation>,
    /// When each rank can begin its first round.
    pub ready: Vec<VirtualTime>,
    /// Id of the communicator.
    pub id: UniqueId,
    /// Address of the store.
    pub store: SocketAddr,
    /// Address and PID of each rank.
    pub processes: Vec<(IpAddr, u32)>,
    /// The exchange of each sender and channel.
    pub exchanges: BTreeMap<(u32, u32), Exchange>,
}

impl ControlPlane {
    /// Lets the ranks of job `number` meet and connect; traffic between hosts that are not
    /// `watched` is not kept.
    ///
    /// # Errors
    /// The store refuses a request.
    pub fn of_job(
        number: u32,
        scenario: &Scenario,
        map: &Map,
        job: &TrainingJob,
        watched: BTreeSet<IpAddr>,
        ports: &mut Ports,
    ) -> Result<Self, String> {
        let plan = scenario.job.get(number as usize).cloned().unwrap_or_default();
        let mut random = fastrand::Rng::with_seed(scenario.seed ^ 0xc0_117_801 ^ u64::from(number));
        let mut transcript = Transcript::new(ports, watched);
        let seats = job.seats();
        let cast = Cast::new(number, plan.nccl, seats, map, &mut transcript, &mut random);
        let begin = VirtualTime(plan.start.0);
        let come = (0..seats.ranks()).map(|rank| match rank {
            0 => begin,
            _ => begin.after(STORE_FIRST_NS + random.u64(0..SPREAD_NS)),
        });
        let come = come.collect();
        let mut times = store::meet(&cast, &cast.id, &mut transcript, come)?;
        let (ring, listeners) = bootstrap::join(&mut transcript, &cast, &mut times);
        let places = (&ring, &listeners);
        bootstrap::introduce(&mut transcript, &cast, places, seats, &mut times);
        let network = (plan.dscp, u16::try_from(scenario.fabric.mtu).unwrap_or(u16::MAX));
        let exchanges =
            transport::connect(&mut transcript, &cast, places, (job, map), network, &mut times);
        Ok(Self {
            conversations: transcript.conversations,
            ready: times,
            id: cast.id,
            store: cast.store,
            processes: cast.actors.iter().map(|actor| (actor.address, actor.pid)).collect(),
            exchanges,
        })
    }
}
