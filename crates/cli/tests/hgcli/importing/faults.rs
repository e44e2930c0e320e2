//! Patches and calls that are refused.

use super::{same_import, twin};

#[test]
fn malformed_patches_are_refused_in_the_same_words() {
    for text in [
        "--- a/g\n+++ b/g\n@@ -1,2 zzz\n-x\n+y\n",
        "--- a/g\n+++ b/g\n@@ -1,3 +1,3 @@\n x\n-y\n",
        "--- a/g\n+++ b/g\n@@ -1,1 +1,2 @@\n-x\n-y\n+xx\n+yy\n",
        "--- a/g\n+++ b/g\n@@ -1,1 +1,1 @@\n-x\n+xx\n--- a/f\n+++ b/f\n@@ -1,1 bad\n",
        "*** a/g\n--- b/g\n***************\n*** 1,3 ****\n  x\n? y\n  z\n--- 1,3 ----\n",
        "*** a/g\n--- b/g\n***************\n*** zz ****\n  x\n",
        "diff --git a/bin b/bin\nGIT binary patch\nliteral 7\nMc$`bh%wu2x00i9uIsgCw\n\n",
        "diff --git a/bin b/bin\nGIT binary patch\nliteral 5\nMc$\"bh%wu2x00i9uIsgCw\n\n",
        "diff --git a/bin b/bin\nGIT binary patch\nfoo\n\n",
        "--- /dev/null\n+++ /dev/null\n@@ -1,1 +1,1 @@\n-x\n+y\n",
        "hello\n",
        "",
    ] {
        same_import(text.as_bytes(), "--no-commit");
        same_import(text.as_bytes(), "-m x --bypass");
    }
}

#[test]
fn paths_and_files_are_checked() {
    for text in [
        "--- a/../../g\n+++ b/../../g\n@@ -1,2 +1,2 @@\n-x\n+xx\n y\n",
        "--- /dev/null\n+++ b/.hg/hgrc\n@@ -0,0 +1,1 @@\n+xx\n",
        "--- /dev/null\n+++ b/g/foo\n@@ -0,0 +1,1 @@\n+xx\n",
        "--- /dev/null\n+++ b/d\n@@ -0,0 +1,1 @@\n+xx\n",
        "diff --git a/f b/g\ncopy from f\ncopy to g\n",
        "diff --git a/nope b/g2\nrename from nope\nrename to g2\n",
        "diff --git a/nope b/g2\ncopy from nope\ncopy to g2\n",
    ] {
        same_import(text.as_bytes(), "--no-commit");
    }
    let plain = "--- a/g\n+++ b/g\n@@ -1,2 +1,2 @@\n-x\n+xx\n y\n";
    for words in ["-p0", "-p2", "-p3", "-pfoo", "--prefix ../zz", "--prefix d"] {
        same_import(plain.as_bytes(), &format!("--no-commit {words}"));
    }
    let unstripped = "--- g\n+++ g\n@@ -1,2 +1,2 @@\n-x\n+xx\n y\n";
    same_import(unstripped.as_bytes(), "-p0 -m x");
}

#[test]
fn untracked_files_are_not_patched() {
    let twin = twin();
    twin.each(|root| std::fs::write(root.join("untracked"), "a\n").unwrap());
    twin.patch(b"--- a/untracked\n+++ b/untracked\n@@ -1,1 +1,1 @@\n-a\n+b\n");
    twin.same(&["import", "../p", "-m", "x"]);
    twin.same_results();
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let twin = twin();
    twin.patch(b"--- a/g\n+++ b/g\n@@ -1,2 +1,2 @@\n-x\n+xx\n y\n");
    twin.all_same(&[
        "import",
        "import ../nope",
        "import --no-commit --bypass ../p",
        "import --no-commit --secret ../p",
        "import --exact --edit ../p",
        "import --exact --prefix d ../p",
        "import --exact ../p",
        "import -s foo ../p",
        "import -s 200 ../p",
        "import -s 20 --bypass ../p",
        "import -m x -l y ../p",
        "import -d foo ../p",
        "import -m x --config ui.editor=false -e ../p",
        "import .. -m x",
        "patch -b .. p -m x",
    ]);
    twin.same_results();
    let refused = twin
        .run(&["import", "--config", "ui.patch=patch", "../p"])
        .ours;
    assert!(
        refused
            .stderr
            .starts_with("abort: ui.patch is not supported\n")
    );
}
