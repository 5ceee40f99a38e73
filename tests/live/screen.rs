//! The screen of `watch`, character by character, from recorded jobs.

use std::path::{Path, PathBuf};

use railscope::export::screen::{Key, Screen, draw};
use railscope_core::report::Report;
use railscope_core::report::late_ranks::LateRankReport;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::recorded::{captures, report};
use crate::support::recording::Recording;

/// The smallest terminal that shows everything that matters.
const SMALL: (u16, u16) = (80, 24);

fn shown_at(screen: &mut Screen, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(screen, frame)).unwrap();
    let text = terminal.backend().to_string();
    let line = |line: &str| line.trim_matches('"').trim_end().to_owned();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn shown(screen: &mut Screen) -> String {
    shown_at(screen, SMALL)
}

fn check_at(name: &str, screen: &mut Screen, size: (u16, u16)) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("watch_{name}"), shown_at(screen, size)));
}

fn check(name: &str, screen: &mut Screen) {
    check_at(name, screen, SMALL);
}

fn screen_of(report: Report) -> Screen {
    let mut screen = Screen::new();
    screen.set_report(Box::new(report));
    screen
}

fn job(name: &str) -> Report {
    report(&captures(&Recording::unpack(name)))
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name)
}

#[test]
fn the_overview_names_late_rank_host_cause_and_verdict() {
    let mut screen = screen_of(job("loss1pct-2.27.5"));
    let text = shown(&mut screen);
    for expected in ["192.168.50.2", "fabric: packet loss", "proven", "packets are lost on the way"]
    {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
    check("overview_loss", &mut screen);
    let docs = include_str!("../../docs/reading-the-screen.md");
    assert!(docs.contains(&text), "docs/reading-the-screen.md shows another overview:\n{text}");
    check_at("overview_loss_100x30", &mut screen, (100, 30));
    check_at("overview_loss_160x50", &mut screen, (160, 50));
}

#[test]
fn the_overview_of_a_healthy_job() {
    check("overview_healthy", &mut screen_of(job("async-clean-2.27.5")));
}

#[test]
fn the_overview_without_nccl_says_what_is_unknown() {
    check("overview_no_nccl", &mut screen_of(report(&[fixture("loss1_send_bw_post.pcap.gz")])));
}

#[test]
fn what_does_not_fit_is_counted() {
    let mut report = job("loss1pct-2.27.5");
    let worst = report.verdicts[0].clone();
    for rank in 3..14 {
        let mut verdict = worst.clone();
        verdict.title = verdict.title.replace("rank 2", &format!("rank {rank}"));
        report.verdicts.insert(1, verdict);
    }
    let late = report.late_ranks[0].clone();
    report.late_ranks.extend((4..7).map(|rank| LateRankReport { rank, ..late.clone() }));
    let mut screen = screen_of(report);
    check("overview_long", &mut screen);
    // The chosen verdict stays in view, and opens.
    screen.press(Key::End);
    let text = shown(&mut screen);
    assert!(text.contains("(rank 3)"), "{text}");
    screen.press(Key::Home);
    screen.press(Key::Enter);
    check("verdict_page", &mut screen);
    screen.press(Key::Escape);
    screen.press(Key::Char('7'));
    check("findings_long", &mut screen);
}

#[test]
fn a_page_has_what_a_table_cuts() {
    let mut screen = screen_of(job("loss1pct-2.27.5"));
    screen.press(Key::Char('2'));
    let table = shown(&mut screen);
    assert!(!table.contains("RETRANS") && table.contains("+1 column"), "{table}");
    screen.press(Key::Enter);
    let page = shown(&mut screen);
    assert!(page.contains("RETRANS: 75"), "{page}");
    check("step_page", &mut screen);
    // A page scrolls, closes, and stays as it was when a newer report comes.
    let small = (80, 8);
    let top = shown_at(&mut screen, small);
    assert!(top.contains("press down"), "{top}");
    screen.press(Key::End);
    let end = shown_at(&mut screen, small);
    assert!(!end.contains("press down") && end.contains("RETRANS: 75"), "{end}");
    screen.press(Key::Home);
    screen.set_report(Box::new(job("ranks2-2.27.5")));
    assert_eq!(shown_at(&mut screen, small).lines().nth(3), top.lines().nth(3));
}

#[test]
fn each_table_of_a_job_with_a_straggler() {
    let mut screen = screen_of(job("straggler-2.27.5"));
    for (key, name) in
        [('2', "steps"), ('3', "ranks"), ('4', "qps"), ('5', "bursts"), ('7', "findings")]
    {
        screen.press(Key::Char(key));
        check(name, &mut screen);
    }
}

#[test]
fn marks() {
    let mut screen = screen_of(job("ce-2.27.5"));
    screen.press(Key::Char('6'));
    check("signals", &mut screen);
}

#[test]
fn keys_sort_filter_freeze_and_help() {
    let mut screen = screen_of(job("loss1pct-2.27.5"));
    screen.press(Key::Char('2'));
    let before = shown(&mut screen);
    screen.press(Key::Char('?'));
    check("help", &mut screen);
    screen.press(Key::Escape);
    assert_eq!(shown(&mut screen), before);

    screen.press(Key::Char('/'));
    "rank 1".chars().for_each(|c| screen.press(Key::Char(c)));
    screen.press(Key::Enter);
    screen.press(Key::Char('>'));
    screen.press(Key::Char('>'));
    check("sorted", &mut screen);
    screen.press(Key::Escape);
    assert_eq!(shown(&mut screen), before);

    // A frozen screen does not change when a newer report comes.
    screen.press(Key::Char(' '));
    let frozen = shown(&mut screen);
    assert!(frozen.contains("FROZEN"));
    screen.set_report(Box::new(job("ranks2-2.27.5")));
    assert_eq!(shown(&mut screen), frozen);
    screen.press(Key::Char(' '));
    assert_ne!(shown(&mut screen), before);

    assert!(!screen.is_over());
    screen.press(Key::Char('q'));
    assert!(screen.is_over());
}

#[test]
fn long_messages_are_wrapped() {
    let mut screen = Screen::new();
    screen.say(&"RDMA by a NIC bypasses the kernel. ".repeat(4));
    let text = shown(&mut screen);
    assert_eq!(text.matches("bypasses").count(), 4, "{text}");
}

#[test]
fn an_introduction_goes_with_the_first_report_and_a_message_stays() {
    let mut screen = Screen::new();
    screen.introduce("following job.pcap");
    assert!(shown(&mut screen).contains("following job.pcap"));
    screen.set_report(Box::new(job("ranks2-2.27.5")));
    assert!(!shown(&mut screen).contains("following job.pcap"));
    screen.say("the input has ended");
    screen.set_report(Box::new(job("ranks2-2.27.5")));
    assert!(shown(&mut screen).contains("the input has ended"));
}

#[test]
fn nothing_breaks_before_the_first_report_or_at_any_size() {
    let mut screen = Screen::new();
    assert!(shown(&mut screen).contains("Waiting for packets"));
    for key in [Key::Down, Key::End, Key::Left, Key::Enter, Key::Char('r'), Key::Char(' ')] {
        screen.press(key);
    }
    screen.set_report(Box::new(job("ranks2-2.27.5")));
    for size in [(1, 1), (20, 3), (20, 5), (80, 24), (300, 100)] {
        for _ in 0..7 {
            for key in [Key::Tab, Key::End, Key::Enter, Key::End, Key::Char('?'), Key::Escape] {
                screen.press(key);
                shown_at(&mut screen, size);
            }
            screen.press(Key::Escape);
        }
    }
}
