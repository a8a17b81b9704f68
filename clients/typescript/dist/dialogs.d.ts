/** What extensions ask and show, as plain functions. */
import type { RawRecord } from "./connection.js";
import type { EventMap } from "./protocol.js";
type UiRequest = EventMap["extension_ui_request"];
/** The request of a method. */
export type UiRequestOf<Method extends UiRequest["method"]> = Extract<UiRequest, {
    method: Method;
}>;
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
export declare class Dialogs {
    #private;
    constructor(handlers: UiHandlers, send: (record: RawRecord) => void, report: (error: unknown) => void);
    request(request: UiRequest): void;
    /** Closes all dialogs: bowline has gone on without their answers. */
    closeAll(): void;
}
export {};
