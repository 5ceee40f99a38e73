//! Parses injected faults: `rank=2,delay=30ms,iterations=5..9`.

use std::collections::BTreeMap;
use std::time::Duration;

use railscope_drive::fault::Iterations;
use railscope_drive::fault::{Fault, PacketFault, PauseFault, SocketFault};
use railscope_drive::units;

/// Parses `--straggler`: `rank=2,delay=30ms,iterations=5..9`.
pub(super) fn straggler(text: &str) -> Result<Fault, String> {
    let (rank, delay, iterations) = delayed(text)?;
    Ok(Fault::Straggler { rank, delay, iterations })
}

/// Parses `--late-gpu`: `rank=2,delay=30ms,iterations=5..9`.
pub(super) fn late_gpu(text: &str) -> Result<Fault, String> {
    let (rank, delay, iterations) = delayed(text)?;
    Ok(Fault::LateGpu { rank, delay, iterations })
}

/// Parses `--late-receiver`: `rank=2,delay=30ms,iterations=5..9`.
pub(super) fn late_receiver(text: &str) -> Result<Fault, String> {
    let (rank, delay, iterations) = delayed(text)?;
    Ok(Fault::LateReceiver { rank, delay, iterations })
}

/// `--loss`, `--reorder` and `--mark-ce`: `1%`, or `edge=1-2,share=1%,iterations=5..9`.
pub(super) fn packets(text: &str) -> Result<PacketFault, String> {
    if !text.contains('=') {
        return Ok(PacketFault { edge: None, share: units::share(text)?, iterations: None });
    }
    let mut fields = Fields::parse(text, &["edge", "share", "iterations"])?;
    let edge = fields.take("edge").map(edge).transpose()?;
    let share = fields.need("share")?;
    let iterations = fields.take("iterations").map(iterations).transpose()?;
    Ok(PacketFault { edge, share: units::share(share)?, iterations })
}

/// Parses `--pause`: `edge=0-1,share=40%,iterations=5..9`.
pub(super) fn pause(text: &str) -> Result<PauseFault, String> {
    let mut fields = Fields::parse(text, &["edge", "share", "iterations"])?;
    let edge = edge(fields.need("edge")?)?;
    let share = units::share(fields.need("share")?)?;
    let iterations = fields.take("iterations").map(iterations).transpose()?;
    Ok(PauseFault { edge, share, iterations })
}

/// Parses `--slow-socket`: `edge=1-2,rate=200M,iterations=5..9`.
pub(super) fn slow_socket(text: &str) -> Result<SocketFault, String> {
    let mut fields = Fields::parse(text, &["edge", "rate", "iterations"])?;
    let edge = edge(fields.need("edge")?)?;
    let bits_per_second = units::rate(fields.need("rate")?)?;
    let iterations = fields.take("iterations").map(iterations).transpose()?;
    Ok(SocketFault { edge, bits_per_second, iterations })
}

/// Parses `--path-mtu`: `rank=2,bytes=1024`.
pub(super) fn path_mtu(text: &str) -> Result<Fault, String> {
    let mut fields = Fields::parse(text, &["rank", "bytes"])?;
    let rank = rank(fields.need("rank")?)?;
    let bytes = fields.need("bytes")?;
    let known = bytes.parse().ok().filter(|bytes| matches!(bytes, 256 | 512 | 1024 | 2048 | 4096));
    let bytes = known.ok_or_else(|| {
        format!("`bytes={bytes}` is not a path MTU: 256, 512, 1024, 2048 or 4096")
    })?;
    Ok(Fault::PathMtu { rank, bytes })
}

fn rank(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`rank={text}` is not a rank; write rank=2"))
}

fn delayed(text: &str) -> Result<(u32, Duration, Option<Iterations>), String> {
    let mut fields = Fields::parse(text, &["rank", "delay", "iterations"])?;
    let rank = rank(fields.need("rank")?)?;
    let delay = units::time(fields.need("delay")?)?;
    let iterations = fields.take("iterations").map(iterations).transpose()?;
    Ok((rank, delay, iterations))
}

