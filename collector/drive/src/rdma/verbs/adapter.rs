//! [`Rdma`] over a device of the system, with the queue pair attributes of NCCL's NET/IB.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv6Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::event::Event;
use super::select::select;
use super::{VerbsSettings, inventory, status, sys};
use crate::rdma::{Completion, Device, Done, Rdma, Region, RegionId, Remote, Write};
use crate::{DriveError, Result};

/// Depth of each queue pair: NCCL's `MAX_REQUESTS`.
const DEPTH: sys::Depth = sys::Depth { sends: 256, receives: 256 };

/// Depth of the completion queue: soft-RoCE's maximum. It bounds the number of queue pairs.
const COMPLETIONS: i32 = 32767;

/// Polls before the thread sleeps: a few microseconds, within which hardware answers.
const SPINS: u32 = 100;

/// A port of an RDMA device.
pub struct VerbsAdapter {
    // Dropped in this order.
    queue_pairs: BTreeMap<u32, sys::QueuePair>,
    regions: Vec<sys::Memory>,
    queue: Rc<sys::CompletionQueue>,
    domain: Rc<sys::Domain>,
    context: Rc<sys::Context>,
    device: Device,
    completion_entries: i32,
    /// The adapter's last reported problem, until it recovers: the cause of failures.
    trouble: Option<String>,
    ended: Vec<sys::Ended>,
}

/// What ended a sleep.
struct Woken {
    by_queue: bool,
    by_adapter: bool,
}

impl VerbsAdapter {
    /// Opens the port selected by `settings`.
    ///
    /// # Errors
    /// There is no device, none matches or it refuses; the text lists what exists and what to do.
    pub fn open(settings: &VerbsSettings) -> Result<Self> {
        let choice = select(&inventory::ports(Path::new(inventory::FOLDER)), settings)?;
        let name = &choice.device;
        let context = sys::Context::open(name).map_err(|source| cannot_open(name, &source))?;
        let at = |what: &str| DriveError::io(format!("{what} of {name}"));
        let limits = context.device().map_err(at("ask for the limits"))?;
        let port = context.port(choice.port).map_err(at("ask for the port"))?;
        let channel = sys::Channel::new(&context).map_err(at("make the completion channel"))?;
        let completion_entries = limits.max_cqe.min(COMPLETIONS);
        let queue = sys::CompletionQueue::new(channel, completion_entries);
        let queue = queue.map_err(at("make the completion queue"))?;
        let domain = sys::Domain::new(&context).map_err(at("make the protection domain"))?;
        let device = Device {
            name: choice.device.clone(),
            port: choice.port,
            gid: choice.gid.bytes,
            gid_index: choice.gid.index,
            mtu: mtu_bytes(port.active_mtu),
            speed: speed(port.active_width, port.active_speed),
        };
        Ok(Self {
            queue_pairs: BTreeMap::new(),
            regions: Vec::new(),
            queue,
            domain,
            context,
            device,
            completion_entries,
            trouble: None,
            ended: Vec::new(),
        })
    }

    fn queue_pair(&self, qpn: u32) -> Result<&sys::QueuePair> {
        let found = self.queue_pairs.get(&qpn);
        found.ok_or_else(|| {
            DriveError::Unusable(format!("{} has no queue pair {qpn}", self.device.name))
        })
    }

    /// Describes an operation on a queue pair, for an error.
    fn doing(&self, what: &str, qpn: u32) -> impl FnOnce(io::Error) -> DriveError + use<> {
        DriveError::io(format!("{what} queue pair {qpn} of {}", self.device.name))
    }

    /// Appends completions; returns whether there were any.
    fn drain(&mut self, completions: &mut Vec<Completion>) -> Result<bool> {
        let drained = self.queue.drain(&mut self.ended);
        drained.map_err(DriveError::io(format!(
            "poll the completion queue of {}",
            self.device.name
        )))?;
        let has_some = !self.ended.is_empty();
        if self.ended.iter().any(|ended| ended.status != 0) {
            self.listen()?;
        }
        let trouble = self.trouble.as_deref();
        completions.extend(self.ended.drain(..).map(|ended| completion(ended, trouble)));
        Ok(has_some)
    }

