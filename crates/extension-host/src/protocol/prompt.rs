//! The records of system prompts: what one is made of, and what extensions change of it for a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bowline_core::prompt::{ContextText, PromptChanges, PromptParts, Skill};
use bowline_core::slash_command::{Packaging, Scope, SourceInfo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SourceInfoRecord;

/// What the system prompt is made of, as far as the event tells it. The request `session.systemPromptOptions` returns all of it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SystemPromptOptions")]
#[serde(rename_all = "camelCase")]
pub struct PromptOptionsRecord<'event> {
    cwd: &'event Path,
    selected_tools: &'event [String],
    context_files: Vec<ContextFileName<'event>>,
    /// What extensions have changed already, as they returned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    changed: Option<PromptChangesRecord>,
    /// Whether an extension has replaced the whole prompt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_replaced: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ContextFile", description = "A file that the system prompt contains.")]
struct ContextFileName<'event> {
    path: &'event Path,
}

impl<'event> PromptOptionsRecord<'event> {
    pub fn of(parts: &'event PromptParts, changes: &PromptChanges) -> Self {
        let was_read = parts.context_files.iter().filter(|file| file.text.is_ok());
        let is_changed = *changes != PromptChanges::default();
        Self {
            cwd: &parts.directory,
            selected_tools: &parts.selected_tools,
            context_files: was_read.map(|file| ContextFileName { path: &file.path }).collect(),
            changed: is_changed.then(|| PromptChangesRecord::from(changes.clone())),
            is_replaced: changes.forced.is_some(),
        }
    }
}

/// What the system prompt of the session is made of.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SystemPromptParts")]
pub struct PromptPartsBody<'parts> {
    cwd: &'parts Path,
    /// What replaces bowline's own instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_prompt: Option<&'parts str>,
    /// What the user's configuration appends.
    append_system_prompt: &'parts str,
    selected_tools: &'parts [String],
    /// A line about each tool of an extension that has one, enabled or not.
    tool_snippets: &'parts BTreeMap<String, String>,
    /// Rules about the use of each tool that has some.
    tool_guidelines: BTreeMap<String, Vec<String>>,
    /// Rules that belong to no single tool.
    prompt_guidelines: &'parts [String],
    /// Sections that extensions add are those of a run, so there are none.
    sections: BTreeMap<String, String>,
    context_files: Vec<ContextTextRecord>,
    skills: Vec<SkillRecord>,
}

impl<'parts> PromptPartsBody<'parts> {
    pub fn of(parts: &'parts PromptParts) -> Self {
        let mut tool_guidelines = bowline_engine::own_guidelines(&parts.selected_tools);
        tool_guidelines.extend(parts.guidelines.iter().map(|(name, rules)| (name.clone(), rules.clone())));
        Self {
            cwd: &parts.directory,
            custom_prompt: parts.replacement.as_deref(),
            append_system_prompt: &parts.addition,
            selected_tools: &parts.selected_tools,
            tool_snippets: &parts.snippets,
            tool_guidelines,
            prompt_guidelines: &parts.rules,
            sections: BTreeMap::new(),
            context_files: parts.context_files.iter().filter_map(ContextTextRecord::of).collect(),
            skills: parts.skills.iter().map(SkillRecord::of).collect(),
        }
    }
}

/// Changes to the system prompt of one run.
#[derive(Debug, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "PromptChanges")]
pub struct PromptChangesRecord {
    /// Sections by their names; `null` for one that is not to be there. One named `tools`, `rules`, `addendum`,
    /// `project_context`, `skills` or `cwd` replaces that part of the prompt, any other is appended.
    #[serde(skip_serializing_if = "Map::is_empty")]
    sections: Map<String, Value>,
    /// Rules to append.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prompt_guidelines: Vec<String>,
    /// Text to append.
    #[serde(skip_serializing_if = "Option::is_none")]
    append_system_prompt: Option<String>,
    /// The lines about some tools, by their names; `null` for none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tool_snippets: BTreeMap<String, Option<String>>,
    /// The rules about the use of some tools, by their names, in place of those that they have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tool_guidelines: BTreeMap<String, Vec<String>>,
    /// The tools of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    selected_tools: Option<Vec<String>>,
    /// What takes the place of whole parts.
    #[serde(skip_serializing_if = "PromptReplacements::is_empty")]
    replace: PromptReplacements,
}

/// What takes the place of whole parts of the system prompt. What is absent stays.
#[derive(Debug, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct PromptReplacements {
    /// Replaces bowline's own instructions; empty to have them in place of the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_prompt: Option<String>,
    /// Replaces what the user's configuration appends.
    #[serde(skip_serializing_if = "Option::is_none")]
    append_system_prompt: Option<String>,
    /// Replaces the rules that belong to no single tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_guidelines: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_files: Option<Vec<ContextTextRecord>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skills: Option<Vec<SkillRecord>>,
}

impl PromptReplacements {
    fn is_empty(&self) -> bool {
        let Self { custom_prompt, append_system_prompt, prompt_guidelines, context_files, skills } = self;
        custom_prompt.is_none()
            && append_system_prompt.is_none()
            && prompt_guidelines.is_none()
            && context_files.is_none()
            && skills.is_none()
    }
}

/// A file with instructions of the user or the project.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContextText")]
struct ContextTextRecord {
    path: PathBuf,
    content: String,
}

