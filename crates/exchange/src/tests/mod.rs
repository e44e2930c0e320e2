//! Codecs of the formats, and whole exchanges between repositories in memory, whose histories are random graphs.

mod bookmarks;
mod changegroups;
mod containers;
mod discovery;
mod generate;
mod history;
mod local_clone;
mod manifests;
mod media;
mod outgoing;
mod part_codecs;
mod phases;
mod pull;
mod push;
mod push_checks;
mod push_plans;
mod read_hooks;
mod requests;
mod rollback;
mod secrets;
mod segments;
mod specs;
mod spooling;
mod streams;
mod wire;
