//! Settings that are read again while the agent runs.

use super::node::Node;
use crate::config::{Settled, Values};
use crate::live::session::Session;
use railscope_core::pipeline::Settings;

/// Keys that take effect without a restart; `[findings]` and `[expect]` as a whole.
const LIVE: [&str; 5] =
    ["expect", "findings", "prometheus.web-config", "taps.exclude", "taps.interfaces"];

/// Takes over what can change; `in_force` are the values that have effect. New settings with a mistake, also in
/// the web configuration, are refused as a whole.
pub(super) fn apply(
    read: anyhow::Result<Settled>,
    in_force: &mut Values,
    node: &mut Node,
    session: &mut Session,
    say: &mut dyn FnMut(String),
) {
    let prepared = read.and_then(|Settled { config, values }| {
        let web = node.web.read(&config.prometheus)?;
        Ok((config, values, web))
    });
    let (config, values, web) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            // One line, whose parts no limit of lines separates.
            let why = format!("{error:#}").replace('\n', "; ");
            return say(format!("settings: refused, nothing has changed: {why}"));
        }
    };
    let (live, others): (Vec<String>, Vec<String>) =
        in_force.changed(&values).into_iter().partition(|key| LIVE.contains(&key.as_str()));
    let names =
        if live.is_empty() { "no key that has effect now".to_owned() } else { live.join(", ") };
    say(format!("settings: read again; changed: {names}"));
    if !others.is_empty() {
        say(format!("settings: restart the agent for changes of {}", others.join(", ")));
    }
    session.pipeline_mut().configure(Settings { findings: config.findings.clone(), rails: None });
    node.sources.configure(&config, session, say);
    node.web.set(web, say);
    if node.recording.is_some() && live.iter().any(|key| key.starts_with("taps.")) {
        say("settings: the ring of [record] keeps its interfaces until a restart".to_owned());
    }
    in_force.adopt(&live, &values);
}
