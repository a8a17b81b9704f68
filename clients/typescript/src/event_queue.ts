/**
 * The events that one consumer has not taken yet.
 *
 * A queue over its limit is "full": the flow stops reading the pipe. If it has to read on all the same, because somebody
 * waits for a response, parts of the same block are joined, as bowline joins them for a client that lags. No text is lost.
 */
import type { Event } from "./protocol.js";

/** What an event costs besides the length of its line. */
const OVERHEAD = 200;

interface Waiter {
  resolve(result: IteratorResult<Event, undefined>): void;
  reject(error: Error): void;
}

interface Entry {
  event: Event;
  cost: number;
}

/** What a queue tells the flow. */
export interface QueueOwner {
  /** The queue has become full, or has room again, or its consumer has begun or ceased to wait. */
  changed(): void;
  /** The consumer has gone. */
  closed(queue: EventQueue): void;
}

export class EventQueue implements AsyncIterableIterator<Event, undefined> {
  readonly #limit: number;
  readonly #owner: QueueOwner;
  #entries: Entry[] = [];
  #head = 0;
  #cost = 0;
  #taken = 0;
  #isFull = false;
  #waiters: Waiter[] = [];
  #end: { error: Error | undefined } | undefined;

  constructor(limit: number, owner: QueueOwner) {
    this.#limit = limit;
    this.#owner = owner;
  }

  /** Whether reading should pause until the consumer has caught up. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Whether the consumer waits for an event. */
  get isAwaited(): boolean {
    return this.#waiters.length > 0;
  }

  /** How many events the consumer has taken. */
  get taken(): number {
    return this.#taken;
  }

  push(event: Event, size: number): void {
    if (this.#end !== undefined) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: event });
      if (this.#waiters.length === 0) this.#owner.changed();
      return;
    }
    const cost = size + OVERHEAD;
    const last = this.#entries[this.#entries.length - 1];
    const joined = this.#isFull && last !== undefined ? join(last.event, event) : undefined;
    if (last !== undefined && joined !== undefined) {
      const more = addedLength(event);
      last.event = joined;
      last.cost += more;
      this.#cost += more;
      return;
    }
    this.#entries.push({ event, cost });
    this.#cost += cost;
    if (this.#cost > this.#limit && !this.#isFull) {
      this.#isFull = true;
      this.#owner.changed();
    }
  }

  /** Ends the iteration once the events are taken; with an error, if there is one. */
  finish(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) {
      if (error === undefined) waiter.resolve({ done: true, value: undefined });
      else waiter.reject(error);
    }
    this.#owner.closed(this);
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const entry = this.#entries[this.#head];
    if (entry !== undefined) {
      this.#take(entry);
      return Promise.resolve({ done: false, value: entry.event });
    }
    if (this.#end !== undefined) {
      const { error } = this.#end;
      // An iterator fails once.
      this.#end = { error: undefined };
      return error === undefined ? Promise.resolve({ done: true, value: undefined }) : Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      if (this.#waiters.length === 1) this.#owner.changed();
    });
  }

  /** Ends the consumption: nothing is kept for this consumer any more. */
  return(): Promise<IteratorResult<Event, undefined>> {
    this.#entries = [];
    this.#head = 0;
    this.#cost = 0;
    this.#isFull = false;
    this.finish();
    this.#end = { error: undefined };
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(entry: Entry): void {
    this.#head += 1;
    this.#taken += 1;
    this.#cost -= entry.cost;
    if (this.#head === this.#entries.length) {
      this.#entries = [];
      this.#head = 0;
    } else if (this.#head >= 1_024) {
      this.#entries.splice(0, this.#head);
      this.#head = 0;
    }
    // Reading starts again at half of the limit, so that the pipe is not paused for each event.
    if (this.#isFull && this.#cost <= this.#limit / 2) {
      this.#isFull = false;
      this.#owner.changed();
    }
  }
}

/** Returns the event that stands for both, or nothing if they cannot be joined. */
function join(earlier: Event, later: Event): Event | undefined {
  if (earlier.type === "message_update" && later.type === "message_update") {
    const [first, second] = [earlier.assistantMessageEvent, later.assistantMessageEvent];
    if (!("delta" in first && "delta" in second)) return undefined;
    if (first.type !== second.type || first.contentIndex !== second.contentIndex) return undefined;
    return { ...later, assistantMessageEvent: { ...second, delta: first.delta + second.delta } };
  }
  if (earlier.type === "bash_execution_update" && later.type === "bash_execution_update") {
    return earlier.id === later.id ? { ...later, delta: earlier.delta + later.delta } : undefined;
  }
  if (earlier.type === "tool_execution_update" && later.type === "tool_execution_update") {
    return earlier.toolCallId === later.toolCallId ? later : undefined;
  }
  return undefined;
}

/** Returns by how much an event makes the one longer that it is joined with. */
function addedLength(event: Event): number {
  if (event.type === "bash_execution_update") return event.delta.length;
  if (event.type === "message_update" && "delta" in event.assistantMessageEvent) {
    return event.assistantMessageEvent.delta.length;
  }
  return 0;
}
