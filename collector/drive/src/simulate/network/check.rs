//! Checks a plan before anything is built.

use super::id::{NicId, NodeId, PortId};
use super::packet::ROCE_PORT;
use super::plan::{BackgroundFlow, LinkPlan, NetworkPlan, NicPlan, PlanError, SwitchPlan};
use super::trouble::Trouble;

/// Largest payload of a background datagram: jumbo frames.
const MOST_PAYLOAD_BYTES: u16 = 9000;

/// Where an error belongs.
struct PlanItem {
    what: &'static str,
    place: usize,
}

impl NetworkPlan {
    /// Whether a network can be built from it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), PlanError> {
        for (place, link) in self.links.iter().enumerate() {
            self.check_link(&PlanItem { what: "link", place }, link)?;
        }
        let mut links_of = vec![0; self.nics.len()];
        for end in self.links.iter().flat_map(|link| &link.ends) {
            if let NodeId::Nic(nic) = end.node {
                links_of[nic.0 as usize] += 1;
            }
        }
        for (place, (nic, links)) in self.nics.iter().zip(links_of).enumerate() {
            check_nic(&PlanItem { what: "NIC", place }, nic)?;
            if links != 1 {
                return Err(PlanError::LinksOfNic { name: nic.name.clone(), links });
            }
        }
        for (place, switch) in self.switches.iter().enumerate() {
            check_switch(&PlanItem { what: "switch", place }, switch)?;
        }
        for (place, trouble) in self.troubles.iter().enumerate() {
            self.check_trouble(&PlanItem { what: "trouble", place }, trouble)?;
        }
        for (place, flow) in self.background.iter().enumerate() {
            self.check_flow(&PlanItem { what: "background flow", place }, flow)?;
        }
        for (place, tap) in self.taps.iter().enumerate() {
            let at = PlanItem { what: "tap", place };
            self.check_port(&at, tap.port)?;
            let is_first = self.taps[..place].iter().all(|other| other.port != tap.port);
            at.require(is_first, "another tap is at the same port")?;
        }
        Ok(())
    }

    fn check_link(&self, place: &PlanItem, link: &LinkPlan) -> Result<(), PlanError> {
        place.require(link.rate_bps > 0, "a link needs a rate")?;
        place.require(link.ends[0].node != link.ends[1].node, "a link needs two different ends")?;
        for end in &link.ends {
            match end.node {
                NodeId::Nic(nic) => self.check_nic_id(place, nic)?,
                NodeId::Switch(switch) => {
                    let exists = (switch.0 as usize) < self.switches.len();
                    place.exists(exists, || format!("switch {}", switch.0))?;
                }
            }
        }
        Ok(())
    }

    fn check_trouble(&self, place: &PlanItem, trouble: &Trouble) -> Result<(), PlanError> {
        match *trouble {
            Trouble::Loss { from, share, .. } | Trouble::Delay { from, share, .. } => {
                self.check_port(place, from)?;
                place.require((0.0..=1.0).contains(&share), "a share is from 0 to 1")
            }
            Trouble::Down { link, .. } => self.check_port(place, PortId::first(link)),
            Trouble::ClearEct { from, .. } => self.check_port(place, from),
            Trouble::RewriteDscp { from, dscp, .. } => {
                self.check_port(place, from)?;
                place.require(dscp < 64, "a DSCP is from 0 to 63")
            }
            Trouble::SlowReceive { nic, rate_bps, .. }
            | Trouble::SlowSend { nic, rate_bps, .. } => {
                self.check_nic_id(place, nic)?;
                place.require(rate_bps > 0, "it needs a rate")
            }
            Trouble::PauseStorm { nic, priority, .. } => {
                self.check_nic_id(place, nic)?;
                place.require(priority < 8, "a priority is from 0 to 7")
            }
        }
    }

    fn check_flow(&self, place: &PlanItem, flow: &BackgroundFlow) -> Result<(), PlanError> {
        self.check_nic_id(place, flow.from)?;
        self.check_nic_id(place, flow.to)?;
        place.require(flow.rate_bps > 0, "it needs a rate")?;
        place.require(flow.dscp < 64, "a DSCP is from 0 to 63")?;
        place.require(flow.udp_destination_port != ROCE_PORT, "port 4791 is RoCE's")?;
        place.require(flow.payload_bytes <= MOST_PAYLOAD_BYTES, "a payload is at most 9000 bytes")
    }

    fn check_nic_id(&self, place: &PlanItem, nic: NicId) -> Result<(), PlanError> {
        place.exists((nic.0 as usize) < self.nics.len(), || format!("NIC {}", nic.0))
    }

    fn check_port(&self, place: &PlanItem, port: PortId) -> Result<(), PlanError> {
        let link = port.link().0;
        place.exists((link as usize) < self.links.len(), || format!("link {link}"))
    }
}

fn check_nic(place: &PlanItem, nic: &NicPlan) -> Result<(), PlanError> {
    let receive = &nic.receive;
    place.require(receive.xon_bytes <= receive.xoff_bytes, "XON is above XOFF")?;
    place.require(receive.drain_bps != Some(0), "draining needs a rate")?;
    place.require(nic.cnp_dscp < 64, "a DSCP is from 0 to 63")?;
    place.require(nic.ack_every > 0, "a requester must ask for ACKs")?;
    let Some(dcqcn) = nic.dcqcn else { return Ok(()) };
    place.require(dcqcn.gain > 0.0 && dcqcn.gain < 1.0, "the gain is between 0 and 1")?;
    place.require(dcqcn.minimum_bps >= 1.0, "the lowest rate is at least 1 bit per second")?;
    place.require(dcqcn.additive_bps > 0.0, "the additive increase is above 0")?;
    place.require(dcqcn.hyper_bps > 0.0, "the hyper increase is above 0")?;
    let timers = dcqcn.alpha_timer_ns.min(dcqcn.increase_timer_ns);
    place.require(timers >= 1000, "timers are at least a microsecond")?;
    place.require(dcqcn.byte_counter > 0, "the byte counter is above 0")
}

fn check_switch(place: &PlanItem, switch: &SwitchPlan) -> Result<(), PlanError> {
    for queue in &switch.queues {
        if let Some(marking) = &queue.marking {
            place.require(marking.kmin_bytes <= marking.kmax_bytes, "Kmin is above Kmax")?;
            place.require((0.0..=1.0).contains(&marking.pmax), "Pmax is from 0 to 1")?;
        }
        if let Some(pfc) = &queue.pfc {
            place.require(pfc.xon_bytes <= pfc.xoff_bytes, "XON is above XOFF")?;
        }
    }
    Ok(())
}

impl PlanItem {
    fn require(&self, is_true: bool, problem: &'static str) -> Result<(), PlanError> {
        let &Self { what, place } = self;
        if is_true { Ok(()) } else { Err(PlanError::Value { what, place, problem }) }
    }

    fn exists(&self, is_true: bool, missing: impl FnOnce() -> String) -> Result<(), PlanError> {
        let &Self { what, place } = self;
        if is_true { Ok(()) } else { Err(PlanError::Missing { what, place, missing: missing() }) }
    }
}
