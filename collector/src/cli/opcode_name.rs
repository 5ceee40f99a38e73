//! `--opcode`: parses an opcode as users write it, and suggests one if it is unknown.

use super::number::parse_number;
use railscope_core::model::opcode::Opcode;

/// Similarity above which a name counts as a typo of another (Jaro-Winkler, from 0 to 1).
const ALIKE: f64 = 0.85;

/// An opcode's name as reports spell it.
pub(super) fn parse_opcode(text: &str) -> Result<String, String> {
    if let Some(value) = parse_number(text) {
        return u8::try_from(value).map(|value| Opcode(value).to_string()).map_err(|_| {
            format!("`{text}` does not fit into an opcode's 8 bits; write 0x00 to 0xff")
        });
    }
    let wanted = text.to_ascii_uppercase().replace(['-', ' '], "_");
    let mut names: Vec<&str> = (0..=u8::MAX).filter_map(|value| Opcode(value).name()).collect();
    names.sort_unstable();
    names.dedup();
    if names.contains(&wanted.as_str()) {
        return Ok(wanted);
    }
    if let Some(syndrome) = syndrome(&wanted) {
        return Err(format!(
            "{syndrome} is an AETH syndrome, not an opcode: use --opcode ACKNOWLEDGE. `railscope \
             packets` prints the syndrome on each line: filter with grep '{syndrome}'"
        ));
    }
    let close = close(&wanted, &names);
    Err(match close.is_empty() {
        true => format!("`{text}` is not an opcode; write one of {}", names.join(", ")),
        false => format!("`{text}` is not an opcode; did you mean {}?", close.join(", ")),
    })
}

/// An AETH syndrome that people take for an opcode, as `packets` spells it.
fn syndrome(name: &str) -> Option<&'static str> {
    match name {
        "ACK" => Some("ACK"),
        "NAK" | "NACK" => Some("NAK"),
        "RNR" | "RNR_NAK" | "RNR_NACK" => Some("RNR NAK"),
        _ => None,
    }
}

/// Names that contain `wanted`, else those with a similar spelling.
fn close<'n>(wanted: &str, names: &[&'n str]) -> Vec<&'n str> {
    let names = || names.iter().copied();
    let longer: Vec<_> = names().filter(|name| name.contains(wanted)).collect();
    if !longer.is_empty() {
        return longer;
    }
    names().filter(|name| strsim::jaro_winkler(name, wanted) >= ALIKE).collect()
}
