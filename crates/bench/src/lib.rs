//! The measuring library behind the bench command.
