//! The tool `edit`: replaces quoted pieces of a text file. All are matched against the original file; either all are
//! applied or none.

mod difference;
mod explanation;
mod matching;
mod normal_form;

use std::io;
use std::path::Path;
use std::sync::Arc;

use bowline_core::message::Arguments;
use bowline_core::tool::{ToolDisplay, ToolTraits};
use serde_json::{Map, Value, json};

use self::matching::{Match, Matches};
use crate::atomic_file;
use crate::builtin::{Builtin, Call, described, rename, uninterrupted, with_path_alias};
use crate::editor::OpenFile;
use crate::error::Error;
use crate::file_locks;
use crate::parameters::{Kind, Parameter, text};
use crate::tool::Outcome;
use crate::truncate::format_size;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The largest file that is edited: it is held in memory several times.
const SIZE_LIMIT: u64 = 10 << 20;

static EDIT_FIELDS: [Parameter; 2] = [
    Parameter::required("oldText", Kind::Text, "Text in the file, exact and unique"),
    Parameter::required("newText", Kind::Text, ""),
];

pub(crate) static TOOL: Builtin = Builtin {
    traits: ToolTraits {
        name: "edit",
        mutates: true,
        path_argument: Some("path"),
        display: ToolDisplay::Edit,
    },
    description: "Replace pieces of a text file. Each oldText must be in the file exactly once; all are matched against the \
        file before the call and must not overlap. Change several places in one call.",
    parameters: &[
        Parameter::required("path", Kind::Text, "File, relative or absolute"),
        Parameter::required("edits", Kind::Objects(&EDIT_FIELDS), ""),
    ],
    enabled_by_default: true,
    describe: described,
    prepare,
    run: |call| Box::pin(async move { edit(call).await.unwrap_or_else(Outcome::from) }),
};

/// A requested replacement.
struct Edit {
    old: String,
    new: String,
}

/// A replacement whose place was found.
struct Replacement {
    index: usize,
    place: Match,
    new: String,
}

/// Converts other forms of the arguments that models send: other names, and for `edits` JSON in a string, a single object,
/// or the two texts beside the path.
fn prepare(arguments: &mut Arguments) {
    with_path_alias(arguments);
    rename_texts(arguments);
    let mut edits = match arguments.shift_remove("edits") {
        Some(Value::String(json)) => serde_json::from_str(&json).unwrap_or(Value::String(json)),
        Some(other) => other,
        None => Value::Null,
    };
    if edits.is_object() {
        edits = Value::Array(vec![edits]);
    }
    if let Value::Array(list) = &mut edits {
        list.iter_mut().filter_map(Value::as_object_mut).for_each(rename_texts);
    }
    let texts = ["oldText", "newText"];
    if (edits.is_null() || edits.is_array()) && texts.iter().all(|name| arguments.contains_key(*name)) {
        let edit: Map<_, _> = texts
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), arguments.shift_remove(*name)?)))
            .collect();
        match &mut edits {
            Value::Array(list) => list.push(edit.into()),
            other => *other = Value::Array(vec![edit.into()]),
        }
    }
    if !edits.is_null() {
        arguments.insert("edits".to_owned(), edits);
    }
}

/// Accepts the names that other agents give to the texts.
fn rename_texts(edit: &mut Map<String, Value>) {
    rename(edit, "old_string", "oldText");
    rename(edit, "new_string", "newText");
}

async fn edit(call: Call) -> Result<Outcome, Error> {
    let given = text(&call.arguments, "path").unwrap_or_default().to_owned();
    let edits = edits(&call.arguments, &given)?;
    let spare = call.options.temporary_directory.clone();
    let editor = call.context.editor.clone();
    let lock = file_locks::lock_for(call, &given).await?;
    match OpenFile::of(editor, lock, spare.clone()) {
        Ok(open) => edit_open(open, given, edits).await,
        Err(lock) => uninterrupted(move || edit_file(lock.path(), &given, &edits, spare.as_deref())).await,
    }
}

