//! Captures: read once for what identifies somebody, and once more to be rewritten.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufWriter;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::bundle::manifest::Role;
use crate::bundle::write::{Content, Item};
use crate::cli::notice::notice;
use crate::cli::progress::InputProgress;
use crate::export::pcapng::{PcapNgWriter, Statistics};
use crate::ingest::file::CaptureSet;
use crate::ingest::file::event::SourceEvent;
use crate::scrub::frame::rewrite;
use crate::scrub::pseudonym::Pseudonyms;
use crate::scrub::stream::{Kind, Known, Streams};
use crate::scrub::text::{Unknown, words};
use railscope_core::decode::frame::decode_with;
use railscope_core::decode::packet::{Body, Packet};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{HostName, Tap, TapId};
use railscope_core::model::time::{Span, Timestamp};
use railscope_core::report::Report;

/// Interfaces of a file are numbered below this.
const TAPS: u32 = 1 << 12;

/// The smallest virtual address that is looked for; all ones are none.
const SMALLEST_PLACE: u64 = 1 << 32;

/// Most virtual addresses, and memory keys, that the result is searched for.
pub(super) const SEARCHED: usize = 4096;

/// Memory keys from here on are not counts.
const SMALLEST_KEY: u32 = 1 << 16;

/// The captures of the input.
pub(super) struct Captures {
    paths: Vec<PathBuf>,
    streams: Streams,
    kinds: BTreeMap<(SocketAddr, SocketAddr), Kind>,
    known: Known,
    /// Virtual addresses and memory keys that must not be left.
    pub(super) places: Vec<u64>,
    pub(super) keys: Vec<u32>,
    frames: u64,
    not_understood: u64,
}

impl Captures {
    pub(super) fn new(given: &[(Role, PathBuf, String)]) -> Self {
        let captures = given.iter().filter(|(role, ..)| *role == Role::Capture);
        let paths = captures.map(|(_, path, _)| path.clone()).collect();
        Self {
            paths,
            streams: Streams::default(),
            kinds: BTreeMap::new(),
            known: Known::default(),
            places: Vec::new(),
            keys: Vec::new(),
            frames: 0,
            not_understood: 0,
        }
    }

    /// Puts TCP streams together, and learns the names in the captures.
    pub(super) fn learn(
        &mut self,
        report: &Report,
        pseudonyms: &mut Pseudonyms,
    ) -> anyhow::Result<()> {
        let (mut keys, mut places) = (BTreeSet::new(), BTreeSet::new());
        for (at, path) in (0..).zip(self.paths.clone()) {
            let mut captures = CaptureSet::open(&[&path])?;
            let mut progress = InputProgress::new();
            while let Some(event) = captures.next_event() {
                match event {
                    SourceEvent::Frame(frame) => {
                        let frame = Frame { tap: global(at, frame.tap)?, ..frame };
                        decode_with(&frame, |packet| {
                            self.look(&frame, packet, &mut keys, &mut places);
                        });
                    }
                    SourceEvent::HostName(name) => {
                        pseudonyms.names.host(&name.name);
                    }
                    SourceEvent::Tap(_, tap) => {
                        tap.interface.iter().for_each(|it| {
                            let _ = words(it, Unknown::Name, pseudonyms);
                        });
                    }
                    _ => {}
                }
                progress.tick(|| captures.progress());
            }
            progress.finish();
        }
        (self.places, self.keys) = (places.into_iter().collect(), keys.into_iter().collect());
        let communicators = || report.communicators.iter();
        self.known = Known {
            roots: communicators().filter_map(|one| one.root.as_deref()?.parse().ok()).collect(),
            ids: communicators().filter_map(|one| u64::from_str_radix(&one.id, 16).ok()).collect(),
        };
        self.kinds = kinds(report);
        self.streams.learn(|it| self.kinds.get(&(it.1, it.2)).copied(), pseudonyms);
        Ok(())
    }

    /// Rewrites the streams: names have their pseudonyms.
    pub(super) fn rewrite_streams(&mut self, pseudonyms: &mut Pseudonyms) {
        let kinds = &self.kinds;
        self.streams.scrub(|it| kinds.get(&(it.1, it.2)).copied(), &self.known, pseudonyms);
    }

    fn look(
        &mut self,
        frame: &Frame<'_>,
        packet: &Packet<'_>,
        keys: &mut BTreeSet<u32>,
        places: &mut BTreeSet<u64>,
    ) {
        let Some(ip) = packet.ip else { return };
        match &packet.body {
            Body::Tcp(segment) => {
                let from = SocketAddr::new(ip.source, segment.ports.source);
                let to = SocketAddr::new(ip.destination, segment.ports.destination);
                self.streams.observe((frame.tap, from, to), segment);
            }
            Body::Roce(roce) => {
                let Some(reth) = &roce.reth else { return };
                if keys.len() < SEARCHED && reth.remote_key >= SMALLEST_KEY {
                    keys.insert(reth.remote_key);
                }
                // Smaller numbers are no places, and would be found by chance.
                let place = reth.virtual_address;
                if places.len() < SEARCHED && (SMALLEST_PLACE..u64::MAX).contains(&place) {
                    places.insert(place);
                }
            }
            _ => {}
        }
    }

