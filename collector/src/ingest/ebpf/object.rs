//! The object with all programs and maps, loaded into the kernel.

use std::time::{Duration, Instant};

use aya::maps::{HashMap, MapData, PerCpuArray, RingBuf};
use aya::programs::{SchedClassifier, Xdp};
use aya::{EbpfLoader, include_bytes_aligned};
use railscope_ebpf::loss::Loss;
use railscope_ebpf::settings::Settings;

use super::config::EbpfConfig;
use super::cost::{Costs, ProgramCost};
use super::error::EbpfError;
use super::log::{self, KernelLog};
use super::loss::health_event;
use super::sys::Global;
use railscope_core::model::health::event::HealthEvent;

/// Built by `cargo xtask ebpf`.
#[cfg(target_arch = "x86_64")]
pub(in crate::ingest) const OBJECT: &[u8] =
    include_bytes_aligned!("../../../ebpf/railscope.x86_64.bpf.o");
/// Built by `cargo xtask ebpf`.
#[cfg(target_arch = "aarch64")]
pub(in crate::ingest) const OBJECT: &[u8] =
    include_bytes_aligned!("../../../ebpf/railscope.aarch64.bpf.o");

/// The programs at traffic control, in and out.
pub(super) const DIRECTIONS: [&str; 2] = ["packets_in", "packets_out"];

/// The program in the driver of a mirror port.
const MIRRORED: &str = "mirrored_in";

/// Maps that only some programs use, and the smallest size that the kernel allows: a ring takes whole
/// pages, of up to 64 KiB.
const MAPS: [(&str, u32); 7] = [
    ("EVENTS", 1 << 16),
    ("FLOWS", 1),
    ("STREAMS", 1),
    ("OWN_ADDRESSES", 1),
    ("ACTS", 1 << 16),
    ("PENDING", 1),
    (log::MAP, 1 << 16),
];

/// A loader of the object. Maps that are not `used` are made as small as possible.
pub(in crate::ingest) fn loader<'a>(used: &[&str], settings: &'a Global) -> EbpfLoader<'a> {
    let mut loader = EbpfLoader::new();
    let is_used = |name: &str| used.contains(&name) || name == log::MAP && settings.0.logs != 0;
    for (name, least) in MAPS.iter().filter(|(name, _)| !is_used(name)) {
        loader.map_max_entries(name, *least);
    }
    loader.override_global("SETTINGS", settings, true);
    loader
}

/// Time between two readings of the losses: each counter is a system call.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// The programs' counters of losses.
pub(in crate::ingest) struct Losses {
    map: PerCpuArray<MapData, u64>,
    reported: [u64; Loss::ALL.len()],
    asked: Instant,
}

impl Losses {
    pub(in crate::ingest) fn take(ebpf: &mut aya::Ebpf) -> Result<Self, EbpfError> {
        let missing = || EbpfError::Object { part: "LOSSES".to_owned() };
        let map = ebpf.take_map("LOSSES").ok_or_else(missing)?;
        let map = map.try_into().map_err(|_| missing())?;
        Ok(Self { map, reported: [0; Loss::ALL.len()], asked: now() })
    }

    /// Losses since the last report. Empty if the counters were read less than a second ago, unless
    /// `at_once`.
    pub(in crate::ingest) fn news(&mut self, at_once: bool) -> Vec<(HealthEvent, u64)> {
        let mut news = Vec::new();
        if !at_once && self.asked.elapsed() < ASK_EVERY {
            return news;
        }
        self.asked = now();
        for (loss, reported) in Loss::ALL.iter().zip(&mut self.reported) {
            let Ok(counts) = self.map.get(&(*loss as u32), 0) else {
                news.push((HealthEvent::EbpfLossesUnread, 1));
                continue;
            };
            let sum: u64 = counts.iter().sum();
            let count = sum.saturating_sub(std::mem::replace(reported, sum));
            if count > 0 {
                news.push((health_event(*loss), count));
            }
        }
        news
    }
}

/// Programs and maps.
pub(super) struct Object {
    pub(super) ebpf: aya::Ebpf,
    pub(super) events: RingBuf<MapData>,
    /// Ethernet addresses of mirror ports, in the lower 48 bits, by index of the interface.
    pub(super) own_addresses: HashMap<MapData, u32, u64>,
    /// `None` unless logging is on.
    pub(super) log: Option<KernelLog>,
    losses: Losses,
    costs: Costs,
}

impl Object {
    pub(super) fn load(config: &EbpfConfig) -> Result<Self, EbpfError> {
        let settings = Global(Settings {
            stream_limit: config.stream_limit,
            logs: config.logs.into(),
            ..Settings::DEFAULT
        });
        let mut loader = loader(&["EVENTS", "FLOWS", "STREAMS", "OWN_ADDRESSES"], &settings);
        loader.map_max_entries("EVENTS", config.ring_bytes());
        let mut ebpf = loader.load(OBJECT).map_err(EbpfError::load)?;
        for name in DIRECTIONS {
            program(&mut ebpf, name)?.load().map_err(EbpfError::program)?;
        }
        let losses = Losses::take(&mut ebpf)?;
        let missing = |name: &str| EbpfError::Object { part: name.to_owned() };
        let own_addresses =
            ebpf.take_map("OWN_ADDRESSES").ok_or_else(|| missing("OWN_ADDRESSES"))?;
        let events = ebpf.take_map("EVENTS").ok_or_else(|| missing("EVENTS"))?;
        Ok(Self {
            events: events.try_into().map_err(|_| missing("EVENTS"))?,
            own_addresses: own_addresses.try_into().map_err(|_| missing("OWN_ADDRESSES"))?,
            log: config.logs.then(|| KernelLog::attach(&mut ebpf)).transpose()?,
            losses,
            costs: Costs::begin(&ebpf),
            ebpf,
        })
    }

    /// Losses since the last report. Empty if the counters were read less than a second ago, unless
    /// `at_once`.
    pub(super) fn losses(&mut self, at_once: bool) -> Vec<(HealthEvent, u64)> {
        self.losses.news(at_once)
    }

    /// Measures the programs at intervals.
    pub(super) fn measure(&mut self) {
        self.costs.look(&self.ebpf);
    }

    pub(super) fn costs(&self) -> Vec<ProgramCost> {
        self.costs.now(&self.ebpf)
    }
}

/// A program of the object.
pub(super) fn program<'a>(
    ebpf: &'a mut aya::Ebpf,
    name: &str,
) -> Result<&'a mut SchedClassifier, EbpfError> {
    let missing = || EbpfError::Object { part: name.to_owned() };
    ebpf.program_mut(name).ok_or_else(missing)?.try_into().map_err(|_| missing())
}

/// The program in the driver of a mirror port. It is loaded for the first one only: it needs a newer kernel than
/// the others.
pub(super) fn mirror_program(ebpf: &mut aya::Ebpf) -> Result<&mut Xdp, EbpfError> {
    let missing = || EbpfError::Object { part: MIRRORED.to_owned() };
    let program = ebpf.program_mut(MIRRORED).ok_or_else(missing)?;
    let program: &mut Xdp = program.try_into().map_err(|_| missing())?;
    if program.fd().is_err() {
        program.load().map_err(EbpfError::program)?;
    }
    Ok(program)
}

#[expect(clippy::disallowed_methods, reason = "losses are read at intervals")]
fn now() -> Instant {
    Instant::now()
}
