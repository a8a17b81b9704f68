//! A generated long session: turns with tools, abandoned branches, compactions, labels.
//!
//! 100,000 entries are about 100 MB. The same arguments always give the same conversation.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use serde_json::{Value, json};

/// How often entries other than turns occur, in entries.
const COMPACTION_EVERY: u64 = 2_000;
const BRANCH_EVERY: u64 = 500;
const LABEL_EVERY: u64 = 5_000;

/// Writes a session with a number of entries whose folder is `/`.
pub(crate) fn write(path: &Path, id: &str, entries: u64) -> io::Result<()> {
    let mut generator = Generator {
        file: BufWriter::new(File::create(path)?),
        written: 0,
        parents: vec![Value::Null],
        random: 0x9e37_79b9_7f4a_7c15,
        next_compaction: COMPACTION_EVERY,
        // Not at a compaction, which the new branch would abandon.
        next_branch: BRANCH_EVERY / 2,
        next_label: LABEL_EVERY,
    };
    let header = json!({ "type": "session", "version": 3, "id": id, "timestamp": time(0), "cwd": "/" });
    writeln!(generator.file, "{header}")?;
    generator.entry("model_change", json!({ "provider": "generated", "modelId": "model" }))?;
    generator.entry("thinking_level_change", json!({ "thinkingLevel": "medium" }))?;
    while generator.written < entries {
        generator.step()?;
    }
    generator.file.flush()
}

struct Generator {
    file: BufWriter<File>,
    written: u64,
    /// The ids on the current path.
    parents: Vec<Value>,
    random: u64,
    next_compaction: u64,
    next_branch: u64,
    next_label: u64,
}

impl Generator {
    fn step(&mut self) -> io::Result<()> {
        let number = self.written;
        if number >= self.next_compaction {
            self.next_compaction += COMPACTION_EVERY;
            let first_kept = self.parents[self.parents.len().saturating_sub(40)].clone();
            let details = json!({ "readFiles": ["src/lib.rs"], "modifiedFiles": ["src/main.rs"] });
            let summary = self.text(4_000);
            return self.entry(
                "compaction",
                json!({ "summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": 150_000, "details": details, "fromHook": false }),
            );
        }
        if number >= self.next_label {
            self.next_label += LABEL_EVERY;
            let target = self.parents.last().cloned();
            return self.entry("label", json!({ "targetId": target, "label": format!("label {number}") }));
        }
        if number >= self.next_branch && self.parents.len() > 30 {
            self.next_branch += BRANCH_EVERY;
            self.parents.truncate(self.parents.len() - 20);
        }
        self.turn()
    }

    /// Writes a question, a tool call, its result and the answer.
    fn turn(&mut self) -> io::Result<()> {
        let question = json!([{ "type": "text", "text": self.text(200) }]);
        self.message(json!({ "role": "user", "content": question }))?;
        let id = format!("call_{}", self.written);
        let arguments = json!({ "path": "src/main.rs", "limit": 40 });
        let thinking = self.text(300);
        self.answer(
            "toolUse",
            &json!([
                { "type": "thinking", "thinking": thinking, "thinkingSignature": "c2lnbmF0dXJl" },
                { "type": "toolCall", "id": id, "name": "read", "arguments": arguments },
            ]),
        )?;
        let output = json!([{ "type": "text", "text": self.text(1_600) }]);
        self.message(
            json!({ "role": "toolResult", "toolCallId": id, "toolName": "read", "content": output, "isError": false }),
        )?;
        let answer = json!([{ "type": "text", "text": self.text(500) }]);
        self.answer("stop", &answer)
    }

    fn answer(&mut self, stop_reason: &str, content: &Value) -> io::Result<()> {
        let usage = json!({
            "input": 12, "output": 345, "cacheRead": 45_678, "cacheWrite": 901, "totalTokens": 46_936,
            "cost": { "input": 0.000_036, "output": 0.005_175, "cacheRead": 0.013_7, "cacheWrite": 0.003_38, "total": 0.022_29 },
        });
        self.message(json!({
            "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "generated",
            "model": "model", "usage": usage, "stopReason": stop_reason,
        }))
    }

    fn message(&mut self, mut message: Value) -> io::Result<()> {
        message["timestamp"] = (1_800_000_000_000 + self.written * 1_000).into();
        self.entry("message", json!({ "message": message }))
    }

    fn entry(&mut self, kind: &str, rest: Value) -> io::Result<()> {
        // Multiplied by an odd number, so that ids look random and are unique.
        let id = format!("{:08x}", (self.written as u32).wrapping_mul(2_654_435_761));
        let parent = self.parents.last();
        let mut entry =
            json!({ "type": kind, "id": id, "parentId": parent, "timestamp": time(self.written) });
        if let (Some(entry), Value::Object(rest)) = (entry.as_object_mut(), rest) {
            entry.extend(rest);
        }
        self.parents.push(id.into());
        self.written += 1;
        writeln!(self.file, "{entry}")
    }

    /// Returns words, quotes and line breaks, like code.
    fn text(&mut self, length: usize) -> String {
        const WORDS: [&str; 8] = ["let ", "value", " = ", "\"text\"", ";\n", "fn name(", "größe ", "    "];
        let mut text = String::with_capacity(length + 10);
        while text.len() < length {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(WORDS[(self.random >> 61) as usize]);
        }
        text
    }
}

fn time(second: u64) -> String {
    let (day, second) = (1 + second / 86_400, second % 86_400);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("2026-11-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")
}
