//! The screen of `watch`, character by character, on a recorded job.

use railscope::export::screen::{Key, Screen, draw};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::recorded::{captures, report};
use crate::support::recording::Recording;

/// The screen on a terminal of 100 columns.
fn shown(screen: &mut Screen) -> String {
    let mut terminal = Terminal::new(TestBackend::new(100, 24)).unwrap();
    terminal.draw(|frame| draw(screen, frame)).unwrap();
    let text = terminal.backend().to_string();
    let line = |line: &str| line.trim_matches('"').trim_end().to_owned();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn check(name: &str, screen: &mut Screen) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("watch_{name}"), shown(screen)));
}

fn screen(job: &str) -> Screen {
    let recording = Recording::unpack(job);
    let mut screen = Screen::new();
    screen.set_report(Box::new(report(&captures(&recording))));
    screen
}

#[test]
fn each_table_of_a_job_with_a_straggler() {
    let mut screen = screen("straggler-2.27.5");
    for (key, name) in
        [('1', "steps"), ('2', "ranks"), ('3', "qps"), ('4', "bursts"), ('6', "findings")]
    {
        screen.press(Key::Char(key));
        check(name, &mut screen);
    }
}

#[test]
fn marks() {
    let mut screen = screen("ce-2.27.5");
    screen.press(Key::Char('5'));
    check("signals", &mut screen);
}

#[test]
fn keys_sort_filter_freeze_and_help() {
    let mut screen = screen("loss1pct-2.27.5");
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

    // A frozen screen does not change when a newer report arrives.
    screen.press(Key::Char(' '));
    let frozen = shown(&mut screen);
    assert!(frozen.contains("FROZEN"));
    let other = Recording::unpack("ranks2-2.27.5");
    screen.set_report(Box::new(report(&captures(&other))));
    assert_eq!(shown(&mut screen), frozen);
    screen.press(Key::Char(' '));
    assert_ne!(shown(&mut screen), before);

    assert!(!screen.is_over());
    screen.press(Key::Char('q'));
    assert!(screen.is_over());
}

#[test]
fn nothing_breaks_before_the_first_report_or_in_no_room() {
    let mut screen = Screen::new();
    assert!(shown(&mut screen).contains("waiting for packets"));
    for key in [Key::Down, Key::End, Key::Left, Key::Char('r'), Key::Char(' '), Key::Tab] {
        screen.press(key);
    }
    screen.set_report(Box::new(report(&captures(&Recording::unpack("ranks2-2.27.5")))));
    for (width, height) in [(1, 1), (20, 3), (300, 80)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        for _ in 0..6 {
            screen.press(Key::Tab);
            screen.press(Key::End);
            terminal.draw(|frame| draw(&mut screen, frame)).unwrap();
        }
    }
}
