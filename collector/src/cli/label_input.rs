//! Numbers of training steps: `--anchor`, and training logs.

use clap::Args;

use super::given::Names;
use super::log_input::{TextInput, open_all, read};
use crate::ingest::log::TextFile;
use railscope_core::analysis::iteration::label::Anchor;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Pipeline;

/// The options, as typed.
#[derive(Args)]
pub(super) struct LabelArgs {
    /// Step N ran at TIME; all other steps are numbered from it. TIME is a date with time zone, or
    /// seconds since 1970 (2026-11-20T16:30:00Z=4812)
    #[arg(long, value_name = "TIME=N", value_parser = parse_anchor)]
    anchor: Option<Anchor>,
    /// Number training steps as the training log does: progress bars of Hugging Face's Trainer,
    /// lines of DeepSpeed and Megatron; may be repeated
    #[arg(long, value_name = "FILE")]
    train_log: Vec<String>,
    /// Time zone of the training logs (+02:00) [default: UTC, or the only zone that fits]
    #[arg(long, value_name = "OFFSET", value_parser = parse_zone, allow_hyphen_values = true,
          requires = "train_log")]
    train_log_zone: Option<i64>,
}

/// Sources of labels that could be opened.
pub(super) struct Labels {
    anchor: Option<Anchor>,
    zone_ns: Option<i64>,
    logs: Vec<TextInput>,
}

impl LabelArgs {
    /// Adds a training log.
    pub(super) fn add(&mut self, file: &str) {
        self.train_log.push(file.to_owned());
    }

    /// The logs, as typed.
    pub(super) fn patterns(&self) -> &[String] {
        &self.train_log
    }

    pub(super) fn is_given(&self) -> bool {
        !self.train_log.is_empty()
    }

    /// The options that `option_of` of a bundle sets where they were not given.
    pub(super) fn complete(&mut self, option_of: impl Fn(&str) -> Option<String>) {
        let anchor = || parse_anchor(&option_of("anchor")?).ok();
        self.anchor = self.anchor.or_else(anchor);
        self.train_log_zone =
            self.train_log_zone.or_else(|| option_of("train_log_zone_ns")?.parse().ok());
    }

    /// The given options, for a bundle.
    pub(super) fn options(&self) -> impl Iterator<Item = (String, String)> {
        let anchor = self.anchor.map(|anchor| {
            let ns = anchor.time.as_nanos();
            format!("{}.{:09}={}", ns / 1_000_000_000, ns % 1_000_000_000, anchor.label)
        });
        let zone = self.train_log_zone.map(|zone| zone.to_string());
        let given = [("anchor", anchor), ("train_log_zone_ns", zone)];
        given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
    }

    /// Opens every log.
    ///
    /// # Errors
    ///
    /// When a file cannot be opened or was given twice, or a pattern matches no file.
    pub(super) fn open(&self, names: &Names) -> anyhow::Result<Labels> {
        let logs = open_all(TextFile::TrainingLog, &self.train_log, names)?;
        Ok(Labels { anchor: self.anchor, zone_ns: self.train_log_zone, logs })
    }
}

impl Labels {
    /// Reads every log to its end.
    pub(super) fn read(self, pipeline: &mut Pipeline) {
        pipeline.set_anchor(self.anchor);
        pipeline.set_train_log_zone(self.zone_ns);
        let hint = "no training step found; supported are the progress bars of Hugging Face's \
                    Trainer, and lines of DeepSpeed and Megatron";
        for TextInput { name, lines, .. } in self.logs {
            let log = pipeline.add_train_log(name.clone());
            read(&name, lines, pipeline, hint, |pipeline, number, line| {
                pipeline.handle_train_log_line(log, number, line)
            });
        }
    }
}

fn parse_anchor(text: &str) -> Result<Anchor, String> {
    let wrong = || {
        format!("`{text}` is not an anchor; write 2026-11-20T16:30:00Z=4812 or 1795192200.5=4812")
    };
    let (time, label) = text.rsplit_once('=').ok_or_else(wrong)?;
    let label = label.parse().map_err(|_| wrong())?;
    let nanos = match time.parse::<jiff::Timestamp>() {
        Ok(date) => u64::try_from(date.as_nanosecond()).ok(),
        Err(_) => epoch_ns(time),
    };
    let time = Timestamp::from_nanos(nanos.ok_or_else(wrong)?);
    Ok(Anchor { time, label })
}

/// Seconds since 1970, with up to nine decimals, in nanoseconds.
fn epoch_ns(text: &str) -> Option<u64> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = decimals.bytes().all(|byte| byte.is_ascii_digit());
    if decimals.is_empty() || decimals.len() > 9 || !are_digits {
        return None;
    }
    let nanos: u64 = format!("{decimals:0<9}").parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// Nanoseconds ahead of UTC.
fn parse_zone(text: &str) -> Result<i64, String> {
    let wrong = || format!("`{text}` is not a time zone; write +02:00, -07:00 or Z");
    if text == "Z" {
        return Ok(0);
    }
    let zoned = format!("2000-01-02T00:00:00{text}").parse::<jiff::Timestamp>();
    let utc = zoned.map_err(|_| wrong())?.as_second();
    // 2000-01-02T00:00:00Z.
    Ok((946_771_200 - utc) * 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_and_zones() {
        let nanos = |text| parse_anchor(text).map(|anchor| (anchor.time.as_nanos(), anchor.label));
        assert_eq!(nanos("1970-01-01T00:00:01Z=7"), Ok((1_000_000_000, 7)));
        assert_eq!(nanos("1970-01-01T01:00:01+01:00=7"), Ok((1_000_000_000, 7)));
        assert_eq!(nanos("1.25=4812"), Ok((1_250_000_000, 4812)));
        for wrong in ["", "1", "=1", "1=", "1.=2", "soon=2", "1=-3", "1.0000000001=2"] {
            assert!(nanos(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_zone("+02:00"), Ok(7_200_000_000_000));
        assert_eq!(parse_zone("-07:30"), Ok(-27_000_000_000_000));
        assert_eq!(parse_zone("Z"), Ok(0));
        assert!(parse_zone("Berlin").is_err());
    }
}
