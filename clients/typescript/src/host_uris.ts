/** Addresses that this program serves, such as `notes://todo`. */
import type { RawRecord } from "./connection.js";
import { messageOf } from "./errors.js";
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
  read(url: string, context: { signal: AbortSignal }): UriOutput | Promise<UriOutput>;
  /** Without it the model cannot write. */
  write?(url: string, content: string, context: { signal: AbortSignal }): string | void | Promise<string | void>;
}

type UriOutput = string | UriContent;

/** The schemes by their names. */
export type UriSchemes = Readonly<Record<string, UriScheme>>;

type Request = EventMap["host_uri_request"];

/** Calls the functions and answers for them. */
export class HostUris {
  readonly #send: (record: RawRecord) => void;
  readonly #requests = new Map<string, AbortController>();
  #schemes: UriSchemes = {};

  constructor(send: (record: RawRecord) => void) {
    this.#send = send;
  }

  set(schemes: UriSchemes): void {
    this.#schemes = Object.fromEntries(Object.entries(schemes).map(([name, scheme]) => [name.toLowerCase(), scheme]));
  }

  /** Serves a request, unless its scheme is not one of these: then somebody else answers for it. */
  request(request: Request): void {
    const name = request.url.slice(0, Math.max(request.url.indexOf("://"), 0)).toLowerCase();
    const scheme = Object.hasOwn(this.#schemes, name) ? this.#schemes[name] : undefined;
    if (scheme === undefined) return;
    const controller = new AbortController();
    this.#requests.set(request.id, controller);
    void this.#serve(scheme, request, controller.signal).finally(() => this.#requests.delete(request.id));
  }

  cancel(id: string): void {
    this.#requests.get(id)?.abort(new Error("bowline cancelled the request"));
  }

  cancelAll(): void {
    for (const controller of this.#requests.values()) controller.abort(new Error("bowline has ended"));
  }

  async #serve(scheme: UriScheme, request: Request, signal: AbortSignal): Promise<void> {
    const send = (answer: object) => {
      if (!signal.aborted) this.#send({ type: "host_uri_result", id: request.id, ...answer });
    };
    try {
      send(request.operation === "write" ? await write(scheme, request, signal) : await read(scheme, request, signal));
    } catch (error) {
      send({ isError: true, error: messageOf(error) });
    }
  }
}

async function read(scheme: UriScheme, request: Request, signal: AbortSignal): Promise<object> {
  const output = await scheme.read(request.url, { signal });
  return typeof output === "string" ? { content: output } : { content: output.content, notes: output.notes };
}

async function write(scheme: UriScheme, request: Request, signal: AbortSignal): Promise<object> {
  if (scheme.write === undefined) throw new TypeError("This address cannot be written.");
  const said = await scheme.write(request.url, request.content ?? "", { signal });
  return typeof said === "string" ? { content: said } : {};
}

/** Returns the schemes as the protocol has them. */
export function describedSchemes(schemes: UriSchemes): HostUriScheme[] {
  return Object.entries(schemes).map(([scheme, { description, write: writer }]) => ({
    scheme,
    ...(description === undefined ? {} : { description }),
    ...(writer === undefined ? {} : { writable: true }),
  }));
}
