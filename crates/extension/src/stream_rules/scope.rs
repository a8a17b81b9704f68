//! What a rule watches: tokens such as `text`, `thinking`, `tool` or `tool:edit(*.ts)`.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// The longest token or glob.
const LONGEST: usize = 1024;

/// One token of a scope.
#[derive(Debug)]
pub(super) enum Scope {
    Text,
    Thinking,
    /// The arguments of a tool's calls, or of every tool's.
    Tool {
        name: Option<String>,
        glob: Option<Glob>,
    },
}

/// A pattern of paths.
#[derive(Debug)]
pub(super) struct Glob(GlobMatcher);

impl Scope {
    /// Returns the scope of a rule that names none.
    pub fn default_scope() -> Vec<Self> {
        vec![Self::Text, Self::Tool { name: None, glob: None }]
    }

    /// Reads a token.
    pub fn parse(token: &str) -> Result<Self, String> {
        let (name, glob) = match token.strip_suffix(')').and_then(|token| token.split_once('(')) {
            Some((name, glob)) => (name.trim(), Some(Glob::parse(glob)?)),
            None => (token, None),
        };
        let is_tool_name = |name: &str| {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.*".contains(letter);
            !name.is_empty() && name.len() <= LONGEST && name.chars().all(is_letter)
        };
        match name {
            "text" | "thinking" if glob.is_some() => Err("only tools have files".to_owned()),
            "text" => Ok(Self::Text),
            "thinking" => Ok(Self::Thinking),
            "tool" | "toolcall" => Ok(Self::Tool { name: None, glob }),
            name => {
                let name =
                    name.strip_prefix("tool:").or_else(|| name.strip_prefix("toolcall:")).unwrap_or(name);
                if !is_tool_name(name) {
                    return Err("this is not text, thinking, tool or the name of a tool".to_owned());
                }
                Ok(Self::Tool { name: Some(name.to_owned()), glob })
            }
        }
    }

    /// Tells whether calls of a tool are watched, whatever their file.
    pub fn has_tool(&self, tool: &str) -> bool {
        matches!(self, Self::Tool { name, .. } if name.as_deref().is_none_or(|name| name == tool))
    }

    /// Tells whether calls of a tool with these files are watched.
    pub fn has_call(&self, tool: &str, paths: &[String], working: &Path) -> bool {
        let Self::Tool { glob, .. } = self else { return false };
        self.has_tool(tool) && glob.as_ref().is_none_or(|glob| glob.has_any(paths, working))
    }
}

impl Glob {
    pub fn parse(pattern: &str) -> Result<Self, String> {
        if pattern.len() > LONGEST {
            return Err(format!("the pattern of files is longer than {LONGEST} bytes"));
        }
        let glob = GlobBuilder::new(pattern.trim()).literal_separator(true).build();
        glob.map(|glob| Self(glob.compile_matcher())).map_err(|error| error.kind().to_string())
    }

    /// Tells whether a name matches as a whole.
    pub fn has_name(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    /// Tells whether one of the paths matches: from the working folder, as it is, or its last part.
    pub fn has_any(&self, paths: &[String], working: &Path) -> bool {
        paths.iter().any(|path| {
            let path = Path::new(path);
            let relative = path.strip_prefix(working).or_else(|_| path.strip_prefix(".")).unwrap_or(path);
            let name = path.file_name().map(Path::new);
            self.0.is_match(relative)
                || self.0.is_match(path)
                || name.is_some_and(|name| self.0.is_match(name))
        })
    }
}

/// Splits a list at its commas, but not at those within brackets.
pub(super) fn split_list(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (place, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(token: &str, tool: &str, path: &str, expected: bool) {
        let paths = [path.to_owned()];
        let scope = Scope::parse(token).unwrap();
        assert_eq!(scope.has_call(tool, &paths, Path::new("/project")), expected, "{token} {tool} {path}");
    }

    #[test]
    fn tokens_name_tools_and_their_files() {
        check("tool", "bash", "", true);
        check("toolcall", "edit", "a.rs", true);
        check("tool:edit(*.ts)", "edit", "src/a.ts", true);
        check("tool:edit(*.ts)", "write", "src/a.ts", false);
        check("edit(*.{ts,tsx})", "edit", "a.tsx", true);
        check("write(src/**)", "write", "/project/src/deep/a", true);
        check("write(src/*)", "write", "./src/deep/a", false);
        check("write(src/*)", "write", "./src/a", true);
        check("text", "text", "", false);
        assert!(matches!(Scope::parse("thinking"), Ok(Scope::Thinking)));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for token in ["", "tool:", "what ever", "text(*.ts)", "edit([)"] {
            assert!(Scope::parse(token).is_err(), "{token}");
        }
    }

    #[test]
    fn lists_are_split_outside_brackets() {
        assert_eq!(split_list("text, edit(*.{a,b}), ,write"), ["text", "edit(*.{a,b})", "write"]);
    }
}
