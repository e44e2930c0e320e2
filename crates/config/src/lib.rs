//! INI configuration in the spellings of both ancestors, typed, refused with file and line.