impl ContextTextRecord {
    fn of(file: &ContextText) -> Option<Self> {
        let content = file.text.as_ref().ok()?.clone();
        Some(Self { path: file.path.clone(), content })
    }
}

/// A skill in the system prompt.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Skill")]
struct SkillRecord {
    name: String,
    description: String,
    file_path: PathBuf,
    #[serde(default)]
    base_dir: Option<PathBuf>,
    /// Where it was found. Not read.
    #[serde(default)]
    source_info: Option<Value>,
    /// Whether the model is not told about it.
    #[serde(default)]
    disable_model_invocation: bool,
}

impl SkillRecord {
    fn of(skill: &Skill) -> Self {
        Self {
            name: skill.name.clone(),
            description: skill.description.clone(),
            file_path: skill.path.clone(),
            base_dir: skill.path.parent().map(Path::to_owned),
            source_info: serde_json::to_value(SourceInfoRecord::from(&skill.source)).ok(),
            disable_model_invocation: skill.is_user_only,
        }
    }
}

impl From<SkillRecord> for Skill {
    fn from(record: SkillRecord) -> Self {
        let source = SourceInfo {
            path: record.file_path.clone(),
            source: "extension".to_owned(),
            scope: Scope::Temporary,
            packaging: Packaging::TopLevel,
            base_folder: record.base_dir,
        };
        Self {
            name: record.name,
            description: record.description,
            path: record.file_path,
            is_user_only: record.disable_model_invocation,
            source,
        }
    }
}

impl TryFrom<PromptChangesRecord> for PromptChanges {
    type Error = String;

    fn try_from(record: PromptChangesRecord) -> Result<Self, String> {
        let mut sections = Vec::new();
        for (name, text) in record.sections {
            if !is_section_name(&name) {
                return Err(format!(
                    "{name:?} cannot name a section of the system prompt; use a-z, 0-9, _ and - after a letter, and not preamble"
                ));
            }
            match text {
                Value::String(text) => sections.push((name, Some(text).filter(|text| !text.is_empty()))),
                Value::Null => sections.push((name, None)),
                _ => return Err(format!("the section {name} of the system prompt is no text")),
            }
        }
        let replace = record.replace;
        let text = |file: ContextTextRecord| ContextText { path: file.path, text: Ok(file.content) };
        Ok(Self {
            forced: None,
            replacement: replace.custom_prompt,
            addition: replace.append_system_prompt,
            appended: record.append_system_prompt.into_iter().collect(),
            rules: replace.prompt_guidelines,
            added_rules: record.prompt_guidelines,
            snippets: record.tool_snippets,
            guidelines: record.tool_guidelines,
            sections,
            context_files: replace.context_files.map(|files| files.into_iter().map(text).collect()),
            skills: replace.skills.map(|skills| skills.into_iter().map(Into::into).collect()),
            selected_tools: record.selected_tools,
        })
    }
}

impl From<PromptChanges> for PromptChangesRecord {
    fn from(changes: PromptChanges) -> Self {
        let section =
            |(name, text): (String, Option<String>)| (name, text.map_or(Value::Null, Value::String));
        let files = |files: Vec<ContextText>| files.iter().filter_map(ContextTextRecord::of).collect();
        Self {
            sections: changes.sections.into_iter().map(section).collect(),
            prompt_guidelines: changes.added_rules,
            append_system_prompt: (!changes.appended.is_empty()).then(|| changes.appended.join("\n\n")),
            tool_snippets: changes.snippets,
            tool_guidelines: changes.guidelines,
            selected_tools: changes.selected_tools,
            replace: PromptReplacements {
                custom_prompt: changes.replacement,
                append_system_prompt: changes.addition,
                prompt_guidelines: changes.rules,
                context_files: changes.context_files.map(files),
                skills: changes.skills.map(|skills| skills.iter().map(SkillRecord::of).collect()),
            },
        }
    }
}

/// Tells whether a section can have this name, which becomes a tag.
fn is_section_name(name: &str) -> bool {
    let is_further = |character| matches!(character, 'a'..='z' | '0'..='9' | '_' | '-');
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(is_further)
        && name != "preamble"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_the_same_after_a_way_there_and_back() {
        let wire = json!({
            "sections": { "style": "in verse", "skills": null },
            "promptGuidelines": ["Rhyme."],
            "appendSystemPrompt": "The end.",
            "toolSnippets": { "read": "reads", "bash": null },
            "toolGuidelines": { "edit": [] },
            "selectedTools": ["read"],
            "replace": { "customPrompt": "", "contextFiles": [{ "path": "/a", "content": "A" }] },
        });
        let record: PromptChangesRecord = serde_json::from_value(wire.clone()).unwrap();
        let changes = PromptChanges::try_from(record).unwrap();
        assert_eq!(serde_json::to_value(PromptChangesRecord::from(changes)).unwrap(), wire);
    }

    #[test]
    fn names_of_sections_are_names_of_tags() {
        for (name, is_name) in [("a", true), ("my-part_2", true), ("", false), ("2a", false), ("a b", false)]
            .into_iter()
            .chain([("A", false), ("a>", false), ("preamble", false)])
        {
            let record: PromptChangesRecord =
                serde_json::from_value(json!({ "sections": { name: "x" } })).unwrap();
            assert_eq!(PromptChanges::try_from(record).is_ok(), is_name, "{name}");
        }
    }
}
