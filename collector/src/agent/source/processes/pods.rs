//! Names of pods that the kubelet lists, where its logs are not mounted.

use crate::agent::source::beside::{Beside, Delivery};
use crate::ingest::kubelet::Kubelet;
use crate::ingest::process::PodList;
use railscope_core::model::health::event::HealthEvent;

/// Rounds of the thread from one list to the next, 10 s.
const LIST_EVERY: u32 = 40;

/// Asks the kubelet while a container has no name.
pub(super) struct PodNames {
    kubelet: Kubelet,
    list: PodList,
}

impl PodNames {
    pub(super) fn new(kubelet: Kubelet, list: PodList) -> Self {
        Self { kubelet, list }
    }
}

impl Beside for PodNames {
    fn name(&self) -> &'static str {
        "the kubelet's pods"
    }

    fn every(&self) -> u32 {
        LIST_EVERY
    }

    fn read(&mut self, is_last: bool, deliver: &mut dyn FnMut(Delivery)) -> anyhow::Result<()> {
        if is_last || !self.list.is_wanted() {
            return Ok(());
        }
        match self.kubelet.pods() {
            Ok(pods) => self.list.set(pods),
            Err(error) => {
                deliver(Box::new(|pipeline, _| {
                    pipeline.add_health(HealthEvent::PodsUnreadLists, 1);
                }));
                return Err(error.into());
            }
        }
        Ok(())
    }
}
