//! Captures: read once for what identifies somebody, and once more to be rewritten.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufWriter;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::names;
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
use crate::scrub::text;
use railscope_core::decode::frame::decode_with;
use railscope_core::decode::nccl::cts::Cts;
use railscope_core::decode::packet::{Body, Packet};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{HostName, Tap, TapId};
use railscope_core::model::time::Span;
use railscope_core::report::Report;

/// Interfaces of a file are numbered below this.
const TAPS: u32 = 1 << 12;

/// The smallest virtual address that is looked for in the control plane.
const SMALLEST_PLACE: u64 = 1 << 32;

/// Most virtual addresses that the result is searched for.
const SEARCHED_PLACES: usize = 4096;

/// Most distinct memory keys, and virtual addresses, that are looked for in the control plane.
const KEYS: usize = 1 << 16;

/// The captures of the input.
pub(super) struct Captures {
    paths: Vec<PathBuf>,
    streams: Streams,
    /// Virtual addresses that must not be left.
    places: Vec<u64>,
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
            places: Vec::new(),
            frames: 0,
            not_understood: 0,
        }
    }

    /// Puts TCP streams together, and rewrites them.
    pub(super) fn learn(
        &mut self,
        report: &Report,
        pseudonyms: &mut Pseudonyms,
    ) -> anyhow::Result<()> {
        let (mut keys, mut places) = (BTreeSet::new(), BTreeSet::new());
        let mut addresses = BTreeSet::new();
        for (at, path) in (0..).zip(self.paths.clone()) {
            let mut captures = CaptureSet::open(&[&path])?;
            let mut progress = InputProgress::new();
            while let Some(event) = captures.next_event() {
                match event {
                    SourceEvent::Frame(frame) => {
                        let frame = Frame { tap: global(at, frame.tap), ..frame };
                        decode_with(&frame, |packet| {
                            self.look(&frame, packet, (&mut keys, &mut places), &mut addresses);
                        });
                    }
                    SourceEvent::HostName(name) => {
                        addresses.insert(name.address);
                        names::add(&name.name, pseudonyms);
                    }
                    _ => {}
                }
                progress.tick(|| captures.progress());
            }
            progress.finish();
        }
        self.places = places.iter().copied().take(SEARCHED_PLACES).collect();
        let known = Known {
            addresses: addresses.into_iter().collect(),
            keys: keys.into_iter().collect(),
            places: places.into_iter().collect(),
            roots: report
                .communicators
                .iter()
                .filter_map(|one| one.root.as_deref()?.parse().ok())
                .collect(),
            ids: report
                .communicators
                .iter()
                .filter_map(|one| u64::from_str_radix(&one.id, 16).ok())
                .collect(),
        };
        let kinds = kinds(report);
        let kind_of =
            |(_, from, to): &(TapId, SocketAddr, SocketAddr)| kinds.get(&(*from, *to)).copied();
        self.streams.scrub(kind_of, &known, pseudonyms);
        Ok(())
    }

    fn look(
        &mut self,
        frame: &Frame<'_>,
        packet: &Packet<'_>,
        (keys, places): (&mut BTreeSet<u32>, &mut BTreeSet<u64>),
        addresses: &mut BTreeSet<IpAddr>,
    ) {
        let Some(ip) = packet.ip else { return };
        addresses.extend([ip.source, ip.destination]);
        match &packet.body {
            Body::Tcp(segment) => {
                let from = SocketAddr::new(ip.source, segment.ports.source);
                let to = SocketAddr::new(ip.destination, segment.ports.destination);
                self.streams.observe((frame.tap, from, to), segment);
            }
            Body::Roce(roce) if keys.len().max(places.len()) < KEYS => {
                let Some(reth) = &roce.reth else { return };
                keys.insert(reth.remote_key);
                // Smaller numbers are no places, and would be found by chance.
                if reth.virtual_address >= SMALLEST_PLACE {
                    places.insert(reth.virtual_address);
                }
                if let Some((cts, _)) = Cts::recognise(roce.payload, reth.dma_len) {
                    keys.extend(cts.remote_keys);
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
        while let Some(event) = captures.next_event() {
            let written = match event {
                SourceEvent::Frame(frame) => {
                    let global = Frame { tap: global(at as u32, frame.tap), ..frame };
                    self.frames += 1;
                    let is_strange = rewrite(&global, pseudonyms, &mut self.streams, &mut out);
                    self.not_understood += u64::from(is_strange);
                    writer.frame(&Frame { bytes: &out, ..frame })
                }
                SourceEvent::Tap(_, tap) => {
                    let interface = tap.interface.as_deref().map(|it| text::line(it, pseudonyms));
                    writer.tap(&Tap { file: name.clone(), interface, ..tap })
                }
                SourceEvent::HostName(one) => {
                    let address = pseudonyms.address(one.address);
                    writer.host_name(&HostName { address, name: text::line(&one.name, pseudonyms) })
                }
                SourceEvent::Lost { tap, frames } => writer.lost(tap, frames),
                SourceEvent::ObservedUntil { tap, time } => {
                    let span = Some(Span { first: time, last: time });
                    let lost = writer.lost_of(tap);
                    writer.statistics(
                        tap,
                        &Statistics { time, span, received: None, lost, written: None },
                    )
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

    /// Virtual addresses in packets, to be searched for.
    pub(super) fn places(&self) -> &[u64] {
        &self.places
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
                "{} bytes of TCP became zero: more than 32 MiB of one direction, or 1 GiB of all, are not kept",
                self.streams.dropped()
            ));
        }
    }
}

const fn global(file: u32, tap: TapId) -> TapId {
    TapId(file.wrapping_mul(TAPS).wrapping_add(tap.0))
}

/// What each connection is for, in both directions.
fn kinds(report: &Report) -> BTreeMap<(SocketAddr, SocketAddr), Kind> {
    let mut kinds = BTreeMap::new();
    for stream in &report.tcp_streams {
        let (Ok(client), Ok(server)) = (stream.src.parse(), stream.dst.parse()) else { continue };
        let kind = match stream.kind {
            "tcpstore" => Kind::Store,
            "nccl_socket" => Kind::Socket,
            "nccl_ib_oob" => Kind::Exchange,
            _ => Kind::Nccl,
        };
        kinds.insert((client, server), kind);
        kinds.insert((server, client), kind);
    }
    kinds
}
