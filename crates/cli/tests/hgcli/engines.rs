//! `[format]` and `[storage]`: which engine a repository is made with, and bad values.

use super::Twin;

#[test]
fn a_repository_is_made_with_the_first_known_engine() {
    let twin = Twin::writing(|_, _| ());
    for (number, list) in [
        "zlib",
        "zstd",
        "none",
        "lz4,zlib",
        "none zstd",
        "lz4, foo",
        "",
    ]
    .iter()
    .enumerate()
    {
        let setting = format!("format.revlog-compression={list}");
        let name = format!("r{number}");
        twin.same(&["init", &name, "--config", &setting]);
        let requires = format!("{name}/.hg/store/requires");
        let read = |root: &std::path::Path| std::fs::read(root.join(&requires)).ok();
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{list}");
    }
}

#[test]
fn levels_out_of_range_stop_every_command() {
    let twin = Twin::reading();
    for setting in [
        "storage.revlog.zlib.level=42",
        "storage.revlog.zlib.level=-1",
        "storage.revlog.zstd.level=23",
        "storage.revlog.zlib.level=9",
        "storage.revlog.zstd.level=0",
    ] {
        twin.same(&["log", "-r", "0", "--config", setting]);
    }
    for engine in ["zlib", "zstd"] {
        let key = format!("storage.revlog.{engine}.level");
        let ours = twin
            .run(&["log", "--config", &format!("{key}=foobar")])
            .ours;
        assert_eq!(ours.code, Some(30));
        assert_eq!(
            ours.stderr,
            format!("abort: {key} is not a valid integer ('foobar')\n")
        );
    }
}
