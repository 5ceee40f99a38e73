//! `[record]`: the agent's own ring of frames.

use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use toml::de::DeValue;

use super::reader::Reader;
use super::setting::Setting;
use super::{HOUR, SECOND};
use crate::trigger::Trigger;

/// The ring, and when it is saved.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordConfig {
    /// Whether frames are recorded.
    pub enabled: bool,
    /// Folder of the ring.
    pub ring: PathBuf,
    /// How far it looks back.
    pub keep: Duration,
    /// Most bytes of it on disk.
    pub size: ByteSize,
    /// Folder of saved files.
    pub folder: PathBuf,
    /// Most files in it.
    pub files: usize,
    /// What saves the ring.
    pub on: Vec<Trigger>,
    /// How long to record on before saving.
    pub after: Duration,
    /// Socket for `railscope capture save`.
    pub socket: PathBuf,
}

impl Default for RecordConfig {
    fn default() -> Self {
        let triggers = ["finding:critical", "hang"];
        Self {
            enabled: false,
            ring: "/var/lib/railscope/ring".into(),
            keep: Duration::from_secs(300),
            size: ByteSize(1 << 30),
            folder: "/var/lib/railscope/captures".into(),
            files: 16,
            on: triggers.iter().filter_map(|trigger| trigger.parse().ok()).collect(),
            after: Duration::from_secs(10),
            socket: "/run/railscope/agent.sock".into(),
        }
    }
}

impl RecordConfig {
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) {
        reader.section("record", |section| {
            section.key("enabled", &mut self.enabled);
            section.key("ring", &mut self.ring);
            section.within("keep", &mut self.keep, SECOND..=24 * HOUR);
            section.within("size", &mut self.size, ByteSize(1 << 20)..=ByteSize(1 << 44));
            section.key("folder", &mut self.folder);
            section.within("files", &mut self.files, 1..=100_000);
            section.key("on", &mut self.on);
            section.within("after", &mut self.after, Duration::ZERO..=HOUR);
            section.key("socket", &mut self.socket);
        });
    }
}

impl Setting for Vec<Trigger> {
    const WANTED: &'static str = "a list of triggers, as `railscope capture --help` explains them, such as \
                                  [\"finding:critical\", \"hang\", \"step:2x\"]";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let one = |value: &DeValue<'_>| {
            value.as_str()?.parse::<Trigger>().ok().filter(Trigger::is_for_agents)
        };
        value.as_array()?.iter().map(|value| one(value.get_ref())).collect()
    }
}
