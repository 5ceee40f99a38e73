//! Lists commands in groups: clap has only one heading for all of them.

use std::fmt::Write;

use clap::Command;

/// Headings, and the commands under them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Look at a capture", &["analyze", "compare", "explain", "findings", "metrics", "packets"]),
    ("Send it to others", &["scrub"]),
    ("Watch a host", &["agent", "capture", "demo", "doctor", "watch"]),
    ("Make traffic", &["drive", "simulate"]),
    ("For programs and shells", &["schema", "completions", "help"]),
];

/// Returns `command` with its commands listed in groups.
pub(super) fn grouped(mut command: Command) -> Command {
    // Adds the command `help`, which is listed too.
    command.build();
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut list = String::new();
    for (heading, names) in GROUPS {
        let mut built = names.iter().filter_map(|name| command.find_subcommand(name)).peekable();
        if built.peek().is_none() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(list, "{header}{heading}:{header:#}");
        for known in built {
            let about = known.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {literal}{:<11}{literal:#}  {about}", known.get_name());
        }
        list.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_without_commands_has_no_heading() {
        let some = Command::new("railscope").subcommand(Command::new("analyze"));
        let help = grouped(some).render_help().to_string();
        assert!(help.contains("Look at a capture:"), "{help}");
        assert!(!help.contains("Make traffic:"), "{help}");
    }
}
