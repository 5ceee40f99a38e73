//! A profiler plugin in the rank's process, called as NCCL calls it.
//!
//! NCCL loads one library, takes the newest interface that it has, and reports communicators,
//! collectives, operations of proxies and their transfers. `sys` is the C boundary, `descriptor`
//! writes what events are described by. The driver has no groups of the API and no events of the network.
//!
//! Source: NCCL 2.30.7, `src/plugin/profiler.cc`, `src/enqueue.cc`, `src/proxy.cc`.

mod descriptor;
mod sys;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::rc::Rc;

use self::descriptor::{CollectiveFacts, Descriptor, OperationFacts, event};
use self::sys::{Beginning, Plugin};
use crate::clock::wall_ns;
use crate::collective::Operation as Collective;
use crate::{DriveError, Result};

/// Bits of the mask for which NCCL starts a collective: it starts the ancestors of what is wanted.
const WITH_COLLECTIVE: u64 = event::COLL | event::KERNEL_CH | WITH_OPERATION;
/// Bits for which it starts operations of proxies.
const WITH_OPERATION: u64 = event::PROXY_OP | WITH_TRANSFER;
/// Bits for which it starts their transfers: also those of the network plugin.
const WITH_TRANSFER: u64 = event::PROXY_STEP | 128;

/// `ncclProfilerProxyOpInProgress_v4`
const OPERATION_IN_PROGRESS: i32 = 19;
/// `ncclProfilerKernelChStop`
const KERNEL_STOP: i32 = 22;

/// A plugin, and a communicator that was reported to it.
pub struct Profiler {
    plugin: Plugin,
    hash: u64,
    rank: i32,
    /// The node of each rank.
    nodes: Vec<u32>,
}

impl fmt::Debug for Profiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profiler").field("version", &self.plugin.version()).finish_non_exhaustive()
    }
}

/// A collective that was reported to the plugin.
#[derive(Debug)]
pub struct Work {
    profiler: Rc<Profiler>,
    group: usize,
    collective: usize,
    /// The mask when it was called: NCCL keeps it for what follows.
    mask: u64,
    channels: u8,
}

/// A collective whose operations the proxy has.
#[derive(Debug)]
pub struct Enqueued {
    profiler: Rc<Profiler>,
    collective: usize,
    mask: u64,
    channels: u8,
}

/// The kernel of a collective while it runs: its channels, by handle.
#[derive(Debug)]
pub struct Kernel {
    profiler: Rc<Profiler>,
    channels: Vec<usize>,
}

/// An operation of the proxy: one direction of one channel in one collective.
#[derive(Debug)]
pub struct Operation {
    profiler: Rc<Profiler>,
    handle: usize,
    has_transfers: bool,
}

/// Which operation.
#[derive(Clone, Copy, Debug)]
pub struct OperationSpec {
    /// Channel number, from 0.
    pub channel: u32,
    /// The other rank.
    pub peer: u32,
    /// Messages.
    pub transfers: u32,
    /// Largest message, in bytes.
    pub bytes: usize,
    /// Whether it sends.
    pub is_send: bool,
}

impl Profiler {
    /// Loads the plugin at `path` and reports a communicator with this hash, whose ranks are on these
    /// nodes.
    ///
    /// # Errors
    /// The library cannot be loaded or is no plugin, or it does not want the communicator. NCCL would go
    /// on without it.
    pub fn begin(path: &Path, hash: u64, rank: u32, nodes: Vec<u32>) -> Result<Self> {
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let apart = nodes.iter().collect::<BTreeSet<_>>().len();
        let beginning =
            Beginning { hash, ranks: number(nodes.len()), rank: small(rank), nodes: number(apart) };
        let plugin = Plugin::begin(path, &beginning)
            .map_err(|why| DriveError::Unusable(format!("--profiler {}: {why}", path.display())))?;
        Ok(Self { plugin, hash, rank: beginning.rank, nodes })
    }

    /// Whether `peer` is on another node.
    fn is_far(&self, peer: u32) -> bool {
        let node = |rank: usize| self.nodes.get(rank);
        let own = usize::try_from(self.rank).ok().and_then(node);
        own != node(peer as usize)
    }
}