    /// Sleeps until the queue or the adapter has an event, at most for `wait`.
    fn sleep(&self, wait: Duration) -> Result<Woken> {
        let readable = PollFlags::POLLIN;
        let mut sources = [
            PollFd::new(self.queue.channel().as_fd(), readable),
            PollFd::new(self.context.as_fd(), readable),
        ];
        match ppoll(&mut sources, Some(TimeSpec::from_duration(wait)), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(DriveError::io("wait for completions")(errno.into())),
        }
        let [by_queue, by_adapter] = sources.map(|source| source.any().unwrap_or_default());
        Ok(Woken { by_queue, by_adapter })
    }

    /// Handles the adapter's asynchronous events.
    fn listen(&mut self) -> Result<()> {
        while let Some(event) = self.context.event() {
            let name = &self.device.name;
            match event {
                Event::Fatal(what) => {
                    return Err(DriveError::Unusable(format!(
                        "{name} can no longer be used: {what}"
                    )));
                }
                Event::QueuePair { qpn, what } => {
                    self.trouble = Some(format!("queue pair {qpn}: {what}"));
                }
                Event::PortDown(port) => {
                    self.trouble = Some(format!("{name} port {port} is down"));
                }
                Event::PortUp(_) => self.trouble = None,
                Event::Other => {}
            }
        }
        Ok(())
    }
}

impl Rdma for VerbsAdapter {
    fn device(&self) -> &Device {
        &self.device
    }

    fn register(&mut self, bytes: usize) -> Result<Region> {
        let memory = sys::Memory::new(&self.domain, bytes).map_err(|source| {
            let what = format!("register {bytes} bytes with {}", self.device.name);
            if source.kind() == io::ErrorKind::OutOfMemory {
                let way_out = format!("{what}: {source}; if memory is left, raise the limit of locked memory (`ulimit -l unlimited`)");
                return DriveError::Unusable(way_out);
            }
            DriveError::io(what)(source)
        })?;
        let id = RegionId(self.regions.len());
        let region =
            Region { id, address: memory.address(), rkey: memory.rkey(), lkey: memory.lkey() };
        self.regions.push(memory);
        Ok(region)
    }

    fn memory(&self, region: RegionId) -> &[u8] {
        self.regions[region.0].bytes()
    }

    fn peek(&self, region: RegionId, offset: usize, into: &mut [u8]) {
        self.regions[region.0].peek(offset, into);
    }

    fn memory_mut(&mut self, region: RegionId) -> &mut [u8] {
        self.regions[region.0].bytes_mut()
    }

    fn create_queue_pair(&mut self) -> Result<u32> {
        let name = &self.device.name;
        let most = self.completion_entries.unsigned_abs() / (DEPTH.sends + DEPTH.receives);
        if self.queue_pairs.len() >= most as usize {
            return Err(DriveError::Unusable(format!(
                "one rank has at most {most} queue pairs on {name}: use fewer channels or queue pairs per connection"
            )));
        }
        let pair = sys::QueuePair::new(&self.domain, &self.queue, DEPTH, self.device.port);
        let pair = pair.map_err(DriveError::io(format!("create a queue pair of {name}")))?;
        let qpn = pair.number();
        self.queue_pairs.insert(qpn, pair);
        Ok(qpn)
    }

    fn connect(&mut self, qpn: u32, remote: &Remote) -> Result<()> {
        let pair = self.queue_pair(qpn)?;
        let mtu = mtu_code(remote.mtu).ok_or_else(|| {
            DriveError::Unusable(format!(
                "an MTU of {} is not valid: use 256, 512, 1024, 2048 or 4096",
                remote.mtu
            ))
        })?;
        let source = sys::Source { port: self.device.port, gid_index: self.device.gid_index };
        let peer = Ipv6Addr::from(remote.gid).to_canonical();
        let to = format!("connect to {peer} (queue pair {}) the", remote.qpn);
        pair.receive_from(source, remote, mtu).map_err(self.doing(&to, qpn))?;
        pair.send_to(remote).map_err(self.doing("make ready to send", qpn))
    }

