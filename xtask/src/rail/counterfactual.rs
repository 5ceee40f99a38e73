//! "Without this, the training step takes so long", against the same job without it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::answer::Answers;
use super::label::Label;

/// Shares by which a length is wrong.
#[derive(Debug, Default)]
struct Errors {
    /// If nothing were taken away.
    nothing: Vec<f64>,
    /// With what the tool says.
    said: Vec<f64>,
}

#[derive(Debug, Default)]
struct Class {
    jobs: usize,
    /// Single training steps that the fault made longer.
    single: Errors,
    /// The mean training step of a job.
    mean: Errors,
}

/// The table by class; a tool that names no cost is as wrong as if nothing were taken away.
pub(super) fn table(labels: &[Label], answers: &Answers) -> String {
    let mut classes: BTreeMap<&str, Class> = BTreeMap::new();
    for label in labels.iter().filter(|label| !label.iterations.is_empty()) {
        for name in ["all", label.class.as_deref().unwrap_or_default()] {
            classes.entry(name).or_default().add(label, answers);
        }
    }
    let mut text = String::from(
        "| class | jobs | longer steps | off with the fault | off after subtraction | 95th percentile | \
         mean step: off with the fault | off after subtraction | 95th percentile |\n\
         | --- | --: | --: | --: | --: | --: | --: | --: | --: |\n",
    );
    for (name, class) in &mut classes {
        let name = if *name == "all" { "all".to_owned() } else { format!("`{name}`") };
        let longer = class.single.said.len();
        let [single, mean] = [&mut class.single, &mut class.mean].map(Errors::words);
        let _ = writeln!(text, "| {name} | {} | {longer} | {single} | {mean} |", class.jobs);
    }
    text
}

impl Class {
    fn add(&mut self, label: &Label, answers: &Answers) {
        self.jobs += 1;
        let answer = answers.by_incident.get(&label.incident);
        for one in label.iterations.iter().filter(|one| one.is_longer()) {
            let costs = answer.into_iter().flat_map(|answer| &answer.iterations);
            let costs = costs.filter(|cost| cost.iteration == one.iteration);
            let cost_ns = costs.map(|cost| cost.cost_ns).fold(0, u64::saturating_add);
            self.single.add(one.ns, cost_ns, one.without_ns);
        }
        let sum = |of: fn(&super::label::Iteration) -> u64| label.iterations.iter().map(of).sum();
        let cost_ns = answer.and_then(|answer| answer.cost_ns).unwrap_or(0);
        self.mean.add(sum(|one| one.ns), cost_ns, sum(|one| one.without_ns));
    }
}

impl Errors {
    fn add(&mut self, ns: u64, cost_ns: u64, without_ns: u64) {
        let error = |ns: f64| (ns - without_ns as f64).abs() / without_ns.max(1) as f64;
        self.nothing.push(error(ns as f64));
        self.said.push(error(ns as f64 - cost_ns as f64));
    }

    /// The median if nothing were taken away, then the median and the 95th percentile of what is said.
    fn words(&mut self) -> String {
        let nothing = at(&mut self.nothing, 0.5);
        let (half, most) = (at(&mut self.said, 0.5), at(&mut self.said, 0.95));
        format!("{nothing} | {half} | {most}")
    }
}

fn at(errors: &mut [f64], share: f64) -> String {
    errors.sort_unstable_by(f64::total_cmp);
    let place = (share * errors.len() as f64) as usize;
    errors.get(place).map_or("-".to_owned(), |error| format!("{:.1} %", 100.0 * error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shares_of_the_length_without_the_fault() {
        let mut errors = Errors::default();
        // 2 ms longer than 10 ms; nothing, half and three times of that is said.
        for cost_ns in [0, 1_000_000, 6_000_000] {
            errors.add(12_000_000, cost_ns, 10_000_000);
        }
        assert_eq!(errors.words(), "20.0 % | 20.0 % | 40.0 %");
        assert_eq!(Errors::default().words(), "- | - | -");
    }
}
