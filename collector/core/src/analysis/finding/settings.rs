//! What a user may set: findings that are not wanted, thresholds, what is expected of the job.

use serde::Deserialize;

use crate::model::subnet::Subnet;

/// The settings, as a configuration file writes them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Which findings are reported, and their thresholds.
    pub findings: FindingSettings,
    /// What the job should look like.
    pub expect: Expectations,
}

/// Which findings are reported, and their thresholds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FindingSettings {
    /// Names of findings that are not wanted.
    pub suppress: Vec<String>,
    /// A bootstrap that takes longer is slow, in seconds.
    pub slow_bootstrap_s: f64,
    /// A communicator that is in a collective hangs if nothing has moved for so long, in seconds; `None`:
    /// 5 live, where a pause may still end, and 1 at the end of a capture.
    pub hang_after_s: Option<f64>,
    /// Share of time paused from which pause is a warning.
    pub pause_share: f64,
    /// Share of CE-marked packets from which congestion is a warning.
    pub ce_share: f64,
    /// Jain index over paths below which load is unbalanced.
    pub jain_index: f64,
}

/// What the job should look like; what is not set is not checked.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectations {
    /// Interface of NCCL's bootstrap, such as `eth0`.
    pub bootstrap_interface: Option<String>,
    /// Network of NCCL's bootstrap, such as `10.0.4.0/24`.
    pub bootstrap_cidr: Option<Subnet>,
    /// RDMA devices that may carry data.
    pub hca: Option<Vec<String>>,
    /// DSCP of all RoCE data.
    pub dscp: Option<u8>,
    /// Path MTU in bytes.
    pub mtu: Option<u32>,
    /// Whether RoCE data must be ECN-capable.
    pub ecn: Option<bool>,
}

impl Default for FindingSettings {
    fn default() -> Self {
        Self {
            suppress: Vec::new(),
            slow_bootstrap_s: 10.0,
            hang_after_s: None,
            pause_share: 0.1,
            ce_share: 0.01,
            jain_index: 0.8,
        }
    }
}

/// A setting that makes no sense. Its words are the report's (`report/words/setting.rs`).
#[derive(Clone, Debug, PartialEq)]
pub enum WrongSetting {
    /// No finding is called so.
    UnknownFinding(String),
    /// A share is not between 0 and 1.
    NoShare {
        /// The setting.
        name: &'static str,
        /// What it was set to.
        value: f64,
    },
    /// A time is negative, or no number.
    NoTime {
        /// The setting.
        name: &'static str,
        /// What it was set to.
        value: f64,
    },
    /// A DSCP has more than six bits.
    NoDscp(u8),
}

impl Settings {
    /// Whether findings with this name are not wanted.
    #[must_use]
    pub fn suppresses(&self, id: &str) -> bool {
        self.findings.suppress.iter().any(|name| name == id)
    }

    /// Whether they make sense; `known` are the names of all findings.
    ///
    /// # Errors
    ///
    /// When a finding that is not there is suppressed, or a value is out of its range.
    pub fn check<'a>(&self, known: impl Iterator<Item = &'a str>) -> Result<(), WrongSetting> {
        let known: Vec<&str> = known.collect();
        if let Some(name) =
            self.findings.suppress.iter().find(|name| !known.contains(&name.as_str()))
        {
            return Err(WrongSetting::UnknownFinding(name.clone()));
        }
        let FindingSettings { pause_share, ce_share, jain_index, slow_bootstrap_s, .. } =
            self.findings;
        let shares =
            [("pause_share", pause_share), ("ce_share", ce_share), ("jain_index", jain_index)];
        if let Some((name, value)) =
            shares.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value))
        {
            return Err(WrongSetting::NoShare { name, value });
        }
        let times = [
            ("slow_bootstrap_s", slow_bootstrap_s),
            ("hang_after_s", self.findings.hang_after_s.unwrap_or_default()),
        ];
        let is_wrong = |(_, value): &(_, f64)| !value.is_finite() || *value < 0.0;
        if let Some((name, value)) = times.into_iter().find(is_wrong) {
            return Err(WrongSetting::NoTime { name, value });
        }
        match self.expect.dscp {
            Some(dscp @ 64..) => Err(WrongSetting::NoDscp(dscp)),
            _ => Ok(()),
        }
    }
}

impl Expectations {
    /// Nothing is expected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let mut settings = Settings::default();
        assert_eq!(settings.check(["loss"].into_iter()), Ok(()));
        settings.findings.suppress.push("lost".to_owned());
        let unknown = WrongSetting::UnknownFinding("lost".to_owned());
        assert_eq!(settings.check(["loss"].into_iter()), Err(unknown));
        let mut settings = Settings::default();
        settings.findings.pause_share = 1.5;
        let share = WrongSetting::NoShare { name: "pause_share", value: 1.5 };
        assert_eq!(settings.check(std::iter::empty()), Err(share));
    }
}
