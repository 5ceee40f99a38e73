//! Taps that need no file.

use railscope_core::model::tap::{LinkType, Tap, TapFormat};

/// A tap of Ethernet frames, with this name.
pub fn ethernet(name: &str) -> Tap {
    Tap {
        file: name.to_owned(),
        format: TapFormat::Pcap,
        interface: None,
        link_type: LinkType::Ethernet,
        snap_len: None,
        line_rate_bps: None,
    }
}
