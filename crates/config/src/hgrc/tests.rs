use super::*;

struct Memory(Vec<(&'static str, &'static str)>);

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self.0.iter().find(|(name, _)| Path::new(name) == path);
        let text = found.map(|(_, text)| text.as_bytes().to_vec());
        text.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn expand(&self, path: &[u8]) -> PathBuf {
        PathBuf::from(String::from_utf8_lossy(path).replace('~', "/me"))
    }
}

fn read(text: &'static str) -> Result<Hgrc, String> {
    let files = Memory(vec![
        ("/etc/hgrc", text),
        ("/etc/more", "[inc]\nz = 1\n"),
        ("/etc/loop", "%include loop\n"),
        ("/me/own", "[own]\nx = 2\n"),
    ]);
    let mut hgrc = Hgrc::default();
    hgrc.add_file(&files, Path::new("/etc/hgrc"))
        .map_err(|error| error.to_string())?;
    Ok(hgrc)
}

#[test]
fn continuations_directives_and_order() {
    let hgrc = read(
        "[a]\nb=c\n  d\n;x\n e f \nh = i # no\nx=1\n%unset x\n%include more\n%include nope\n\
         %include ~/own\nb2=1\n[c]\nd=2\n[a]\nh=3\n",
    )
    .unwrap();
    assert_eq!(hgrc.get("a", "b"), Some(&b"c\nd\ne f"[..]));
    assert_eq!(
        hgrc.item("a", "b").unwrap().source.to_string(),
        "/etc/hgrc:5"
    );
    assert_eq!(hgrc.get("a", "x"), None);
    assert_eq!(hgrc.get("inc", "z"), Some(&b"1"[..]));
    assert_eq!(hgrc.get("own", "x"), Some(&b"2"[..]));
    let keys: Vec<_> = hgrc.section("a").iter().map(|item| &item.key[..]).collect();
    assert_eq!(keys, [&b"b"[..], b"b2", b"h"]);
}

#[test]
fn the_exact_words_for_bad_lines() {
    for (text, words) in [
        ("  x\n", "1: unexpected leading whitespace:   x"),
        (
            "[a]\nb=x\n\n  cont\n",
            "4: unexpected leading whitespace:   cont",
        ),
        ("[a]\nfoo\n", "2: foo"),
        ("[a\nb=c", "1: [a"),
        ("[a]\n=1\n", "2: =1"),
        ("[a]\n%foo\n", "2: %foo"),
    ] {
        let expected = format!("config error at /etc/hgrc:{words}");
        assert_eq!(read(text).unwrap_err(), expected);
    }
    let looped = read("%include loop").unwrap_err();
    assert!(looped.ends_with("cannot include loop (files include each other too deeply)"));
}

#[test]
fn arguments_and_types() {
    let mut hgrc = Hgrc::default();
    for bad in ["foo", "foo.bar", "foo=bar", ".a=b", "a.=b"] {
        let words = hgrc.add_argument(bad.as_bytes()).unwrap_err().to_string();
        let expected =
            format!("malformed --config option: '{bad}' (use --config section.name=value)");
        assert_eq!(words, expected);
    }
    for good in [
        "storage.revlog.zlib.level=foobar",
        "a.b=Yes",
        "a.size=1.5 kB",
        "a.n= -7 ",
    ] {
        hgrc.add_argument(good.as_bytes()).unwrap();
    }
    assert_eq!(
        hgrc.integer("storage", "revlog.zlib.level")
            .unwrap_err()
            .to_string(),
        "storage.revlog.zlib.level is not a valid integer ('foobar')"
    );
    assert_eq!(hgrc.boolean("a", "b", false), Ok(true));
    assert_eq!(
        hgrc.boolean("a", "n", false).unwrap_err().to_string(),
        "a.n is not a boolean ('-7')"
    );
    assert_eq!(hgrc.bytes("a", "size"), Ok(Some(1536)));
    assert_eq!(hgrc.integer("a", "n"), Ok(Some(-7)));
    assert_eq!(hgrc.integer("a", "m"), Ok(None));
}

#[test]
fn lists_keep_quoted_words_together() {
    let words = |text: &str| -> Vec<String> {
        let words = list(text.as_bytes()).into_iter();
        words.map(|word| String::from_utf8(word).unwrap()).collect()
    };
    assert_eq!(words("a, b  c\n,d"), ["a", "b", "c", "d"]);
    assert_eq!(words("\"a, b\" c"), ["a, b", "c"]);
    assert_eq!(words("\"a \\\" b\""), ["a \" b"]);
    assert_eq!(words("\"open"), ["\"open"]);
    assert!(words(" , ").is_empty());
}
