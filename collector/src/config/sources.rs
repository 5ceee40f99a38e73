//! `[sources]`: a switch for each live source, or for several that belong together. Other settings of a
//! source have their own section, in the file named after the source.

use super::reader::Reader;

/// Which sources run, if they can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceConfig {
    /// Packets of interfaces.
    pub packets: bool,
    /// Counters of NICs.
    pub counters: bool,
    /// Calls of libnccl and libibverbs.
    pub calls: bool,
    /// Connections and queue pairs of processes, their containers and jobs.
    pub processes: bool,
    /// NCCL's RAS, asked while a job hangs.
    pub ras: bool,
    /// Samples that switches send here; off by default, because it opens a port.
    pub sflow: bool,
    /// Rings of NCCL's profiler plugin.
    pub profiles: bool,
}

impl Default for SourceConfig {
    fn default() -> Self {
        Self {
            packets: true,
            counters: true,
            calls: true,
            processes: true,
            ras: true,
            sflow: false,
            profiles: true,
        }
    }
}

impl SourceConfig {
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) {
        reader.section("sources", |section| {
            section.key("packets", &mut self.packets);
            section.key("counters", &mut self.counters);
            section.key("calls", &mut self.calls);
            section.key("processes", &mut self.processes);
            section.key("ras", &mut self.ras);
            section.key("sflow", &mut self.sflow);
            section.key("profiles", &mut self.profiles);
        });
    }
}