    /// The capture without names, as pcapng.
    pub(super) fn rewrite(
        &mut self,
        path: &Path,
        number: usize,
        pseudonyms: &mut Pseudonyms,
    ) -> anyhow::Result<Item> {
        let at = self.paths.iter().position(|one| one == path).unwrap_or_default();
        let file = tempfile::NamedTempFile::new().context("create a temporary file")?;
        let (file, place) = file.into_parts();
        // A temporary file of a large capture is compressed, as the bundle is.
        let encoder =
            zstd::Encoder::new(BufWriter::new(file), 1).context("write a temporary file")?;
        let mut writer = PcapNgWriter::new(encoder).context("write a temporary file")?;
        let name = format!("capture-{number}.pcapng");
        let mut captures = CaptureSet::open(&[path])?;
        let mut progress = InputProgress::new();
        let mut out = Vec::new();
        // Of each interface the first frame's time, and how many frames there were: statistics without them do not
        // say until when it was observed.
        let mut seen: BTreeMap<TapId, (Timestamp, u64)> = BTreeMap::new();
        while let Some(event) = captures.next_event() {
            let written = match event {
                SourceEvent::Frame(frame) => {
                    seen.entry(frame.tap).or_insert((frame.time, 0)).1 += 1;
                    let global = Frame { tap: global(at as u32, frame.tap)?, ..frame };
                    self.frames += 1;
                    let is_strange = rewrite(&global, pseudonyms, &mut self.streams, &mut out);
                    self.not_understood += u64::from(is_strange);
                    writer.frame(&Frame { bytes: &out, ..frame })
                }
                SourceEvent::Tap(_, tap) => {
                    let Tap { format, link_type, snap_len, line_rate_bps, .. } = tap;
                    let interface =
                        tap.interface.as_deref().map(|it| words(it, Unknown::Name, pseudonyms));
                    let file = name.clone();
                    writer.tap(&Tap { file, format, interface, link_type, snap_len, line_rate_bps })
                }
                SourceEvent::HostName(one) => {
                    let address = pseudonyms.address(one.address);
                    writer.host_name(&HostName { address, name: pseudonyms.names.host(&one.name) })
                }
                SourceEvent::Lost { tap, frames } => writer.lost(tap, frames),
                SourceEvent::ObservedUntil { tap, time } => {
                    let (first, frames) = seen.get(&tap).copied().unwrap_or((time, 0));
                    let (span, written) = (Some(Span { first, last: time }), Some(frames));
                    let lost = writer.lost_of(tap);
                    writer
                        .statistics(tap, &Statistics { time, span, received: None, lost, written })
                }
                SourceEvent::Problem(_) | SourceEvent::FileEnd(_) => Ok(()),
            };
            written.context("write a temporary file")?;
            progress.tick(|| captures.progress());
        }
        progress.finish();
        let encoder = writer.finish().context("write a temporary file")?;
        encoder
            .finish()
            .and_then(|mut out| std::io::Write::flush(&mut out))
            .context("write a temporary file")?;
        Ok(Item { role: Role::Capture, name, content: Content::Held(place), written_ns: None })
    }

    /// Ids of communicators, as the report has them.
    pub(super) fn ids(&self) -> &[u64] {
        &self.known.ids
    }

    /// Says what was rewritten, and what is gone.
    pub(super) fn report(&self) {
        if self.frames > 0 {
            notice(format!(
                "{} frames rewritten; of {} only the headers that are known are left",
                self.frames, self.not_understood
            ));
        }
        if self.streams.dropped() > 0 {
            notice(format!(
                "{} bytes of TCP became zero: more than 32 MiB of one direction, 1 GiB of all, or 262,144 directions are not read",
                self.streams.dropped()
            ));
        }
    }
}

fn global(file: u32, tap: TapId) -> anyhow::Result<TapId> {
    let number = file.checked_mul(TAPS).and_then(|first| first.checked_add(tap.0));
    let number = number.filter(|_| tap.0 < TAPS).context("a capture has too many interfaces")?;
    Ok(TapId(number))
}

/// What each connection is for, in both directions.
fn kinds(report: &Report) -> BTreeMap<(SocketAddr, SocketAddr), Kind> {
    let mut kinds = BTreeMap::new();
    for stream in &report.tcp_streams {
        let (Ok(client), Ok(server)) = (stream.src.parse(), stream.dst.parse()) else { continue };
        let kind = match stream.kind {
            "tcpstore" => Kind::Requests,
            "nccl_socket" => Kind::Socket,
            "nccl_ib_oob" => Kind::Exchange,
            _ => Kind::Nccl,
        };
        kinds.insert((client, server), kind);
        let back = if kind == Kind::Requests { Kind::Replies } else { kind };
        kinds.insert((server, client), back);
    }
    kinds
}
