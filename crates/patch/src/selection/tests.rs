use super::*;

const PATCH: &str = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,9 +1,10 @@ fn\n 1\n-2\n+two\n 3\n+x\n 4\n 5\n 6\n 7\n\
    -8\n+eight\n 9\n\\ No newline at end of file\n\
    diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n\
    diff --git a/b b/c\nrename from b\nrename to c\n--- a/b\n+++ b/c\n@@ -1,1 +1,1 @@\n-b\n+c\n\
    diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+new\n\
    diff --git a/bin b/bin\nindex 1..2\nGIT binary patch\nliteral 1\n@@ -1\n\n";

/// Gives the answers of a text, one a letter, and keeps what it was shown and asked.
#[derive(Default)]
struct Script {
    answers: Vec<char>,
    said: String,
    edited: Option<Vec<u8>>,
    named: Vec<Vec<u8>>,
}

impl Chooser for Script {
    type Error = ();

    fn is_named(&self, file: &OfferedFile) -> bool {
        self.named.iter().any(|name| file.paths().contains(name))
    }

    fn show(&mut self, text: &[u8]) -> Result<(), ()> {
        self.said += &String::from_utf8_lossy(text);
        Ok(())
    }

    fn ask(&mut self, question: &Question<'_>) -> Result<Answer, ()> {
        if let Question::Hunk { number, total, .. } = question {
            self.said += &format!("{number}/{total}?\n");
        }
        if self.answers.is_empty() {
            return Err(());
        }
        Ok(match self.answers.remove(0) {
            'y' => Answer::Yes,
            'n' => Answer::No,
            'e' => Answer::Edit,
            's' => Answer::SkipFile,
            'f' => Answer::WholeFile,
            'd' => Answer::Done,
            _ => Answer::All,
        })
    }

    fn edit(&mut self, patch: &[u8]) -> Result<Option<Vec<u8>>, ()> {
        self.said += &String::from_utf8_lossy(patch);
        Ok(self.edited.take())
    }
}

fn chosen(answers: &str) -> Result<String, ()> {
    let mut script = Script {
        answers: answers.chars().collect(),
        ..Script::default()
    };
    let patch = choose(&OfferedFile::read_all(PATCH.as_bytes()), &mut script)?;
    Ok(String::from_utf8(patch).unwrap())
}

#[test]
fn changes_with_lines_between_them_are_several_hunks() {
    let files = OfferedFile::read_all(PATCH.as_bytes());
    let texts: Vec<String> = files[0]
        .hunks()
        .iter()
        .map(|hunk| String::from_utf8(hunk.text()).unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "@@ -1,3 +1,3 @@ fn\n 1\n-2\n+two\n 3\n",
            "@@ -3,5 +3,6 @@ fn\n 3\n+x\n 4\n 5\n 6\n 7\n",
            "@@ -4,6 +5,6 @@ fn\n 4\n 5\n 6\n 7\n-8\n+eight\n 9\n\\ No newline at end of file\n",
        ]
    );
    let counts: Vec<usize> = files.iter().map(|file| file.hunks().len()).collect();
    assert_eq!(counts, [3, 1, 1, 1, 0]);
    assert_eq!(files[2].paths(), [b"b".to_vec(), b"c".to_vec()]);
}

#[test]
fn all_answers_yes_give_the_whole_patch() {
    let all = OfferedFile::read_all(PATCH.as_bytes());
    for answers in ["yyyyyyyyyy", "a", "fffff", "ya", "yfa"] {
        let chosen = chosen(answers).unwrap();
        assert_eq!(
            OfferedFile::read_all(chosen.as_bytes()),
            all,
            "{answers}: {chosen}"
        );
    }
}

#[test]
fn nothing_or_some_is_left() {
    assert_eq!(chosen("nnnnn").unwrap(), "");
    assert_eq!(chosen("d").unwrap(), "");
    assert_eq!(chosen("ynnd").unwrap(), "");
    // A new file without its lines is nothing; a renamed one keeps its name.
    assert_eq!(chosen("nnnynn").unwrap(), "");
    assert_eq!(
        chosen("nnynd").unwrap(),
        "diff --git a/b b/c\nrename from b\nrename to c\n"
    );
    let one = chosen("ynysnnnn").unwrap();
    assert!(one.contains("+x\n") && !one.contains("two") && !one.contains("eight"));
    assert_eq!(chosen("yy"), Err(()));
}

#[test]
fn named_files_are_not_in_question() {
    let mut script = Script {
        answers: vec!['n', 'n', 'n', 'd'],
        named: vec![b"a".to_vec(), b"gone".to_vec()],
        ..Script::default()
    };
    let files = OfferedFile::read_all(PATCH.as_bytes());
    let patch = choose(&files, &mut script).unwrap();
    assert!(patch.starts_with(b"diff --git a/gone b/gone\ndeleted"));
    assert!(script.said.contains("3 hunks, 3 lines changed\n@@ -1,3"));
    assert!(script.said.contains("3/6?"), "{}", script.said);
}

#[test]
fn edits_replace_a_hunk() {
    let edited = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+deux\n+more\n\n 3\n# words\n";
    let mut script = Script {
        answers: vec!['y', 'e', 'd'],
        edited: Some(edited.to_vec()),
        ..Script::default()
    };
    let files = OfferedFile::read_all(PATCH.as_bytes());
    let patch = choose(&files, &mut script).unwrap();
    let text = String::from_utf8(patch).unwrap();
    assert!(
        text.ends_with("@@ -1,4 +1,5 @@\n 1\n-2\n+deux\n+more\n \n 3\n"),
        "{text}"
    );
    // A failed edit asks again.
    let mut script = Script {
        answers: vec!['y', 'e', 'n', 'd'],
        ..Script::default()
    };
    assert_eq!(choose(&files, &mut script), Ok(Vec::new()));
    assert!(script.answers.is_empty());
}

#[test]
fn hunks_are_taken_back() {
    let patch = b"diff --git a/a b/b\nold mode 100644\nnew mode 100755\n--- a/a\n+++ b/b\n\
        @@ -1,3 +2,3 @@\n 1\n-2\n\\ No newline at end of file\n+two\n+more\n\
        diff --git a/c b/c\nold mode 100644\nnew mode 100755\n";
    let begin = "diff --git a/b b/b\n--- a/b\n+++ b/b\n";
    let back = reversed_hunks(patch);
    let lines = "@@ -2,3 +1,2 @@\n 1\n+2\n\\ No newline at end of file\n-two\n-more\n";
    assert_eq!(String::from_utf8_lossy(&back), [begin, lines].concat());
    let lines = "@@ -1,2 +2,3 @@\n 1\n-2\n\\ No newline at end of file\n+two\n+more\n";
    let forth = reversed_hunks(&back);
    assert_eq!(String::from_utf8_lossy(&forth), [begin, lines].concat());
}
