//! Patches that apply, wholly or not.

use super::{same_import, twin};

const MOVED: &str =
    "--- a/f\n+++ b/f\n@@ -3,5 +3,5 @@\n line 5\n line 6\n-line 7\n+line seven\n line 8\n line 9\n";
const FUZZY: &str = "--- a/f\n+++ b/f\n@@ -3,5 +3,5 @@\n line 5\n line 6x\n-line 7\n+line seven\n line 8\n line 9y\n";
const WHOLE: &str = "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+new\n\
    diff --git a/f b/f2\nrename from f\nrename to f2\n\
    diff --git a/exe b/exe3\ncopy from exe\ncopy to exe3\n\
    diff --git a/nonl b/nonl\ndeleted file mode 100644\n\
    diff --git a/bin b/bin\nold mode 100644\nnew mode 100755\n\
    diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1,1 @@\n+target\n\\ No newline at end of file\n";
const MISFIT: &str = "diff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1,1 +1,1 @@\n-nope\n+yes\n";

#[test]
fn hunks_move_and_fit_loosely() {
    for words in [
        "-m x",
        "-m x -v",
        "--no-commit",
        "-m x --bypass -v",
        "-m x -q",
    ] {
        same_import(MOVED.as_bytes(), words);
        same_import(FUZZY.as_bytes(), words);
        let both = format!("{MOVED}@@ -13,3 +13,3 @@\n line 15\n-line 16\n+sixteen\n line 17\n");
        same_import(both.as_bytes(), words);
    }
    same_import(FUZZY.as_bytes(), "-m x --config patch.fuzz=0");
    same_import(FUZZY.as_bytes(), "-m x --config patch.fuzz=1");
}

#[test]
fn files_come_and_go() {
    for words in [
        "-m x",
        "-m x -v",
        "--no-commit -m kept",
        "-m x --bypass",
        "-m x --bypass -v",
        "-m x --prefix d",
    ] {
        same_import(WHOLE.as_bytes(), words);
    }
    let gone = "--- a/g\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-x\n-y\n-z\n";
    let part = "--- a/g\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n";
    let other = "--- a/g\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-x\n-q\n-z\n";
    for text in [gone, part, other] {
        same_import(text.as_bytes(), "-m x");
    }
}

#[test]
fn rejected_hunks_are_kept() {
    let mixed = format!("{WHOLE}{MISFIT}");
    for words in [
        "-m x",
        "--no-commit",
        "-m x --partial",
        "-m x --bypass",
        "--no-commit -v",
    ] {
        same_import(mixed.as_bytes(), words);
        same_import(MISFIT.as_bytes(), words);
    }
    for text in [
        "--- a/nope\n+++ b/nope\n@@ -1,1 +1,1 @@\n-a\n+b\n",
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+b\n",
        "diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1,2 +1,2 @@\n-line 1\n+one\n line 2\n",
        "diff --git a/nope b/g2\ncopy from nope\ncopy to g2\n--- a/nope\n+++ b/g2\n@@ -1,1 +1,1 @@\n-x\n+y\n",
        "--- a/d/s\n+++ b/d/s\n@@ -1,1 +1,1 @@\n-no\n\\ No newline at end of file\n+y\n",
    ] {
        same_import(text.as_bytes(), "--no-commit");
        same_import(text.as_bytes(), "-m x --bypass");
    }
}

#[test]
fn binary_files_and_context_hunks() {
    let literal = "diff --git a/bin b/bin\nindex 1..2 100644\nGIT binary patch\nliteral 5\nMc$`bh%wu2x00i9uIsgCw\n\n";
    let context = "*** a/g\tThu\n--- b/g\tThu\n***************\n*** 1,3 ****\n  x\n! y\n  z\n--- 1,3 ----\n  x\n! yy\n  z\n";
    let misfit = context.replace("  x", "  q").replace("! y\n", "! n\n");
    let no_end = "*** a/nonl\tx\n--- b/nonl\n***************\n*** 1 ****\n! no newline\n\\ No newline at end of file\n--- 1 ----\n! now\n\\ No newline at end of file\n";
    for text in [literal, context, &misfit, no_end] {
        same_import(text.as_bytes(), "-m x");
    }
}

#[test]
fn line_ends_follow_the_setting() {
    let lf = "--- a/crlf\n+++ b/crlf\n@@ -1,2 +1,2 @@\n-a\n+aa\n b\n";
    let crlf = "--- a/g\n+++ b/g\n@@ -1,2 +1,2 @@\n-x\r\n+xx\r\n y\r\n";
    let new = "--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\r\n+b\n";
    for eol in ["strict", "LF", "crlf", "auto", "odd"] {
        for text in [lf, crlf, new] {
            same_import(text.as_bytes(), &format!("-m x --config patch.eol={eol}"));
        }
    }
}

#[test]
fn renames_are_found_by_similarity() {
    let text = "diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-x\n-y\n-z\n\
        diff --git a/gg b/gg\nnew file mode 100644\n--- /dev/null\n+++ b/gg\n@@ -0,0 +1,3 @@\n+x\n+y\n+zz\n";
    for words in [
        "-s 50 -m r",
        "-v -s 50 -m r",
        "-m r",
        "-s 100 -m r",
        "-s 50 --no-commit",
    ] {
        same_import(text.as_bytes(), words);
    }
}

#[test]
fn changes_of_the_user_stay() {
    let twin = twin();
    twin.patch(MOVED.as_bytes());
    twin.each(|root| std::fs::write(root.join("g"), "dirty\n").unwrap());
    twin.all_same(&[
        "bookmark mark",
        "import ../p -m x",
        "import -f ../p -m x",
        "import --bypass -m y ../p",
        "import --exact -f ../p",
    ]);
    twin.same_results();
}
