//! Name resolution blocks: names of addresses, as the capturing host resolved them.
//!
//! ```text
//! byte 0..3 or 0..15       then
//!      IPv4 or IPv6 address  one or more names, each ended by a zero byte
//! ```

use std::net::IpAddr;

use pcap_parser::pcapng::{NameRecord, NameRecordType, NameResolutionBlock};

use super::super::event::SourceEvent;
use super::super::notices::Notices;
use railscope_core::model::tap::HostName;

/// Bytes kept of a name; interfaces and hosts have shorter ones.
const NAME_LIMIT: usize = 255;

/// Adds every name of a block to the notices.
pub(super) fn tell_names(block: &NameResolutionBlock<'_>, notices: &mut Notices) {
    for (address, names) in block.nr.iter().filter_map(split) {
        // Padding looks like empty names.
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let Some(name) = host(&self::name(name)) else { continue };
            notices.push(SourceEvent::HostName(HostName { address, name }));
        }
    }
}

/// The host in a name. `railscope capture` writes `rank3@HOST`, and the address where it knows no host.
fn host(name: &str) -> Option<String> {
    let host = match name.split_once('@') {
        Some((rank, host)) if rank.starts_with("rank") => host,
        _ => return Some(name.to_owned()),
    };
    host.parse::<IpAddr>().is_err().then(|| host.to_owned())
}

fn split<'a>(record: &NameRecord<'a>) -> Option<(IpAddr, &'a [u8])> {
    match record.record_type {
        NameRecordType::Ipv4 => {
            let (address, names) = record.record_value.split_first_chunk::<4>()?;
            Some((IpAddr::from(*address), names))
        }
        NameRecordType::Ipv6 => {
            let (address, names) = record.record_value.split_first_chunk::<16>()?;
            Some((IpAddr::from(*address), names))
        }
        _ => None,
    }
}

/// A name from the file, as text; an overlong one is truncated.
pub(super) fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..NAME_LIMIT).unwrap_or(bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn a_rank_is_no_host() {
        assert_eq!(host("gpu-node-2"), Some("gpu-node-2".to_owned()));
        assert_eq!(host("rank3@gpu-node-2"), Some("gpu-node-2".to_owned()));
        assert_eq!(host("rank3@10.0.0.4"), None);
        assert_eq!(host("user@host"), Some("user@host".to_owned()));
    }
}
