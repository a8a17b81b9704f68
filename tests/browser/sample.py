"""Writes the sessions that the browser test exports: rich, hostile and long."""

import base64
import json
import struct
import sys
import zlib
from datetime import datetime, timedelta, timezone
from pathlib import Path

START = datetime(2026, 7, 6, 8, 30, tzinfo=timezone.utc)


class Session:
    """Builds a session file. Entries follow the leaf, which `go_to` moves."""

    def __init__(self, session_id, cwd="/home/ada/kestrel"):
        self.lines = []
        self.leaf = None
        self.count = 0
        self.clock = START
        self.line({"type": "session", "version": 3, "id": session_id, "timestamp": self.now(), "cwd": cwd})

    def now(self):
        return self.clock.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def milliseconds(self):
        return int(self.clock.timestamp() * 1000)

    def line(self, value):
        self.lines.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    def entry(self, kind, entry_id=None, **fields):
        self.count += 1
        self.clock += timedelta(seconds=17)
        entry_id = entry_id or f"{self.count:08x}"
        self.line({"type": kind, "id": entry_id, "parentId": self.leaf, "timestamp": self.now(), **fields})
        self.leaf = entry_id
        return entry_id

    def message(self, role, entry_id=None, **fields):
        return self.entry("message", entry_id, message={"role": role, **fields, "timestamp": self.milliseconds()})

    def user(self, text, images=(), **rest):
        return self.message("user", content=[{"type": "text", "text": text}, *images], **rest)

    def answer(self, *blocks, model="claude-sonnet-5", provider="anthropic", cost=0.0123, **fields):
        usage = {
            "input": 1843, "output": 512, "cacheRead": 18_250, "cacheWrite": 940, "totalTokens": 21_545,
            "cost": {"input": cost / 2, "output": cost / 4, "cacheRead": cost / 8, "cacheWrite": cost / 8, "total": cost},
        }
        has_call = any(block["type"] == "toolCall" for block in blocks)
        fields = {"stopReason": "toolUse" if has_call else "stop", **fields}
        return self.message(
            "assistant", content=list(blocks), api="anthropic-messages", provider=provider, model=model, usage=usage,
            **fields,
        )

    def result(self, call_id, tool, text, is_error=False, details=None, images=()):
        fields = {"details": details} if details is not None else {}
        return self.message(
            "toolResult", toolCallId=call_id, toolName=tool, content=[{"type": "text", "text": text}, *images],
            isError=is_error, **fields,
        )

    def tool(self, name, arguments, output, text=None, thinking=None, **rest):
        call_id = f"call_{self.count}"
        blocks = []
        if thinking:
            blocks.append({"type": "thinking", "thinking": thinking, "thinkingSignature": "c2ln"})
        if text:
            blocks.append({"type": "text", "text": text})
        blocks.append({"type": "toolCall", "id": call_id, "name": name, "arguments": arguments})
        self.answer(*blocks)
        return self.result(call_id, name, output, **rest)

    def go_to(self, entry_id):
        self.leaf = entry_id

    def write(self, path):
        Path(path).write_text("\n".join(self.lines) + "\n", encoding="utf-8", newline="\n")


def text(value):
    return {"type": "text", "text": value}


