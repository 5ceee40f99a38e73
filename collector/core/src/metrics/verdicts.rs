//! Verdicts above `info` in the last report, and which of them stop a job.

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::port_names::PortNames;
use super::series::{SeriesTable, owner_attributes};
use crate::analysis::hang;
use crate::analysis::understanding::Understanding;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::subject::Heading;
use crate::analysis::verdict::{Verdict, VerdictClaim};
use crate::link::job::Identity;

/// Most verdicts exported, the costliest first: each is a series.
const MOST: usize = 16;

/// Sets one series for each verdict, and one for its cost if that is known.
pub(super) fn set(
    series: &mut SeriesTable,
    settings: &Settings,
    names: &PortNames,
    understanding: &Understanding,
) {
    let problems = understanding.verdicts.found.iter().filter(|one| one.is_problem());
    for verdict in problems.take(MOST) {
        let severity = (attribute::VERDICT_SEVERITY.name, verdict.severity.name());
        let attributes = || attributes(verdict, settings, names, understanding, Some(severity));
        series.add(&catalog::VERDICT_ACTIVE, attributes(), 1);
        if let Some(cost_ns) = verdict.cost_ns {
            series.add(&catalog::VERDICT_COST, attributes(), cost_ns);
        }
    }
    let hangs = hang::hangs(understanding).found.into_iter();
    for verdict in hangs.filter_map(|one| understanding.verdicts.found.get(one.verdict)).take(MOST)
    {
        let other = verdict.alternative.map(Class::id);
        let other = other.map(|other| (attribute::VERDICT_ALTERNATIVE.name, other));
        let attributes = attributes(verdict, settings, names, understanding, other);
        series.add(&catalog::HANG_ACTIVE, attributes, 1);
    }
}

fn attributes(
    verdict: &Verdict,
    settings: &Settings,
    names: &PortNames,
    understanding: &Understanding,
    more: Option<(&'static str, &'static str)>,
) -> Attributes {
    let subject = &verdict.subject;
    let job = understanding.state.job.as_ref();
    let communicator = subject.communicator.and_then(|id| job?.name_of(id));
    let by_profiles = || match &verdict.claim {
        VerdictClaim::LateByProfiles(late) => Some(late.hash),
        VerdictClaim::SlowByProfiles(_, hash) => Some(*hash),
        _ => None,
    };
    let communicator =
        communicator.or_else(|| Some(Identity::CommHash(by_profiles()?).to_string()));
    let owner = owner_attributes(settings, communicator.as_deref(), subject.rank, None, None);
    let known = [
        (attribute::PORT.name, subject.port.and_then(|port| names.name(port))),
        (attribute::VERDICT_DIRECTION.name, subject.heading.map(Heading::name).map(str::to_owned)),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let always = [(attribute::VERDICT.name, verdict.class.id())];
    let always = always.into_iter().chain(more).map(|(name, value)| (name, value.to_owned()));
    Attributes::new(owner.into_iter().chain(known).chain(always))
}
