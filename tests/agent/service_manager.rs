//! `Type=notify` with a watchdog: what systemd receives from an agent that it starts.

use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::railscope::PROGRAM;

/// Messages until `is_last`, each of which must come within ten seconds.
fn messages(
    socket: &UnixDatagram,
    mut is_last: impl FnMut(&str) -> bool,
) -> Vec<(Instant, String)> {
    let mut all = Vec::new();
    loop {
        let mut message = [0; 4096];
        let length = socket.recv(&mut message).expect("the agent sends a message within 10 s");
        let message = String::from_utf8(message[..length].to_vec()).unwrap();
        let is_last = is_last(&message);
        all.push((now(), message));
        if is_last {
            return all;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the watchdog's limit is in real time")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn the_service_manager_learns_that_the_agent_is_ready_alive_and_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut agent = Command::new(PROGRAM);
    agent.args(["agent", "--set", "prometheus.listen=\"127.0.0.1:0\""]);
    for source in ["packets", "counters", "calls", "processes"] {
        agent.args(["--set", &format!("sources.{source}=false")]);
    }
    let mut agent = agent
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "1000000")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();

    let (_, first) = messages(&socket, |_| true).remove(0);
    let mut lines = first.lines();
    assert_eq!(lines.next(), Some("READY=1"));
    let status = lines.next().unwrap();
    assert!(status.starts_with("STATUS=metrics: http://127.0.0.1:"), "{status}");

    // Signs of life come twice in the limit of one second; the agent's round takes up to 0.1 s.
    let mut signs = 0;
    let signs = messages(&socket, |message| {
        assert_eq!(message.trim_end(), "WATCHDOG=1");
        signs += 1;
        signs == 4
    });
    for pair in signs.windows(2) {
        let gap = pair[1].0 - pair[0].0;
        assert!(gap > Duration::from_millis(400) && gap < Duration::from_secs(1), "{gap:?}");
    }

    kill(Pid::from_raw(i32::try_from(agent.id()).unwrap()), Signal::SIGTERM).unwrap();
    messages(&socket, |message| message.trim_end() == "STOPPING=1");
    assert!(agent.wait().unwrap().success());
}
