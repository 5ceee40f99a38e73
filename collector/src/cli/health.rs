//! The counters of `health`, explained.

use std::io::{self, Write};

use super::terminal;
use crate::export::text::paragraph;
use railscope_core::model::health::event::HealthEvent;

/// Writes the counters as text.
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

What railscope missed, dropped or cannot know, counter by counter.
Printed by `railscope metrics --health --format markdown`.

The report lists these counters as `health`; the metric `railscope.health.events` has them as its \
attribute `railscope.health`. A missing counter is 0. Some are not losses: they count what was left out \
on purpose, or explain why a figure is `null`.
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
