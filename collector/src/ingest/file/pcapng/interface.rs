//! Interfaces: their descriptions, and the statistics of lost frames.

use pcap_parser::pcapng::{InterfaceDescriptionBlock, InterfaceStatisticsBlock};

use super::super::clock::Clock;
use super::super::event::SourceEvent;
use super::super::notices::{Notices, TAPS_LIMIT};
use super::super::problem::ProblemKind;
use super::option::{
    self, IF_FCSLEN, IF_NAME, IF_RXSPEED, IF_SPEED, IF_TSOFFSET, IF_TSRESOL, IF_TXSPEED,
    ISB_IFDROP, ISB_OSDROP,
};
use super::{INTERFACES_LIMIT, PcapNgReader};
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};

/// Default of `if_tsresol`: microseconds.
const DEFAULT_TSRESOL: u8 = 6;

/// Bytes kept of a name; interfaces and hosts have shorter ones.
const NAME_LIMIT: usize = 255;

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
}

impl PcapNgReader {
    /// Announces an interface as a tap.
    pub(super) fn on_interface(
        &mut self,
        description: &InterfaceDescriptionBlock<'_>,
        notices: &mut Notices,
    ) -> Result<(), ProblemKind> {
        let find = |code| option::find(&description.options, code);
        let number = |code| option::u64_of(self.byte_order, find(code)?);
        // Some writers use 0 for unknown.
        let rate = |code| number(code).filter(|rate| *rate > 0);
        let byte = |code| find(code)?.first().copied();

        let tap = Tap {
            file: self.name.clone(),
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
        self.check_interfaces_limit()?;
        let Some(tap) = notices.push_tap(tap) else {
            self.interfaces.push(None);
            return Err(ProblemKind::Taps(TAPS_LIMIT));
        };
        let interface = Interface { tap, link_type, clock, fcs_bytes, snap_len, lost_frames: 0 };
        self.interfaces.push(Some(interface));
        Ok(())
    }

    /// Keeps the number of an interface whose description is damaged, so that those after it keep
    /// theirs.
    pub(super) fn on_damaged_interface(&mut self) -> Result<(), ProblemKind> {
        self.check_interfaces_limit()?;
        self.interfaces.push(None);
        Ok(())
    }

    fn check_interfaces_limit(&self) -> Result<(), ProblemKind> {
        if self.interfaces.len() < INTERFACES_LIMIT {
            Ok(())
        } else {
            Err(ProblemKind::Interfaces(INTERFACES_LIMIT))
        }
    }

    /// Reports lost frames that were not reported yet: statistics count from the start of the capture,
    /// packet blocks since the previous block.
    pub(super) fn on_statistics(
        &mut self,
        statistics: &InterfaceStatisticsBlock<'_>,
        notices: &mut Notices,
    ) -> Result<(), ProblemKind> {
        let number =
            |code| option::u64_of(self.byte_order, option::find(&statistics.options, code)?);
        let lost = number(ISB_IFDROP).unwrap_or(0).saturating_add(number(ISB_OSDROP).unwrap_or(0));
        let Some(Some(interface)) = self.interfaces.get_mut(statistics.if_id as usize) else {
            return Err(ProblemKind::StatisticsInterface(statistics.if_id));
        };
        let frames = lost.saturating_sub(interface.lost_frames);
        if frames > 0 {
            interface.lost_frames = lost;
            notices.push(SourceEvent::Lost { tap: interface.tap, frames });
        }
        Ok(())
    }
}

/// A name from the file, as text; an overlong one is truncated.
pub(super) fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..NAME_LIMIT).unwrap_or(bytes)).into_owned()
}
