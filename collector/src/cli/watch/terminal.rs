//! The view on a terminal, which is put back as it was however this ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::hangup::is_hung_up;
use super::keyboard::Keyboard;
use super::watched::Watched;
use crate::export::screen::{Key, Screen, draw};

/// How long frames are waited for before keys are looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Shows what is watched until the user or a signal ends it, or the terminal is gone. What the source
/// has ended with stays to be looked at.
pub(super) fn run(watched: Watched, is_over: &AtomicBool) -> anyhow::Result<()> {
    // It also sees to it that a panic leaves a usable terminal.
    let mut terminal = ratatui::try_init().context("use the terminal")?;
    let result = show(watched, is_over, &mut terminal);
    if is_hung_up(io::stdout()) {
        // It would complain of the terminal on the terminal, and panic.
        std::mem::forget(terminal);
        return Ok(());
    }
    ratatui::try_restore().context("restore the terminal")?;
    result
}

fn show(
    mut watched: Watched,
    is_over: &AtomicBool,
    terminal: &mut DefaultTerminal,
) -> anyhow::Result<()> {
    let keyboard = Keyboard::start().context("read the terminal")?;
    let mut screen = Screen::new();
    let mut has_changed = true;
    let mut is_ended = false;
    while !screen.is_over() && !is_over.load(Ordering::Relaxed) && !is_hung_up(io::stdout()) {
        if has_changed {
            terminal.draw(|frame| draw(&mut screen, frame)).context("write to the terminal")?;
        }
        has_changed = false;
        let patience = if is_ended { PATIENCE } else { Duration::ZERO };
        if !is_ended {
            if let Some(report) = watched.poll(PATIENCE)? {
                screen.set_report(report);
                has_changed = true;
            }
            if watched.is_over() {
                is_ended = true;
                screen.set_report(Box::new(watched.last_report()));
                screen.say("the input has ended");
                has_changed = true;
            }
            for saying in watched.take_sayings() {
                screen.say(&saying);
                has_changed = true;
            }
        }
        has_changed |= press_keys(&keyboard, &mut screen, patience).context("read the terminal")?;
    }
    Ok(())
}

/// Hands on what was typed; whether anything has to be drawn.
fn press_keys(keyboard: &Keyboard, screen: &mut Screen, patience: Duration) -> io::Result<bool> {
    let mut has_changed = false;
    let mut patience = patience;
    while !screen.is_over()
        && let Some(event) = keyboard.next(patience)?
    {
        patience = Duration::ZERO;
        match event {
            Event::Resize(..) => has_changed = true,
            Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                if let Some(key) = key(pressed) {
                    screen.press(key);
                    has_changed = true;
                }
            }
            _ => {}
        }
    }
    Ok(has_changed)
}

/// In raw mode Ctrl-C is a key like others.
fn key(pressed: KeyEvent) -> Option<Key> {
    let is_control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    Some(match pressed.code {
        KeyCode::Char('c' | 'd') if is_control => Key::Quit,
        KeyCode::Char(_) if is_control => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