    fn post_write(&mut self, qpn: u32, write: &Write) -> Result<()> {
        let memory = &self.regions[write.region.0];
        let end = write.offset.checked_add(write.bytes);
        let bytes = u32::try_from(write.bytes).ok();
        let (Some(bytes), true) = (bytes, end.is_some_and(|end| end <= memory.bytes().len()))
        else {
            let Write { offset, bytes, .. } = write;
            return Err(DriveError::Unusable(format!(
                "a write of {bytes} bytes from {offset} on leaves its memory"
            )));
        };
        let request = sys::WriteRequest {
            id: write.id,
            offset: write.offset,
            bytes,
            remote_address: write.remote_address,
            rkey: write.rkey,
            immediate: write.immediate,
        };
        let posted = self.queue_pair(qpn)?.post_write(memory, &request);
        posted.map_err(self.doing("post a write on", qpn))
    }

    fn post_receive(&mut self, qpn: u32, id: u64) -> Result<()> {
        let posted = self.queue_pair(qpn)?.post_receive(id);
        posted.map_err(self.doing("post a receive on", qpn))
    }

    fn poll(&mut self, completions: &mut Vec<Completion>, wait: Duration) -> Result<()> {
        if self.drain(completions)? {
            return Ok(());
        }
        if !wait.is_zero() {
            for _ in 0..SPINS {
                std::hint::spin_loop();
                if self.drain(completions)? {
                    return Ok(());
                }
            }
            let arm = DriveError::io(format!("arm the completion queue of {}", self.device.name));
            self.queue.arm().map_err(arm)?;
            // Completions before arming cause no event.
            if self.drain(completions)? {
                return Ok(());
            }
        }
        let woken = self.sleep(wait)?;
        if woken.by_queue {
            self.queue.take_event();
        }
        if woken.by_adapter {
            self.listen()?;
        }
        self.drain(completions)?;
        Ok(())
    }
}

fn completion(ended: sys::Ended, trouble: Option<&str>) -> Completion {
    let outcome = match ended.status {
        0 if ended.is_receive => Ok(Done::Received {
            immediate: ended.immediate.unwrap_or_default(),
            bytes: ended.bytes,
        }),
        0 => Ok(Done::Written),
        code => {
            let mut words = status::describe(code, ended.vendor);
            if let Some(trouble) = trouble {
                words = format!("{words} ({trouble})");
            }
            Err(words)
        }
    };
    Completion { qpn: ended.qpn, id: ended.id, outcome, packets_ns: None }
}

fn cannot_open(name: &str, source: &io::Error) -> DriveError {
    DriveError::Unusable(format!(
        "cannot open the RDMA device {name}: {source}; /dev/infiniband/uverbs* must be there and \
         may be opened by this user (a container: --device /dev/infiniband), and libibverbs needs \
         its provider (Debian: ibverbs-providers)"
    ))
}

/// Bytes of an `enum ibv_mtu`: 1 is 256, each next one twice as much.
fn mtu_bytes(code: u32) -> u16 {
    128 << code.clamp(1, 5)
}

fn mtu_code(bytes: u16) -> Option<u32> {
    (1..=5).find(|&code| mtu_bytes(code) == bytes)
}

/// Speed in Mbit/s, from a port's width and speed: bits of `ib_port_width` and `ib_port_speed`.
/// Computed as in NCCL (`src/transport/net_ib.cc`: `ncclIbWidth`, `ncclIbSpeed`).
fn speed(width: u8, speed: u8) -> u32 {
    let lanes = match width {
        1 => 1,
        2 => 4,
        4 => 8,
        16 => 2,
        _ => 12,
    };
    let lane = match speed {
        1 => 2_500,
        2 => 5_000,
        4 | 8 => 10_000,
        16 => 14_000,
        32 => 25_000,
        64 => 50_000,
        _ => 100_000,
    };
    lanes * lane
}

#[cfg(test)]
mod tests {
    use super::{mtu_bytes, mtu_code, speed};

    #[test]
    fn mtus_are_powers_of_two() {
        assert_eq!([1, 2, 3, 4, 5].map(mtu_bytes), [256, 512, 1024, 2048, 4096]);
        assert_eq!(mtu_code(1024), Some(3));
        assert_eq!(mtu_code(1500), None);
    }

    #[test]
    fn speeds_are_lanes_times_a_lane() {
        // rxe0: 1X SDR; a ConnectX-7 of 400 Gb/s: 4X NDR.
        assert_eq!([speed(1, 1), speed(2, 128)], [2_500, 400_000]);
    }
}
