//! A state, and its parts that seldom change. They are most of its bytes, so the JSON of each is kept until it changes. Clients
//! that poll the state get the same one most of the time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::model::Model;
use bowline_core::reply::State;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// The JSON of the last state's parts, with the values that it was made from.
#[derive(Debug, Default)]
pub(crate) struct StateCache {
    model: Cached<Arc<Model>>,
    session_file: Cached<PathBuf>,
    session_id: Cached<String>,
    working_directory: Cached<PathBuf>,
    tools: Cached<Arc<[String]>>,
    /// The whole state, as `encode` of [`Self::whole`] wrote it.
    whole: Cached<State>,
}

type Cached<T> = Option<(T, Box<RawValue>)>;

impl StateCache {
    /// Updates the parts that differ in a state.
    pub fn update(&mut self, state: &State) -> &Self {
        refresh(&mut self.model, state.model.as_ref(), Arc::ptr_eq, |model| json(&**model));
        refresh(&mut self.tools, Some(&state.tools), Arc::ptr_eq, |tools| json(&**tools));
        refresh(&mut self.session_file, state.session_file.as_ref(), is_same_path, |path| path_json(path));
        refresh(&mut self.session_id, Some(&state.session_id), String::eq, json);
        let folder = Some(&state.working_directory);
        refresh(&mut self.working_directory, folder, is_same_path, |path| path_json(path));
        self
    }

    /// Returns the JSON of a whole state, which `encode` writes if it is not the last one.
    pub fn whole(
        &mut self,
        state: &State,
        encode: impl FnOnce(&mut Self) -> Option<Box<RawValue>>,
    ) -> &RawValue {
        if !self.whole.as_ref().is_some_and(|(last, _)| is_same_state(last, state)) {
            self.whole = encode(self).map(|json| (state.clone(), json));
        }
        json_of(&self.whole).unwrap_or(RawValue::NULL)
    }

    pub fn model(&self) -> Option<&RawValue> {
        json_of(&self.model)
    }

    pub fn session_file(&self) -> Option<&RawValue> {
        json_of(&self.session_file)
    }

    pub fn session_id(&self) -> &RawValue {
        json_of(&self.session_id).unwrap_or(RawValue::NULL)
    }

    pub fn working_directory(&self) -> &RawValue {
        json_of(&self.working_directory).unwrap_or(RawValue::NULL)
    }

    pub fn tools(&self) -> &RawValue {
        json_of(&self.tools).unwrap_or(RawValue::NULL)
    }
}

/// Encodes a value unless it is the cached one.
fn refresh<T: Clone>(
    cached: &mut Cached<T>,
    current: Option<&T>,
    is_same: fn(&T, &T) -> bool,
    encode: fn(&T) -> Option<Box<RawValue>>,
) {
    match (&cached, current) {
        (Some((value, _)), Some(current)) if is_same(value, current) => {}
        (_, current) => *cached = current.and_then(|current| Some((current.clone(), encode(current)?))),
    }
}

fn is_same_state(one: &State, other: &State) -> bool {
    let same_file = match (&one.session_file, &other.session_file) {
        (Some(one), Some(other)) => is_same_path(one, other),
        (one, other) => one.is_none() && other.is_none(),
    };
    same_file && is_same_path(&one.working_directory, &other.working_directory) && one == other
}

pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}

fn path_json(path: &Path) -> Option<Box<RawValue>> {
    json(&*path.to_string_lossy())
}

/// Compares bytes: two spellings of one path may have different JSON.
#[expect(clippy::ptr_arg, reason = "it compares cached values")]
fn is_same_path(one: &PathBuf, other: &PathBuf) -> bool {
    one.as_os_str() == other.as_os_str()
}

fn json_of<T>(cached: &Cached<T>) -> Option<&RawValue> {
    cached.as_ref().map(|(_, json)| &**json)
}
