//! `drive` in a build without the feature `otlp`: there is no option, and nothing is sent.

use clap::Args;

use super::environment::Environment;
use railscope_drive::launch::Detail;
use railscope_drive::truth::Record;

/// No options.
#[derive(Args)]
pub(in crate::cli) struct TelemetryArgs {}

impl TelemetryArgs {
    #[expect(clippy::unnecessary_wraps, reason = "as with the feature")]
    pub(super) fn detail(&self, _: &Environment) -> anyhow::Result<Detail> {
        Ok(Detail::Introduction)
    }
}

/// Has no value.
pub(in crate::cli) enum Telemetry {}

impl Telemetry {
    /// Always `None`.
    #[expect(clippy::unnecessary_wraps, reason = "as with the feature")]
    pub(super) fn start(_: &TelemetryArgs, _: &Environment) -> anyhow::Result<Option<Self>> {
        Ok(None)
    }

    pub(super) fn observe(&mut self, _: &Record) {
        match *self {}
    }

    pub(super) fn finish_and_tell(self, _: Option<u32>) {
        match self {}
    }
}
