//! Interfaces: their descriptions, and the statistics of lost frames.

use pcap_parser::pcapng::{InterfaceDescriptionBlock, InterfaceStatisticsBlock};

use super::super::byte_order::ByteOrder;
use super::super::clock::Clock;
use super::super::event::SourceEvent;
use super::super::notices::Notices;
use super::super::problem::ProblemKind;
use super::name::name;
use super::option::{
    self, IF_FCSLEN, IF_NAME, IF_RXSPEED, IF_SPEED, IF_TSOFFSET, IF_TSRESOL, IF_TXSPEED,
    ISB_ENDTIME, ISB_IFDROP, ISB_IFRECV, ISB_OSDROP, ISB_STARTTIME, ISB_USRDELIV,
};
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;

/// Default of `if_tsresol`: microseconds.
const DEFAULT_TSRESOL: u8 = 6;

/// Most interfaces of one section: far more than any machine has. It bounds the memory for a file
/// full of interface descriptions.
const INTERFACES_LIMIT: usize = 65_536;

/// Facts on an interface that are needed to read its frames.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) tap: TapId,
    pub(super) link_type: LinkType,
    pub(super) clock: Clock,
    pub(super) fcs_bytes: u32,
    pub(super) snap_len: Option<u32>,
    /// Lost frames reported so far, from packet blocks and statistics together.
    pub(super) lost_frames: u64,
    /// Frames read so far.
    pub(super) frames: u64,
    /// Time of the last of them.
    pub(super) last: Timestamp,
}

/// The interfaces of a section.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    /// By their number; `None` if a description was damaged.
    all: Vec<Option<Interface>>,
}

impl Interfaces {
    /// A section has none at its start.
    pub(super) fn clear(&mut self) {
        self.all.clear();
    }

    /// The interface with this number.
    #[inline]
    pub(super) fn get(&mut self, id: u32) -> Option<&mut Interface> {
        self.all.get_mut(id as usize)?.as_mut()
    }

    /// Announces an interface of `file` as a tap.
    pub(super) fn add(
        &mut self,
        file: &str,
        byte_order: ByteOrder,
        description: &InterfaceDescriptionBlock<'_>,
        notices: &mut Notices,
    ) -> Result<(), ProblemKind> {
        let find = |code| option::find(&description.options, code);
        let number = |code| option::u64_of(byte_order, find(code)?);
        // Some writers use 0 for unknown.
        let rate = |code| number(code).filter(|rate| *rate > 0);
        let byte = |code| find(code)?.first().copied();

        let tap = Tap {
            file: file.to_owned(),
            format: TapFormat::PcapNg,
            interface: find(IF_NAME).map(name),
            link_type: LinkType::from_number(description.linktype.0.cast_unsigned()),
            snap_len: (description.snaplen != 0).then_some(description.snaplen),
            // If the rates of the two directions differ, they replace the single one.
            line_rate_bps: rate(IF_SPEED).or(rate(IF_TXSPEED).max(rate(IF_RXSPEED))),
        };
        let (link_type, snap_len) = (tap.link_type, tap.snap_len);
        let tsoffset_s = number(IF_TSOFFSET).unwrap_or(0).cast_signed();
        let clock = Clock::new(byte(IF_TSRESOL).unwrap_or(DEFAULT_TSRESOL), tsoffset_s);
        let fcs_bytes = u32::from(byte(IF_FCSLEN).unwrap_or(0)) / 8;
        self.check_limit()?;
        let Some(tap) = notices.push_tap(tap) else {
            self.all.push(None);
            return Err(ProblemKind::Taps(notices.limit()));
        };
        self.all.push(Some(Interface {
            tap,
            link_type,
            clock,
            fcs_bytes,
            snap_len,
            lost_frames: 0,
            frames: 0,
            last: Timestamp::EPOCH,
        }));
        Ok(())
    }

    /// Keeps the number of an interface whose description is damaged, so that those after it keep
    /// theirs.
    pub(super) fn add_damaged(&mut self) -> Result<(), ProblemKind> {
        self.check_limit()?;
        self.all.push(None);
        Ok(())
    }

    fn check_limit(&self) -> Result<(), ProblemKind> {
        if self.all.len() < INTERFACES_LIMIT {
            Ok(())
        } else {
            Err(ProblemKind::Interfaces(INTERFACES_LIMIT))
        }
    }

    /// Reports lost frames that were not reported yet, and until when the capture went on: statistics count
    /// from the start of the capture, packet blocks since the previous block.
    pub(super) fn report(
        &mut self,
        byte_order: ByteOrder,
        statistics: &InterfaceStatisticsBlock<'_>,
        notices: &mut Notices,
    ) -> Result<(), ProblemKind> {
        let number = |code| option::u64_of(byte_order, option::find(&statistics.options, code)?);
        let lost = number(ISB_IFDROP).unwrap_or(0).saturating_add(number(ISB_OSDROP).unwrap_or(0));
        let Some(interface) = self.get(statistics.if_id) else {
            return Err(ProblemKind::StatisticsInterface(statistics.if_id));
        };
        let frames = lost.saturating_sub(interface.lost_frames);
        if frames > 0 {
            interface.lost_frames = lost;
            notices.push(SourceEvent::Lost { tap: interface.tap, frames });
        }
        if let Some(time) = interface.observed_until(byte_order, statistics) {
            notices.push(SourceEvent::ObservedUntil { tap: interface.tap, time });
        }
        Ok(())
    }
}

impl Interface {
    /// Until when it was captured, if every frame of that time is in the file: one that was filtered, cut or
    /// split afterwards may keep its statistics, and then counts more frames than it has.
    fn observed_until(
        &self,
        byte_order: ByteOrder,
        statistics: &InterfaceStatisticsBlock<'_>,
    ) -> Option<Timestamp> {
        let find = |code| option::find(&statistics.options, code);
        let number = |code| option::u64_of(byte_order, find(code)?);
        let time = |code| option::time_of(byte_order, find(code)?);
        let (start, end) = (time(ISB_STARTTIME)?, time(ISB_ENDTIME)?);
        let in_file = number(ISB_USRDELIV).or(number(ISB_IFRECV))?;
        if self.frames == 0 || in_file > self.frames {
            return None;
        }
        // dumpcap 4.0 writes microseconds, whatever the resolution of the interface is.
        let mut clocks = [self.clock, self.clock.of_microseconds()].into_iter();
        clocks.find_map(|clock| {
            let (start, end) = (clock.to_timestamp(start)?, clock.to_timestamp(end)?);
            (start..=end).contains(&self.last).then_some(end)
        })
    }
}
