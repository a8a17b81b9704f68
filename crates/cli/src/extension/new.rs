//! `bowline extension new`: a working extension to start from.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bowline_extension_host::MANIFEST;
use serde_json::json;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::similar::nearest;
use crate::terminal::say;

/// The name in the templates, which the extension's own takes the place of.
const PLACEHOLDER: &str = "my-extension";

/// The longest name of an extension.
const LONGEST_NAME: usize = 64;

/// A language in which an extension can be created.
struct Language {
    name: &'static str,
    /// The program and its arguments.
    command: [&'static str; 2],
    files: &'static [(&'static str, &'static str)],
}

/// Every language; the first is the default.
const LANGUAGES: &[Language] = &[
    Language {
        name: "python",
        command: ["python3", "{dir}/main.py"],
        files: &[
            ("main.py", include_str!("templates/main.py")),
            ("bowline_extension.py", include_str!("../../../../sdk/python/bowline_extension.py")),
        ],
    },
    Language {
        name: "typescript",
        command: ["node", "{dir}/main.mjs"],
        files: &[
            ("main.mjs", include_str!("templates/main.mjs")),
            ("tsconfig.json", include_str!("templates/tsconfig.json")),
            ("bowline_extension.mjs", include_str!("../../../../sdk/typescript/bowline_extension.mjs")),
            ("bowline_extension.d.mts", include_str!("../../../../sdk/typescript/bowline_extension.d.mts")),
        ],
    },
    Language {
        name: "sh",
        command: ["sh", "{dir}/main.sh"],
        files: &[("main.sh", include_str!("templates/main.sh"))],
    },
];

/// Returns the names of the languages.
pub(crate) fn languages() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().map(|language| language.name)
}

/// Creates an extension.
pub(super) fn create(
    name: &str,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<ExitCode, Failure> {
    check_name(name)?;
    let language = find(arguments.lang.as_deref())?;
    let folder = match &arguments.out {
        Some(out) => environment.expand(out).join(name),
        None => environment.working_directory.join(name),
    };
    // A folder that exists may hold somebody's work.
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(|error| cannot_create(parent, &error))?;
    }
    fs::create_dir(&folder).map_err(|error| cannot_create(&folder, &error))?;
    let manifest = json!({
        "name": name,
        "version": "0.1.0",
        "description": "What it does, in a few words",
        "command": language.command,
    });
    let mut written = vec![write(&folder, MANIFEST, &format!("{manifest:#}\n"))?];
    for (file, text) in language.files {
        written.push(write(&folder, file, &text.replace(PLACEHOLDER, name))?);
    }
    if arguments.json {
        let files: Vec<_> = written.iter().map(|path| path.to_string_lossy()).collect();
        let shown = json!({ "name": name, "folder": folder.to_string_lossy(), "files": files });
        return say(&format!("{shown}\n")).map(|()| ExitCode::SUCCESS);
    }
    say(&next_steps(name, &folder, &written)).map(|()| ExitCode::SUCCESS)
}

fn next_steps(name: &str, folder: &Path, written: &[PathBuf]) -> String {
    let mut text = format!("Created the extension {name}:\n");
    for path in written {
        text.push_str(&format!("  {}\n", path.display()));
    }
    let shown = folder.display();
    text.push_str(&format!(
        "\nTry it out:       bowline extension check {shown}\n\
         Use it once:      bowline --mode rpc --extension {shown}\n\
         Use it always:    move the folder to ~/.bowline/extensions\n"
    ));
    text
}

/// The name becomes that of a folder and part of messages.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_usual = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let is_named = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if is_named && name.len() <= LONGEST_NAME && name.chars().all(is_usual) {
        return Ok(());
    }
    let text = format!(
        "\"{name}\" cannot be the name of an extension: use at most {LONGEST_NAME} letters, digits, -, _ and ., the \
         first a letter or digit"
    );
    Err(Failure::Usage(text))
}

fn find(wanted: Option<&str>) -> Result<&'static Language, Failure> {
    let Some(wanted) = wanted else { return Ok(&LANGUAGES[0]) };
    LANGUAGES.iter().find(|language| language.name == wanted).ok_or_else(|| {
        let names: Vec<_> = LANGUAGES.iter().map(|language| language.name).collect();
        let near = nearest(wanted, names.iter().copied());
        let hint = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        Failure::Usage(format!("--lang: there is no \"{wanted}\"{hint} (use {})", names.join(", ")))
    })
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, Failure> {
    let path = folder.join(name);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| cannot_create(&path, &error))?;
    Ok(path)
}

fn cannot_create(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("{} cannot be created: {error}", path.display()))
}
