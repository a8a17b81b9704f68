// The exchange as it is known so far: records, what belongs together, spans of time, the conversation, usage. Records come
// in order, each once; everything here is brought up to date by each of them and never computed anew.
const LANES = [
  ["commands", "Commands", "from a command to its response"],
  ["model", "Model", "waiting for the model, and its answer"],
  ["tools", "Tools", "tools that run"],
  ["hooks", "Hooks", "between an answer and its tools, and after a tool: rules, hooks, extensions"],
  ["waiting", "Waiting", "for the user, the client, or the next attempt"],
];

// How long something between two records takes at least to be shown as hooks.
const SHORTEST_HOOK = 0.5;

const exchange = {
  records: [],
  // Deltas of one block that follow one another.
  groups: [],
  spans: Object.fromEntries(LANES.map(([lane]) => [lane, []])),
  messages: [],
  usage: [],
  types: new Map(),
  problems: 0,
  end: 0,
  isOver: false,
  ended: null,
  hasTimes: false,

  // What is open.
  group: null,
  // What the user asked, until the agent tells of it.
  asked: null,
  commands: new Map(),
  waits: new Map(),
  tools: new Map(),
  calls: new Map(),
  model: null,
  modelSince: null,
  hooksSince: null,
  message: null,
  compaction: null,

  add(row) {
    const parsed = parse(row.line);
    const record = {
      n: this.records.length, at: row.at, from: row.from, line: row.line, problems: row.problems ?? [],
      cut: row.cut, shortened: row.shortened, unfinished: row.unfinished, event: row.event, group: null, peer: null, took: null,
    };
    record.type = row.event ? row.event.type : row.from === "stderr" ? "stderr" : parsed === undefined ? "text" : typeOf(parsed);
    record.summary = row.event ? this.ofInspector(row.event) : parsed === undefined ? row.line : shorten(summaryOf(parsed, record.type), 400);
    if (row.cut || row.shortened) record.summary = `${bytes(row.cut ?? row.shortened)} · ${shorten(row.line, 300)}`;
    this.records.push(record);
    this.types.set(record.type, (this.types.get(record.type) ?? 0) + 1);
    if (record.problems.length) this.problems += 1;
    this.end = Math.max(this.end, record.at);
    this.hasTimes ||= record.at > 0;
    const facts = row.from === "agent" ? factsOfAgent(parsed)
      : row.from === "client" || row.from === "page" ? factsOfClient(parsed)
        : row.from === "session" ? factsOfAgent(parsed) : [];
    this.regroup(record, facts.find((fact) => fact.kind === "delta"));
    for (const fact of facts) this.take(fact, record);
  },

  setProblems(n, problems) {
    const record = this.records[n];
    if (!record) return;
    this.problems += Number(problems.length > 0) - Number(record.problems.length > 0);
    record.problems = problems;
  },

  ofInspector(event) {
    switch (event.type) {
      case "closed": return { client: "the client has closed its end", agent: "the agent has closed its stdout", stderr: "the agent has closed its stderr" }[event.of] ?? "";
      case "ended":
        this.ended = event;
        return event.signal ? `the agent was ended by signal ${event.signal}` : `the agent has ended with exit code ${event.code}`;
      case "recording_fell_behind": return `${bytes(event.bytes)} from the ${event.of} are not recorded: the disk was slower than the exchange`;
      case "recording_full": return `nothing more is recorded: ${event.reason}`;
      default: return "";
    }
  },

  // Records of stderr and of the client do not end a group: they come at any time.
  regroup(record, delta) {
    if (delta) {
      const key = `${delta.form} ${delta.block}`;
      if (!this.group || this.group.key !== key) {
        this.group = { key, form: delta.form, first: record.n, records: [], text: "", isFolded: true };
        this.groups.push(this.group);
      }
      record.group = this.group;
      this.group.records.push(record.n);
      if (this.group.text.length < 2000) this.group.text += delta.text;
    } else if (record.from === "agent") {
      this.group = null;
    }
  },

  take(fact, record) {
    const { at, n } = record;
    switch (fact.kind) {
      case "command": this.commandKey(fact.id, fact.command).push(record); break;
      case "response": this.answer(fact, record); break;
      case "run_start": this.modelSince ??= at; break;
      case "turn_start": this.modelSince = at; this.hooksSince = null; break;
      case "run_end": this.endRun(fact, record); break;
      case "compaction_start": this.compaction = this.open("model", record, "compaction"); break;
      case "compaction_end": this.close(this.compaction, at); this.compaction = null; break;
      case "message_start": if (fact.role === "assistant") this.startAnswer(record, fact.model); break;
      case "message_end": this.endMessage(fact, record); break;
      case "delta": this.stream(fact, record); break;
      case "asked": this.asked = { text: fact.text, record }; break;
      case "text": this.asked = null; this.messages.push({ role: fact.role, n, at, blocks: [{ form: "text", text: fact.text }], version: 0 }); break;
      case "tool_start": this.startTool(fact, record); break;
      case "tool_end": this.endTool(fact, record); break;
      case "wait_start": this.before(record, fact.label); this.waits.set(fact.id, this.open("waiting", record, fact.label)); break;
      case "wait_end": this.close(this.waits.get(fact.id), at); this.waits.delete(fact.id); if (this.hooksSince !== null) this.hooksSince = at; break;
      case "acp_turn_end": this.endAnswer(record); break;
      case "usage": this.spend(fact.usage, record); break;
      case "note": this.messages.push({ role: "note", n, at, blocks: [{ form: "text", text: fact.text }], isBad: fact.isBad, version: 0 }); break;
      default: break;
    }
  },

  open(lane, record, label) {
    const span = { lane, start: record.at, end: null, label, n: record.n, isBad: false, first: null };
    this.spans[lane].push(span);
    return span;
  },

  close(span, at) {
    if (span && span.end === null) span.end = at;
  },

  commandKey(id, command) {
    const key = id === undefined || id === null ? `command ${command}` : `id ${JSON.stringify(id)}`;
    if (!this.commands.has(key)) this.commands.set(key, []);
    return this.commands.get(key);
  },

  answer(fact, record) {
    const command = this.commandKey(fact.id, fact.command).shift();
    if (!command) return;
    [command.peer, record.peer] = [record.n, command.n];
    record.took = command.took = record.at - command.at;
    this.spans.commands.push({ lane: "commands", start: command.at, end: record.at, label: fact.command || command.type, n: command.n, isBad: !fact.success, first: null });
  },

  startAnswer(record, model) {
    this.endAnswer(record);
    if (this.asked) {
      const { text, record: asked } = this.asked;
      this.messages.push({ role: "user", n: asked.n, at: asked.at, blocks: [{ form: "text", text }], version: 0 });
      this.asked = null;
    }
    const since = this.modelSince ?? record.at;
    this.model = this.open("model", record, model ? String(model) : "answer");
    this.model.start = since;
    this.model.first = record.at;
    this.modelSince = null;
    this.message = { role: "assistant", n: record.n, at: record.at, blocks: [], open: new Map(), isOpen: true, version: 0 };
    this.messages.push(this.message);
  },

  endAnswer(record) {
    this.close(this.model, record.at);
    this.model = null;
    if (this.message) {
      this.message.isOpen = false;
      this.message.version += 1;
    }
    this.message = null;
  },

  endMessage({ role, message, error }, record) {
    const { n, at } = record;
    if (role === "assistant") {
      if (!this.message) this.startAnswer(record);
      const answer = this.message;
      answer.blocks = message.blocks;
      answer.error = error;
      for (const block of message.blocks) if (block.form === "call") this.calls.set(block.id, { block, message: answer });
      if (this.model) this.model.isBad = Boolean(error);
      this.endAnswer(record);
      this.hooksSince = message.blocks.some((block) => block.form === "call") ? at : null;
    } else if (role === "tool_result" || role === "tool") {
      this.between(record, "after a tool");
      for (const block of message.blocks) this.setResult(block, n);
      this.modelSince = at;
    } else if (message.blocks.length) {
      if (role === "user") this.asked = null;
      this.messages.push({ role: role || "message", n, at, blocks: message.blocks, version: 0 });
    }
  },

  stream(fact, record) {
    if (!this.message) this.startAnswer(record);
    const message = this.message;
    let block = message.open.get(fact.block);
    if (!block) {
      block = { form: fact.form, text: "", name: "", isDelta: true };
      message.open.set(fact.block, block);
      message.blocks.push(block);
    }
    block.text += fact.text;
    message.version += 1;
  },

  startTool(fact, record) {
    if (this.tools.has(fact.id)) return;
    this.before(record, fact.name);
    const span = this.open("tools", record, `${fact.name} ${shorten(argumentsOf(fact.args), 120)}`);
    this.tools.set(fact.id, span);
    this.modelSince = null;
    if (!this.calls.has(fact.id)) {
      // The dialect does not tell of calls as parts of an answer.
      const message = this.message ?? this.messages.findLast((message) => message.role === "assistant");
      const block = { form: "call", id: fact.id, name: fact.name, args: fact.args };
      const into = message ?? { role: "assistant", n: record.n, at: record.at, blocks: [], version: 0 };
      if (!message) this.messages.push(into);
      into.blocks.push(block);
      into.version += 1;
      this.calls.set(fact.id, { block, message: into });
      this.endAnswer(record);
    }
  },

  endTool(fact, record) {
    const span = this.tools.get(fact.id);
    if (span) {
      this.close(span, record.at);
      span.isBad = fact.isError;
      this.tools.delete(fact.id);
    }
    this.setResult({ ...fact, took: span ? span.end - span.start : null }, record.n);
    this.hooksSince = record.at;
    this.modelSince = record.at;
  },

  setResult({ id, text, isError, took }, n) {
    const call = this.calls.get(id);
    if (!call) return;
    const known = call.block.result;
    call.block.result = { text: known?.text || text, isError: known?.isError || isError, took: took ?? known?.took ?? null, n: known?.n ?? n };
    call.message.version += 1;
  },

  // What passed since the answer, or since the tool, was spent in rules and hooks.
  before(record, label) { this.between(record, `before ${label}`); },

  between(record, label) {
    if (this.hooksSince !== null && record.at - this.hooksSince >= SHORTEST_HOOK) {
      this.spans.hooks.push({ lane: "hooks", start: this.hooksSince, end: record.at, label, n: record.n, isBad: false, first: null });
    }
    this.hooksSince = null;
  },

  endRun(fact, record) {
    this.endAnswer(record);
    for (const span of this.tools.values()) this.close(span, record.at);
    this.tools.clear();
    this.modelSince = null;
    this.hooksSince = null;
    if (fact.error) this.messages.push({ role: "note", n: record.n, at: record.at, blocks: [{ form: "text", text: String(fact.error) }], isBad: true, version: 0 });
  },

  spend(usage, record) {
    const before = this.usage.at(-1);
    const context = usage.input + usage.cacheRead + usage.cacheWrite;
    if (!context && !usage.output && !usage.cost) return;
    this.usage.push({
      n: record.n, at: record.at, ...usage, context,
      totalInput: (before?.totalInput ?? 0) + context,
      totalOutput: (before?.totalOutput ?? 0) + usage.output,
      totalCost: (before?.totalCost ?? 0) + usage.cost,
    });
  },

  // Nothing follows: what is open stays open to the end.
  finish() {
    this.isOver = true;
  },
};