impl Work {
    /// Reports a collective that was called. `tag` is the application's, 0 for none.
    #[must_use]
    pub fn begin(
        profiler: &Rc<Profiler>,
        sequence: u64,
        collective: &Collective,
        channels: usize,
        tag: u64,
    ) -> Self {
        let plugin = &profiler.plugin;
        let mask = u64::from(plugin.mask().cast_unsigned());
        let channels = u8::try_from(channels).unwrap_or(u8::MAX);
        let mut new =
            Self { profiler: Rc::clone(profiler), group: 0, collective: 0, mask, channels };
        if mask & (event::GROUP | WITH_COLLECTIVE) != 0 {
            new.group = plugin.start(Descriptor::new(plugin.version(), event::GROUP, 0, 0));
        }
        if mask & WITH_COLLECTIVE != 0 {
            let facts = CollectiveFacts {
                hash: profiler.hash,
                sequence,
                kind: collective.kind,
                data_type: collective.data_type,
                count: collective.count as u64,
                root: small(collective.root),
                channels,
                tag,
            };
            new.collective = plugin.start(Descriptor::collective(
                plugin.version(),
                new.group,
                profiler.rank,
                &facts,
            ));
        }
        new
    }

    /// Reports an operation that the proxy gets, and starts to work on. Ranks of one node exchange data
    /// without proxies.
    #[must_use]
    pub fn operation(&self, spec: &OperationSpec) -> Option<Operation> {
        if self.mask & WITH_OPERATION == 0
            || spec.transfers == 0
            || !self.profiler.is_far(spec.peer)
        {
            return None;
        }
        let plugin = &self.profiler.plugin;
        let facts = OperationFacts {
            channel: u8::try_from(spec.channel).unwrap_or(u8::MAX),
            peer: small(spec.peer),
            transfers: small(spec.transfers),
            bytes: i32::try_from(spec.bytes).unwrap_or(i32::MAX),
            is_send: spec.is_send,
        };
        let rank = self.profiler.rank;
        let handle =
            plugin.start(Descriptor::operation(plugin.version(), self.collective, rank, &facts));
        if handle != 0 && plugin.version() >= 4 {
            plugin.state(handle, OPERATION_IN_PROGRESS, 0);
        }
        let has_transfers = self.mask & WITH_TRANSFER != 0;
        Some(Operation { profiler: Rc::clone(&self.profiler), handle, has_transfers })
    }

    /// Everything was handed to the proxy: to NCCL's profiler that is the end of a collective.
    #[must_use]
    pub fn enqueued(self) -> Enqueued {
        for handle in [self.collective, self.group] {
            if handle != 0 {
                self.profiler.plugin.stop(handle);
            }
        }
        let Self { profiler, collective, mask, channels, .. } = self;
        Enqueued { profiler, collective, mask, channels }
    }
}

impl Enqueued {
    /// Reports that the GPU begins with it.
    #[must_use]
    pub fn kernel(self) -> Kernel {
        let Self { profiler, collective, mask, channels } = self;
        let plugin = &profiler.plugin;
        let is_wanted = mask & event::KERNEL_CH != 0 && plugin.version() >= 3;
        let begin = |channel| {
            let timer = wall_ns();
            plugin.start(Descriptor::kernel(plugin.version(), collective, channel, timer))
        };
        let channels = (0..channels).filter(|_| is_wanted).map(begin).collect();
        Kernel { profiler, channels }
    }
}

impl Kernel {
    /// Reports that the GPU is done.
    pub fn end(self) {
        for handle in self.channels.into_iter().filter(|handle| *handle != 0) {
            self.profiler.plugin.state(handle, KERNEL_STOP, wall_ns());
            self.profiler.plugin.stop(handle);
        }
    }
}

impl Operation {
    /// Starts transfer `number`; returns its handle, 0 for none. May be called again for the same one.
    #[must_use]
    pub(crate) fn start(&self, number: u32) -> usize {
        if !self.has_transfers {
            return 0;
        }
        let Profiler { plugin, rank, .. } = &*self.profiler;
        plugin.start(Descriptor::transfer(plugin.version(), self.handle, *rank, small(number)))
    }

    /// Reports a state of a transfer. NCCL does so only if both handles are there, and its shims for v1 to v3
    /// drop the states that came with v4 (`src/plugin/profiler/profiler_v3.cc`).
    pub(crate) fn state(&self, transfer: usize, state: i32, bytes: usize) {
        let is_known = self.profiler.plugin.version() >= 4 || state < OPERATION_IN_PROGRESS;
        if self.handle != 0 && transfer != 0 && is_known {
            self.profiler.plugin.state(transfer, state, bytes as u64);
        }
    }

    /// Ends a transfer.
    pub(crate) fn stop(&self, transfer: usize) {
        if transfer != 0 {
            self.profiler.plugin.stop(transfer);
        }
    }

    /// All its transfers are done.
    pub(crate) fn end(self) {
        self.stop(self.handle);
    }
}

/// NCCL has these as `int`.
fn small(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
