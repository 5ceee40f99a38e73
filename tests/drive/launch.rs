//! Places of a job, and its start and end: shell scripts stand in for ranks.

use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use railscope_drive::launch::{Audience, Event, Message, Outcome, Ranks, supervise};
use railscope_drive::place::{self, Kind, RankPlace};

use crate::support::require;

/// Messages of ranks, with the rank, and complaints.
#[derive(Default)]
struct Heard(Vec<(u32, Message)>, Vec<String>);

impl Audience for Heard {
    fn hear(&mut self, rank: u32, message: Message) -> railscope_drive::Result<()> {
        self.0.push((rank, message));
        Ok(())
    }

    fn note(&mut self, text: &str) {
        self.1.push(text.to_owned());
    }
}

fn places(kind: Kind, ranks: u32) -> Vec<RankPlace> {
    place::make(Some(kind), None, ranks).unwrap().ranks
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Runs `scripts` as ranks; returns how the job ended, what was heard and how long it took.
fn play(
    scripts: &[&str],
    (to, events): &(Sender<Event>, Receiver<Event>),
) -> (Outcome, Heard, Duration) {
    let places = places(Kind::Loopback, u32::try_from(scripts.len()).unwrap());
    let commands = scripts.iter().map(|script| shell(script));
    let ranks = (0..).zip(places).zip(commands).map(|((rank, place), run)| (rank, place, run));
    let mut heard = Heard::default();
    let began = now();
    let outcome = supervise(Ranks::start(ranks, to), events, &mut heard).unwrap();
    (outcome, heard, began.elapsed())
}

#[expect(clippy::disallowed_methods, reason = "measures how long a job takes to end")]
fn now() -> Instant {
    Instant::now()
}

const DONE: &str = r#"echo '"finished"'"#;

#[test]
fn ranks_that_are_done_end_a_job() {
    let talk = format!(r#"echo '{{"progress":{{"done":1,"total":2}}}}'; {DONE}"#);
    let (outcome, heard, _) = play(&[&talk, DONE, DONE], &channel());
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(heard.0, [(0, Message::Progress { done: 1, total: 2 })]);
}

#[test]
fn one_bad_end_ends_all_within_a_second() {
    let waits = "exec sleep 60";
    let loses = r#"sleep 0.1; echo '{"failed":{"text":"rank 2 went away","is_consequence":true}}'"#;
    let cases = [
        ("kill -9 $$", "rank 2 was killed by SIGKILL"),
        ("sleep 0.15; exit 3", "rank 2 ended with exit code 3"),
        (
            "echo \"thread 'main' panicked at x.rs:1\nno memory\nnote: hint\" >&2; exit 101",
            "rank 2 ended with exit code 101: no memory",
        ),
        (
            r#"echo '{"failed":{"text":"no adapter","is_consequence":false}}'; exit 2"#,
            "rank 2 gave up: no adapter",
        ),
        ("exit 0", "rank 2 ended with exit code 0"),
    ];
    for (script, said) in cases {
        let (outcome, _, took) = play(&[waits, loses, script], &channel());
        assert_eq!(outcome, Outcome::Failed(said.to_owned()));
        assert!(took < Duration::from_secs(1), "{script}: {took:?}");
    }
}

#[test]
fn an_interrupt_ends_all_ranks_and_keeps_their_output() {
    let talk = r#"echo '{"progress":{"done":1,"total":2}}'; exec sleep 60"#;
    let pipe = channel();
    let to = pipe.0.clone();
    let interrupts = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        to.send(Event::Interrupted).unwrap();
    });
    let (outcome, heard, took) = play(&[talk, talk], &pipe);
    interrupts.join().unwrap();
    assert_eq!(outcome, Outcome::Interrupted);
    assert_eq!(heard.0.len(), 2);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let places = places(Kind::Loopback, 1);
    let (to, events) = channel();
    let ranks = places.into_iter().map(|place| (0, place, Command::new("no-such-program")));
    let outcome = supervise(Ranks::start(ranks, &to), &events, &mut Heard::default()).unwrap();
    let Outcome::Failed(said) = outcome else { panic!("{outcome:?}") };
    assert!(said.contains("rank 0 could not be started: start no-such-program"), "{said}");
}

/// Ranks in namespaces reach each other and see the addresses that their place lists.
#[test]
fn namespaces_are_a_network() {
    let test = "namespaces_are_a_network";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    // Namespaces belong to threads: the fabric ends with this one.
    let places = places(Kind::Namespaces, 3);
    assert_eq!(places[2].address.to_string(), "10.0.0.3");
    assert_eq!(places[2].port, "rank2");
    let script = format!(
        "ip -br addr show dev eth0 >&2; ip route get 10.0.0.3 >&2; \
         for i in 1 2 3; do python3 -c 'import socket; s=socket.create_connection((\"10.0.0.1\",7000),5)' && break; sleep 0.1; done; {DONE}"
    );
    let listen = format!(
        "python3 -c 'import socket; s=socket.create_server((\"10.0.0.1\",7000)); s.settimeout(5); s.accept(); s.accept()' && {DONE}"
    );
    let scripts = [listen.as_str(), &script, &script];
    let (to, events) = channel();
    let ranks =
        (0..).zip(places).zip(scripts).map(|((rank, place), run)| (rank, place, shell(run)));
    let mut heard = Heard::default();
    let outcome = supervise(Ranks::start(ranks, &to), &events, &mut heard).unwrap();
    assert_eq!(outcome, Outcome::Done, "{:?}", heard.1);
    let address = heard.1.iter().find(|line| line.starts_with("rank 1: eth0")).unwrap();
    assert!(address.contains("UP") && address.contains("10.0.0.2/24"), "{address}");
    assert!(!address.contains("fe80"), "IPv6 would add traffic: {address}");
}
