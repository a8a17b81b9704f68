/**
 * Decides whether the pipe is read.
 *
 * Reading pauses while a consumer has too much that it has not taken, so that a slow consumer slows down bowline and not
 * fills the memory. It never pauses while somebody waits for what only reading can bring: the response to a command, the
 * end of a run, or the next event of another consumer. So no two of them can wait for each other.
 */
import process from "node:process";
import { EventQueue } from "./event_queue.js";
import type { Event } from "./protocol.js";

/** After how long a pause is worth a warning. */
const STALL_MS = 30_000;

export class Flow {
  readonly #queues = new Set<EventQueue>();
  readonly #limit: number;
  readonly #setReading: (isReading: boolean) => void;
  #waiting = 0;
  #isReading = true;
  #stalled: NodeJS.Timeout | undefined;

  /** `limit` is the number of bytes that a consumer may lag behind. */
  constructor(limit: number, setReading: (isReading: boolean) => void) {
    this.#limit = limit;
    this.#setReading = setReading;
  }

  /** Whether the pipe is being read. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /** Returns a queue that gets every event from now on. */
  subscribe(): EventQueue {
    const queue: EventQueue = new EventQueue(this.#limit, {
      changed: () => this.update(),
      closed: () => {
        this.#queues.delete(queue);
        this.update();
      },
    });
    this.#queues.add(queue);
    return queue;
  }

  push(event: Event, size: number): void {
    for (const queue of this.#queues) queue.push(event, size);
  }

  /** Ends all iterations, with an error if there is one. */
  finish(error?: Error): void {
    for (const queue of [...this.#queues]) queue.finish(error);
  }

  /** Somebody has begun to wait for something other than an event of a queue. */
  beginWait(): void {
    this.#waiting += 1;
    this.update();
  }

  endWait(): void {
    this.#waiting -= 1;
    this.update();
  }

  /** Waits for a promise, and reads meanwhile. */
  async during<T>(promise: Promise<T>): Promise<T> {
    this.beginWait();
    try {
      return await promise;
    } finally {
      this.endWait();
    }
  }

  update(): void {
    const isReading = this.#waiting > 0 || this.#mayRead();
    if (isReading === this.#isReading) return;
    this.#isReading = isReading;
    this.#setReading(isReading);
    clearTimeout(this.#stalled);
    if (!isReading) this.#watch();
  }

  /** Warns if nothing is taken for long. A consumer that is only slow is no reason to warn. */
  #watch(): void {
    const before = this.#taken();
    this.#stalled = setTimeout(() => {
      if (this.#taken() === before) warn();
      else this.#watch();
    }, STALL_MS);
    this.#stalled.unref();
  }

  #taken(): number {
    return [...this.#queues].reduce((sum, queue) => sum + queue.taken, 0);
  }

  #mayRead(): boolean {
    let isFull = false;
    for (const queue of this.#queues) {
      if (queue.isAwaited) return true;
      isFull ||= queue.isFull;
    }
    return !isFull;
  }
}

function warn(): void {
  process.emitWarning(
    "Nothing has been read from bowline for 30 seconds, because a consumer takes no events. Iterate a run or agent.events() " +
      "to the end, leave the loop, wait for run.result(), or call run.discard().",
    { code: "BOWLINE_STALLED" },
  );
}
