//! The whole terminal as a screen: keys one by one, rows at fixed places, and everything as it was before at the end,
//! however the program ends.

use crate::ui::{Abort, signals};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::style::{
    Attribute, Color, Print, SetAttribute, SetBackgroundColor, SetForegroundColor,
};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, queue};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::SIGTSTP;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};
use std::time::Duration;
use varve_base::Interrupt;

/// How often it is looked for signals while no key comes.
const LOOK: Duration = Duration::from_millis(50);
/// Rows and columns where the terminal does not say.
const USUAL_SIZE: (u16, u16) = (80, 24);

/// The modes of the terminal to go back to; `None` while there is no screen.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Ctrl-Z and its like.
struct StopSignal {
    /// Raised by the signal.
    came: Arc<AtomicBool>,
    /// True while there is no screen to leave first: the signal stops the program at once.
    stops_at_once: Arc<AtomicBool>,
}

static STOP_SIGNAL: LazyLock<StopSignal> = LazyLock::new(|| {
    let signal = StopSignal {
        came: Arc::default(),
        stops_at_once: Arc::new(AtomicBool::new(true)),
    };
    if !signals::is_ignored(SIGTSTP) {
        // Where the system refuses, the signal stops the program, as it always did.
        let _ = signal_hook::flag::register_conditional_default(
            SIGTSTP,
            Arc::clone(&signal.stops_at_once),
        )
        .and_then(|_| signal_hook::flag::register(SIGTSTP, Arc::clone(&signal.came)));
    }
    signal
});

/// Leaves the screen, if there is one. To be called before the program ends by a signal.
pub(crate) fn restore_terminal() {
    let Some(before) = BEFORE.lock().take() else {
        return;
    };
    let mut out = io::stdout();
    // Nothing is left to do for a terminal that is gone.
    let _ = queue!(
        out,
        SetAttribute(Attribute::Reset),
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = out.flush();
    let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &before);
    STOP_SIGNAL.stops_at_once.store(true, Ordering::SeqCst);
}

fn prepare_terminal() -> io::Result<()> {
    let before = tcgetattr(io::stdin())?;
    let mut modes = before.clone();
    // Keys that send signals still do.
    modes
        .local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
    STOP_SIGNAL.came.store(false, Ordering::SeqCst);
    STOP_SIGNAL.stops_at_once.store(false, Ordering::SeqCst);
    *BEFORE.lock() = Some(before);
    tcsetattr(io::stdin(), OptionalActions::Drain, &modes)?;
    let mut out = io::stdout();
    queue!(out, EnterAlternateScreen, cursor::Hide)?;
    out.flush()
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A sign.
    Char(char),
    /// A letter with Ctrl.
    Control(char),
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// An arrow with Shift.
    ShiftLeft,
    /// Page Up.
    PageUp,
    /// Page Down.
    PageDown,
    /// Return or Enter.
    Enter,
    /// Takes back a typed sign.
    Backspace,
    /// Escape, not followed by another key at once.
    Escape,
}

impl Key {
    fn of(event: KeyEvent) -> Option<Key> {
        let has = |modifier| event.modifiers.contains(modifier);
        Some(match event.code {
            _ if event.kind == KeyEventKind::Release || has(KeyModifiers::ALT) => return None,
            KeyCode::Char('h') if has(KeyModifiers::CONTROL) => Key::Backspace,
            KeyCode::Char(letter) if has(KeyModifiers::CONTROL) => Key::Control(letter),
            KeyCode::Char(letter) => Key::Char(letter),
            KeyCode::Up => Key::Up,
            KeyCode::Down => Key::Down,
            KeyCode::Left if has(KeyModifiers::SHIFT) => Key::ShiftLeft,
            KeyCode::Left => Key::Left,
            KeyCode::Right => Key::Right,
            KeyCode::PageUp => Key::PageUp,
            KeyCode::PageDown => Key::PageDown,
            KeyCode::Enter => Key::Enter,
            KeyCode::Backspace => Key::Backspace,
            KeyCode::Esc => Key::Escape,
            _ => return None,
        })
    }
}

/// An occasion to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenEvent {
    /// A key was pressed.
    Key(Key),
    /// The size has changed, or another program has used the terminal.
    Redraw,
}

/// How a text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextStyle {
    /// As the terminal shows text.
    #[default]
    Plain,
    /// Of files and hunks.
    Bold,
    /// Of lines that come.
    Added,
    /// Of lines that go.
    Removed,
    /// Of the lines at the top and of messages.
    Bar,
    /// Of the item at the cursor.
    Cursor,
}

