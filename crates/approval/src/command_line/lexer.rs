//! The lexer: a command line as simple commands of literal words. It knows the plain subset of the shell's language, and
//! says where a text leaves it. Whatever it does not know makes a text not plain; it never guesses.

/// A text as the shell would split it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Lexed {
    pub commands: Vec<SimpleCommand>,
    /// Whether the whole text is in the plain subset, so that `commands` is all that it does.
    pub is_plain: bool,
    /// Whether a quote may have hidden the beginning of a line: one has no end, or is in a here-document, where it is a
    /// character like any other.
    pub may_hide_lines: bool,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SimpleCommand {
    pub words: Vec<Word>,
    /// Assignments before the first word: `A=b`.
    pub has_assignments: bool,
    /// Redirections to or from something else than a descriptor and `/dev/null`.
    pub has_redirections: bool,
    /// What is assigned, and what it is redirected to or from.
    pub asides: Vec<Word>,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// What the program gets, as far as that is known.
    pub text: String,
    /// Whether `text` is all of it.
    pub is_literal: bool,
    /// Whether it has a pattern that the shell replaces by names of files.
    pub has_glob: bool,
    /// Whether any part of it was quoted, which keeps a word from being a keyword.
    pub is_quoted: bool,
}

/// Words with which a command that is no simple one begins.
const KEYWORDS: [&str; 22] = [
    "if", "then", "elif", "else", "fi", "for", "select", "while", "until", "do", "done", "case", "esac",
    "in", "function", "time", "coproc", "{", "}", "!", "[[", "]]",
];

/// Commands that take declarations, whose arguments the shell treats as assignments.
const DECLARATIONS: [&str; 6] = ["declare", "typeset", "local", "export", "readonly", "alias"];

/// Splits a text. It takes time and memory in proportion to its length.
pub(crate) fn lex(text: &str) -> Lexed {
    let mut lexer =
        Lexer { rest: text, lexed: Lexed { is_plain: true, ..Lexed::default() }, ..Lexer::default() };
    lexer.run();
    lexer.lexed
}

