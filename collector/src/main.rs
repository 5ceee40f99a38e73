//! The `railscope` program; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    railscope::cli::main()
}
