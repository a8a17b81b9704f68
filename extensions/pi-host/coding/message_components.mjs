// Components that show messages and the work of tools.

import { Box, Container, Markdown, Spacer, Text } from "../shims/pi-tui.mjs";
import { theme } from "../tui/theme.mjs";
import { contentText } from "../model/transcript.mjs";
import { getMarkdownTheme } from "./display.mjs";

/** Shows a text in Markdown, made anew whenever what it shows changes. */
class Shown extends Container {
  /** Replaces what is shown. */
  show(components) {
    this.clear();
    for (const component of components) this.addChild(component);
  }
}

function transformed(text, transformers) {
  return transformers.reduce((current, transform) => transform(current, {}) ?? current, text);
}

/** Shows a message of the user. */
export class UserMessageComponent extends Shown {
  #text;
  #theme;
  #transformers;

  constructor(text, markdownTheme = getMarkdownTheme(), outputPad = 1, markdownTransformers = []) {
    super();
    this.#text = text;
    this.#theme = markdownTheme;
    this.#transformers = markdownTransformers;
    this.setOutputPad(outputPad);
  }

  setOutputPad(padding) {
    const box = new Box(padding, 1, (line) => theme.bg("userMessageBg", line));
    box.addChild(new Markdown(transformed(this.#text, this.#transformers), 0, 0, this.#theme));
    this.show([box]);
  }
}

/** Shows an answer of a model. */
export class AssistantMessageComponent extends Shown {
  #message;
  #hidesThinking;
  #theme;
  #label;
  #padding;
  #transformers;

  constructor(
    message, hideThinkingBlock = false, markdownTheme = getMarkdownTheme(), hiddenThinkingLabel = "Thinking...", outputPad = 1,
    markdownTransformers = [],
  ) {
    super();
    this.#hidesThinking = hideThinkingBlock;
    this.#theme = markdownTheme;
    this.#label = hiddenThinkingLabel;
    this.#padding = outputPad;
    this.#transformers = markdownTransformers;
    if (message) this.updateContent(message);
  }

  setHideThinkingBlock(hide) {
    this.#hidesThinking = hide;
    this.#rebuild();
  }

  setHiddenThinkingLabel(label) {
    this.#label = label;
    this.#rebuild();
  }

  setOutputPad(padding) {
    this.#padding = padding;
    this.#rebuild();
  }

  updateContent(message) {
    this.#message = message;
    this.#rebuild();
  }

  #rebuild() {
    if (!this.#message) return;
    const { content, stopReason, errorMessage } = this.#message;
    const parts = content.flatMap((block) => {
      const text = (block.type === "thinking" ? block.thinking : block.text)?.trim();
      if (!text) return [];
      if (block.type === "text") return [this.#markdown(transformed(text, this.#transformers))];
      return [this.#hidesThinking ? new Text(theme.italic(this.#label), this.#padding, 0) : this.#markdown(text)];
    });
    if (stopReason === "aborted") parts.push(new Text("Operation aborted", this.#padding, 0));
    if (stopReason === "error") parts.push(new Text(`Error: ${errorMessage || "Unknown error"}`, this.#padding, 0));
    this.show(parts.flatMap((part) => [new Spacer(1), part]));
  }

  #markdown(text) {
    return new Markdown(text, this.#padding, 0, this.#theme);
  }
}

/** Shows a note with a heading, which can be folded. */
class Note extends Shown {
  #heading;
  #text;
  #theme;
  #isExpanded = false;

  constructor(heading, text, markdownTheme) {
    super();
    this.#heading = heading;
    this.#text = text;
    this.#theme = markdownTheme;
    this.#rebuild();
  }

  setExpanded(expanded) {
    this.#isExpanded = expanded;
    this.#rebuild();
  }

  #rebuild() {
    const body = this.#isExpanded ? [new Markdown(this.#text, 1, 0, this.#theme)] : [];
    this.show([new Text(theme.bold(this.#heading), 1, 0), ...body]);
  }
}

/** Shows that a branch was left, with its summary. */
export class BranchSummaryMessageComponent extends Note {
  constructor(message, markdownTheme = getMarkdownTheme()) {
    super("[branch] Summary of the branch that was left", message.summary, markdownTheme);
  }
}

/** Shows that the conversation was summarized, with the summary. */
export class CompactionSummaryMessageComponent extends Note {
  constructor(message, markdownTheme = getMarkdownTheme()) {
    const count = message.tokensBefore?.toLocaleString("en-US") ?? "the";
    super(`[compaction] Summarized ${count} tokens`, message.summary, markdownTheme);
  }
}

/** Shows that a skill was called, with its text. */
export class SkillInvocationMessageComponent extends Note {
  constructor(skillBlock, markdownTheme = getMarkdownTheme()) {
    super(`[skill] ${skillBlock.name}`, skillBlock.content, markdownTheme);
  }
}

/** Shows a message of an extension, as the extension's own renderer does it, if there is one. */
export class CustomMessageComponent extends Shown {
  #message;
  #renderer;
  #theme;
  #padding;
  #isExpanded = false;

  constructor(message, customRenderer, markdownTheme = getMarkdownTheme(), outputPad = 1) {
    super();
    this.#message = message;
    this.#renderer = customRenderer;
    this.#theme = markdownTheme;
    this.setOutputPad(outputPad);
  }

  setExpanded(expanded) {
    this.#isExpanded = expanded;
    this.#rebuild();
  }

  setOutputPad(outputPad) {
    this.#padding = outputPad;
    this.#rebuild();
  }

  #rebuild() {
    this.show([new Spacer(1), this.#own() ?? this.#usual()]);
  }

  #own() {
    try {
      return this.#renderer?.(this.#message, { expanded: this.#isExpanded, outputPad: this.#padding }, theme);
    } catch {
      return undefined;
    }
  }

  #usual() {
    const { customType, content } = this.#message;
    const box = new Box(this.#padding, 1, (line) => theme.bg("customMessageBg", line));
    box.addChild(new Text(theme.bold(`[${customType}]`), 0, 0));
    box.addChild(new Markdown(contentText(content), 0, 0, this.#theme));
    return box;
  }
}

const FOLDED_LINES = 20;

/** Shows a command of the user with its output. */
export class BashExecutionComponent extends Shown {
  #command;
  #output = "";
  #end = "Running...";
  #isExpanded = false;

  constructor(command) {
    super();
    this.#command = command;
    this.#rebuild();
  }

  setExpanded(expanded) {
    this.#isExpanded = expanded;
    this.#rebuild();
  }

  appendOutput(chunk) {
    this.#output += chunk.replace(/\r\n?/g, "\n");
    this.#rebuild();
  }

  setComplete(exitCode, cancelled, truncationResult, fullOutputPath) {
    const status = cancelled ? "(cancelled)" : exitCode ? `(exit ${exitCode})` : "";
    this.#end = truncationResult?.truncated && fullOutputPath ? `${status} The full output is in ${fullOutputPath}.` : status;
    this.#rebuild();
  }

  getOutput() {
    return this.#output;
  }

  getCommand() {
    return this.#command;
  }

  #rebuild() {
    const lines = this.#output.trimEnd().split("\n");
    const shown = this.#isExpanded ? lines : lines.slice(-FOLDED_LINES);
    const parts = [theme.bold(`$ ${this.#command}`), shown.join("\n"), this.#end.trim()].filter((text) => text !== "");
    this.show([new Spacer(1), ...parts.map((text) => new Text(text, 1, 0))]);
  }
}

/** Shows a call of a tool with its result, as the tool's renderers do it. */
export class ToolExecutionComponent extends Shown {
  #tool;
  #definition;
  #state = {};
  #flags = { isExpanded: false, isPartial: true, hasStarted: false, isComplete: false };
  #result;
  #context;

  constructor(toolName, toolCallId, args, options, toolDefinition, ui, cwd) {
    super();
    this.#tool = { toolName, args };
    this.#definition = toolDefinition;
    this.#context = { toolCallId, cwd, showImages: options?.showImages ?? true, invalidate: () => ui?.requestRender?.() };
    this.#rebuild();
  }

  updateArgs(args) {
    this.#tool.args = args;
    this.#rebuild();
  }

  markExecutionStarted() {
    this.#change({ hasStarted: true });
  }

  setArgsComplete() {
    this.#change({ isComplete: true });
  }

  updateResult(result, isPartial = false) {
    this.#result = result;
    this.#change({ isPartial });
  }

  setExpanded(expanded) {
    this.#change({ isExpanded: expanded });
  }

  setShowImages(show) {
    this.#context.showImages = show;
    this.#rebuild();
  }

  setImageWidthCells() {}

  #change(flags) {
    Object.assign(this.#flags, flags);
    this.#rebuild();
  }

  #rebuild() {
    const { isExpanded: expanded, isPartial, hasStarted, isComplete } = this.#flags;
    const { toolName, args } = this.#tool;
    const context = {
      ...this.#context,
      args,
      state: this.#state,
      lastComponent: undefined,
      expanded,
      isPartial,
      isError: this.#result?.isError ?? false,
      executionStarted: hasStarted,
      argsComplete: isComplete,
    };
    const call = this.#rendered(() => this.#definition?.renderCall?.(args, theme, context));
    const parts = [new Spacer(1), call ?? new Text(theme.bold(toolName), 1, 0)];
    if (this.#result) {
      const own = this.#rendered(() => this.#definition?.renderResult?.(this.#result, { expanded, isPartial }, theme, context));
      parts.push(own ?? new Text(contentText(this.#result.content), 1, 0));
    }
    this.show(parts);
  }

  /** Returns what a renderer makes; nothing if it fails, for the usual form then takes its place. */
  #rendered(render) {
    try {
      return render();
    } catch {
      return undefined;
    }
  }
}
