//! One build, measured.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use anyhow::Result;
use serde::Deserialize;

use super::workplace::Workplace;
use crate::bench::process;

/// The cost of a build, and its output.
pub(super) struct Build {
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    /// Compilations, and build scripts that ran.
    pub(super) units: usize,
    /// Size of the last program that cargo named; 0 if it named none.
    pub(super) program_bytes: u64,
}

/// A message of cargo: <https://doc.rust-lang.org/cargo/reference/external-tools.html>.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact {
        fresh: bool,
        executable: Option<String>,
    },
    BuildScriptExecuted,
    #[serde(other)]
    Other,
}

/// Runs cargo to the end of the program or test that it starts.
pub(super) fn measure(workplace: &Workplace, command: &str, arguments: &[&str]) -> Result<Build> {
    let mut cargo = workplace.cargo(command);
    cargo.args(["--quiet", "--offline", "--locked"]);
    cargo.args(["--message-format", "json-render-diagnostics"]).args(arguments);
    cargo.stdout(Stdio::piped());
    let mut output = Vec::new();
    let cost = process::measure(cargo, |child| {
        let Some(stdout) = &mut child.stdout else { return Ok(()) };
        stdout.read_to_end(&mut output).map(|_| ())
    })?;
    let (units, program) = made(&String::from_utf8_lossy(&output));
    let program_bytes =
        program.and_then(|path| fs::metadata(path).ok()).map_or(0, |file| file.len());
    Ok(Build { seconds: cost.seconds, cpu_seconds: cost.cpu_seconds, units, program_bytes })
}

/// Units of a build, and its program, from what cargo printed before the program's own output.
fn made(output: &str) -> (usize, Option<String>) {
    let (mut compiled, mut scripts, mut program) = (0, 0, None);
    for line in output.lines() {
        match serde_json::from_str(line) {
            Ok(Message::CompilerArtifact { fresh, executable }) => {
                compiled += usize::from(!fresh);
                program = executable.or(program);
            }
            Ok(Message::BuildScriptExecuted) => scripts += 1,
            Ok(Message::Other) | Err(_) => {}
        }
    }
    (compiled + scripts, program)
}

#[cfg(test)]
mod tests {
    use super::made;

    #[test]
    fn units_and_program_are_read_from_messages() {
        let output = r#"{"reason":"compiler-artifact","fresh":false,"executable":null}
{"reason":"build-script-executed","out_dir":"out"}
{"reason":"compiler-artifact","fresh":true,"executable":null}
{"reason":"compiler-artifact","fresh":false,"executable":"target/release/program"}
{"reason":"build-finished","success":true}
what the program says
"#;
        assert_eq!(made(output), (3, Some("target/release/program".to_owned())));
    }
}
