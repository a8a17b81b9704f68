use super::lexer::{Lexed, lex};
use super::remembering::suggested_prefix;
use super::*;

/// Returns the words of each command, and whether the text is plain.
fn words(text: &str) -> (Vec<Vec<String>>, bool) {
    let Lexed { commands, is_plain, .. } = lex(text);
    let words = commands.iter().map(|command| command.words.iter().map(|word| word.text.clone()).collect());
    (words.collect(), is_plain)
}

#[track_caller]
fn check_plain(text: &str, expected: &[&[&str]]) {
    let expected: Vec<Vec<String>> =
        expected.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect();
    assert_eq!(words(text), (expected, true), "{text}");
}

#[test]
fn plain_text_is_split_as_the_shell_does() {
    check_plain("git diff -w", &[&["git", "diff", "-w"]]);
    check_plain("a && b || c; d | e\nf", &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]]);
    check_plain("a 'b c' \"d e\" f\\ g h'i'\"j\"k", &[&["a", "b c", "d e", "f g", "hijk"]]);
    check_plain("a \"b\\\"c\\d\\\\\" ''", &[&["a", "b\"c\\d\\", ""]]);
    check_plain("a # b; c\nd a#b", &[&["a"], &["d", "a#b"]]);
    check_plain("a \\\n b && \n\n c", &[&["a", "b"], &["c"]]);
    check_plain("a 2147483647>/dev/null 002>&1", &[&["a"]]);
    check_plain("a 2>&1 >/dev/null </dev/null b 2>&-", &[&["a", "b"]]);
    check_plain("ls *.rs HEAD~1 a=b x^ !y", &[&["ls", "*.rs", "HEAD~1", "a=b", "x^", "!y"]]);
    check_plain("", &[]);
}

#[test]
fn whatever_is_not_known_is_not_plain() {
    for text in [
        "echo $X",
        "echo ${X}",
        "echo $(a)",
        "echo `a`",
        "echo \"$X\"",
        "echo \"`a`\"",
        "(a)",
        "{ a; }",
        "a &",
        "a & b",
        "f() { a; }",
        "cat <<E\na\nE",
        "cat <<< a",
        "diff <(a) b",
        "if a; then b; fi",
        "for x in a; do b; done",
        "while a; do b; done",
        "case a in b) c;; esac",
        "! a",
        "time a",
        "[[ a ]]",
        "a &> b",
        "a >& b",
        "echo {a,b}",
        "ls ~",
        "ls ~/x",
        "a=~ b:~",
        "echo 'a",
        "echo \"a",
        "a \\",
        "a &&",
        "&& a",
        "a ;; b",
        "a; ; b",
        "a | | b",
        "a >",
        "a\u{a0}b",
        "a\u{2003}b",
        "a\rb",
        "a\u{b}b",
        "coproc a",
        "function f { a; }",
        "export A=~",
        "a > $X",
        "echo $'a'",
        "select x in a; do b; done",
        "a > *",
        "until a; do b; done",
        "99999999999>/dev/null a",
        "a 99999999999>/dev/null",
        "a 2147483648>&1",
        "a >&99999999999",
    ] {
        assert!(!lex(text).is_plain, "{text}");
        assert!(CommandLine::new(text).plain().is_none(), "{text}");
    }
}

#[test]
fn redirections_and_assignments_are_never_allowed() {
    for text in [
        "a > b", "a >> b", "a < b", "a 2> b", "A=b", "A=b c", "a >| b", "A+=b c", "A[1]=b c", "a <> b",
        "* a", "'' > x",
    ] {
        assert!(CommandLine::new(text).plain().is_none(), "{text}");
    }
    for text in ["a > /dev/null", "a 2>&1", "a 2>/dev/null | b", "a < /dev/null"] {
        assert!(CommandLine::new(text).plain().is_some(), "{text}");
    }
}

fn might_push(text: &str) -> bool {
    CommandLine::new(text).might_run(|words| words.starts_with(&["git".to_owned(), "push".to_owned()]))
}

