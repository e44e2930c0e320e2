//! The one form in which `serve --stdio` may be called.

use crate::ui::Abort;
use varve_repo::hooks::python;

/// Refuses every form of the command line but `-R REPOSITORY serve --stdio`. Programs that guard
/// accounts let just this form through, and a repository must not look like an option.
pub fn check_stdio_form(typed: &[Vec<u8>]) -> Result<(), Abort> {
    match typed {
        [dash_r, repository, serve, stdio]
            if dash_r == b"-R"
                && !repository.starts_with(b"--")
                && serve == b"serve"
                && stdio == b"--stdio" =>
        {
            Ok(())
        }
        _ => {
            let words = python::list(typed.iter().map(Vec::as_slice));
            let message = format!("potentially unsafe serve --stdio invocation: {words}");
            Err(Abort::new(message))
        }
    }
}
