//! Bootstraps of NCCL whose messages are well formed and whose contents lie: ranks beyond the communicator,
//! ranks that come twice, communicators of two thousand million ranks, gathers that are too long or too short.
//!
//! ```text
//! byte 0           then four per action:
//!      release     0                1, 2                   3
//!                  action, whose    places in `VALUES`     how often, which lie
//! ```

use railscope_core::report::Report;
use railscope_drive::release::Release;
use railscope_drive::wire::check_in::CheckIn;
use railscope_drive::wire::greeting::{self, SocketType};
use railscope_drive::wire::peer_info::PeerInfo;
use railscope_drive::wire::ring_data::RingData;
use railscope_drive::wire::topology::Topology;
use railscope_drive::wire::{root_reply, socket_address};

use super::talk::{self, End, Speaker, Talk};

/// Bytes of an action.
const ACTION_BYTES: usize = 4;

/// Longer scripts find nothing new and take time.
const ACTIONS: usize = 200;

/// Numbers of ranks, ranks, lengths.
const VALUES: [u32; 16] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 64, 1_000, 65_535, 1 << 20, 0x7fff_ffff, 0x8000_0000, u32::MAX];

/// Most ranks of a gather that a script can have sent in one action.
const GATHERED: u32 = 9;

/// Magics of communicators.
const MAGICS: [u64; 2] = [0x1122_3344_5566_7788, 0x99aa_bbcc_ddee_ff00];

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    talk::check(|| report_of(data));
}

/// The report on a script.
pub fn report_of(data: &[u8]) -> Report {
    let (setup, script) = data.split_first().unwrap_or((&0, &[]));
    let release = Release::ALL[usize::from(setup & 1)];
    let script = &script[..script.len().min(ACTIONS * ACTION_BYTES)];
    Script { release, ..Script::default() }.play(script)
}

#[derive(Default)]
struct Script {
    release: Release,
    talk: Talk,
    line: usize,
}

impl Script {
    fn play(mut self, script: &[u8]) -> Report {
        let (actions, _) = script.as_chunks::<ACTION_BYTES>();
        for &[head, first, second, extra] in actions {
            self.act(
                head,
                VALUES[usize::from(first & 15)],
                VALUES[usize::from(second & 15)],
                extra,
            );
        }
        self.talk.report()
    }

    fn act(&mut self, head: u8, first: u32, second: u32, extra: u8) {
        let (release, whose) = (self.release, head >> 4 & 7);
        let speaker = if head & 0x80 == 0 { Speaker::Client } else { Speaker::Server };
        let [root, ring] = [listener(whose, 0), listener(whose + 1, 1)];
        match head & 15 {
            0 => self.call(whose, (extra & 7, 20_000 + u16::from(extra >> 4)), extra),
            1 => {
                let [root_listener, ring_listener] = [root, ring].map(address);
                let check_in = CheckIn { rank: first, ranks: second, root_listener, ring_listener };
                self.frame(speaker, &check_in.encode(release));
            }
            2 => self.frame(speaker, &root_reply::encode(address(ring), release)),
            3 => (0..=extra & 15)
                .for_each(|_| self.frame(speaker, &peer_info(first, second, release))),
            4 => (0..=extra & 15)
                .for_each(|_| self.frame(speaker, &topology(first, second, release))),
            5 => self.addresses(speaker, &vec![first; usize::from(extra & 15) + 1]),
            6 => {
                let element = [second.to_le_bytes(), first.to_le_bytes()].concat();
                let len = if release == Release::V2_21_5 { 4 } else { 8 };
                (0..=extra & 15).for_each(|_| self.frame(speaker, &element[..len]));
            }
            7 => self.frame(speaker, &vec![extra; first.min(4_096) as usize]),
            8 => self.talk.say(self.line, speaker, &first.to_le_bytes()),
            9 => self.talk.miss(self.line, speaker, first),
            10 => self.talk.end(self.line, speaker),
            11 => self.line = usize::from(extra),
            12 => self.check_ins(whose, first, second, extra),
            _ => self.ring(whose, first, second, extra),
        }
    }

    /// Connects and greets.
    fn call(&mut self, client: u8, server: End, extra: u8) {
        self.line = self.talk.open(client, server);
        let (magic, kind) =
            greeting::encode(MAGICS[usize::from(extra >> 3 & 1)], SocketType::Bootstrap);
        self.talk.say(self.line, Speaker::Client, &magic);
        self.talk.say(self.line, Speaker::Client, &kind);
    }

