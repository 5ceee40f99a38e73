//! Trust, PFC and DSCPs as `mlnx_qos` and iproute2's `dcb` print them.

use super::{Output, Taken, TakesLines, value_of};
use crate::model::node::{Qos, Trust};

/// The output of `mlnx_qos -i DEVICE`.
#[derive(Clone, Debug, Default)]
pub(super) struct MlnxQos {
    found: Qos,
}

impl MlnxQos {
    /// `DCBX mode: OS controlled`, or the trust state.
    pub(super) fn begin(line: &str, interface: Option<&str>) -> Option<Self> {
        value_of(line, "DCBX mode").or_else(|| value_of(line, "Priority trust state"))?;
        let interface = interface.map(str::to_owned);
        let mut reader = Self { found: Qos { interface, ..Qos::default() } };
        reader.trust(line);
        Some(reader)
    }

    fn trust(&mut self, line: &str) {
        let Some(trust) = value_of(line, "Priority trust state") else { return };
        self.found.trust = match trust {
            "dscp" => Some(Trust::Dscp),
            "pcp" => Some(Trust::Pcp),
            "both" => Some(Trust::Both),
            _ => None,
        };
    }
}

impl TakesLines for MlnxQos {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if value_of(line, "DCBX mode").is_some() && self.found != Qos::default() {
            return Taken::End;
        }
        self.trust(line);
        if let Some(rest) = text.strip_prefix("prio:") {
            let Some((priority, dscps)) = rest.split_once(" dscp:") else { return Taken::End };
            let Ok(priority) = priority.trim().parse() else { return Taken::End };
            let dscps = dscps.split(',').filter_map(|dscp| dscp.trim().parse().ok());
            self.found.dscp.extend(dscps.map(|dscp: u8| (dscp, priority)));
            return Taken::Yes;
        }
        if let Some(values) = text.strip_prefix("enabled") {
            self.found.pfc = flags(values.split_whitespace());
            return Taken::Yes;
        }
        let known = ["DCBX mode", "Priority trust state", "dscp2prio", "default priority"];
        let known = known.into_iter().chain(["Receive buffer size", "Cable len", "PFC conf"]);
        let mut known = known.chain(["priority", "buffer", "tc:", "Buffers commands", "DCBX"]);
        match text.is_empty() || known.any(|start| text.starts_with(start)) {
            true => Taken::Yes,
            false => Taken::End,
        }
    }

    fn finish(self) -> Option<Output> {
        let is_read = self.found.trust.is_some() || self.found.pfc.is_some();
        is_read.then_some(Output::Qos(self.found))
    }
}

/// Eight columns of 0 and 1.
fn flags<'a>(mut columns: impl Iterator<Item = &'a str>) -> Option<[bool; 8]> {
    let mut found = [false; 8];
    for flag in &mut found {
        *flag = columns.next()? == "1";
    }
    Some(found)
}

/// `prio-pfc 0:off 1:off ... 7:off` of `dcb pfc show`.
pub(super) fn dcb_pfc(line: &str, interface: Option<&str>) -> Option<Qos> {
    let mut pfc = [false; 8];
    for word in line.trim().strip_prefix("prio-pfc ")?.split_whitespace() {
        let (priority, state) = word.split_once(':')?;
        *pfc.get_mut(priority.parse::<usize>().ok()?)? = state == "on";
    }
    Some(Qos { interface: interface.map(str::to_owned), pfc: Some(pfc), ..Qos::default() })
}

/// `dscp-prio 24:3 26:3 48:6` of `dcb app show`; DSCPs may have names, such as `CS6`.
pub(super) fn dcb_dscp(line: &str, interface: Option<&str>) -> Option<Qos> {
    let words = line.trim().strip_prefix("dscp-prio ")?.split_whitespace();
    let read = |word: &str| {
        let (dscp, priority) = word.split_once(':')?;
        Some((dscp_of(dscp)?, priority.parse().ok()?))
    };
    let dscp: Vec<(u8, u8)> = words.filter_map(read).collect();
    Some(Qos { interface: interface.map(str::to_owned), dscp, ..Qos::default() })
}

/// `order: dscp pcp` of `dcb apptrust show`.
pub(super) fn dcb_trust(line: &str, interface: Option<&str>) -> Option<Qos> {
    let text = line.trim();
    let words = text.strip_prefix("order:").or_else(|| text.strip_prefix("trust-order:"))?;
    let words: Vec<&str> = words.split_whitespace().collect();
    let known = ["ethtype", "stream-port", "dgram-port", "port", "dscp", "pcp"];
    if words.is_empty() || !words.iter().all(|word| known.contains(word)) {
        return None;
    }
    let trust = match (words.contains(&"dscp"), words.contains(&"pcp")) {
        (true, true) => Trust::Both,
        (true, false) => Trust::Dscp,
        (false, true) => Trust::Pcp,
        (false, false) => return None,
    };
    let interface = interface.map(str::to_owned);
    Some(Qos { interface, trust: Some(trust), ..Qos::default() })
}

/// A DSCP by number or by name (RFC 2474, 2597, 3246).
fn dscp_of(text: &str) -> Option<u8> {
    if let Ok(number) = text.parse() {
        return Some(number).filter(|number| *number < 64);
    }
    if text == "EF" {
        return Some(46);
    }
    let digits = |text: &str| text.parse::<u8>().ok();
    if let Some(class) = text.strip_prefix("CS").and_then(digits) {
        return class.checked_mul(8).filter(|dscp| *dscp < 64);
    }
    let af = text.strip_prefix("AF").and_then(digits)?;
    let (class, drop) = (af.checked_div(10)?, af.checked_rem(10)?);
    class.checked_mul(8)?.checked_add(drop.checked_mul(2)?).filter(|dscp| *dscp < 64)
}
