// The command line of pi, for extensions that start agents.

const split = (value) => value.split(",").map((part) => part.trim()).filter((part) => part !== "");
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Flags without a value: their names, the field, and what it becomes. */
const SWITCHES = [
  ["--help -h", "help"],
  ["--version -v", "version"],
  ["--continue -c", "continue"],
  ["--resume -r", "resume"],
  ["--no-session", "noSession"],
  ["--no-tools -nt", "noTools"],
  ["--no-builtin-tools -nbt", "noBuiltinTools"],
  ["--no-extensions -ne", "noExtensions"],
  ["--no-mcp", "noMcp"],
  ["--no-skills -ns", "noSkills"],
  ["--no-prompt-templates -np", "noPromptTemplates"],
  ["--no-themes", "noThemes"],
  ["--no-context-files -nc", "noContextFiles"],
  ["--verbose", "verbose"],
  ["--offline", "offline"],
  ["--approve -a", "projectTrustOverride"],
  ["--no-approve -na", "projectTrustOverride", false],
];

/** Flags with a value: their names, the field, and how it is read; `each` collects several. */
const VALUES = [
  ["--provider", "provider"],
  ["--model", "model"],
  ["--api-key", "apiKey"],
  ["--system-prompt", "systemPrompt"],
  ["--append-system-prompt", "appendSystemPrompt", "each"],
  ["--name -n", "name"],
  ["--session", "session"],
  ["--session-id", "sessionId"],
  ["--fork", "fork"],
  ["--session-dir", "sessionDir"],
  ["--models", "models", split],
  ["--tools -t", "tools", split],
  ["--exclude-tools -xt", "excludeTools", split],
  ["--export", "export"],
  ["--extension -e", "extensions", "each"],
  ["--skill", "skills", "each"],
  ["--prompt-template", "promptTemplates", "each"],
  ["--theme", "themes", "each"],
  ["--use-theme", "useTheme"],
];

/** Flags whose value is one of a few words. */
const CHOICES = [
  ["--mode", "mode", ["text", "json", "rpc"], "error"],
  ["--thinking", "thinking", LEVELS, "warning"],
  ["--tui-mode", "tuiMode", ["regular", "fullscreen"], "error"],
];

const table = (rows) => new Map(rows.flatMap((row) => row[0].split(" ").map((name) => [name, row])));
const switches = table(SWITCHES);
const values = table(VALUES);
const choices = table(CHOICES);

/** Reads arguments one after the other. */
class Reader {
  result = { messages: [], fileArgs: [], unknownFlags: new Map(), diagnostics: [] };
  #rest;

  constructor(args) {
    this.#rest = [...args];
  }

  all() {
    while (this.#rest.length > 0) this.#one(this.#rest.shift());
    return this.result;
  }

  #one(argument) {
    if (argument === "--") this.#rest.splice(0).forEach((text) => this.#text(text));
    else if (switches.has(argument)) {
      const [, field, value = true] = switches.get(argument);
      this.result[field] = value;
    } else if (values.has(argument)) this.#value(argument, ...values.get(argument).slice(1));
    else if (choices.has(argument)) this.#choice(argument, ...choices.get(argument).slice(1));
    else if (argument === "--print" || argument === "-p") {
      this.result.print = true;
      if (this.#rest.length > 0 && /^(?!@)(?!-(?!--))/.test(this.#rest[0])) this.result.messages.push(this.#rest.shift());
    } else if (argument === "--list-models") {
      this.result.listModels = this.#rest.length > 0 && !/^[-@]/.test(this.#rest[0]) ? this.#rest.shift() : true;
    } else if (argument.startsWith("--")) this.#unknown(argument.slice(2));
    else if (/^-(?!-)/.test(argument)) this.#say("error", `Unknown option: ${argument}`);
    else this.#text(argument);
  }

  #text(text) {
    if (text.startsWith("@")) this.result.fileArgs.push(text.slice(1));
    else this.result.messages.push(text);
  }

  #say(type, message) {
    this.result.diagnostics.push({ type, message });
  }

  #value(name, field, read = (value) => value) {
    if (this.#rest.length === 0) {
      this.#unknown(name.replace(/^-+/, ""));
      return;
    }
    const value = this.#rest.shift();
    if (read === "each") (this.result[field] ??= []).push(value);
    else this.result[field] = read(value);
  }

  #choice(name, field, words, severity) {
    const value = this.#rest[0]?.startsWith("-") ? undefined : this.#rest.shift();
    if (words.includes(value)) this.result[field] = value;
    else this.#say(severity, `${name} requires one of ${words.join(", ")}`);
  }

  /** Notes a flag that may be an extension's: with `=`, with the next argument as value, or without one. */
  #unknown(flag) {
    const at = flag.indexOf("=");
    if (at >= 0) this.result.unknownFlags.set(flag.slice(0, at), flag.slice(at + 1));
    else if (this.#rest.length > 0 && !/^[-@]/.test(this.#rest[0])) this.result.unknownFlags.set(flag, this.#rest.shift());
    else this.result.unknownFlags.set(flag, true);
  }
}

/** Returns what the arguments of a command line say. */
export function parseArgs(args) {
  return new Reader(args).all();
}