/// Edits a file by way of the client. What the client has not saved is edited, too, if it has the texts to replace.
async fn edit_open(open: OpenFile, given: String, edits: Vec<Edit>) -> Result<Outcome, Error> {
    let (lock, name) = (Arc::clone(&open.lock), given.clone());
    let disk = uninterrupted(move || read(lock.path(), &name)).await?;
    let unsaved = open.unsaved(&disk).await;
    let (name, disk_too) = (given.clone(), disk.clone());
    let (change, is_unsaved) = uninterrupted(move || {
        let of_client = unsaved.and_then(|text| Change::of(text, &name, &edits).ok());
        let is_unsaved = of_client.is_some();
        let change = of_client.map_or_else(|| Change::of(disk_too, &name, &edits), Ok)?;
        Ok((change, is_unsaved))
    })
    .await?;
    let wanted = change.text();
    let written = open.write(Some(&disk), wanted.clone()).await?;
    uninterrupted(move || {
        let mut outcome = change.outcome(&given);
        if written.text != wanted {
            // The client has formatted it: what is shown is what the file has.
            let shown = written.text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&written.text);
            let details = patch(&given, &change.before, shown).map(|patch| json!({ "patch": patch }));
            outcome = Outcome { details, ..outcome };
        }
        Ok(noted(outcome, written.refused, is_unsaved))
    })
    .await
}

/// Adds how a change went through the client.
pub(crate) fn noted(mut outcome: Outcome, refused: Option<String>, is_unsaved: bool) -> Outcome {
    let mut editor = json!({ "written": refused.is_none() });
    if let Some(reason) = refused {
        editor["reason"] = reason.into();
    }
    if is_unsaved {
        editor["hadUnsavedChanges"] = true.into();
    }
    outcome.details.get_or_insert_with(|| json!({}))["editor"] = editor;
    outcome
}

fn edits(arguments: &Arguments, given: &str) -> Result<Vec<Edit>, Error> {
    let list = arguments.get("edits").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let field = |edit: &Value, name: &str| {
        let text = edit.get(name).and_then(Value::as_str).unwrap_or_default();
        text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).to_owned()
    };
    let edits: Vec<_> =
        list.iter().map(|edit| Edit { old: field(edit, "oldText"), new: field(edit, "newText") }).collect();
    if edits.is_empty() {
        return Err(Error::NoEdits);
    }
    match edits.iter().position(|edit| edit.old.is_empty()) {
        Some(index) => Err(Error::OldTextEmpty { edit: name_of(index, edits.len()), path: given.to_owned() }),
        None => Ok(edits),
    }
}

/// Returns the name by which an error refers to the text to replace.
fn name_of(index: usize, count: usize) -> String {
    if count == 1 { "oldText".to_owned() } else { format!("oldText of edits[{index}]") }
}

fn edit_file(path: &Path, given: &str, edits: &[Edit], spare: Option<&Path>) -> Result<Outcome, Error> {
    let change = Change::of(read(path, given)?, given, edits)?;
    let existing =
        atomic_file::existing(path).map_err(|error| Error::opening("write", given, path, error))?;
    atomic_file::replace(path, existing.as_ref(), change.text().as_bytes(), spare)
        .map_err(Error::file("write", given))?;
    Ok(change.outcome(given))
}

/// What edits make of a text.
struct Change {
    /// Whether the text begins with a byte order mark, which belongs neither to `before` nor to `after`.
    has_mark: bool,
    before: String,
    after: String,
    replacements: Vec<Replacement>,
}

impl Change {
    fn of(mut content: String, given: &str, edits: &[Edit]) -> Result<Self, Error> {
        let has_mark = content.starts_with(BYTE_ORDER_MARK);
        if has_mark {
            content.drain(..BYTE_ORDER_MARK.len());
        }
        let replacements = place(&content, given, edits)?;
        let after = apply(&content, &replacements);
        if after == content {
            return Err(Error::NoChange { path: given.to_owned() });
        }
        Ok(Self { has_mark, before: content, after, replacements })
    }

    /// Returns the whole new text.
    fn text(&self) -> String {
        let mark = if self.has_mark { BYTE_ORDER_MARK } else { "" };
        format!("{mark}{}", self.after)
    }

