//! A schema that was checked itself, ready to check values.

use std::collections::{HashMap, HashSet};

use serde_json::{Number, Value};

use crate::formats::Format;
use crate::pattern::Pattern;

/// The most bytes of a schema as JSON.
pub const LARGEST_SCHEMA: usize = 256 * 1024;

/// A schema. Values are checked with [`Schema::check`].
#[derive(Debug)]
pub struct Schema {
    pub(crate) nodes: Vec<Node>,
    source: Value,
}

/// The number of a node in a schema.
pub(crate) type NodeId = usize;

/// What one schema within a schema asks of a value: all of it must hold.
pub(crate) type Node = Vec<Rule>;

/// What a keyword asks of a value.
#[derive(Debug)]
pub(crate) enum Rule {
    /// No value is allowed.
    Never,
    Types(Vec<String>),
    OneOfValues(Allowed),
    Bound(Bound),
    MultipleOf(Number),
    Size(Size),
    Matches(Box<Pattern>),
    Has(&'static Format),
    Required(Vec<String>),
    Members(Members),
    Names(NodeId),
    Dependent(Vec<(String, Vec<String>)>),
    Items(Items),
    Contains {
        node: NodeId,
        least: u64,
        most: Option<u64>,
    },
    Unique,
    All(Vec<NodeId>),
    Any(Vec<NodeId>),
    One(Vec<NodeId>),
    Not(NodeId),
    If {
        condition: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
    Reference(NodeId),
}

/// The values that are allowed.
#[derive(Debug)]
pub(crate) struct Allowed {
    pub values: Vec<Value>,
    /// What they have in common with the values that are the same.
    pub keys: HashSet<String>,
}

impl Allowed {
    pub fn new(values: Vec<Value>) -> Self {
        let keys = values.iter().map(crate::equality::key).collect();
        Self { values, keys }
    }
}

/// A limit on a number.
#[derive(Debug)]
pub(crate) struct Bound {
    pub limit: Number,
    pub is_upper: bool,
    pub is_exclusive: bool,
}

/// A limit on how many there are of something.
#[derive(Debug)]
pub(crate) struct Size {
    pub counted: Counted,
    pub limit: u64,
    pub is_upper: bool,
}

/// What a size counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Characters,
    Items,
    Members,
}

/// The schemas of the members of an object.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub named: HashMap<String, NodeId>,
    pub matching: Vec<(Pattern, NodeId)>,
    /// Of those that none of the others is for.
    pub others: Option<NodeId>,
}

/// The schemas of the items of a list.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub first: Vec<NodeId>,
    pub others: Option<NodeId>,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", place(.path))]
pub struct SchemaError {
    /// Where in the schema, as a JSON Pointer.
    pub path: String,
    pub reason: String,
}

/// Returns a place for people.
fn place(path: &str) -> String {
    if path.is_empty() { "at its root".to_owned() } else { format!("at {path}") }
}

impl Schema {
    /// Returns the schema that a value describes, or why it cannot be used.
    pub fn compile(source: &Value) -> Result<Self, SchemaError> {
        let nodes = crate::compile::compile(source)?;
        Ok(Self { nodes, source: source.clone() })
    }

    /// Returns the schema as it was given.
    pub fn source(&self) -> &Value {
        &self.source
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Schema {}
