//! What the sources see now: `railscope.source.visible` and `/readyz`.

use railscope_core::metrics::own::SourceFigures;

/// Each source with its devices, and why it does not see one.
#[derive(Debug, Default)]
pub(in crate::agent) struct Visibility {
    sources: Vec<SourceFigures>,
}

impl Visibility {
    /// Records that `source` sees `device`: its value is 1.
    pub(super) fn add_seeing(&mut self, source: &'static str, device: &str) {
        self.add(source, device, None);
    }

    /// Adds a device that it does not see, and why; the same reason always has the same text.
    pub(super) fn add_blind(&mut self, source: &'static str, device: &str, why: &'static str) {
        self.add(source, device, Some(why.to_owned()));
    }

    /// Removes a device.
    pub(super) fn remove(&mut self, source: &str, device: &str) {
        self.sources.retain(|known| known.source != source || known.device != device);
    }

    /// Replaces the devices of a source; without any, it is blind because of `why`.
    pub(super) fn set(&mut self, source: &'static str, devices: &[String], why: &'static str) {
        self.sources.retain(|known| known.source != source);
        devices.iter().for_each(|device| self.add_seeing(source, device));
        if devices.is_empty() {
            self.add_blind(source, "all", why);
        }
    }

    /// All sources and devices.
    pub(in crate::agent) fn figures(&self) -> Vec<SourceFigures> {
        self.sources.clone()
    }

    /// Why no source sees anything; `None` if one does.
    pub(in crate::agent) fn blindness(&self) -> Option<String> {
        if self.sources.is_empty() {
            return Some("all sources are switched off".to_owned());
        }
        let why = |one: &SourceFigures| {
            let why = one.why_blind.as_deref()?;
            Some(format!("{} ({}): {why}", one.source, one.device))
        };
        let reasons: Option<Vec<String>> = self.sources.iter().map(why).collect();
        Some(format!("no source sees anything: {}", reasons?.join("; ")))
    }

    fn add(&mut self, source: &'static str, device: &str, why_blind: Option<String>) {
        self.sources.push(SourceFigures { source, device: device.to_owned(), why_blind });
    }
}
