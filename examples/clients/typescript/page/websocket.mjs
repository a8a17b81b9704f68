// The server's side of a WebSocket (RFC 6455) with nothing but Node: handshake, frames, ping and limits.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** The longest message that is taken. */
const MESSAGE_LIMIT = 1024 * 1024;
/** How much may wait to be sent before `send` waits. */
const SEND_LIMIT = 1024 * 1024;
/** How often the other side is asked whether it is there, and how long it may be silent. */
const PING_MS = 30_000;
const SILENCE_MS = 75_000;

const CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10;

/** Why a connection is closed from here, with its number in the protocol. */
class Violation extends Error {
  /** @param {number} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Answers the request of a browser to open a WebSocket, and returns it; refuses one that is not as it should be.
 * `allow` says whether the request may be answered, and which protocol is chosen.
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:stream").Duplex} stream
 * @param {Buffer} head what the browser has sent after the request
 * @param {(protocols: string[]) => string | undefined} allow
 * @returns {WebSocket | undefined}
 */
export function accept(request, stream, head, allow) {
  const { headers } = request;
  const key = headers["sec-websocket-key"] ?? "";
  const isWebSocket =
    request.method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    (headers.connection ?? "").toLowerCase().split(/\s*,\s*/).includes("upgrade") &&
    Buffer.from(key, "base64").length === 16;
  if (!isWebSocket) return refuse(stream, "400 Bad Request");
  if (headers["sec-websocket-version"] !== "13") return refuse(stream, "426 Upgrade Required", "Sec-WebSocket-Version: 13");
  const protocol = allow((headers["sec-websocket-protocol"] ?? "").split(/\s*,\s*/));
  if (protocol === undefined) return refuse(stream, "403 Forbidden");
  const answer = createHash("sha1").update(key + GUID).digest("base64");
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${answer}`,
    `Sec-WebSocket-Protocol: ${protocol}`,
  ];
  stream.write(`${lines.join("\r\n")}\r\n\r\n`);
  return new WebSocket(stream, head);
}

/** @param {import("node:stream").Duplex} stream @param {string} status @param {string[]} headers @returns {undefined} */
function refuse(stream, status, ...headers) {
  stream.end([`HTTP/1.1 ${status}`, "Connection: close", "Content-Length: 0", ...headers, "", ""].join("\r\n"));
}

/** Emits `message` with a text, and `close` once. */
export class WebSocket extends EventEmitter {
  #stream;
  /** @type {Buffer[]} What was read and is no whole frame yet. */
  #pieces = [];
  #length = 0;
  /** How many bytes must be there before it is worth looking. */
  #wanted = 2;
  /** @type {Buffer[]} The frames of a message that is not complete. */
  #frames = [];
  #messageLength = 0;
  #isInMessage = false;
  #isClosed = false;
  #lastSeen = Date.now();
  #timer;

  /** @param {import("node:stream").Duplex} stream @param {Buffer} head */
  constructor(stream, head) {
    super();
    this.#stream = stream;
    stream.on("data", (/** @type {Buffer} */ bytes) => this.#read(bytes));
    stream.on("close", () => this.#over());
    stream.on("end", () => this.#over());
    stream.on("error", () => this.#over());
    this.#timer = setInterval(() => this.#checkLife(), PING_MS);
    if (head.length > 0) setImmediate(() => this.#read(head));
  }

  get isClosed() {
    return this.#isClosed;
  }

  /** Sends a text. Resolves at once unless the other side reads too slowly; then when it has read. @param {string} text */
  async send(text) {
    if (this.#isClosed) return;
    this.#write(TEXT, Buffer.from(text));
    if (this.#stream.writableLength < SEND_LIMIT) return;
    const closed = new AbortController();
    const stop = () => closed.abort();
    this.once("close", stop);
    await once(this.#stream, "drain", { signal: closed.signal }).catch(() => {});
    this.off("close", stop);
  }

  /** @param {number} code @param {string} reason at most 120 bytes */
  close(code = 1000, reason = "") {
    if (this.#isClosed) return;
    const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
    payload.writeUInt16BE(code);
    payload.write(reason, 2);
    this.#write(CLOSE, payload);
    this.#over();
  }

  #over() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#stream.end();
    // A peer that does not close its side is not waited for.
    setTimeout(() => this.#stream.destroy(), 1_000).unref();
    this.emit("close");
  }

  #checkLife() {
    if (Date.now() - this.#lastSeen > SILENCE_MS) this.#stream.destroy();
    else this.#write(PING, Buffer.alloc(0));
  }

  /** @param {number} opcode @param {Buffer} payload */
  #write(opcode, payload) {
    const { length } = payload;
    const size = length < 126 ? 2 : length < 65_536 ? 4 : 10;
    const head = Buffer.alloc(size);
    head[0] = 0x80 | opcode;
    head[1] = size === 2 ? length : size === 4 ? 126 : 127;
    if (size === 4) head.writeUInt16BE(length, 2);
    if (size === 10) head.writeBigUInt64BE(BigInt(length), 2);
    this.#stream.write(head);
    this.#stream.write(payload);
  }

  /** @param {Buffer} bytes */
  #read(bytes) {
    this.#lastSeen = Date.now();
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    try {
      while (!this.#isClosed && this.#length >= this.#wanted && this.#readFrame());
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.close(error.code, error.message);
    }
  }

  /** Handles a frame if it is complete. */
  #readFrame() {
    // Joined only when there is enough, so that a frame in small pieces is not copied for each of them.
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [bytes];
    const frame = parse(bytes);
    if (typeof frame === "number") {
      this.#wanted = frame;
      return false;
    }
    this.#pieces = [bytes.subarray(frame.size)];
    this.#length -= frame.size;
    this.#wanted = 2;
    this.#handle(frame);
    return true;
  }

  /** @param {Frame} frame */
  #handle({ opcode, isFinal, payload }) {
    if (opcode === PING) this.#write(PONG, payload);
    else if (opcode === CLOSE) this.close(1000);
    else if (opcode === BINARY) throw new Violation(1003, "only text is understood");
    else if (opcode === TEXT || opcode === CONTINUATION) this.#add(opcode, isFinal, payload);
    else if (opcode !== PONG) throw new Violation(1002, `unknown opcode ${opcode}`);
  }

  /** @param {number} opcode @param {boolean} isFinal @param {Buffer} payload */
  #add(opcode, isFinal, payload) {
    if ((opcode === CONTINUATION) !== this.#isInMessage) throw new Violation(1002, "frames out of order");
    this.#messageLength += payload.length;
    if (this.#messageLength > MESSAGE_LIMIT || this.#frames.length >= 1_000) throw new Violation(1009, "the message is too long");
    this.#frames.push(payload);
    this.#isInMessage = !isFinal;
    if (!isFinal) return;
    const bytes = Buffer.concat(this.#frames);
    this.#frames = [];
    this.#messageLength = 0;
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new Violation(1007, "the text is not UTF-8");
    }
    this.emit("message", text);
  }
}

/** @typedef {{ opcode: number, isFinal: boolean, payload: Buffer, size: number }} Frame */

/** Returns the first frame, or how many bytes are needed to know more. @param {Buffer} bytes @returns {Frame | number} */
function parse(bytes) {
  if (bytes.length < 2) return 2;
  const [first, second] = [bytes.readUInt8(0), bytes.readUInt8(1)];
  const opcode = first & 0x0f;
  const isFinal = (first & 0x80) !== 0;
  if ((first & 0x70) !== 0) throw new Violation(1002, "no extension was agreed on");
  if ((second & 0x80) === 0) throw new Violation(1002, "a client has to mask its frames");
  let length = second & 0x7f;
  if (opcode >= 8 && (length > 125 || !isFinal)) throw new Violation(1002, "a control frame is too long or in pieces");
  let start = 2;
  if (length === 126) {
    if (bytes.length < 4) return 4;
    length = bytes.readUInt16BE(2);
    start = 4;
  } else if (length === 127) {
    if (bytes.length < 10) return 10;
    const long = bytes.readBigUInt64BE(2);
    if (long > BigInt(MESSAGE_LIMIT)) throw new Violation(1009, "the message is too long");
    length = Number(long);
    start = 10;
  }
  const size = start + 4 + length;
  if (bytes.length < size) return size;
  const mask = bytes.subarray(start, start + 4);
  const payload = Buffer.from(bytes.subarray(start + 4, size));
  for (let index = 0; index < length; index += 1) payload[index] = /** @type {number} */ (payload[index]) ^ /** @type {number} */ (mask[index & 3]);
  return { opcode, isFinal, payload, size };
}