/// `5..9` or `5`; both ends are included.
fn iterations(text: &str) -> Result<Iterations, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.parse::<u32>().ok();
    match (number(first), number(last.trim_start_matches('='))) {
        (Some(first), Some(last)) if first <= last && last < u32::MAX => Ok(first..last + 1),
        _ => Err(format!("`iterations={text}` is not a range of training steps; write 5..9 or 5")),
    }
}

fn edge(text: &str) -> Result<(u32, u32), String> {
    let ends = text.split_once('-');
    let ends = ends.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    ends.ok_or_else(|| format!("`edge={text}` is not an edge; write edge=1-2 for rank 1 to rank 2"))
}

/// `name=value,name=value`
struct Fields<'a> {
    text: &'a str,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Fields<'a> {
    fn parse(text: &'a str, known: &[&str]) -> Result<Self, String> {
        let mut values = BTreeMap::new();
        for field in text.split(',') {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            if !known.contains(&name) {
                return Err(format!("unknown field `{field}`; allowed are: {}", known.join(", ")));
            }
            if values.insert(name, value).is_some() {
                return Err(format!("`{name}` was given twice"));
            }
        }
        Ok(Self { text, values })
    }

    fn take(&mut self, name: &str) -> Option<&'a str> {
        self.values.remove(name)
    }

    fn need(&mut self, name: &str) -> Result<&'a str, String> {
        self.take(name).ok_or_else(|| format!("`{name}=` is missing in `{}`: add it", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_as_typed() {
        let delay = Duration::from_millis(30);
        let fault = Fault::Straggler { rank: 2, delay, iterations: Some(5..10) };
        assert_eq!(straggler("rank=2,delay=30ms,iterations=5..9"), Ok(fault));
        let fault = Fault::LateReceiver { rank: 0, delay, iterations: Some(3..4) };
        assert_eq!(late_receiver("delay=30ms,rank=0,iterations=3"), Ok(fault));
        let fault = Fault::PathMtu { rank: 2, bytes: 1024 };
        assert_eq!(path_mtu("rank=2,bytes=1024"), Ok(fault));
        let fault =
            SocketFault { edge: (1, 2), bits_per_second: 200_000_000, iterations: Some(5..10) };
        assert_eq!(slow_socket("edge=1-2,rate=200M,iterations=5..9"), Ok(fault));
        assert!(slow_socket("edge=1-2").unwrap_err().contains("`rate=` is missing"));
        assert!(path_mtu("rank=2,bytes=1500").unwrap_err().contains("not a path MTU"));
        let fault = PauseFault { edge: (0, 1), share: 0.4, iterations: Some(5..10) };
        assert_eq!(pause("edge=0-1,share=40%,iterations=5..9"), Ok(fault));
        assert!(pause("share=40%").unwrap_err().contains("`edge=` is missing"));
        let fault = PacketFault { edge: None, share: 0.01, iterations: None };
        assert_eq!(packets("1%"), Ok(fault.clone()));
        let fault = PacketFault { edge: Some((1, 2)), ..fault };
        assert_eq!(packets("edge=1-2,share=1%"), Ok(fault.clone()));
        let fault = PacketFault { iterations: Some(5..10), ..fault };
        assert_eq!(packets("edge=1-2,share=1%,iterations=5..9"), Ok(fault));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("rank=2", "`delay=` is missing"),
            ("delay=1s", "`rank=` is missing"),
            ("rank=x,delay=1s", "`rank=x` is not a rank"),
            ("rank=1,delay=1s,when=3", "allowed are: rank, delay, iterations"),
            ("rank=1,rank=2,delay=1s", "twice"),
            ("rank=1,delay=1s,iterations=9..5", "not a range"),
        ];
        for (text, said) in cases {
            let error = straggler(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        for (text, said) in
            [("edge=1-2", "`share=` is missing"), ("edge=12,share=1%", "not an edge")]
        {
            assert!(packets(text).unwrap_err().contains(said), "{text}");
        }
    }
}
