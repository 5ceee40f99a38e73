//! The view on a terminal, which is restored however this ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::args::WatchArgs;
use super::hangup::is_hung_up;
use super::keyboard::Keyboard;
use super::silence::Silence;
use crate::export::screen::{Key, Screen, draw};
use crate::live::runner::{Observer, Runner};
use crate::live::session::Session;
use railscope_core::pipeline::Analysed;

/// Longest wait for frames before reading keys.
const PATIENCE: Duration = Duration::from_millis(50);

/// Shows the view until the user or a signal ends it, or the terminal is gone. After the end of the
/// source, the last state stays visible.
pub(super) fn run(session: Session, args: &WatchArgs, is_over: &AtomicBool) -> anyhow::Result<()> {
    // It also restores the terminal after a panic.
    let mut terminal = ratatui::try_init().context("use the terminal")?;
    let result = show(session, args, is_over, &mut terminal);
    if is_hung_up(io::stdout()) {
        // Restoring would fail, print that to the missing terminal, and panic.
        std::mem::forget(terminal);
        return Ok(());
    }
    ratatui::try_restore().context("restore the terminal")?;
    result
}

fn show(
    session: Session,
    args: &WatchArgs,
    is_over: &AtomicBool,
    terminal: &mut DefaultTerminal,
) -> anyhow::Result<()> {
    let keyboard = Keyboard::start().context("read the terminal")?;
    let (screen, silence) = (Screen::new(), Silence::begin());
    let mut view = View { terminal, keyboard, screen, silence, is_over, has_changed: true };
    view.screen.introduce(&session.completeness().join("; "));
    view.draw()?;
    let mut runner = Runner::new(session, args.pace(PATIENCE))?;
    runner.run(&mut view)?;
    if !view.is_left() {
        view.screen.set_report(Box::new(runner.analyse().report));
        view.say("the input has ended".to_owned());
    }
    while !view.is_left() {
        view.draw()?;
        view.press_keys(PATIENCE)?;
    }
    Ok(())
}

/// The screen on the terminal, and the keyboard before it.
struct View<'a> {
    terminal: &'a mut DefaultTerminal,
    keyboard: Keyboard,
    screen: Screen,
    silence: Silence,
    is_over: &'a AtomicBool,
    /// The screen must be redrawn.
    has_changed: bool,
}

impl Observer for View<'_> {
    fn is_over(&self, session: &Session) -> bool {
        self.is_left() || session.is_over()
    }

    fn say(&mut self, text: String) {
        self.screen.say(&text);
        self.has_changed = true;
    }

    fn round(&mut self, session: &mut Session) -> anyhow::Result<()> {
        if let Some(hint) = self.silence.hint(session) {
            self.say(hint);
        }
        self.press_keys(Duration::ZERO)?;
        self.draw()
    }

    fn report(&mut self, _: &Session, analysed: Box<Analysed>) -> anyhow::Result<()> {
        self.screen.set_report(Box::new(analysed.report));
        self.has_changed = true;
        self.draw()
    }
}

impl View<'_> {
    /// Whether the user or the terminal has gone.
    fn is_left(&self) -> bool {
        self.screen.is_over() || self.is_over.load(Ordering::Relaxed) || is_hung_up(io::stdout())
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.has_changed) {
            let Self { terminal, screen, .. } = self;
            terminal.draw(|frame| draw(screen, frame)).context("write to the terminal")?;
        }
        Ok(())
    }

    /// Passes keys to the view; waits for the first one.
    fn press_keys(&mut self, patience: Duration) -> anyhow::Result<()> {
        let mut patience = patience;
        while !self.screen.is_over()
            && let Some(event) = self.keyboard.next(patience).context("read the terminal")?
        {
            patience = Duration::ZERO;
            match event {
                Event::Resize(..) => self.has_changed = true,
                Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                    if let Some(key) = key(pressed) {
                        self.screen.press(key);
                        self.has_changed = true;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// In raw mode Ctrl-C is an ordinary key.
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
