// `ctx.ui`: dialogs are requests to the engine, displays are notifications, and what only a terminal has is answered as pi
// answers it without one.

import { createRequire } from "node:module";
import { currentCall } from "../host/current.mjs";

const load = createRequire(import.meta.url);
/** How many components were shown, so that each has a key of its own. */
let lastCustom = 0;
const KEYS_OF_WIDGET = ["aboveEditor", "belowEditor"];

/** Returns `ctx.ui` for an instance of an extension. */
export function createUi(host, runtime) {
  const ext = runtime.extension.id;
  const widgets = new Map();
  const notify = (method, params) => {
    runtime.assertUsable();
    if (host.hasUI) host.requests.notify(ext, method, params);
  };
  const dialog = async (method, params, options, fallback, read) => {
    runtime.assertUsable();
    const signal = options?.signal;
    if (signal?.aborted || !host.hasUI) return fallback;
    const timeout = Number.isFinite(options?.timeout) ? Math.max(0, Math.round(options.timeout)) : undefined;
    try {
      return await host.dialog(() => host.requests.request(ext, method, { ...params, timeout }, { signal }).then(read));
    } catch {
      return fallback;
    }
  };
  const textOrNothing = (value) => (typeof value === "string" ? value : undefined);

  const ui = {
    select: (title, options, dialogOptions) =>
      dialog(
        "ui.select",
        { title: String(title), options: (options ?? []).map(String), optionDetails: details(dialogOptions) },
        dialogOptions,
        undefined,
        textOrNothing,
      ),
    confirm: (title, message, dialogOptions) =>
      dialog("ui.confirm", { title: String(title), message: optional(message) }, dialogOptions, false, (value) => value === true),
    input: (title, placeholder, dialogOptions) =>
      dialog("ui.input", { title: String(title), placeholder: optional(placeholder) }, dialogOptions, undefined, textOrNothing),
    editor: (title, prefill, dialogOptions) =>
      dialog("ui.editor", { title: String(title), prefill: optional(prefill) }, dialogOptions, undefined, textOrNothing),
    notify: (message, type) => {
      const known = ["info", "warning", "error"].includes(type) ? type : undefined;
      notify("ui.notify", { message: String(message), type: known });
    },
    setStatus: (key, text) => notify("ui.setStatus", { key: String(key), text: optional(text) }),
    setTitle: (title) => notify("ui.setTitle", { title: String(title) }),
    setEditorText: (text) => notify("ui.setEditorText", { text: String(text) }),
    pasteToEditor: (text) => notify("ui.setEditorText", { text: String(text) }),
    setWidget(key, content, options) {
      const name = String(key);
      const placement = KEYS_OF_WIDGET.includes(options?.placement) ? options.placement : undefined;
      widgets.get(name)?.dispose?.();
      widgets.delete(name);
      const show = (lines) => notify("ui.setWidget", { key: name, lines, placement });
      if (content === undefined || content === null) return show(undefined);
      if (Array.isArray(content)) return show(content.map(String));
      const screen = host.state.render;
      // Without a terminal to draw for, pi leaves components out.
      if (typeof content !== "function" || typeof screen?.columns !== "number") return undefined;
      const { renderWidget } = load("../tui/custom.mjs");
      let widget;
      const draw = () => {
        if (!runtime.isStale && widgets.get(name) === widget) show(widget.lines().map(String));
      };
      widget = renderWidget(content, screen.columns, () => widget && draw());
      widgets.set(name, widget);
      runtime.track(() => widget.dispose?.());
      draw();
      return undefined;
    },
    custom: (factory, options) => {
      runtime.assertUsable();
      return showCustom(host, runtime, factory, options);
    },

    onTerminalInput: () => () => {},
    setWorkingMessage() {},
    setWorkingVisible() {},
    setWorkingIndicator() {},
    setHiddenThinkingLabel() {},
    setFooter() {},
    setHeader() {},
    addAutocompleteProvider() {},
    setEditorComponent() {},
    setToolsExpanded() {},
    getEditorText: () => "",
    getEditorComponent: () => undefined,
    getAllThemes: () => [],
    getTheme: () => undefined,
    setTheme: () => ({ success: false, error: host.hasUI ? "Theme switching not supported in RPC mode" : "UI not available" }),
    getToolsExpanded: () => false,
    get theme() {
      return load("../tui/theme.mjs").theme;
    },
  };
  return ui;
}

/** Shows a component, if the client can show its lines and send keys. Otherwise there is no answer, as in pi. */
async function showCustom(host, runtime, factory, options) {
  if (!host.hasUI) return undefined;
  const screen = host.state.render;
  const show = typeof screen?.columns === "number" ? () => drawCustom(host, runtime, factory, options, screen) : async () => undefined;
  host.announcePrompt("ui_prompt_start", "custom");
  try {
    return await host.dialog(show);
  } finally {
    host.announcePrompt("ui_prompt_end", "custom");
  }
}

async function drawCustom(host, runtime, factory, options, { columns, rows }) {
  const { runCustom } = load("../tui/custom.mjs");
  const ext = runtime.extension.id;
  const closed = new AbortController();
  const withdrawn = new AbortController();
  const inputs = new Set();
  const resizes = new Set();
  let id;
  lastCustom += 1;
  const key = String(lastCustom);
  const show = (lines) => {
    if (closed.signal.aborted) return;
    if (id !== undefined) {
      host.requests.notify(ext, "ui.setWidget", { key, lines });
      return;
    }
    const sent = (requestId) => {
      id = requestId;
      host.customInputs.set(id, (data) => inputs.forEach((callback) => callback(data)));
    };
    host.requests
      .request(ext, "ui.custom", { key, lines }, { signal: withdrawn.signal, onSent: sent })
      .catch(() => {})
      .finally(() => closed.abort());
  };
  const onResize = (callback) => resizes.add(callback);
  const stopWatching = host.onResize((size) => resizes.forEach((callback) => callback(size)));
  currentCall()?.signal?.addEventListener("abort", () => closed.abort(), { once: true });
  try {
    const onInput = (callback) => inputs.add(callback);
    return await runCustom(factory, options, { columns, rows, show, onInput, onResize, closed: closed.signal });
  } finally {
    stopWatching();
    host.customInputs.delete(id);
    withdrawn.abort();
  }
}

function details(options) {
  const list = options?.optionDetails;
  return Array.isArray(list) ? list.map((item) => ({ description: optional(item?.description ?? item) })) : undefined;
}

function optional(value) {
  return value === undefined || value === null ? undefined : String(value);
}
