/** Addresses that this program serves, such as `notes://todo`. */
import type { RawRecord } from "./connection.js";
import type { EventMap, HostUriScheme } from "./protocol.js";
/** What reading returns when a text alone is not enough. */
export interface UriContent {
    readonly content: string;
    /** What the model should know about it. */
    readonly notes?: readonly string[];
}
/** The addresses of one scheme. */
export interface UriScheme {
    /** What is found there, for the model. */
    readonly description?: string;
    read(url: string, context: {
        signal: AbortSignal;
    }): UriOutput | Promise<UriOutput>;
    /** Without it the model cannot write. */
    write?(url: string, content: string, context: {
        signal: AbortSignal;
    }): string | void | Promise<string | void>;
}
type UriOutput = string | UriContent;
/** The schemes by their names. */
export type UriSchemes = Readonly<Record<string, UriScheme>>;
type Request = EventMap["host_uri_request"];
/** Calls the functions and answers for them. */
export declare class HostUris {
    #private;
    constructor(send: (record: RawRecord) => void);
    set(schemes: UriSchemes): void;
    /** Serves a request, unless its scheme is not one of these: then somebody else answers for it. */
    request(request: Request): void;
    cancel(id: string): void;
    cancelAll(): void;
}
/** Returns the schemes as the protocol has them. */
export declare function describedSchemes(schemes: UriSchemes): HostUriScheme[];
export {};
