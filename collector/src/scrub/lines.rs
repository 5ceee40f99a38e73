//! Lines of files: each is written anew from what its reader understood of it. What nobody understands is gone;
//! a line of it keeps its place.

use std::fmt::Write;

use super::pseudonym::Pseudonyms;
use super::text::{Unknown, words};
use railscope_core::decode::counter::line::{Header, of_csv, of_json};
use railscope_core::decode::counter::reading::Reading;
use railscope_core::decode::nccl_log::entry::{Entry, Level};
use railscope_core::decode::nccl_log::message::Message;
use railscope_core::decode::nccl_log::{clean, entries};
use railscope_core::decode::train_log::{self, Dialect, Stamp, TrainingStepLine, has_loss};
use railscope_core::model::counter::CounterSample;

/// What a line becomes that is not understood.
pub const DROPPED: &str = "[removed]";

/// NCCL may have cut an entry that is as long; readers see it by its length.
const CUT_BYTES: usize = 980;

/// Months and days in time stamps.
const DATES: &[&str] = &[
    "Apr", "Aug", "Dec", "Feb", "Fri", "Jan", "Jul", "Jun", "Mar", "May", "Mon", "Nov", "Oct",
    "Sat", "Sep", "Sun", "Thu", "Tue", "UTC", "Wed",
];

/// A line of a log: NCCL's entries in it. `None` if there are none.
#[must_use]
pub fn of_log(line: &[u8], pseudonyms: &mut Pseudonyms) -> Option<String> {
    let text = clean(line);
    let mut out = String::new();
    for entry in entries(&text) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&entry_of(&entry, pseudonyms));
    }
    (!out.is_empty()).then_some(out)
}

fn entry_of(entry: &Entry<'_>, pseudonyms: &mut Pseudonyms) -> String {
    let level = match entry.level {
        Level::Version => return release(entry).unwrap_or_default(),
        Level::Warn => "WARN",
        Level::Info => "INFO",
        Level::Call => "CALL",
        Level::Trace => "TRACE",
    };
    let time = entry.time.map(stamp).filter(|time| !time.is_empty());
    let mut head = time.map(|time| ["[", &time, "] "].concat()).unwrap_or_default();
    if let Some(origin) = &entry.origin {
        let host = pseudonyms.names.host(origin.host);
        let _ = write!(head, "{host}:{}:{}", origin.pid, origin.tid);
        if let Some(device) = origin.device {
            let _ = write!(head, " [{device}]");
        }
    }
    if let Some(source) = &entry.source {
        let file = words(source.file, Unknown::Blank, pseudonyms);
        let _ = write!(head, " {file}:{}", source.line);
        if let Some(function) = source.function {
            let _ = write!(head, " ({})", words(function, Unknown::Blank, pseudonyms));
        }
    }
    // The last word of an entry that was cut may be a part of an address; readers leave it out, too.
    let whole = entry.text.rsplit_once(' ').filter(|_| entry.is_cut);
    let whole = whole.map(|(whole, _)| [whole, " _"].concat());
    let said = whole.as_deref().unwrap_or(entry.text);
    let text = match entry.message {
        Message::Release(_) => release(entry).unwrap_or_default(),
        // Of a warning, its words show the cause.
        Message::Other if entry.level != Level::Warn => DROPPED.to_owned(),
        Message::Other | Message::Known(_) | Message::Trace(_) => {
            words(said, Unknown::Blank, pseudonyms)
        }
        _ => words(said, Unknown::Name, pseudonyms),
    };
    let long = if entry.is_cut { CUT_BYTES } else { 0 };
    let gap = long.saturating_sub(head.len() + text.len()).max(1);
    format!("{head} NCCL {level}{:gap$}{text}", "")
}

/// `NCCL version 2.27.5+cuda12.9`.
fn release(entry: &Entry<'_>) -> Option<String> {
    let Message::Release(release) = entry.message else { return None };
    let first = if entry.text.starts_with('R') { "RCCL" } else { "NCCL" };
    let cuda = entry.text.split_once("+cuda").and_then(|(_, rest)| rest.split_whitespace().next());
    let is_number = |cuda: &&str| cuda.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let cuda = cuda.filter(is_number).map(|cuda| ["+cuda", cuda].concat()).unwrap_or_default();
    Some(format!("{first} version {release}{cuda}"))
}

/// A time in any format: dates, times of day, years, and the names of months and days.
fn stamp(time: &str) -> String {
    let words: Vec<&str> = time.split_whitespace().filter(|word| is_of_time(word)).collect();
    words.join(" ")
}