#[derive(Default)]
struct Lexer<'text> {
    rest: &'text str,
    lexed: Lexed,
    command: SimpleCommand,
    word: Option<Word>,
    /// Whether the word being read is the target of a redirection.
    redirects: bool,
    /// Whether something must follow: an operator such as `&&` was read.
    is_incomplete: bool,
    /// Whether a command was ended by an operator that needs one before it.
    has_command: bool,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(next) = self.next() {
            match next {
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '\\' => self.escaped(),
                ' ' | '\t' => self.end_word(),
                '\n' => self.end_line(),
                '#' if self.word.is_none() => self.comment(),
                ';' | '&' | '|' => self.operator(next),
                '<' | '>' => self.redirection(next),
                '$' => self.expansion(),
                // What it encloses is a command of its own.
                '`' => {
                    self.lexed.is_plain = false;
                    self.end_command();
                }
                '(' | ')' | '{' | '}' => self.bracket(next),
                '*' | '?' | '[' | ']' => self.glob(next),
                '~' => self.tilde(),
                // The shell separates words at none of these, but readers see a gap.
                other if other.is_control() || (other.is_whitespace() && !other.is_ascii()) => {
                    self.lexed.is_plain = false;
                    self.push(other);
                }
                other => self.push(other),
            }
        }
        self.end_command();
        if self.is_incomplete {
            self.lexed.is_plain = false;
        }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn takes(&mut self, expected: char) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_with(|| Word {
            text: String::new(),
            is_literal: true,
            has_glob: false,
            is_quoted: false,
        })
    }

    fn push(&mut self, character: char) {
        self.word().text.push(character);
    }

    fn single_quoted(&mut self) {
        self.word().is_quoted = true;
        match self.rest.split_once('\'') {
            Some((quoted, rest)) => {
                self.word().text.push_str(quoted);
                self.rest = rest;
            }
            None => self.unterminated(),
        }
    }

    fn double_quoted(&mut self) {
        self.word().is_quoted = true;
        loop {
            match self.next() {
                Some('"') => return,
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(kept @ ('$' | '`' | '"' | '\\')) => self.push(kept),
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                    None => return self.unterminated(),
                },
                Some(special @ ('$' | '`')) => {
                    self.lexed.is_plain = false;
                    self.word().is_literal = false;
                    self.push(special);
                }
                Some(other) => self.push(other),
                None => return self.unterminated(),
            }
        }
    }

    fn escaped(&mut self) {
        match self.next() {
            // The line goes on.
            Some('\n') => {}
            Some(other) => {
                self.word().is_quoted = true;
                self.push(other);
            }
            None => self.unterminated(),
        }
    }

    fn unterminated(&mut self) {
        self.lexed.is_plain = false;
        self.lexed.may_hide_lines = true;
        self.word().is_literal = false;
        let rest = std::mem::take(&mut self.rest);
        self.word().text.push_str(rest);
    }

    /// Takes a dollar sign outside of quotes. What follows is read as if it were plain, because commands are looked for in
    /// it.
    fn expansion(&mut self) {
        self.lexed.is_plain = false;
        if self.takes('\'') {
            return self.with_escapes();
        }
        // `$"…"` is a text that may be translated, as a rule to itself.
        if !self.rest.starts_with('"') {
            self.word().is_literal = false;
            self.push('$');
        }
    }

    /// Takes a text of the form `$'…'`, in which a backslash begins an escape, also of a quote.
    fn with_escapes(&mut self) {
        self.word().is_quoted = true;
        loop {
            match self.next() {
                Some('\'') => return,
                Some('\\') => match self.next() {
                    Some(letter) => self.escape(letter),
                    None => return self.unterminated(),
                },
                Some(other) => self.push(other),
                None => return self.unterminated(),
            }
        }
    }

    fn escape(&mut self, letter: char) {
        let meant = match letter {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            '\'' | '"' | '\\' | '?' => Some(letter),
            'x' => self.number("", 16, 2),
            'u' => self.number("", 16, 4),
            'U' => self.number("", 16, 8),
            '0'..='7' => self.number(letter.encode_utf8(&mut [0; 4]), 8, 2),
            _ => None,
        };
        match meant {
            Some(character) => self.push(character),
            // Others are rare, and what they make of a word is not known.
            None => self.word().is_literal = false,
        }
    }

    /// Takes up to `most` more digits of a character's number.
    fn number(&mut self, first: &str, base: u32, most: usize) -> Option<char> {
        let more = self.rest.chars().take(most).take_while(|character| character.is_digit(base)).count();
        let digits = format!("{first}{}", &self.rest[..more]);
        self.rest = &self.rest[more..];
        u32::from_str_radix(&digits, base).ok().and_then(char::from_u32)
    }

    /// Takes a tilde. The shell replaces it at the beginning of a word, and after a colon or an equals sign.
    fn tilde(&mut self) {
        let is_replaced = match &self.word {
            None => true,
            Some(word) => word.text.is_empty() || word.text.ends_with([':', '=']),
        };
        if is_replaced {
            self.lexed.is_plain = false;
        }
        self.push('~');
    }

    fn bracket(&mut self, bracket: char) {
        self.lexed.is_plain = false;
        if matches!(bracket, '(' | ')') {
            self.end_command();
        } else {
            self.push(bracket);
        }
    }

    fn glob(&mut self, character: char) {
        if character == '[' && self.command.words.is_empty() {
            // It may begin an assignment to an element, which may contain anything.
            self.lexed.is_plain = false;
        }
        self.word().has_glob = true;
        self.push(character);
    }

    fn comment(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    fn end_line(&mut self) {
        self.end_command();
        if self.is_incomplete {
            // After `&&` and its like a line may end; the command follows.
            return;
        }
        self.has_command = false;
    }

    fn operator(&mut self, operator: char) {
        if operator == '&' && self.takes('>') {
            // Both outputs go there.
            self.lexed.is_plain = false;
            return self.redirection('>');
        }
        let is_double = self.takes(operator);
        self.end_command();
        if !self.has_command || self.is_incomplete {
            // `;;`, `a && && b`, or an operator at the beginning.
            self.lexed.is_plain = false;
        }
        match (operator, is_double) {
            (';', false) | ('&', false) => {
                self.has_command = false;
                self.is_incomplete = false;
            }
            (';', true) => self.lexed.is_plain = false,
            ('|', false) if self.takes('&') => {
                // It also redirects the errors.
                self.is_incomplete = true;
            }
            ('&', true) | ('|', _) => self.is_incomplete = true,
            _ => self.lexed.is_plain = false,
        }
        if operator == '&' && !is_double {
            // It goes on in the background, so nothing about its end is known.
            self.lexed.is_plain = false;
        }
    }

    fn redirection(&mut self, operator: char) {
        // A number in front of it is a descriptor.
        let is_number = |word: &Word| {
            !word.is_quoted && !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if let Some(number) = self.word.as_ref().filter(|word| is_number(word)) {
            if number.text.parse::<i32>().is_ok() {
                // `>2>a` has no target before the second sign.
                self.lexed.is_plain &= !self.redirects;
                self.word = None;
            } else {
                // One that no descriptor can have is a word of the command.
                self.lexed.is_plain = false;
            }
        }
        self.end_word();
        let duplicates = self.takes('&');
        let is_here = operator == '<' && self.takes('<');
        if is_here {
            let is_document = !self.takes('<');
            self.lexed.may_hide_lines |= is_document;
            if is_document {
                let _ = self.takes('-');
            }
        }
        if is_here || self.rest.starts_with('(') || self.redirects {
            // Here-documents, here-strings and process substitutions.
            self.lexed.is_plain = false;
        }
        if !duplicates && !self.takes('>') && operator == '>' {
            let _ = self.takes('|');
        }
        while matches!(self.rest.chars().next(), Some(' ' | '\t')) {
            self.next();
        }
        if duplicates {
            return self.descriptor();
        }
        self.redirects = true;
        if matches!(self.rest.chars().next(), None | Some('\n' | ';' | '&' | '|' | '<' | '>' | '#')) {
            self.lexed.is_plain = false;
            self.redirects = false;
        }
    }

    /// Reads the descriptor after `>&`.
    fn descriptor(&mut self) {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = self.rest[digits..].strip_prefix('-').unwrap_or(&self.rest[digits..]);
        self.lexed.is_plain &= digits == 0 || self.rest[..digits].parse::<i32>().is_ok();
        let ends =
            matches!(after.chars().next(), None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>'));
        if ends && after.len() < self.rest.len() {
            self.rest = after;
            return;
        }
        // `>& file` is a redirection of both outputs.
        self.lexed.is_plain = false;
        self.command.has_redirections = true;
        self.redirects = true;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if self.redirects {
            self.redirects = false;
            let is_harmless = word.is_literal && !word.has_glob && word.text == "/dev/null";
            self.command.has_redirections |= !is_harmless;
            if !word.is_literal || word.has_glob {
                self.lexed.is_plain = false;
            }
            if !is_harmless {
                self.command.asides.push(word);
            }
            return;
        }
        if self.command.words.is_empty() {
            if is_assignment(&word) {
                self.command.has_assignments = true;
                self.command.asides.push(word);
                return;
            }
            if !word.is_quoted && KEYWORDS.contains(&word.text.as_str()) {
                self.lexed.is_plain = false;
            }
        }
        let is_declaration =
            self.command.words.first().is_some_and(|first| DECLARATIONS.contains(&first.text.as_str()));
        if is_declaration && word.text.contains('=') {
            self.lexed.is_plain = false;
        }
        // `{a,b}` and the beginning of a group are not plain already.
        self.command.words.push(word);
    }

    fn end_command(&mut self) {
        self.end_word();
        if self.redirects {
            self.redirects = false;
            self.lexed.is_plain = false;
        }
        let command = std::mem::take(&mut self.command);
        if command != SimpleCommand::default() {
            self.lexed.commands.push(command);
            self.has_command = true;
            self.is_incomplete = false;
        }
    }
}

/// Tells whether a word before the command sets a variable: `A=b`, `A+=b`, `A[1]=b`.
fn is_assignment(word: &Word) -> bool {
    let Some((name, _)) = word.text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first == '_' || first.is_ascii_alphabetic())
        && characters.all(|character| character == '_' || character.is_ascii_alphanumeric())
}
