//! Programs that a test needs and that a machine may lack: the test then prints that and passes, or
//! fails where everything is required (CI).

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Whether `program` can be run. If not: a line on standard error, or a panic if
/// `RAILSCOPE_REQUIRE_ALL` is 1.
#[expect(clippy::explicit_write, reason = "`eprintln!` of a passing test is not shown")]
pub fn has(test: &str, program: &str) -> bool {
    let runs = runs(program);
    if !runs {
        assert!(!requires_all(), "{test}: {program} is required and does not run");
        writeln!(std::io::stderr(), "SKIP {test}: {program} does not run on this machine").unwrap();
    }
    runs
}

/// Reports that `test` lacks `what`, or panics where everything is required.
#[expect(clippy::explicit_write, reason = "`eprintln!` of a passing test is not shown")]
pub fn lacks(test: &str, what: &str) {
    assert!(!requires_all(), "{test}: {what} is required");
    writeln!(std::io::stderr(), "SKIP {test}: this machine lacks {what}").unwrap();
}

/// Tries each program once: tshark takes a third of a second to print its version.
fn runs(program: &str) -> bool {
    static TRIED: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let mut tried = TRIED.lock().unwrap();
    *tried.entry(program.to_owned()).or_insert_with(|| {
        // iproute2 knows only the short option.
        ["--version", "-V"].into_iter().any(|option| {
            let mut version = Command::new(program);
            version.arg(option).stdout(Stdio::null()).stderr(Stdio::null());
            version.status().is_ok_and(|status| status.success())
        })
    })
}

#[expect(clippy::disallowed_methods, reason = "the suite's only switch")]
fn requires_all() -> bool {
    std::env::var("RAILSCOPE_REQUIRE_ALL").is_ok_and(|value| value == "1")
}

/// Whether this is root. If not: like [`has`].
#[expect(clippy::explicit_write, reason = "`eprintln!` of a passing test is not shown")]
pub fn root(test: &str) -> bool {
    let is_root = railscope_drive::place::user_id() == 0;
    if !is_root {
        assert!(!requires_all(), "{test}: root is required");
        writeln!(std::io::stderr(), "SKIP {test}: only root may do this").unwrap();
    }
    is_root
}

/// Whether a command succeeds. If not: like [`has`]; `what` is what it tries.
#[expect(clippy::explicit_write, reason = "`eprintln!` of a passing test is not shown")]
pub fn works(test: &str, command: &mut Command, what: &str) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let works = command.status().is_ok_and(|status| status.success());
    if !works {
        assert!(!requires_all(), "{test}: {what} is required and not available");
        writeln!(std::io::stderr(), "SKIP {test}: {what} cannot be had on this machine").unwrap();
    }
    works
}
