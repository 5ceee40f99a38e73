//! The settings: any bytes. Parts between bytes 0xff are the file, the file as it is read again, and a value
//! of every variable.

use std::time::Duration;

use railscope::config::environment::overrides;
use railscope::config::reader::{Location, Override};
use railscope::config::{Config, Settled};
use railscope_core::analysis::finding::catalog;

/// Panics if an invariant does not hold.
pub fn check(bytes: &[u8]) {
    let mut parts = bytes.split(|byte| *byte == 0xff).map(String::from_utf8_lossy);
    let [file, again, variable] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let given = overrides(|_| Some(variable.to_string()));
    for given in [&[][..], &given] {
        let (first, second) = (settle(&file, given), settle(&again, given));
        if let (Some(mut first), Some(second)) = (first, second) {
            check_reload(&mut first, &second);
        }
    }
}

/// The settings of a file, the same each time; `None` for one with mistakes, each of which has its place.
fn settle(text: &str, given: &[Override]) -> Option<Settled> {
    let read = || Config::settle(text, given, catalog::names());
    match (read(), read()) {
        (Ok(settled), Ok(again)) => {
            assert_eq!(settled.config, again.config);
            assert!(settled.values.changed(&again.values).is_empty());
            check_ranges(&settled.config);
            Some(settled)
        }
        (Err(problems), Err(again)) => {
            assert_eq!(problems, again);
            assert!(!problems.0.is_empty());
            let lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count();
            for problem in &problems.0 {
                assert!(!problem.message.is_empty());
                let is_there = match &problem.place {
                    Location::Line(line) => (1..=lines).contains(line),
                    Location::Given(name) => given.iter().any(|one| one.name == *name),
                };
                assert!(is_there, "{problem:?}");
            }
            None
        }
        _ => panic!("the text decides"),
    }
}

fn check_ranges(config: &Config) {
    let second = Duration::from_secs(1);
    assert!((second..=86_400 * second).contains(&config.window.length));
    assert!((1_000..=100_000_000).contains(&config.window.messages));
    assert!((second / 10..=3_600 * second).contains(&config.otlp.interval));
    assert!((65_536..=16 << 30).contains(&config.otlp.queue.as_u64()));
    assert!((0.0..=1.0).contains(&config.otlp.sampling));
    let host = &config.host;
    assert!([&host.proc, &host.sysfs, &host.logs].iter().all(|path| path.is_absolute()));
    assert!(host.name.as_ref().is_none_or(|name| !name.is_empty()));
}

/// Keys that are taken over no longer differ.
fn check_reload(in_force: &mut Settled, new: &Settled) {
    let changed = in_force.values.changed(&new.values);
    if in_force.config != new.config {
        assert!(!changed.is_empty(), "a change has its key");
    }
    for taken in 0..changed.len() {
        in_force.values.adopt(&changed[taken..=taken], &new.values);
        assert_eq!(in_force.values.changed(&new.values), &changed[taken + 1..]);
    }
}