def picture(width=320, height=160):
    """A PNG of a soft gradient with a few bars."""
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            bar = (x // 40) % 2 == 0 and y > height - 20 - (x * 7 % 97)
            rows += bytes((64, 120, 200)) if bar else bytes((235 - y // 4, 240 - y // 8, 250))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    png += chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b"")
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png).decode()}


RUST = '''use std::collections::HashMap;

/// Counts words, longest first.
pub fn count<'a>(text: &'a str) -> Vec<(&'a str, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1; // one more
    }
    let mut list: Vec<_> = counts.into_iter().collect();
    list.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    list
}
'''

OVERVIEW = f'''Here is what I found. The parser is **correct**, but it copies every word *twice*; see `count` below.

## The hot path

```rust
{RUST}```

The same idea in Python, for the notebook:

```python
from collections import Counter

def count(text: str) -> list[tuple[str, int]]:
    """Counts words, longest first."""
    counts = Counter(text.split())
    return sorted(counts.items(), key=lambda pair: -len(pair[0]))
```

and how the page asks for it:

```typescript
export async function load(path: string): Promise<Entry[]> {{
  const response = await fetch(`/api/count?path=${{encodeURIComponent(path)}}`);
  if (!response.ok) throw new Error(`status ${{response.status}}`);
  return response.json(); // [{{ word, count }}]
}}
```

| step | before | after |
|:-----|-------:|------:|
| split | 12.1 ms | 4.0 ms |
| count | 31.7 ms | 9.8 ms |
| sort  | 2.2 ms | 2.2 ms |

### What is left

1. Try `hashbrown` with a faster hash
2. Measure on the large corpus
   - [x] English
   - [ ] Japanese, where words have no spaces

> Premature optimisation is the root of all evil, yet we should not pass up our opportunities in that critical 3 %.

The numbers are from [the benchmark suite](https://example.com/bench?id=7&run=2). Configuration:

```toml
[profile.release]
lto = "fat"        # slower builds, faster code
codegen-units = 1
```

```json
{{"name": "kestrel", "version": 3, "fast": true, "limits": [1, 2.5e3, null]}}
```

```sql
SELECT word, COUNT(*) AS hits FROM words WHERE length(word) > 3 GROUP BY word ORDER BY hits DESC LIMIT 10;
```
'''

SUMMARY = '''## Goal
Make `count` at least twice as fast without changing its results.

## Progress
### Done
- [x] Profiled: 68 % of the time is in hashing
- [x] Replaced the double allocation

## Next steps
1. Try a faster hash
2. Run the whole benchmark

<read-files>
src/count.rs
</read-files>'''

DIFF = '''  3 /// Counts words, longest first.
  4 pub fn count<'a>(text: &'a str) -> Vec<(&'a str, usize)> {
- 5     let mut counts: HashMap<String, usize> = HashMap::new();
+ 5     let mut counts: HashMap<&str, usize> = HashMap::with_capacity(1024);
  6     for word in text.split_whitespace() {
- 7         let word = word.to_string();
- 8         *counts.entry(word.clone()).or_insert(0) += 1;
+ 7         *counts.entry(word).or_default() += 1;
  9     }
    ...
 21 #[cfg(test)]
 22 mod tests {
+23     use super::*;
 24 '''


def rich():
    session = Session("0190f3c8-7b1e-7c7e-8000-3f2a6c1d9e01")
    session.entry("model_change", provider="anthropic", modelId="claude-sonnet-5")
    session.entry("thinking_level_change", thinkingLevel="medium")
    session.entry("session_info", name="Make the word count fast")
    session.user("The word count takes **40 ms** on our corpus. Can you find out why?\nI think it is in `src/count.rs`.\n\nPlease keep the public API as it is.")
    session.tool(
        "read", {"path": "src/count.rs", "offset": 1, "limit": 40}, RUST * 3,
        text="I'll start with the file you named.",
        thinking="The user suspects `src/count.rs`. Let me read it first, then profile.\n\nThings to check:\n- allocation per word\n- hashing\n- the final sort",
    )
    log = "\n".join(f"\x1b[32m   Compiling\x1b[0m crate-{number} v0.{number}.0" for number in range(40))
    session.tool("bash", {"command": "cargo build --release 2>&1 | tail -50\ncargo bench --bench count", "timeout": 120},
                 log + "\n\x1b[1;33mwarning\x1b[0m: unused variable: `x`\ncount/english  time: [\x1b[1m39.8 ms 40.1 ms 40.5 ms\x1b[0m]")
    session.tool("grep", {"pattern": "fn count", "path": "src", "glob": "*.rs"}, "src/count.rs:4: pub fn count<'a>(text: &'a str)\nsrc/main.rs:31: fn count_all() {")
    session.tool("find", {"pattern": "**/*.rs", "limit": 5}, "src/count.rs\nsrc/main.rs\nsrc/lib.rs\nbenches/count.rs")
    session.tool("ls", {"path": "."}, "Cargo.toml\nbenches/\nsrc/")
    overview = session.answer(text(OVERVIEW), cost=0.0871)
    question = session.user("Good. Apply it.")
    session.tool("edit", {"path": "src/count.rs", "edits": [{"oldText": "HashMap<String, usize>", "newText": "HashMap<&str, usize>"}]},
                 "Successfully replaced 2 block(s) in src/count.rs.", details={"diff": DIFF, "firstChangedLine": 5},
                 text="Borrowing the words instead of copying them:")
    session.tool("edit", {"path": "src/main.rs", "edits": [{"oldText": "old_text()", "newText": "new_text()"}]},
                 "Could not find the exact text in src/main.rs. The old text must match exactly including all whitespace and newlines.", is_error=True, details={})
    session.tool("write", {"path": "benches/corpus.py", "content": "import sys\n\n" + "\n".join(f"print('line {number}')  # {number}" for number in range(30)) + "\n"}, "Successfully wrote to benches/corpus.py")
    session.tool("bash", {"command": "cargo test"}, "running 3 tests\ntest counts ... ok\ntest sorts ... FAILED\n\nassertion `left == right` failed\n\nCommand exited with code 101", is_error=True)
    session.tool("screenshot", {"url": "http://localhost:8080/chart", "viewport": {"width": 320, "height": 160}}, "Took a screenshot", images=[picture()], text="The chart now looks like this:")
    labelled = session.answer(text("All benchmarks are at least **3×** faster. One test fails because it relied on the order of equal words; that order was never promised."))
    session.entry("label", targetId=labelled, label="first result")
    session.entry("compaction", summary=SUMMARY, firstKeptEntryId=question, tokensBefore=182_340, fromHook=False,
                  usage={"input": 20_000, "output": 900, "totalTokens": 20_900, "cost": {"total": 0.0735}})
    fork = session.leaf
    session.user("Fix the test by sorting equal words alphabetically.")
    session.tool("bash", {"command": "git stash && git checkout -b stable-order"}, "Switched to a new branch 'stable-order'")
    session.answer(text("Done: equal lengths are now ordered alphabetically. A kingfisher of a fix."))
    first_branch = session.leaf
    session.go_to(fork)
    session.user("Actually, delete that test.")
    middle = session.answer(text("Deleted. Nothing else depended on the order."))
    session.user("And the benchmark too.")
    session.answer(text("The benchmark is gone as well."))
    session.go_to(middle)
    session.user("Keep the benchmark, but rename it.")
    session.answer(text("Renamed to `benches/words.rs`."))
    session.go_to(fork)
    session.entry("branch_summary", fromId=first_branch, summary="The user tried to sort equal words alphabetically. It worked, but they wanted the order *documented* instead.", fromHook=False)
    session.entry("model_change", provider="openai", modelId="gpt-5.2-codex")
    session.user("Document the order instead. Here is how the chart looked:", images=[picture(160, 90)])
    session.message("bashExecution", command="git log --oneline | head -3", output="51aba8e Count words\ncb1d028 Read files\n3ff5c1d Start\n", exitCode=0, cancelled=False, truncated=False)
    session.message("bashExecution", command="make docs", output="make: *** No rule to make target 'docs'.  Stop.\n", exitCode=2, cancelled=False, truncated=False, excludeFromContext=True)
    session.entry("custom_message", customType="reminder", content="Stay within **src/**.", display=True)
    session.entry("custom", customType="checkpoint", data={"ref": "refs/heads/x", "files": ["a", "b"]})
    session.entry("from_the_future", payload={"answer": 42})
    session.answer(text("Trying to reach the documentation service…"), model="gpt-5.2-codex", provider="openai", stopReason="error", errorMessage="503 Service Unavailable: upstream connect error")
    session.answer(
        {"type": "thinking", "thinking": "Short and clear is best here."},
        text("I added this to the documentation:\n\n```diff\n-/// Counts words, longest first.\n+/// Counts words, longest first. Words of one length are in no particular order.\n```\n\nAnd a shell one-liner to check it:\n\n```bash\nfor file in src/*.rs; do grep -c \"no particular order\" \"$file\" || echo \"missing in ${file}\"; done # all\n```"),
        model="gpt-5.2-codex", provider="openai", cost=0.0302,
    )
    assert overview
    return session


def hostile():
    session = Session("</script><script>alert(1)</script>", cwd='"><img src=x onerror=alert(1)>')
    session.entry("session_info", name="</title><script>alert('title')</script>\u202egnp.exe")
    nasty = [
        "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "]]><!--", "--><script>alert(1)</script>",
        "<style>*{display:none}</style>", "<iframe srcdoc='<script>alert(1)</script>'></iframe>", "<base href=https://evil.example/>",
        "<meta http-equiv=refresh content='0;url=https://evil.example/'>", "</template></main></body></html>", "<form action=https://evil.example/><input autofocus onfocus=alert(1)>",
        "<a href=javascript:alert(1)>x</a>", "</textarea></style></noscript></title><script>alert(1)</script>", "<link rel=stylesheet href=https://evil.example/a.css>",
        "\u202eevil\u202c \u2066hidden\u2069 \u200bzero \ufeffmark", "null \u0000 byte \u0007 bell \u001b[31mred", "<![CDATA[ x ]]>", "&lt;script&gt; &amp; &#60;script&#62;",
        "`` ` </code></pre><script>alert(1)</script> ``", "```\"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```",
        "```js onload=alert(1)\nalert('</script>')\n```",
    ]
    session.user("\n\n".join(nasty), entry_id='quo"te\'s><script>alert(1)</script>')
    session.answer(text("\n\n".join(nasty)), model="<script>alert('model')</script>", provider='"onmouseover="alert(1)', entry_id="with space & amp")
    links = ["[click](javascript:alert(1))", "[click](JaVaScRiPt:alert(1))", "[click](data:text/html,<script>alert(1)</script>)", "[click](vbscript:x)",
             "[click](//evil.example)", "![img](https://evil.example/pixel.png)", "![img](data:image/svg+xml,<svg/onload=alert(1)>)", "[good](https://example.com/\"onclick=alert(1))",
             "<javascript:alert(1)>", "<https://example.com/<script>>", "[ref]\n\n[ref]: javascript:alert(1)", "[x](java&#115;cript:alert(1))", "[x](\x01javascript:alert(1))"]
    session.user("\n\n".join(links))
    for index, value in enumerate(nasty):
        session.tool(value, {value: value, "path": value, "command": value}, value, thinking=value, details={"diff": value, "patch": value})
        session.tool(["bash", "read", "write", "edit", "grep"][index % 5],
                     {"command": value, "path": value, "pattern": value, "content": value, "edits": [{"oldText": value, "newText": "x" + value}]},
                     value, details={"diff": "-1 " + value, "patch": value}, is_error=index % 2 == 0)
    session.tool("bash", {"command": "cat big"}, "A" * 5_000_000, text="five megabytes in one line")
    session.user("B" * 5_000_000)
    session.answer(text("> " * 5000 + "deep"), text("[" * 5000), text("*a" * 5000), text("- " * 2000 + "x"))
    session.user("picture", images=[
        {"type": "image", "mimeType": "image/svg+xml", "data": base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").decode()},
        {"type": "image", "mimeType": 'image/png" onerror="alert(1)', "data": "AAAA"},
        {"type": "image", "mimeType": "image/png", "data": 'AAAA" onerror="alert(1)'},
        {"type": "image", "mimeType": "text/html", "data": base64.b64encode(b"<script>alert(1)</script>").decode()},
    ])
    session.line("{broken")
    session.line('{"type":"message","id":"ring","parentId":"ring"}')
    session.line("[" * 100_000)
    session.line("null")
    fork = session.leaf
    for value in nasty[:6]:
        session.go_to(fork)
        session.user(value)
        session.entry("label", targetId=fork, label=value)
        session.entry("custom_message", customType=value, content=value, display=True)
        session.entry("compaction", summary=value, firstKeptEntryId=value, tokensBefore=18_446_744_073_709_551_615,
                      usage={"input": 18_446_744_073_709_551_615, "totalTokens": 18_446_744_073_709_551_615, "cost": {"total": 1e308}})
        session.message("bashExecution", command=value, output=value, exitCode=1, cancelled=False, truncated=True, fullOutputPath=value)
        session.message("system", content=value, sections={value: value}, toolsAdded=[{"name": value}])
        session.entry(value, data=value)
    return session


def long(count=5000):
    session = Session("0190f3c8-0000-7000-8000-000000000000")
    body = RUST * 2
    while session.count < count:
        number = session.count
        session.user(f"Prompt {number}: please look at module {number % 97} and make it *better*.")
        fork = session.leaf
        for _ in range(3):
            session.tool("read", {"path": f"src/module_{session.count}.rs"}, body * 2, text="Looking at it.", thinking="Hm. " * 40)
            session.tool("bash", {"command": f"cargo test module_{session.count}"}, "\n".join(f"test case_{line} ... ok" for line in range(60)))
            session.tool("edit", {"path": "src/lib.rs", "edits": []}, "ok", details={"diff": DIFF})
        session.answer(text(f"Module {number} is done.\n\n```rust\n{RUST}```\n\n- one\n- two\n\nThe needle is in {number}." ))
        if number % 500 < 20 and number:
            main = session.leaf
            session.go_to(fork)
            session.user(f"Side branch at {number}")
            session.answer(text("A short answer on a side branch."))
            session.go_to(main)
    return session


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (rich, hostile, long):
        make().write(folder / f"{make.__name__}.jsonl")
