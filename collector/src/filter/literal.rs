//! Values in a filter, by the kind of the field that they are compared with.

use std::net::IpAddr;

use super::field::{Field, FieldKind};
use crate::units;
use railscope_core::model::opcode::Opcode;

/// A value to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// A number, or nanoseconds.
    Number(i128),
    /// An address and the number of bits that count.
    Prefix(IpAddr, u8),
    /// A name, in upper case.
    Name(String),
}

/// Reads a value; the error is a sentence without the place.
pub(super) fn read(field: &Field, text: &str) -> Result<Literal, String> {
    match field.kind {
        FieldKind::Flag => Err(format!(
            "`{}` is true or false and is compared with nothing: write `{0}` or `not {0}`",
            field.name
        )),
        FieldKind::Number => number(text).map(Literal::Number).ok_or_else(|| {
            format!("`{text}` is not a number; write 23 or 0x17, and `in 1..3` for a range")
        }),
        FieldKind::Time => time(text).map(Literal::Number),
        FieldKind::Address => prefix(text),
        FieldKind::Name => name(field, text).map(Literal::Name),
    }
}

fn number(text: &str) -> Option<i128> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => text.parse::<u64>().ok()?,
    };
    Some(value.into())
}

fn time(text: &str) -> Result<i128, String> {
    // A number alone is seconds.
    if let Some(seconds) = text.parse::<f64>().ok().filter(|seconds| seconds.abs() < 1e12) {
        return Ok((seconds * 1e9).round() as i128);
    }
    let time = units::duration(text).map_err(|_| {
        format!("`{text}` is not a time after the first frame; write 1.5s or 200ms")
    })?;
    Ok(i128::try_from(time.as_nanos()).unwrap_or(i128::MAX))
}

fn prefix(text: &str) -> Result<Literal, String> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address = address.parse().map(|address: IpAddr| address.to_canonical()).map_err(|_| {
        format!("`{text}` is not an address; write 10.0.0.1, 10.0.0.0/24 or fe80::1")
    })?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let Some(bits) = bits else { return Ok(Literal::Prefix(address, most)) };
    let bits = bits.parse().ok().filter(|bits| *bits <= most);
    bits.map(|bits| Literal::Prefix(address, bits))
        .ok_or_else(|| format!("`{text}` is not a prefix: {address} has {most} bits"))
}

/// A name that the field can have.
fn name(field: &Field, text: &str) -> Result<String, String> {
    let wanted = text.to_ascii_uppercase().replace('-', "_");
    let flag = match wanted.as_str() {
        "NAK" | "NACK" => Some("nak"),
        "RNR" | "RNR_NAK" => Some("rnr"),
        "ACK" => Some("ack"),
        _ => None,
    };
    if let (Some(flag), "opcode") = (flag, field.name) {
        return Err(format!(
            "{wanted} is an AETH syndrome of the opcode ACKNOWLEDGE, not an opcode; write `{flag}`"
        ));
    }
    let opcodes = || (0..=u8::MAX).filter_map(|value| Opcode(value).name());
    let known: Vec<&str> = match field.name {
        "opcode" => opcodes().collect(),
        _ => field.names.to_vec(),
    };
    if field.name == "opcode"
        && let Some(value) = number(text).and_then(|value| u8::try_from(value).ok())
    {
        return Ok(Opcode(value).to_string());
    }
    if known.iter().any(|name| name.eq_ignore_ascii_case(&wanted)) {
        return Ok(wanted);
    }
    let what = format!("`{text}` is no {} that packets have", field.name);
    Err(match super::field::alike(&wanted, known.iter().copied()) {
        Some(alike) => format!("{what}; did you mean {alike}?"),
        None if field.name == "opcode" => format!("{what}; `railscope packets` shows opcodes"),
        None => format!("{what}; write one of {}", known.join(", ")),
    })
}
