// A client for WebSockets that can also do what no browser does.
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";

// Asks for a WebSocket; headers that are undefined are left out. Resolves with the status and, if it was opened, the socket.
export async function open(port, headers) {
  const stream = connect(port, "127.0.0.1");
  const all = {
    Host: `127.0.0.1:${port}`,
    Upgrade: "websocket",
    Connection: "keep-alive, Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
    Origin: `http://127.0.0.1:${port}`,
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${value}`);
  stream.write(`GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  const socket = new Socket(stream);
  const status = await socket.status;
  return { status, socket };
}

class Socket {
  #bytes = Buffer.alloc(0);
  #isOpen = false;
  frames = [];

  constructor(stream) {
    this.stream = stream;
    this.closed = new Promise((resolve) => stream.once("close", resolve));
    stream.on("error", () => {});
    this.status = new Promise((resolve, reject) => {
      stream.once("close", () => reject(new Error("closed without an answer")));
      stream.on("data", (bytes) => {
        this.#bytes = Buffer.concat([this.#bytes, bytes]);
        const end = this.#bytes.indexOf("\r\n\r\n");
        if (!this.#isOpen && end !== -1) {
          this.#isOpen = true;
          resolve(Number(this.#bytes.toString("latin1", 9, 12)));
          this.#bytes = this.#bytes.subarray(end + 4);
        }
        while (this.#isOpen && this.#take());
      });
    });
  }

  // The frames of a server have no mask.
  #take() {
    const bytes = this.#bytes;
    if (bytes.length < 2) return false;
    let [length, start] = [bytes[1] & 0x7f, 2];
    if (length === 126) [length, start] = [bytes.length < 4 ? Infinity : bytes.readUInt16BE(2), 4];
    else if (length === 127) [length, start] = [bytes.length < 10 ? Infinity : Number(bytes.readBigUInt64BE(2)), 10];
    if (bytes.length < start + length) return false;
    this.frames.push({ opcode: bytes[0] & 0x0f, payload: bytes.subarray(start, start + length) });
    this.#bytes = bytes.subarray(start + length);
    return true;
  }

  get records() {
    return this.frames.filter(({ opcode }) => opcode === 1).map(({ payload }) => JSON.parse(payload.toString()));
  }

  get closeCode() {
    return this.frames.find(({ opcode }) => opcode === 8)?.payload.readUInt16BE(0);
  }

  say(record) {
    this.frame(1, JSON.stringify(record));
  }

  frame(opcode, content, { isFinal = true, isMasked = true, reserved = 0, length } = {}) {
    const payload = Buffer.from(content);
    const size = length ?? payload.length;
    const head = [(isFinal ? 0x80 : 0) | reserved | opcode];
    const bit = isMasked ? 0x80 : 0;
    if (size < 126) head.push(bit | size);
    else if (size < 65_536) head.push(bit | 126, size >> 8, size & 0xff);
    else {
      const long = Buffer.alloc(8);
      long.writeBigUInt64BE(BigInt(size));
      head.push(bit | 127, ...long);
    }
    const mask = isMasked ? randomBytes(4) : Buffer.alloc(0);
    const masked = isMasked ? payload.map((byte, index) => byte ^ mask[index & 3]) : payload;
    this.raw(Buffer.concat([Buffer.from(head), mask, masked]));
  }

  raw(bytes) {
    this.stream.write(bytes);
  }
}
