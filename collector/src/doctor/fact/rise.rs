//! Counters of errors that rise while the node is examined: what counts since boot does not say when.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::doctor::tree::{Known, Missing, Tree};
use crate::ingest::counter::ethtool::Ethtool;
use crate::ingest::counter::{CounterConfig, CounterSource};
use railscope_core::decode::counter::measure::Measure;
use railscope_core::decode::counter::reading::Reading;
use railscope_core::model::time::Timestamp;

/// A counter of errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rise {
    /// The NIC: `mlx5_0`.
    pub device: String,
    /// The driver's name of the counter.
    pub counter: String,
    /// What it measures.
    pub measure: Measure,
    /// Its value, since boot.
    pub total: u64,
    /// How much it rose while it was watched.
    pub rose: u64,
}

/// What means trouble wherever it rises, and traffic or not.
const ERRORS: &[Measure] = &[
    Measure::CnpIgnored,
    Measure::ImpliedNaks,
    Measure::SequenceErrors,
    Measure::AckTimeouts,
    Measure::RnrNaks,
    Measure::OutOfBuffer,
    Measure::IcrcErrors,
    Measure::Discards,
    Measure::StormWarnings,
    Measure::StormErrors,
    Measure::RetransmittedPackets,
    Measure::LinkDown,
    Measure::SymbolErrors,
    Measure::PcieStalls,
];

type Values = BTreeMap<(String, String), (Measure, u64)>;

/// The first reading.
#[derive(Debug)]
pub(super) struct Watch {
    values: Values,
    began: Instant,
    lasts: Duration,
}

impl Watch {
    /// Reads counters, to read them again after `lasts`.
    ///
    /// # Errors
    ///
    /// Below another root, and where statistics cannot be asked for.
    #[expect(clippy::disallowed_methods, reason = "counters are watched for a time")]
    pub(super) fn begin(tree: &Tree, lasts: Duration) -> Known<Self> {
        tree.of_running_system("counters that rise")?;
        Ok(Self { values: read(tree)?, began: Instant::now(), lasts })
    }

    /// Waits until the time is over, and reads them again.
    pub(super) fn end(self, tree: &Tree) -> Known<Vec<Rise>> {
        std::thread::sleep(self.lasts.saturating_sub(self.began.elapsed()));
        let rise = read(tree)?.into_iter().map(|((device, counter), (measure, total))| {
            let before = self.values.get(&(device.clone(), counter.clone()));
            let rose = before.map_or(0, |(_, before)| total.saturating_sub(*before));
            Rise { device, counter, measure, total, rose }
        });
        Ok(rise.collect())
    }
}

fn read(tree: &Tree) -> Known<Values> {
    let ethtool =
        Ethtool::open().map_err(|error| Missing::of_error("a socket for ethtool", &error))?;
    let config = CounterConfig {
        sysfs: tree.path("/sys"),
        host: String::new(),
        interval: Duration::ZERO,
        excluded: Vec::new(),
        wants: |driver, name| measure(driver, name).is_some(),
    };
    let mut values = Values::new();
    // Devices that are absent are the matter of another check.
    let _ =
        CounterSource::new(config, ethtool).read(&mut || Timestamp::from_nanos(0), &mut |sample| {
            let device = sample.place.device.as_deref().unwrap_or_default();
            for (name, value) in &sample.values {
                if let Some(measure) = measure(sample.driver.as_deref(), name) {
                    values.insert((device.to_owned(), name.to_string()), (measure, *value));
                }
            }
        });
    Ok(values)
}

fn measure(driver: Option<&str>, name: &str) -> Option<Measure> {
    let measure = Reading::from_name(driver, name)?.measure;
    ERRORS.contains(&measure).then_some(measure)
}