#[test]
fn commands_are_found_wherever_they_hide() {
    for text in [
        "git push",
        "a && git push -f",
        "a; b | git push",
        "A=b git push",
        "git push > x",
        "echo $(git push)",
        "echo `git push`",
        "echo \"$(git push)\"",
        "echo \"`git push`\"",
        "(git push)",
        "{ git push; }",
        "a & git push &",
        "f() { git push; }",
        "if true; then git push; fi",
        "for x in a; do git push; done",
        "! git push",
        "time git push",
        "case a in a) git push;; esac",
        "env git push",
        "env -i A=b git push",
        "command git push",
        "nohup git push",
        "nice -n 5 git push",
        "timeout 5 git push",
        "timeout -k 1 5s git push",
        "stdbuf -oL git push",
        "echo a | xargs -n1 git push",
        "sudo -u root git push",
        "sh -c 'git push'",
        "bash -lc \"git push\"",
        "sudo env timeout 5 nice sh -c 'exec git push'",
        "eval git push",
        "eval 'git' 'push'",
        "/usr/bin/git push",
        "$X git push",
        "\"git\" 'push'",
        "g\\it push",
        "bash -c \"sh -c 'git push'\"",
        "cat <<E\n$(git push)\nE",
        "echo a;git push",
        "a\ngit push",
        "sh -c \"$(echo 'git push')\"; git push",
        "while git push; do a; done",
        "echo 'unterminated; git push' && git push",
        "find . -exec git push ;",
        "bash -c \"cd $PWD && git push\"",
        "sh -c \"git push $X\"",
        "eval \"git push $X\"",
        "eval $X 'git push'",
        "sudo bash -c \"$X; git push\"",
        "A=\"$(git push)\"",
        "A=\"`git push`\"",
        "A=x\"$(git push)\" b",
        "cat <<<\"$(git push)\"",
        "echo x >\"f$(git push)\"",
        "echo x 2>>\"`git push`\"",
        "time -p git push",
        "time -- git push",
        "! time -p git push",
        "env -S \"git push\"",
        "env -S 'git push' x",
        "env --split-string='git push'",
        "env '-Sgit push'",
        "env -iS 'git push'",
        "env -Sgit push",
        "sudo env -S 'git push'",
        "git commit -F - <<'EOF'\ndon't\nEOF\ngit push origin main",
        "cat <<-EOF\n\tdon't\n\tEOF\ngit push; echo 'a'",
        "cat <<EOF\nit's\nEOF\ngit \\\npush && echo \"it's\"",
        "sh -c \"cat <<E\ndon't\nE\ngit push\"",
        "bash <<EOF\ngit push\nEOF",
        "function f { git push; }; f",
        "function f() { git push; }",
        "coproc git push",
        "coproc N { git push; }",
        "bash <<<'git push'",
        "bash <<< \"git push $X\"",
        "echo $'it\\'s'; git push",
        "bash -c $'git push'",
        "$'git' push",
        "$'g\\x69t' $'pu\\163h'",
        "trap 'git push' EXIT",
        "flock F -c 'git push'",
        "flock F git push",
        "git $X push",
        "git \"$X\" push -f",
        "$\"git\" push",
        "source /dev/stdin <<< 'git push'",
        "setarch -R git push",
    ] {
        assert!(might_push(text), "{text}");
    }
    for text in [
        "git pull",
        "echo git push",
        "echo 'git push'",
        "gitpush",
        "git",
        "# git push",
        "agit push",
        "A='git push'",
        "cat <<<'git push'",
        "echo a > 'git push'",
        "echo \"$X git push\"",
        "env -i echo -S",
        "time -p git pull",
        "echo $'git push'",
    ] {
        assert!(!might_push(text), "{text}");
    }
}

#[test]
fn sixty_parts_and_a_chain_of_wrappers_are_all_looked_at() {
    let parts = vec!["echo a"; 60].join(" && ");
    assert!(might_push(&format!("{parts} && git push")) && !might_push(&parts));
    let chain = vec!["env nice timeout 5"; 20].join(" ");
    assert!(might_push(&format!("{chain} git push")));
}

#[test]
fn what_is_nested_too_deep_is_known_to_be() {
    let nested = |depth: usize| {
        (0..depth).fold("git push".to_owned(), |text, _| format!("sh -c '{}'", text.replace('\'', "'\\''")))
    };
    assert!(might_push(&nested(7)) && !CommandLine::new(&nested(7)).is_too_deep);
    assert!(CommandLine::new(&nested(9)).is_too_deep);
}

#[test]
fn long_texts_take_time_in_proportion() {
    let started = std::time::Instant::now();
    for text in [
        "a ",
        "a;",
        "(",
        "$(",
        "`",
        "'",
        "\"",
        "env ",
        "sh -c ",
        "eval a ",
        "\\",
        "<",
        "{",
        "|",
        "<<a\n'",
        "$'",
        "env -S ",
        "$x sh ",
        "A=\"$(\" ",
        "function ",
        "time ",
    ] {
        CommandLine::new(&text.repeat(100_000 / text.len()));
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn text_that_is_made_to_be_read_again_and_again_ends_and_counts_as_hidden() {
    let started = std::time::Instant::now();
    for text in ["env sh ", "env eval ", "sudo bash -c ", "sh eval "] {
        let line = CommandLine::new(&text.repeat(20_000));
        assert!(line.is_too_deep, "{text}");
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn rules_are_suggested_only_where_they_are_narrow() {
    for (text, expected) in [
        ("git push origin main", Some("git push")),
        ("cargo test -p x", Some("cargo test")),
        ("npm run build -- --fast", Some("npm run build")),
        ("npm install x", Some("npm install")),
        ("ls -la src", Some("ls -la src")),
        ("npm run", None),
        ("git", None),
        ("git -c x=y push", None),
        ("git config x y", None),
        ("git rebase -x make", None),
        ("git clone x y", None),
        ("git difftool -x rm", None),
        ("git unknown", None),
        ("git grep foo", Some("git grep")),
        ("git grep --open-files-in-pager=rm foo", None),
        ("git log --output=x", None),
        ("git push --exec=rm .", None),
        ("npx thing", None),
        ("npm exec x", None),
        ("docker run x", None),
        ("cargo run", None),
        ("python3 x.py", None),
        ("python3.12 x.py", None),
        ("node x.js", None),
        ("bash x.sh", None),
        ("env ls", None),
        ("sudo ls", None),
        ("xargs ls", None),
        ("./script", None),
        ("/bin/ls", None),
        ("rm x", None),
        ("find . -delete", None),
        ("ls && ls", None),
        ("ls *", None),
        ("ls $X", None),
        ("ls > x", None),
        ("A=b ls", None),
    ] {
        let suggested = suggested_prefix(&CommandLine::new(text)).map(|words| words.join(" "));
        assert_eq!(suggested.as_deref(), expected, "{text}");
    }
}