    fn outcome(&self, given: &str) -> Outcome {
        outcome(given, &self.before, &self.after, &self.replacements)
    }
}

/// Returns the text of a file that is small enough to be edited.
fn read(path: &Path, given: &str) -> Result<String, Error> {
    let failed = |error| Error::opening("read", given, path, error);
    let file = bowline_files::open(path).map_err(failed)?;
    if bowline_files::real_path(&file, path).map_err(failed)? != path {
        return Err(Error::file("read", given)(io::Error::other("it was exchanged meanwhile")));
    }
    let size = file.metadata().map_err(Error::file("read", given))?.len();
    let beginning = bowline_files::read_beginning(file, path, SIZE_LIMIT).map_err(failed)?;
    if beginning.is_cut {
        let [size, limit] =
            [size, SIZE_LIMIT].map(|bytes| format_size(usize::try_from(bytes).unwrap_or(usize::MAX)));
        return Err(Error::TooLargeToEdit { path: given.to_owned(), size, limit });
    }
    String::from_utf8(beginning.bytes).map_err(|_| Error::NotUtf8 { path: given.to_owned() })
}

/// Finds the place of each edit and returns the replacements in file order.
fn place(before: &str, given: &str, edits: &[Edit]) -> Result<Vec<Replacement>, Error> {
    let mut replacements = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let name = name_of(index, edits.len());
        let path = given.to_owned();
        let place = match matching::find(before, &edit.old) {
            Matches::One(place) => place,
            Matches::None => {
                let hint = explanation::why_not_found(before, &edit.old, &edit.new);
                return Err(Error::OldTextNotFound { edit: name, path, hint });
            }
            Matches::Many { count, lines } => {
                let lines: Vec<_> = lines.iter().map(usize::to_string).collect();
                let more = if count > lines.len() { ", …" } else { "" };
                let lines = lines.join(", ") + more;
                return Err(Error::OldTextNotUnique { edit: name, path, count, lines });
            }
        };
        let new = matching::with_line_endings_of(before, &place.range, &edit.new);
        replacements.push(Replacement { index, place, new });
    }
    replacements.sort_by_key(|replacement| replacement.place.range.start);
    for pair in replacements.windows(2) {
        if pair[0].place.range.end > pair[1].place.range.start {
            let (first, second) = (pair[0].index.min(pair[1].index), pair[0].index.max(pair[1].index));
            return Err(Error::EditsOverlap { first, second, path: given.to_owned() });
        }
    }
    Ok(replacements)
}

fn apply(before: &str, replacements: &[Replacement]) -> String {
    let mut after = String::with_capacity(before.len());
    let mut end = 0;
    for replacement in replacements {
        after.push_str(&before[end..replacement.place.range.start]);
        after.push_str(&replacement.new);
        end = replacement.place.range.end;
    }
    after.push_str(&before[end..]);
    after
}

fn outcome(given: &str, before: &str, after: &str, replacements: &[Replacement]) -> Outcome {
    let count = replacements.len();
    let mut text = format!("Replaced {count} piece{} in {given}.", if count == 1 { "" } else { "s" });
    if replacements.iter().any(|replacement| replacement.place.loose) {
        text += " The quoted text differed from the file in trailing spaces or typographic characters.";
    }
    let difference = difference::between(given, before, after, replacements);
    let mut details = json!({
        "diff": difference.diff,
        "patch": difference.patch,
        "firstChangedLine": difference.first_changed_line,
    });
    if difference.is_shortened {
        details["diffTruncated"] = true.into();
    }
    Outcome::text(text).with_details(details)
}

/// Returns the change from one text to another as a patch; `None` if that would be too large.
pub(crate) fn patch(given: &str, before: &str, after: &str) -> Option<String> {
    let place = Match { range: 0..before.len(), loose: false };
    let whole = Replacement { index: 0, place, new: after.to_owned() };
    let difference = difference::between(given, before, after, &[whole]);
    (!difference.is_shortened).then_some(difference.patch)
}

#[cfg(test)]
mod tests;
