use std::collections::BTreeMap;
use varve_testkit::tidy::{
    BARE, COINED, VAGUE, bare_type_names, coined_names, count_vague, files, read, vague_openings,
};
use varve_testkit::workspace_root;

/// The list itself and these tests, which must name the words.
const LISTS: &[&str] = &["tidy/words.rs", "main/words.rs"];

fn sources() -> impl Iterator<Item = (String, String)> {
    let files = files(&[".rs"]).into_iter();
    let files = files.map(|path| (path.display().to_string(), read(&path)));
    files.filter(|(path, _)| !LISTS.iter().any(|list| path.ends_with(list)))
}

#[test]
fn coined_names_do_not_come_back() {
    let found: Vec<String> = sources()
        .flat_map(|(path, text)| {
            let found = coined_names(&text).into_iter();
            let found =
                found.map(|(line, name, better)| format!("{path}:{line}: {name}; write {better}"));
            found.collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn vague_words_become_fewer() {
    let allowed =
        std::fs::read_to_string(workspace_root().join("crates/testkit/banned_words.txt")).unwrap();
    let lines = allowed.lines().filter(|line| !line.starts_with('#'));
    let allowed: BTreeMap<&str, usize> = lines
        .map(|line| {
            let (word, count) = line.split_once(' ').unwrap();
            (word, count.parse().unwrap())
        })
        .collect();
    let sources: Vec<_> = sources().collect();
    assert!(sources.len() > 500, "only {} sources", sources.len());
    for word in VAGUE {
        let count: usize = sources
            .iter()
            .map(|(_, text)| count_vague(text, word))
            .sum();
        let allowed = allowed[word];
        assert!(
            count <= allowed,
            "{word:?} stands {count} times in the sources, at most {allowed}: name the subject"
        );
        assert_eq!(
            count, allowed,
            "{word:?} is rarer: write the new number into banned_words.txt"
        );
    }
}

#[test]
fn doc_comments_begin_with_the_thing() {
    let found: Vec<String> = sources()
        .flat_map(|(path, text)| {
            let found = vague_openings(&text).into_iter();
            let found = found.map(|(line, word)| format!("{path}:{line}: {word}"));
            found.collect::<Vec<_>>()
        })
        .collect();
    let found = found.join("\n");
    assert!(
        found.is_empty(),
        "name the thing in the first word:\n{found}"
    );
}

#[test]
fn openings_are_first_words_of_paragraphs() {
    let text = "/// It stops.\nfn a() {}\n    //! What ends it.\n/// Its end: the writer stops.\n\
                /// The reader waits.\n/// It stops then.\n///\n/// Who waits.\n// It is no doc comment.\n";
    assert_eq!(vague_openings(text), [(1, "It"), (3, "What"), (8, "Who")]);
}

/// Lines of the list are a path and a name. New ones are not added.
#[test]
fn types_are_named_by_what_they_are_of() {
    let list = workspace_root().join("crates/testkit/bare_type_names.txt");
    let list = std::fs::read_to_string(list).unwrap();
    let allowed: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
    let found = sources().flat_map(|(path, text)| {
        let names = bare_type_names(&text).into_iter();
        names
            .map(|name| format!("{path} {name}"))
            .collect::<Vec<_>>()
    });
    let new: Vec<String> = found.filter(|line| !allowed.contains(&&line[..])).collect();
    assert!(
        new.is_empty(),
        "say of what these are:\n{}\n",
        new.join("\n")
    );
}

#[test]
fn bare_type_names_are_found() {
    let name = BARE[0];
    let text = format!(
        "struct {name};\n    pub(super) enum {name}<'a> {{\npub trait {name}: Sized {{\n\
         struct {name}s;\nlet {name} = 1;\ntype {name} = u8;\n// struct {name}\n"
    );
    assert_eq!(bare_type_names(&text), [name; 3]);
}

#[test]
fn banned_words_are_found() {
    let (name, better) = COINED[0];
    assert_eq!(
        coined_names(&format!("a\nuse x::{name};")),
        [(2, name, better)]
    );
    assert_eq!(coined_names(&format!("{name}hold my_{name}")), []);
    let word = VAGUE[0];
    assert_eq!(
        count_vague(
            &format!("/// Whoever, {word}; {word}s {word}_x un{word}"),
            word
        ),
        2
    );
}
