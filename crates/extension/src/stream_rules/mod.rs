//! Stream rules: they cost no context until what the model writes matches one of their regular expressions.
//!
//! A rule is a Markdown file. Its fields say what to look for and where; its text is what the model is told when it
//! breaks the rule. The files are read by [`load`], and [`Watch`] looks for matches while an answer arrives.

mod arguments;
mod files;
mod pattern;
mod rule_file;
mod scope;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::stream_rule::StreamRule;

pub use watch::{Found, Source, Watch};

use pattern::Patterns;
use rule_file::CompiledRule;

/// The most rules and expressions that are watched for, and the most that the automatons of all may take together.
const MAX_RULES: usize = 100;
const MAX_CONDITIONS: usize = 256;
const MAX_SIZE: usize = 512 * 1024;

/// Where rules are searched, and which of them count.
#[derive(Debug, Clone)]
pub struct Places {
    /// The folder whose folder `rules` has the user's own.
    pub own: PathBuf,
    /// The folder that the agent works in.
    pub working: PathBuf,
    /// The names of rules that are not used.
    pub disabled: Vec<String>,
    /// The agent that the rules are for.
    pub agent: String,
}

/// The rules of a project and its user.
#[derive(Debug)]
pub struct StreamRules {
    rules: Vec<CompiledRule>,
    patterns: Patterns,
    /// The rule that each expression belongs to.
    owners: Vec<usize>,
    working: PathBuf,
}

/// What was found in the files.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The rules, if there are any.
    pub rules: Option<Arc<StreamRules>>,
    /// Which files or parts of them are not used, and why.
    pub warnings: Vec<String>,
}

/// Reads the rules. Blocks as long as the disk does.
pub fn load(places: &Places) -> Loaded {
    let mut warnings = Vec::new();
    let mut rules: Vec<CompiledRule> = Vec::new();
    let (mut size, mut conditions) = (0, 0);
    for file in files::find(places, &mut warnings) {
        let is_shadowed = rules.iter().any(|rule| rule.rule.name == file.name);
        if is_shadowed || places.disabled.contains(&file.name) {
            continue;
        }
        let path = file.path.clone();
        match rule_file::read(file, &places.agent, &mut warnings) {
            Ok(None) => {}
            Ok(Some(rule))
                if rules.len() == MAX_RULES
                    || conditions + rule.usable.len() > MAX_CONDITIONS
                    || size + rule.size > MAX_SIZE =>
            {
                warnings.push(format!(
                    "{}: the rule is not used: there are too many rules, or they are too complex together",
                    rule.rule.path.display()
                ));
            }
            Ok(Some(rule)) => {
                size += rule.size;
                conditions += rule.usable.len();
                rules.push(rule);
            }
            Err(reason) => warnings.push(format!("{}: the rule is not used: {reason}", path.display())),
        }
    }
    let rules = (!rules.is_empty()).then(|| StreamRules::new(rules, places.working.clone()));
    let rules = rules.and_then(|rules| match rules {
        Ok(rules) => Some(Arc::new(rules)),
        Err(reason) => {
            warnings.push(format!("no stream rule is used: {reason}"));
            None
        }
    });
    Loaded { rules, warnings }
}

impl StreamRules {
    fn new(rules: Vec<CompiledRule>, working: PathBuf) -> Result<Self, String> {
        let conditions = rules
            .iter()
            .enumerate()
            .flat_map(|(index, rule)| rule.usable.iter().map(move |condition| (index, condition.as_str())));
        let (owners, expressions): (Vec<_>, Vec<_>) = conditions.unzip();
        let patterns = Patterns::new(&expressions)?;
        Ok(Self { patterns, owners, rules, working })
    }

    /// Returns the rule with this number.
    pub fn rule(&self, index: usize) -> Option<&Arc<StreamRule>> {
        self.rules.get(index).map(|rule| &rule.rule)
    }

    /// Returns the path of a rule as the model reads it: from the working folder, if it is below it.
    pub fn shown_path<'a>(&self, rule: &'a StreamRule) -> &'a Path {
        rule.path.strip_prefix(&self.working).unwrap_or(&rule.path)
    }
}