/// A text that takes as many columns as it has signs of width one, and no control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its look.
    pub style: TextStyle,
    /// The text.
    pub text: String,
}

/// One row of the screen.
pub type Row = Vec<Span>;

/// The terminal, while one screen covers it.
#[derive(Debug)]
pub struct Screen(());

impl Screen {
    /// Covers the terminal.
    ///
    /// # Errors
    /// Standard input or output is no terminal.
    pub fn open() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore_terminal();
                before(panic);
            }));
        });
        let screen = Screen(());
        prepare_terminal()?;
        Ok(screen)
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        let (columns, rows) = crossterm::terminal::size().unwrap_or(USUAL_SIZE);
        // Some terminals say that they have no size.
        match (columns, rows) {
            (0, _) | (_, 0) => (USUAL_SIZE.0.into(), USUAL_SIZE.1.into()),
            (columns, rows) => (columns.into(), rows.into()),
        }
    }

    /// Waits for a key, or another reason to draw.
    ///
    /// # Errors
    /// A signal ends the command, or the terminal is gone.
    pub fn next_event(&mut self, stop: &Interrupt) -> Result<ScreenEvent, Abort> {
        loop {
            if let Err(stopped) = stop.check() {
                return Err(varve_workdir::WorkdirError::from(stopped).into());
            }
            if STOP_SIGNAL.came.swap(false, Ordering::SeqCst) {
                restore_terminal();
                signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
                prepare_terminal()?;
                return Ok(ScreenEvent::Redraw);
            }
            wait_for_input()?;
            if !event::poll(Duration::ZERO)? {
                continue;
            }
            match event::read()? {
                Event::Key(key) => {
                    if let Some(key) = Key::of(key) {
                        return Ok(ScreenEvent::Key(key));
                    }
                }
                Event::Resize(..) => return Ok(ScreenEvent::Redraw),
                _ => {}
            }
        }
    }

    /// Draws all rows, from the top on.
    ///
    /// # Errors
    /// A terminal that is gone.
    pub fn draw(&mut self, rows: &[Row]) -> io::Result<()> {
        let mut out = io::BufWriter::new(io::stdout());
        for (at, row) in (0_u16..).zip(rows) {
            queue!(out, cursor::MoveTo(0, at), SetAttribute(Attribute::Reset))?;
            queue!(out, Clear(ClearType::CurrentLine))?;
            for span in row {
                set_style(&mut out, span.style)?;
                queue!(out, Print(&span.text))?;
            }
        }
        queue!(out, SetAttribute(Attribute::Reset))?;
        let (_, height) = self.size();
        // Behind a row that is full, this would take its last column.
        if let Some(below) = u16::try_from(rows.len())
            .ok()
            .filter(|_| rows.len() < height)
        {
            queue!(
                out,
                cursor::MoveTo(0, below),
                Clear(ClearType::FromCursorDown)
            )?;
        }
        out.flush()
    }

    /// Lets another program use the terminal.
    ///
    /// # Errors
    /// A terminal that is gone.
    pub fn aside<T>(&mut self, run: impl FnOnce() -> T) -> io::Result<T> {
        restore_terminal();
        let result = run();
        prepare_terminal()?;
        Ok(result)
    }
}

/// Waits for a key no longer than [`LOOK`]. Crossterm would ask a terminal that is gone for ever.
fn wait_for_input() -> io::Result<()> {
    let stdin = io::stdin();
    let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
    let limit = Timespec::try_from(LOOK).unwrap_or_default();
    match rustix::event::poll(&mut waited, Some(&limit)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let is_gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    match waited[0].revents().intersects(is_gone) {
        true => Err(io::ErrorKind::UnexpectedEof.into()),
        false => Ok(()),
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore_terminal();
    }
}

fn set_style(out: &mut impl Write, style: TextStyle) -> io::Result<()> {
    queue!(out, SetAttribute(Attribute::Reset))?;
    match style {
        TextStyle::Plain => Ok(()),
        TextStyle::Bold => queue!(out, SetAttribute(Attribute::Bold)),
        TextStyle::Added => queue!(out, SetForegroundColor(Color::DarkGreen)),
        TextStyle::Removed => queue!(out, SetForegroundColor(Color::DarkRed)),
        TextStyle::Bar => {
            queue!(
                out,
                SetForegroundColor(Color::Grey),
                SetBackgroundColor(Color::DarkBlue)
            )
        }
        TextStyle::Cursor => {
            queue!(
                out,
                SetForegroundColor(Color::Grey),
                SetBackgroundColor(Color::DarkMagenta)
            )
        }
    }
}