    /// A frame: its length, then its content.
    fn frame(&mut self, speaker: Speaker, bytes: &[u8]) {
        let length = bytes.len() as u32;
        self.talk.say(self.line, speaker, &[&length.to_le_bytes(), bytes].concat());
    }

    /// Where the ranks listen.
    fn addresses(&mut self, speaker: Speaker, ranks: &[u32]) {
        for rank in ranks.iter().map(|rank| *rank as u8) {
            let [peer_listener, proxy_listener] = [2, 3].map(|kind| address(listener(rank, kind)));
            match self.release {
                Release::V2_21_5 => self.frame(speaker, &socket_address::encode(peer_listener)),
                Release::V2_27_7 => {
                    let data =
                        RingData { peer_listener, proxy_listener, unix_socket: 7, ras: None };
                    self.frame(speaker, &data.encode());
                }
            }
        }
    }

    /// Ranks check in with one root: all of `ranks`, but for the lie of `extra`.
    fn check_ins(&mut self, whose: u8, ranks: u32, lie: u32, extra: u8) {
        for rank in 0..ranks.min(GATHERED) {
            let is_lie = rank == u32::from(extra & 7);
            self.call(whose + rank as u8, (200, 20_000), extra);
            let check_in = CheckIn {
                rank: if is_lie && extra & 0x40 != 0 { lie } else { rank },
                ranks: if is_lie && extra & 0x80 != 0 { lie } else { ranks },
                root_listener: address(listener(rank as u8, 0)),
                ring_listener: address(listener(rank as u8, 1)),
            };
            self.frame(Speaker::Client, &check_in.encode(self.release));
            self.talk.end(self.line, Speaker::Client);
        }
    }

    /// All gathers of a ring of `ranks`, on the connection of `whose` to the next, but for the lie of `extra`.
    fn ring(&mut self, whose: u8, ranks: u32, lie: u32, extra: u8) {
        let (release, ranks) = (self.release, ranks.clamp(2, GATHERED));
        self.call(whose, listener((whose + 1) % ranks as u8, 1), extra);
        let too_many = u32::from(extra >> 6 == 3);
        // The k-th frame of a gather is of the rank k places before.
        let others = (0..ranks - 1 + too_many)
            .map(|back| match back == u32::from(extra & 7) {
                true => lie,
                false => (u32::from(whose) + ranks - back % ranks) % ranks,
            })
            .collect::<Vec<_>>();
        self.addresses(Speaker::Client, &others);
        if release == Release::V2_21_5 {
            // Listeners of ranks and of proxies have one length.
            self.addresses(Speaker::Client, &others);
            others.iter().for_each(|_| self.frame(Speaker::Client, &[7; 8]));
        }
        others.iter().for_each(|rank| self.frame(Speaker::Client, &peer_info(*rank, 0, release)));
        others.iter().for_each(|rank| self.frame(Speaker::Client, &topology(*rank, 4, release)));
    }
}

fn listener(rank: u8, kind: u8) -> End {
    (rank & 15, 30_000 + u16::from(rank) * 8 + u16::from(kind))
}

fn address((host, port): End) -> std::net::SocketAddr {
    ([10, 0, 0, host], port).into()
}

fn peer_info(rank: u32, other: u32, release: Release) -> Vec<u8> {
    let info = PeerInfo {
        rank,
        cuda_device: rank & 7,
        nvml_device: rank & 7,
        gdr_support: 1,
        host_hash: 0x1000 + u64::from(rank & 15) + u64::from(other),
        pid_hash: 0x2000 + u64::from(rank) + u64::from(other),
        shm_device: 22,
        bus_id: 0x1000 * u64::from(rank),
        comm: 0x5600_0000_0000,
        compute_capability: 90,
        fabric_version: 0,
        gpu_memory: 1 << 30,
        cu_mem_support: 1,
        version: if other < 9 { release.version_code() } else { other },
    };
    info.encode(release)
}

fn topology(rank: u32, channels: u32, release: Release) -> Vec<u8> {
    let mut topology = Topology::of_single_gpu(rank, channels.min(256), release);
    if channels > 256 {
        topology.graphs.iter_mut().for_each(|graph| graph.channels = channels);
    }
    topology.encode(release)
}
