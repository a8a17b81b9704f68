//! The parts of a state that seldom change. They are most of its bytes, so each is written down once and kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::model::Model;
use bowline_core::reply::State;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// What was written down last, with the values that it was written from.
#[derive(Debug, Default)]
pub(crate) struct StateParts {
    model: Kept<Arc<Model>>,
    session_file: Kept<PathBuf>,
    working_directory: Kept<PathBuf>,
    tools: Kept<Arc<[String]>>,
}

type Kept<T> = Option<(T, Box<RawValue>)>;

impl StateParts {
    /// Brings it up to a state.
    pub fn follow(&mut self, state: &State) -> &Self {
        keep(&mut self.model, state.model.as_ref(), Arc::ptr_eq, |model| json(&**model));
        keep(&mut self.tools, Some(&state.tools), Arc::ptr_eq, |tools| json(&**tools));
        keep(&mut self.session_file, state.session_file.as_ref(), is_same_path, |path| path_json(path));
        let folder = Some(&state.working_directory);
        keep(&mut self.working_directory, folder, is_same_path, |path| path_json(path));
        self
    }

    pub fn model(&self) -> Option<&RawValue> {
        json_of(&self.model)
    }

    pub fn session_file(&self) -> Option<&RawValue> {
        json_of(&self.session_file)
    }

    pub fn working_directory(&self) -> &RawValue {
        json_of(&self.working_directory).unwrap_or(RawValue::NULL)
    }

    pub fn tools(&self) -> &RawValue {
        json_of(&self.tools).unwrap_or(RawValue::NULL)
    }
}

/// Writes a value down unless it is the one that is known.
fn keep<T: Clone>(
    known: &mut Kept<T>,
    now: Option<&T>,
    is_same: fn(&T, &T) -> bool,
    write: fn(&T) -> Option<Box<RawValue>>,
) {
    match (&known, now) {
        (Some((value, _)), Some(now)) if is_same(value, now) => {}
        (_, now) => *known = now.and_then(|now| Some((now.clone(), write(now)?))),
    }
}

fn json<T: Serialize + ?Sized>(value: &T) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}

fn path_json(path: &Path) -> Option<Box<RawValue>> {
    json(&*path.to_string_lossy())
}

/// Compares bytes: two ways to write one path may be told as two.
#[expect(clippy::ptr_arg, reason = "it compares what is kept")]
fn is_same_path(one: &PathBuf, other: &PathBuf) -> bool {
    one.as_os_str() == other.as_os_str()
}

fn json_of<T>(kept: &Kept<T>) -> Option<&RawValue> {
    kept.as_ref().map(|(_, json)| &**json)
}
