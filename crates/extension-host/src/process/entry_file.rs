//! What a file in a folder of extensions is.

use std::fs::File;
use std::path::Path;

use crate::process::executable;

/// How much of a file is looked at, in bytes. What a bundle exports is at its end.
const BEGINNING: u64 = 4 * 1024 * 1024;

/// The endings of files that are run by a program, and the program.
pub(crate) const ENDINGS: [(&str, &str); 7] = [
    ("py", "python3"),
    ("js", "node"),
    ("mjs", "node"),
    ("cjs", "node"),
    ("ts", "node"),
    ("mts", "node"),
    ("sh", "sh"),
];

/// What a file is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An extension, with the program that runs it and its arguments.
    Program(Vec<String>),
    /// A module in the form of pi's extensions.
    OfPi,
    Other,
}

/// Looks at a file.
pub(crate) fn look_at(path: &Path) -> Result<Kind, String> {
    let file = bowline_files::open(path).map_err(|error| error.to_string())?;
    let shown = path.to_string_lossy().into_owned();
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let program = ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, program)| *program);
    let is_executable = file.metadata().is_ok_and(|metadata| executable::is(&metadata));
    if program == Some("node") && is_module_of_pi(file, path)? {
        return Ok(Kind::OfPi);
    }
    Ok(match program {
        _ if is_executable => Kind::Program(vec![shown]),
        Some(program) => Kind::Program(vec![program.to_owned(), shown]),
        None => Kind::Other,
    })
}

/// Tells whether a folder is a package of pi: it names its extensions, or has a module that is one.
pub(crate) fn is_package_of_pi(folder: &Path) -> bool {
    let names_extensions = bowline_files::read_text(&folder.join("package.json"), BEGINNING)
        .ok()
        .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok())
        .is_some_and(|package| package["pi"].is_object());
    names_extensions
        || ["index.ts", "index.js"].iter().any(|name| look_at(&folder.join(name)) == Ok(Kind::OfPi))
}

/// Tells whether a file exports a function by default, as extensions of pi do. One of ours is a program.
fn is_module_of_pi(file: File, path: &Path) -> Result<bool, String> {
    let beginning =
        bowline_files::read_beginning(file, path, BEGINNING).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&beginning.bytes);
    Ok(exports_default(&text))
}

/// Tells whether a text exports something by default: as the language has it, or as compilers write it.
fn exports_default(text: &str) -> bool {
    let begins_so = |line: &str| {
        ["export default", "export{", "export {", "module.exports", "exports.default"]
            .iter()
            .find(|beginning| line.starts_with(**beginning))
            .is_some_and(|beginning| !beginning.ends_with('{') || names_default(text))
    };
    text.lines().any(begins_so) || text.rsplit_once("export{").is_some_and(|(_, rest)| names_default(rest))
}

/// Tells whether a list of exports gives one the name `default`.
fn names_default(text: &str) -> bool {
    text.split(['\n', ',', '{', '}', ';']).any(|part| {
        let mut words = part.split_whitespace().rev();
        // `a as default`, or what another module exports by default.
        words.next() == Some("default") && matches!(words.next(), Some("as") | None)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_exports_are_recognized_in_the_forms_of_the_language_and_of_compilers() {
        for text in [
            "import x from \"y\";\nexport default function (pi) {}\n",
            "const a = 1;\nexport { a as default };\n",
            "export {\n  a,\n  main as default,\n};\n",
            "const a=1;export{a as default};\n",
            "export { default } from \"./src/main.ts\";\n",
            "\"use strict\";\nexports.default = activate;\n",
            "module.exports = (pi) => {};\n",
        ] {
            assert!(exports_default(text), "{text}");
        }
        for text in [
            "",
            "export { a };\nconst b = 1;\n",
            "export { default as a } from \"./a.js\";\n",
            "// export default\nimport { Extension } from \"./bowline_extension.mjs\";\n",
            "export const a = 1;\n",
        ] {
            assert!(!exports_default(text), "{text}");
        }
    }
}