fn is_of_time(word: &str) -> bool {
    let is_number = |part: &str, digits: usize| {
        (1..=digits).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_date = |date: &str| {
        let parts: Vec<&str> = date.split(['-', '/']).collect();
        matches!(parts[..], [a, b, c] if is_number(a, 4) && is_number(b, 2) && is_number(c, 4))
    };
    let is_clock = |clock: &str| {
        let clock = clock.trim_end_matches('Z');
        let clock = clock.split_once(['+', '-']).map_or(clock, |(clock, zone)| {
            if is_number(&zone.replace(':', ""), 4) { clock } else { "" }
        });
        let (clock, decimals) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
        let parts: Vec<&str> = clock.split(':').collect();
        (2..=3).contains(&parts.len())
            && parts.iter().all(|part| is_number(part, 2))
            && is_number(decimals, 9)
    };
    let is_year = |word: &str| is_number(word, 4) && (word.len() < 3 || word.starts_with("20"));
    let both = word.split_once('T').is_some_and(|(date, clock)| is_date(date) && is_clock(clock));
    DATES.contains(&word) || both || is_date(word) || is_clock(word) || is_year(word)
}

/// A line of a training log: the numbers of training steps in it, as the framework writes them.
#[must_use]
pub fn of_training(line: &[u8]) -> Option<String> {
    let mut out = String::new();
    for part in line.split(|byte| *byte == b'\r') {
        let text = clean(part);
        let mut has_said = false;
        train_log::read(&text, |says| {
            has_said |= says.has_loss;
            let separator = if out.is_empty() { "" } else { "\r" };
            let _ = write!(out, "{separator}{}", training_step(&says));
        });
        // The loss of the bar before it.
        if has_loss(&text) && !has_said {
            let separator = if out.is_empty() { "" } else { "\r" };
            let _ = write!(out, "{separator}{{'loss':");
        }
    }
    (!out.is_empty()).then_some(out)
}

fn training_step(says: &TrainingStepLine) -> String {
    let TrainingStepLine { number, total, length_ns, .. } = says;
    let total = total.unwrap_or_default();
    let stamp = says.stamp.and_then(written).map(|time| format!("[{time}] ")).unwrap_or_default();
    match says.dialect {
        Dialect::Trainer => {
            let loss = if says.has_loss { "{'loss':" } else { "" };
            format!("| {number}/{total} [00:00<00:00]{loss}")
        }
        Dialect::DeepSpeed => format!("{stamp}[Rank 0] step={number}, skipped=0"),
        Dialect::Megatron => {
            // The reader takes only times that it can use.
            let length = length_ns.map_or(-1.0, |length| length as f64 / 1e6);
            format!(
                "{stamp}iteration {number}/{total} | elapsed time per iteration (ms): {length} |"
            )
        }
    }
}

/// A time as Python's `logging` writes it, with its decimals.
fn written(stamp: Stamp) -> Option<String> {
    let time = jiff::Timestamp::from_nanosecond(i128::from(stamp.local_ns)).ok()?;
    let decimals = 9_u32.saturating_sub(stamp.resolution_ns.checked_ilog10()?) as usize;
    let time = time.strftime("%Y-%m-%d %H:%M:%S.%9f").to_string();
    let len = if decimals == 0 { 19 } else { 20 + decimals };
    time.get(..len).map(str::to_owned)
}

/// The lines of a file of counters, whose columns are in one line.
#[derive(Debug, Default)]
pub struct Counters {
    header: Option<Header>,
}

impl Counters {
    /// A sample as JSON, with the counters that railscope reads.
    pub fn line(&mut self, line: &[u8], pseudonyms: &mut Pseudonyms) -> Option<String> {
        let text = clean(line);
        if let Some(header) = Header::from_line(&text) {
            self.header = Some(header);
            return None;
        }
        let sample = match &self.header {
            Some(header) => of_csv(header, &text),
            None => of_json(&text),
        }?;
        written_sample(&sample, pseudonyms)
    }
}

fn written_sample(sample: &CounterSample<'_>, pseudonyms: &mut Pseudonyms) -> Option<String> {
    let mut out = serde_json::Map::new();
    let mut add = |key: &str, value: serde_json::Value| out.insert(key.to_owned(), value);
    add("time_ns", sample.time.as_nanos().into());
    let place = &sample.place;
    if let Some(host) = &place.host {
        add("host", pseudonyms.names.host(host).into());
    }
    let mut word = |key: &str, text: Option<&str>| {
        if let Some(text) = text {
            add(key, words(text, Unknown::Name, pseudonyms).into());
        }
    };
    word("device", place.device.as_deref());
    word("netdev", place.netdev.as_deref());
    word("driver", sample.driver.as_deref());
    if let Some(setup) = &sample.setup {
        word("model", setup.model.as_deref());
        word("firmware", setup.firmware.as_deref());
        word("link_layer", setup.link_layer.as_deref());
        if let Some(mtu) = setup.mtu {
            add("mtu", mtu.into());
        }
    }
    if let Some(address) = place.address {
        add("address", pseudonyms.address(address).to_string().into());
    }
    if let Some(port) = place.port {
        add("port", port.into());
    }
    if let Some(link) = sample.link {
        add("state", link.state.name().into());
        if let Some(rate) = link.rate_bps {
            add("rate_bps", rate.into());
        }
    }
    let driver = sample.driver.as_deref();
    let values =
        sample.values.iter().filter(|(name, _)| Reading::from_name(driver, name).is_some());
    let values: serde_json::Map<_, _> =
        values.map(|(name, value)| (name.to_string(), (*value).into())).collect();
    add("counters", values.into());
    serde_json::to_string(&out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::key::Key;

    fn log(line: &str) -> Option<String> {
        let mut pseudonyms = Pseudonyms::new(Key::new([3; 32]));
        let _ = of_log(line.as_bytes(), &mut pseudonyms);
        assert!(pseudonyms.names.number());
        of_log(line.as_bytes(), &mut pseudonyms)
    }

    #[test]
    fn entries_are_written_anew() {
        for (before, after) in [
            (
                "[pod/acme/x] [acme 2026-01-02 03:04:05] n1:7:8 [0] NCCL INFO NCCL version 2.27.5+cuda12.9",
                Some("[2026-01-02 03:04:05] host-1:7:8 [0] NCCL INFO NCCL version 2.27.5+cuda12.9"),
            ),
            (
                "[10.77.0.1:8080] n1:7:8 [0] NCCL INFO Using network Socket",
                Some("host-1:7:8 [0] NCCL INFO Using network Socket"),
            ),
            (
                "[2026-01-02T03:04:05.123+02:00 Fri] n1:7:8 NCCL INFO Using network IB",
                Some("[2026-01-02T03:04:05.123+02:00 Fri] host-1:7:8 NCCL INFO Using network IB"),
            ),
            (
                "0: acme | n1:7:8 NCCL CALL something of acme",
                Some("host-1:7:8 NCCL CALL [removed]"),
            ),
            (
                "n1:7:8 [0] NCCL INFO Using network acme",
                Some("host-1:7:8 [0] NCCL INFO Using network name-1"),
            ),
            (
                "n1:7:8 [0] acme/socket.cc:9 NCCL WARN Connection closed by remote peer n2.acme<9> of bob",
                Some(
                    "host-1:7:8 [0] _/socket.cc:9 NCCL WARN Connection closed by remote peer host-2<9> of _",
                ),
            ),
            ("RCCL version : 2.21.5-HEAD:acme", Some("RCCL version 2.21.5")),
            ("srun: error: acme: task 3: Killed", None),
            ("Traceback of acme", None),
        ] {
            assert_eq!(log(before).as_deref(), after, "{before}");
        }
    }

    #[test]
    fn a_host_that_is_called_as_a_device_is_replaced_in_sentences() {
        let after = log("rdma07:4711:4711 [0] NCCL WARN cannot reach rdma07").unwrap();
        assert!(after.starts_with("host-1:4711:4711 [0] NCCL WARN "), "{after}");
        assert!(after.ends_with(" host-1"), "{after}");
        let after =
            log("n1:7:8 [0] NCCL INFO + NET[1.2] - NET/0 (10200feff000000/1/1.25)").unwrap();
        assert!(!after.contains("10200feff"), "{after}");
    }

    #[test]
    fn a_cut_entry_stays_one() {
        let line =
            ["n1:7:8 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 ", &"[1] 1/-1/-1->0->-1 ".repeat(60)]
                .concat();
        let text = log(&line).unwrap();
        let entry = entries(&text).next().unwrap();
        assert!(entry.is_cut && matches!(entry.message, Message::Trees(_)), "{text}");
    }

    #[test]
    fn training_logs_say_the_same_numbers() {
        let read = |text: &str| {
            let mut all = Vec::new();
            for part in text.split('\r') {
                train_log::read(part, |line| all.push(line));
            }
            all
        };
        for line in [
            "1: acme [2026-09-11 12:06:52.987995] iteration        3/ 7629408 | consumed samples: 96 | elapsed time \
             per iteration (ms): 24379.9 | acme",
            "acme [2024-06-21 10:50:42,167] [INFO] [acme.py:96:x] [Rank 0] step=1, skipped=0, lr=[1e-8]",
            "acme  2%|▎    | 10/400 [01:17<13:02,  2.01s/it]{'loss': 4.7883, 'acme': 0.0}\racme | 11/400 [01:17<13:02]",
        ] {
            let after = of_training(line.as_bytes()).unwrap();
            assert_eq!(read(&after), read(line), "{after}");
            assert!(!after.contains("acme"), "{after}");
        }
        assert_eq!(of_training(b"{'loss': 3.2, 'acme': 1}").as_deref(), Some("{'loss':"));
        assert_eq!(of_training(b"acme trains"), None);
    }

    #[test]
    fn counters_are_those_that_are_read() {
        let mut pseudonyms = Pseudonyms::new(Key::new([3; 32]));
        let line =
            br#"{"time_ns":5,"host":"n1.acme","device":"mlx5_acme","acme":"x","address":"10.0.0.4",
            "model":"acme","counters":{"np_cnp_sent":12,"acme_sent":3}}"#;
        let _ = Counters::default().line(line, &mut pseudonyms);
        assert!(pseudonyms.names.number());
        let after = Counters::default().line(line, &mut pseudonyms).unwrap();
        assert!(!after.contains("acme") && !after.contains("10.0.0.4"), "{after}");
        assert!(
            after.contains(r#""host":"host-1""#) && after.contains(r#""np_cnp_sent":12"#),
            "{after}"
        );
    }
}
