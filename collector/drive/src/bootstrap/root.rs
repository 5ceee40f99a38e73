//! The root: a thread of the rank that created the unique id. It sends every rank the address
//! where the next one on the ring listens (`bootstrapRoot` of NCCL `src/bootstrap.cc`).
//!
//! 2.21.5 answers in rank order once all ranks have checked in; 2.27.7 answers a rank as soon as
//! its successor has checked in. As in NCCL, the root gives up when ranks contradict each other.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connection::Connection;
use crate::clock::Deadline;
use crate::release::Release;
use crate::tcp::{self, Lookout};
use crate::wire::check_in::{self, CheckIn};
use crate::wire::{UniqueId, root_reply};
use crate::{DriveError, Result};

/// A running root; it ends soon after it is dropped.
#[derive(Debug)]
pub struct Root {
    id: UniqueId,
    address: SocketAddr,
    progress: Arc<Mutex<Progress>>,
}

/// A check-in that claims more ranks is rejected.
const MOST_RANKS: u32 = 1 << 20;

/// Check-ins so far.
#[derive(Clone, Debug, Default)]
struct Progress {
    checked_in: Vec<u32>,
    failure: Option<String>,
    is_dropped: bool,
}

impl Root {
    /// Serves the ranks of a new communicator at `address` until all have an answer or `deadline`
    /// passes.
    ///
    /// # Errors
    /// The address is not this host's, or `/dev/urandom` cannot be read.
    pub fn start(release: Release, address: IpAddr, deadline: Deadline) -> Result<Self> {
        let listener = tcp::listen(address)?;
        let address = tcp::address_of(&listener)?;
        let id = UniqueId::new(random()?, address);
        let progress = Arc::<Mutex<Progress>>::default();
        let office = Office {
            release,
            address,
            listener,
            magic: id.magic(),
            progress: Arc::clone(&progress),
        };
        let thread = std::thread::Builder::new().name("root".to_owned());
        thread.spawn(move || office.run(deadline)).map_err(DriveError::io("start the root"))?;
        Ok(Self { id, address, progress })
    }

    /// The unique id that all ranks need.
    #[must_use]
    pub fn id(&self) -> UniqueId {
        self.id
    }

    /// # Errors
    /// The reason why the root gave up.
    pub fn check(&self) -> Result<()> {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        match &progress.failure {
            Some(failure) => Err(DriveError::Unusable(failure.clone())),
            None => Ok(()),
        }
    }

    /// Which of `ranks` ranks are missing: `rank 2 did not check in with the root at
    /// 10.0.0.1:43211: 3 of 4 ranks did`; `None` if all checked in.
    #[must_use]
    pub fn missing(&self, ranks: u32) -> Option<String> {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let came = progress.checked_in.len();
        let missing = (0..ranks).filter(|rank| !progress.checked_in.contains(rank));
        let missing: Vec<_> = missing.map(|rank| rank.to_string()).collect();
        let subject = match missing.as_slice() {
            [] => return None,
            [rank] => format!("rank {rank}"),
            _ => format!("ranks {}", missing.join(", ")),
        };
        let at = self.address;
        Some(format!(
            "{subject} did not check in with the root at {at}: {came} of {ranks} ranks did"
        ))
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).is_dropped = true;
    }
}

/// Eight bytes of `/dev/urandom`, the source of NCCL's magics too.
pub(super) fn random() -> Result<u64> {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(DriveError::io("read /dev/urandom"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// State of the thread.
struct Office {
    release: Release,
    address: SocketAddr,
    listener: TcpListener,
    magic: u64,
    progress: Arc<Mutex<Progress>>,
}

impl Office {
    fn run(self, deadline: Deadline) {
        if let Err(error) = self.serve(deadline) {
            self.progress().failure = Some(format!("the root at {}: {error}", self.address));
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, deadline: Deadline) -> Result<()> {
        let mut came: Vec<Option<CheckIn>> = Vec::new();
        let mut is_answered: Vec<bool> = Vec::new();
        while came.is_empty() || came.iter().any(Option::is_none) {
            let Some(check_in) = self.accept(deadline)? else { return Ok(()) };
            if check_in.ranks > MOST_RANKS {
                continue;
            }
            let ranks = check_in.ranks as usize;
            if came.is_empty() {
                came.resize(ranks, None);
                is_answered.resize(ranks, false);
            }
            self.admit(check_in, &mut came)?;
            if self.release == Release::V2_27_7 {
                let rank = check_in.rank as usize;
                for rank in [(rank + ranks - 1) % ranks, rank] {
                    self.answer(rank, &came, &mut is_answered, deadline)?;
                }
            }
        }
        (0..came.len()).try_for_each(|rank| self.answer(rank, &came, &mut is_answered, deadline))
    }

    /// The next check-in; `None` once the root is dropped.
    fn accept(&self, deadline: Deadline) -> Result<Option<CheckIn>> {
        let lookout = Lookout::default();
        let connection = loop {
            if self.progress().is_dropped {
                return Ok(None);
            }
            let glance = Deadline::after(Duration::from_millis(50));
            let what = || "a check-in".to_owned();
            match Connection::accept(&self.listener, self.magic, &lookout, glance, what) {
                Ok(connection) => break connection,
                Err(DriveError::Late { .. }) => deadline.check(what)?,
                Err(error) => return Err(error),
            }
        };
        let len = check_in::len(self.release);
        let frame = connection.receive_frame(len, &lookout, deadline, "a check-in")?;
        let check_in = CheckIn::parse(&frame, self.release);
        check_in.map(Some).map_err(|what| connection.refused(what))
    }

    fn admit(&self, check_in: CheckIn, came: &mut [Option<CheckIn>]) -> Result<()> {
        let CheckIn { rank, ranks, .. } = check_in;
        if ranks as usize != came.len() {
            let others = came.len();
            let mismatch = format!("rank {rank} is one of {ranks} ranks, others are of {others}");
            return Err(DriveError::Unusable(mismatch));
        }
        match came.get_mut(rank as usize) {
            Some(place @ None) => *place = Some(check_in),
            _ => {
                let twice = format!("rank {rank} of {ranks} ranks has already checked in");
                return Err(DriveError::Unusable(twice));
            }
        }
        self.progress().checked_in.push(rank);
        Ok(())
    }

    /// Answers `rank` if it and its successor have checked in and it has no answer yet.
    fn answer(
        &self,
        rank: usize,
        came: &[Option<CheckIn>],
        is_answered: &mut [bool],
        deadline: Deadline,
    ) -> Result<()> {
        let next = came.get((rank + 1) % came.len()).copied().flatten();
        let (Some(Some(check_in)), Some(next), Some(is_answered @ false)) =
            (came.get(rank), next, is_answered.get_mut(rank))
        else {
            return Ok(());
        };
        *is_answered = true;
        let lookout = Lookout::default();
        let (from, to) = (self.address.ip(), check_in.root_listener);
        let peer = format!("rank {rank}");
        let connection = Connection::open(from, to, self.magic, peer, &lookout, deadline)?;
        let reply = root_reply::encode(next.ring_listener, self.release);
        connection.send_frame(&reply, &lookout, deadline)
    }
}
