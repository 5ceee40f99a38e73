//! The counters of `health`, explained.

use std::io::{self, Write};

use super::terminal;
use crate::export::text::paragraph;
use railscope_core::model::health::event::HealthEvent;

/// Writes them for people.
pub(super) fn write_text(out: &mut impl Write) -> io::Result<()> {
    let width = terminal::width();
    for (at, event) in by_name().iter().enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        writeln!(out, "{gap}{}", event.name())?;
        writeln!(out, "{}", paragraph(event.about(), width))?;
    }
    Ok(())
}

const INTRODUCTION: &str = "\
# Health

What railscope did not see, did not keep or cannot know, counter by counter.
Printed by `railscope metrics --health --format markdown`.

The report has them as `health`, the metric `railscope.health.events` as its attribute \
`railscope.health`. A counter that is not there is 0. Some are no loss: what was left out or forgotten \
on purpose, and what explains why a figure is `null`.
";

/// Writes the page of documentation.
pub(super) fn write_markdown(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{INTRODUCTION}")?;
    writeln!(out, "| counter | what it means |")?;
    writeln!(out, "|---|---|")?;
    for event in by_name() {
        writeln!(out, "| `{}` | {} |", event.name(), event.about())?;
    }
    Ok(())
}

fn by_name() -> Vec<HealthEvent> {
    let mut all = HealthEvent::ALL.to_vec();
    all.sort_unstable_by_key(|event| event.name());
    all
}
