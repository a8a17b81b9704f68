/** What extensions ask and show, as plain functions. */
import type { RawRecord } from "./connection.js";
import type { EventMap } from "./protocol.js";

type UiRequest = EventMap["extension_ui_request"];
/** The request of a method. */
export type UiRequestOf<Method extends UiRequest["method"]> = Extract<UiRequest, { method: Method }>;
type MaybePromise<T> = T | Promise<T>;

/** What a dialog gets besides the request. */
export interface DialogContext {
  /** Is aborted when the answer no longer counts: close the dialog then. */
  readonly signal: AbortSignal;
}

/**
 * What to do with each kind of request. A dialog without a function is answered at once as if the user had closed it, so
 * that nothing waits for an answer that never comes. `undefined` closes a dialog, too.
 */
export interface UiHandlers {
  select?(request: UiRequestOf<"select">, context: DialogContext): MaybePromise<string | undefined>;
  confirm?(request: UiRequestOf<"confirm">, context: DialogContext): MaybePromise<boolean | undefined>;
  input?(request: UiRequestOf<"input">, context: DialogContext): MaybePromise<string | undefined>;
  editor?(request: UiRequestOf<"editor">, context: DialogContext): MaybePromise<string | undefined>;
  notify?(request: UiRequestOf<"notify">): void;
  setStatus?(request: UiRequestOf<"setStatus">): void;
  setWidget?(request: UiRequestOf<"setWidget">): void;
  setTitle?(request: UiRequestOf<"setTitle">): void;
  setEditorText?(request: UiRequestOf<"set_editor_text">): void;
}

/** Calls the functions and answers for them. */
export class Dialogs {
  readonly #handlers: UiHandlers;
  readonly #send: (record: RawRecord) => void;
  readonly #report: (error: unknown) => void;
  readonly #open = new Map<string, AbortController>();

  constructor(handlers: UiHandlers, send: (record: RawRecord) => void, report: (error: unknown) => void) {
    this.#handlers = handlers;
    this.#send = send;
    this.#report = report;
  }

  request(request: UiRequest): void {
    switch (request.method) {
      case "select":
      case "confirm":
      case "input":
      case "editor":
        this.#ask(request).catch(this.#report);
        break;
      default:
        this.#show(request);
    }
  }

  /** Closes all dialogs: bowline has gone on without their answers. */
  closeAll(): void {
    for (const controller of this.#open.values()) controller.abort(new Error("the dialog was closed"));
    this.#open.clear();
  }

  #show(request: UiRequest): void {
    const handlers = this.#handlers;
    try {
      if (request.method === "notify") handlers.notify?.(request);
      else if (request.method === "setStatus") handlers.setStatus?.(request);
      else if (request.method === "setWidget") handlers.setWidget?.(request);
      else if (request.method === "setTitle") handlers.setTitle?.(request);
      else if (request.method === "set_editor_text") handlers.setEditorText?.(request);
    } catch (error) {
      this.#report(error);
    }
  }

  async #ask(request: UiRequestOf<"select" | "confirm" | "input" | "editor">): Promise<void> {
    const controller = new AbortController();
    this.#open.set(request.id, controller);
    const timeout = "timeout" in request ? request.timeout : undefined;
    // bowline does not say that the time is up.
    const close = () => controller.abort(new Error("the time of the dialog is up"));
    const timer = timeout === undefined || timeout >= 2 ** 31 ? undefined : setTimeout(close, timeout);
    let answer: object = { cancelled: true };
    try {
      answer = await this.#answer(request, { signal: controller.signal });
    } catch (error) {
      if (!controller.signal.aborted) this.#report(error);
    }
    clearTimeout(timer);
    if (this.#open.get(request.id) === controller) this.#open.delete(request.id);
    if (!controller.signal.aborted) this.#send({ type: "extension_ui_response", id: request.id, ...answer });
  }

  async #answer(request: UiRequest, context: DialogContext): Promise<object> {
    if (request.method === "confirm") {
      const confirmed = await this.#handlers.confirm?.(request, context);
      return typeof confirmed === "boolean" ? { confirmed } : { cancelled: true };
    }
    let value: string | undefined;
    if (request.method === "select") value = await this.#handlers.select?.(request, context);
    else if (request.method === "input") value = await this.#handlers.input?.(request, context);
    else if (request.method === "editor") value = await this.#handlers.editor?.(request, context);
    return typeof value === "string" ? { value } : { cancelled: true };
  }
}
