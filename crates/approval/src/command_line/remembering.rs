//! Which commands may be allowed for good. A rule allows everything that begins with its words, so none is offered for
//! programs that run what they are given.

use super::{CommandLine, PlainCommand, git};

/// Programs for which nothing is offered: interpreters, shells, whatever runs other programs or code, and whatever
/// destroys or sends away what further arguments name.
const NEVER: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bpython",
    "bun",
    "bunx",
    "busybox",
    "chmod",
    "chown",
    "chroot",
    "command",
    "cp",
    "crontab",
    "csh",
    "curl",
    "dash",
    "dd",
    "deno",
    "doas",
    "ed",
    "elixir",
    "emacs",
    "env",
    "erl",
    "eval",
    "ex",
    "exec",
    "expect",
    "fd",
    "find",
    "fish",
    "flock",
    "gawk",
    "gdb",
    "ghci",
    "groovy",
    "ionice",
    "irb",
    "java",
    "julia",
    "kill",
    "ksh",
    "ld.so",
    "lldb",
    "ln",
    "lua",
    "m4",
    "make",
    "mawk",
    "mkfs",
    "mount",
    "mv",
    "nano",
    "nawk",
    "nc",
    "ncat",
    "nice",
    "node",
    "nodejs",
    "nohup",
    "npx",
    "nsenter",
    "nvim",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pipx",
    "pkexec",
    "pnpx",
    "powershell",
    "psql",
    "pwsh",
    "pypy",
    "python",
    "python2",
    "python3",
    "R",
    "Rscript",
    "rm",
    "rsync",
    "ruby",
    "scp",
    "screen",
    "script",
    "sed",
    "setsid",
    "sftp",
    "sh",
    "shred",
    "socat",
    "sqlite3",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "tar",
    "tclsh",
    "tcsh",
    "tee",
    "time",
    "timeout",
    "tmux",
    "truncate",
    "ts-node",
    "tsx",
    "uvx",
    "unshare",
    "vi",
    "vim",
    "watch",
    "wget",
    "xargs",
    "xonsh",
    "zip",
    "zsh",
];

/// Programs whose first argument says what they do, so that two words make a rule.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "brew",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "docker",
    "dotnet",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "helm",
    "hg",
    "just",
    "kubectl",
    "mix",
    "mvn",
    "npm",
    "nx",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "stack",
    "svn",
    "swift",
    "terraform",
    "turbo",
    "uv",
    "yarn",
];

/// Subcommands that run what they are given, so that nothing is offered for them alone.
const RUNNERS: &[&str] =
    &["run", "exec", "x", "dlx", "create", "script", "run-script", "shell", "ssh", "eval", "tool"];

/// Returns the words of a rule that would allow a command from now on, if there is one that is narrow enough.
pub(crate) fn suggested_prefix(line: &CommandLine) -> Option<Vec<String>> {
    let commands = line.plain()?;
    let [command] = commands.as_slice() else { return None };
    prefix_of(command)
}

fn prefix_of(command: &PlainCommand<'_>) -> Option<Vec<String>> {
    let words = command.words()?;
    let (first, rest) = words.split_first()?;
    let owned = |count: usize| words[..count].iter().map(|word| (*word).to_owned()).collect();
    if first.contains('/') || first.is_empty() {
        return None;
    }
    if WITH_SUBCOMMANDS.contains(first) {
        let subcommand = rest.first().filter(|word| !word.starts_with('-') && !word.is_empty())?;
        if *first == "git" {
            let is_covered = git::is_offered(subcommand) && !command.exceeds(2);
            return is_covered.then(|| owned(2));
        }
        if RUNNERS.contains(subcommand) {
            // `npm run build` names what it runs; `npm run` alone runs anything. Others take code.
            let names_script = matches!(*first, "npm" | "pnpm" | "yarn") && *subcommand == "run";
            let script = rest.get(1).filter(|word| !word.starts_with('-'));
            return script.filter(|_| names_script).map(|_| owned(3));
        }
        return Some(owned(2));
    }
    let is_version = |name: &str| {
        let letters = first.strip_prefix(name);
        letters
            .is_some_and(|rest| rest.chars().all(|character| character.is_ascii_digit() || character == '.'))
    };
    if NEVER.contains(first)
        || ["python", "pypy", "ruby", "perl", "lua", "php", "node"].iter().any(|name| is_version(name))
    {
        return None;
    }
    Some(owned(words.len()))
}
