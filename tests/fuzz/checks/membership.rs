//! What `/proc` says of a process: any bytes. Parts between bytes 0xff are its control groups, its
//! environment and its `stat`.

use railscope::ingest::process::cgroup::Membership;
use railscope::ingest::process::{environment, stat};
use railscope_core::model::process::SlurmTask;

/// Panics if an invariant does not hold.
pub fn check(bytes: &[u8]) {
    let mut parts = bytes.split(|byte| *byte == 0xff);
    let [cgroup, variables, line] = [(); 3].map(|()| parts.next().unwrap_or_default());
    check_cgroup(&String::from_utf8_lossy(cgroup));
    if let Some(task) = environment::slurm_task(variables) {
        check_task(&task);
    }
    let line = String::from_utf8_lossy(line);
    if let Some((name, start)) = stat::read(&line) {
        assert!(line.contains(&format!("({name})")) && line.contains(&start.to_string()));
    }
    if stat::is_alive(&line) {
        assert!(line.contains(')'), "{line:?}");
    }
}

fn check_cgroup(text: &str) {
    let lines = format!("{text}\n");
    let found = Membership::parse(&lines);
    assert_eq!(Membership::parse(&lines.repeat(2)), found, "the same groups twice");
    if let Some(container) = &found.container {
        let id = &container.id;
        let is_id = id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        assert!(is_id && id.len() == 64 && text.contains(id), "{id:?}");
    }
    if let Some(uid) = &found.pod {
        assert!(uid.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()), "{uid:?}");
        assert!(matches!(uid.len(), 32 | 36), "{uid:?}");
        assert!(text.replace('_', "-").contains(uid), "{uid:?}");
    }
    if let Some(task) = &found.slurm {
        check_task(task);
        assert!(task.task.is_none() && task.name.is_none() && task.array.is_none());
    }
}

/// Whoever starts a process names its control groups and variables: what is taken over is short.
fn check_task(task: &SlurmTask) {
    if let Some(text) = &task.slurm_step {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
        assert!(is_plain && (1..=32).contains(&text.len()), "{text:?}");
    }
    assert!(task.name.as_ref().is_none_or(|name| name.chars().count() <= 128));
}
