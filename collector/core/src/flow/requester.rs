//! What a flow that carries requests has besides: most of the state of a flow. Half of all flows only
//! answer, and have none.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::answer::Answers;
use super::episode::WayBack;
use super::message::Messages;
use super::path_mtu::Reads;
use super::rate::RateMeter;
use super::round_trip::RoundTrips;
use super::sequence::RequestSpace;
use super::state::Flow;

/// State of a flow's requests. Fields are in memory in this order, as those of [`Flow`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[repr(C)]
pub struct Requester {
    /// Their sequence numbers.
    pub requests: RequestSpace,
    /// Created with the first READ request.
    pub(super) reads: Option<Box<Reads>>,
    /// Its rate around CNPs.
    pub rate: RateMeter,
    /// READ requests and atomics that were answered; created with the first one.
    pub answers: Option<Box<Answers>>,
    /// Times from requests to their ACKs.
    pub round_trips: RoundTrips,
    pub(super) way_back: WayBack,
    /// Messages that they make.
    pub messages: Messages,
    /// Highest acknowledged unwrapped PSN.
    pub(super) acknowledged: Option<i64>,
    /// Address and R_Key of the request with PSN 0, to recognise it.
    pub(super) zero_identity: Option<(u64, u32)>,
}

static NONE: LazyLock<Requester> = LazyLock::new(Requester::default);

impl Flow {
    /// State of its requests; that of none if it has carried none.
    #[must_use]
    pub fn requester(&self) -> &Requester {
        self.requester.as_deref().unwrap_or_else(|| &NONE)
    }

    /// State of its requests, to be changed.
    pub(super) fn requester_mut(&mut self) -> &mut Requester {
        self.requester.get_or_insert_default()
    }
}
