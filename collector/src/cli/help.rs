//! Commands in groups: clap has one heading for all of them.

use std::fmt::Write;

use clap::Command;

/// Headings, and the commands under them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Look at a capture", &["analyze", "explain", "findings", "metrics", "packets"]),
    ("Watch a host", &["agent", "watch"]),
    ("Make traffic", &["drive", "simulate", "demo"]),
    ("For programs and shells", &["schema", "completions", "help"]),
];

/// Lets `command` list its commands in groups.
pub(super) fn grouped(mut command: Command) -> Command {
    // Before, there is no command `help`.
    command.build();
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut list = String::new();
    for (heading, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(list, "{header}{heading}:{header:#}");
        for known in names.iter().filter_map(|name| command.find_subcommand(name)) {
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
