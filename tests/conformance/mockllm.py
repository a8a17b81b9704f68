#!/usr/bin/env python3
"""A deterministic model server on the loopback interface that speaks four provider APIs.

  POST …/v1/messages                         Anthropic Messages (SSE)
  POST …/chat/completions                    OpenAI Chat Completions (SSE)
  POST …/responses                           OpenAI Responses (SSE)
  POST …:streamGenerateContent               Google Gemini (SSE)

The client scripts the answers: the last user message that contains `PLAN [ ... ]` (a JSON array) is the script, and the
number of assistant messages after it selects the step. Without a plan the answer is a short text.

A step: {"text": "hi"} | {"n": 1000, "size": 20} (generated deltas) | {"think": "…", "text": "…"}
      | {"tools": [{"name": "bash", "args": {...}}]}, also together with "text"
      | {"status": 529, "times": 2, "body": "…"} (an HTTP error, the first 2 times)
      | {"cut": 3} (close the connection after 3 deltas) | {"hang": 2} (2 deltas, then silence)
Any step may have "delay": seconds between deltas, and "usage": {"in": 1, "out": 2}.

Prints its port on the first line of stdout. With --log, appends every request to a file as one JSON line.
"""
import argparse
import asyncio
import hashlib
import json
import random
import time

WORDS = "alpha bravo cable delta ember flint grove haven inlet joust knoll lunar mango north ocean pearl quill river stone tulip".split()

PRELUDE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
errors_sent = {}
stats = {"requests": 0}


def text_of(content):
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(c.get("text", "") for c in content if isinstance(c, dict))
    return ""


def history(body, kind):
    """Returns [(role, text)], each role one of user, assistant, assistant_part and tool."""
    out = []
    if kind == "gemini":
        for m in body.get("contents", []):
            parts = m.get("parts", [])
            if any("functionResponse" in p for p in parts):
                out.append(("tool", ""))
            else:
                out.append(("assistant" if m.get("role") == "model" else "user", "\n".join(p.get("text", "") for p in parts)))
        return out
    items = body.get("input") if kind == "responses" else body.get("messages", [])
    if isinstance(items, str):
        return [("user", items)]
    for m in items or []:
        t = m.get("type")
        if kind == "responses" and t in ("function_call", "reasoning"):
            if t == "function_call":
                out.append(("assistant_part", ""))
            continue
        if kind == "responses" and t == "function_call_output":
            out.append(("tool", ""))
            continue
        role = m.get("role")
        if role == "tool":
            out.append(("tool", ""))
            continue
        if role == "user" and isinstance(m.get("content"), list) and any(
                isinstance(c, dict) and c.get("type") == "tool_result" for c in m["content"]):
            out.append(("tool", ""))
            t = text_of(m["content"])
            if "PLAN" in t:
                out.append(("user", t))
            continue
        if role in ("user", "assistant"):
            out.append((role, text_of(m.get("content"))))
    return out


def pick_step(body, kind):
    hist = history(body, kind)
    plan, at = None, -1
    for i, (role, text) in enumerate(hist):
        if role == "user" and "PLAN [" in text:
            frag = text[text.rindex("PLAN [") + 5:]
            try:
                plan, _ = json.JSONDecoder().raw_decode(frag)
                at = i
            except ValueError:
                pass
    if plan is None:
        return {"text": "ok"}, "noplan"
    n, prev = 0, None
    for role, _ in hist[at + 1:]:
        if role == "assistant" or (role == "assistant_part" and prev not in ("assistant", "assistant_part")):
            n += 1
        prev = role
    key = hashlib.sha1((json.dumps(plan) + str(n)).encode()).hexdigest()
    return (plan[n] if n < len(plan) else {"text": "plan over"}), key


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def sse(obj, event=None):
    s = json.dumps(obj, separators=(",", ":"))
    return ((f"event: {event}\n" if event else "") + f"data: {s}\n\n").encode()


def deltas_of(step):
    if "n" in step:
        size = step.get("size", 20)
        rng, out = random.Random(7), []
        for _ in range(step["n"]):  # Prose without repetition, because some agents interrupt loops.
            w = " ".join(rng.choice(WORDS) + str(rng.randrange(10 ** 6)) for _ in range(size // 8 + 1))
            out.append((w + " ")[:size])
        return out
    t = step.get("text")
    if not t:
        return []
    return [t[i:i + 8] for i in range(0, len(t), 8)]


def frames(step, kind, model):
    """Yields the SSE frames of an answer as (bytes, is_delta)."""
    deltas, tools, think = deltas_of(step), step.get("tools", []), step.get("think")
    u = step.get("usage", {})
    uin, uout = u.get("in", 100), u.get("out", len(deltas) + 10 * len(tools))
    mid = "msg_%d" % stats["requests"]
    if kind == "anthropic":
        yield sse({"type": "message_start", "message": {"id": mid, "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": uin, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}}}, "message_start"), False
        i = 0
        if think:
            yield sse({"type": "content_block_start", "index": i, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}, "content_block_start"), False
            for j in range(0, len(think), 8):
                yield sse({"type": "content_block_delta", "index": i, "delta": {"type": "thinking_delta", "thinking": think[j:j + 8]}}, "content_block_delta"), True
            yield sse({"type": "content_block_delta", "index": i, "delta": {"type": "signature_delta", "signature": "c2ln"}}, "content_block_delta"), False
            yield sse({"type": "content_block_stop", "index": i}, "content_block_stop"), False
            i += 1
        if deltas:
            yield sse({"type": "content_block_start", "index": i, "content_block": {"type": "text", "text": ""}}, "content_block_start"), False
            for d in deltas:
                yield sse({"type": "content_block_delta", "index": i, "delta": {"type": "text_delta", "text": d}}, "content_block_delta"), True
            yield sse({"type": "content_block_stop", "index": i}, "content_block_stop"), False
            i += 1
        for k, t in enumerate(tools):
            yield sse({"type": "content_block_start", "index": i, "content_block": {"type": "tool_use", "id": f"toolu_{stats['requests']}_{k}", "name": t["name"], "input": {}}}, "content_block_start"), False
            a = json.dumps(t.get("args", {}))
            for j in range(0, len(a), 16):
                yield sse({"type": "content_block_delta", "index": i, "delta": {"type": "input_json_delta", "partial_json": a[j:j + 16]}}, "content_block_delta"), True
            yield sse({"type": "content_block_stop", "index": i}, "content_block_stop"), False
            i += 1
        yield sse({"type": "message_delta", "delta": {"stop_reason": "tool_use" if tools else step.get("stop", "end_turn"), "stop_sequence": None}, "usage": {"output_tokens": uout}}, "message_delta"), False
        yield sse({"type": "message_stop"}, "message_stop"), False
    elif kind == "openai":
        base = {"id": mid, "object": "chat.completion.chunk", "created": 1, "model": model}
        yield sse({**base, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}), False
        if think:
            for j in range(0, len(think), 8):
                yield sse({**base, "choices": [{"index": 0, "delta": {"reasoning_content": think[j:j + 8]}, "finish_reason": None}]}), True
        for d in deltas:
            yield sse({**base, "choices": [{"index": 0, "delta": {"content": d}, "finish_reason": None}]}), True
        for k, t in enumerate(tools):
            yield sse({**base, "choices": [{"index": 0, "delta": {"tool_calls": [{"index": k, "id": f"call_{stats['requests']}_{k}", "type": "function", "function": {"name": t["name"], "arguments": ""}}]}, "finish_reason": None}]}), False
            a = json.dumps(t.get("args", {}))
            for j in range(0, len(a), 16):
                yield sse({**base, "choices": [{"index": 0, "delta": {"tool_calls": [{"index": k, "function": {"arguments": a[j:j + 16]}}]}, "finish_reason": None}]}), True
        yield sse({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if tools else step.get("stop", "stop")}]}), False
        yield sse({**base, "choices": [], "usage": {"prompt_tokens": uin, "completion_tokens": uout, "total_tokens": uin + uout}}), False
        yield b"data: [DONE]\n\n", False
    elif kind == "responses":
        rid, seq, out = "resp_%d" % stats["requests"], 0, []
        def ev(t, **kw):
            nonlocal seq
            seq += 1
            return sse({"type": t, "sequence_number": seq, **kw}, t)
        r = {"id": rid, "object": "response", "created_at": 1, "status": "in_progress", "model": model, "output": []}
        yield ev("response.created", response=r), False
        i = 0
        if think:
            item = {"id": f"rs_{i}", "type": "reasoning", "summary": []}
            yield ev("response.output_item.added", output_index=i, item=item), False
            yield ev("response.reasoning_summary_part.added", item_id=item["id"], output_index=i, summary_index=0, part={"type": "summary_text", "text": ""}), False
            for j in range(0, len(think), 8):
                yield ev("response.reasoning_summary_text.delta", item_id=item["id"], output_index=i, summary_index=0, delta=think[j:j + 8]), True
            yield ev("response.reasoning_summary_part.done", item_id=item["id"], output_index=i, summary_index=0, part={"type": "summary_text", "text": think}), False
            item = {**item, "summary": [{"type": "summary_text", "text": think}]}
            yield ev("response.output_item.done", output_index=i, item=item), False
            out.append(item)
            i += 1
        if deltas:
            item = {"id": mid, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
            yield ev("response.output_item.added", output_index=i, item=item), False
            yield ev("response.content_part.added", item_id=mid, output_index=i, content_index=0, part={"type": "output_text", "text": "", "annotations": []}), False
            for d in deltas:
                yield ev("response.output_text.delta", item_id=mid, output_index=i, content_index=0, delta=d), True
            full = "".join(deltas)
            yield ev("response.output_text.done", item_id=mid, output_index=i, content_index=0, text=full), False
            yield ev("response.content_part.done", item_id=mid, output_index=i, content_index=0, part={"type": "output_text", "text": full, "annotations": []}), False
            item = {**item, "status": "completed", "content": [{"type": "output_text", "text": full, "annotations": []}]}
            yield ev("response.output_item.done", output_index=i, item=item), False
            out.append(item)
            i += 1
        for k, t in enumerate(tools):
            a = json.dumps(t.get("args", {}))
            item = {"id": f"fc_{stats['requests']}_{k}", "type": "function_call", "status": "in_progress", "call_id": f"call_{stats['requests']}_{k}", "name": t["name"], "arguments": ""}
            yield ev("response.output_item.added", output_index=i, item=item), False
            for j in range(0, len(a), 16):
                yield ev("response.function_call_arguments.delta", item_id=item["id"], output_index=i, delta=a[j:j + 16]), True
            yield ev("response.function_call_arguments.done", item_id=item["id"], output_index=i, arguments=a), False
            item = {**item, "status": "completed", "arguments": a}
            yield ev("response.output_item.done", output_index=i, item=item), False
            out.append(item)
            i += 1
        yield ev("response.completed", response={**r, "status": "completed", "output": out, "usage": {"input_tokens": uin, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": uout, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": uin + uout}}), False
    else:
        def g(parts, **kw):
            return sse({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **kw}], "modelVersion": model, "usageMetadata": {"promptTokenCount": uin, "candidatesTokenCount": uout, "totalTokenCount": uin + uout}})
        if think:
            yield g([{"text": think, "thought": True}]), True
        for d in deltas:
            yield g([{"text": d}]), True
        for t in tools:
            yield g([{"functionCall": {"name": t["name"], "args": t.get("args", {})}}]), False
        yield g([{"text": ""}], finishReason="STOP"), False


async def handle(reader, writer, args):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin1").split("\r\n")
            method, path, _ = lines[0].split(" ", 2)
            hdr = {l.split(":", 1)[0].strip().lower(): l.split(":", 1)[1].strip() for l in lines[1:] if ":" in l}
            data = b""
            if "content-length" in hdr:
                data = await reader.readexactly(int(hdr["content-length"]))
            elif hdr.get("transfer-encoding", "").lower() == "chunked":
                while True:
                    size = int((await reader.readline()).strip() or b"0", 16)
                    if size == 0:
                        await reader.readline()
                        break
                    data += await reader.readexactly(size)
                    await reader.readline()
            p = path.split("?")[0]
            kind = ("anthropic" if p.endswith("/messages") else "openai" if p.endswith("/chat/completions")
                    else "responses" if p.endswith("/responses") else "gemini" if "GenerateContent" in p or "generateContent" in p else None)
            if kind is None:
                body = b'{"data":[],"models":[],"object":"list"}' if method == "GET" else b'{"input_tokens":10}'
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()
                continue
            stats["requests"] += 1
            body = json.loads(data or b"{}")
            step, key = pick_step(body, kind)
            if args.log:
                with open(args.log, "a") as f:
                    f.write(json.dumps({"t": time.time(), "path": path, "headers": hdr, "body": body, "step": step}) + "\n")
            if "status" in step and errors_sent.get(key, 0) < step.get("times", 10 ** 9):
                errors_sent[key] = errors_sent.get(key, 0) + 1
                b = (step.get("body") or json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})).encode()
                extra = b"".join(b"%s: %s\r\n" % (k.encode(), v.encode()) for k, v in step.get("headers", {}).items())
                writer.write(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s" % (step["status"], extra, len(b), b))
                await writer.drain()
                continue
            writer.write(PRELUDE)
            seen, buf = 0, []
            for fr, is_delta in frames(step, kind, body.get("model", "mock")):
                if is_delta:
                    seen += 1
                    if step.get("cut") is not None and seen > step["cut"] and errors_sent.get(key, 0) < step.get("times", 10 ** 9):
                        errors_sent[key] = errors_sent.get(key, 0) + 1
                        writer.write(b"".join(buf))
                        await writer.drain()
                        writer.close()
                        return
                    if step.get("hang") is not None and seen > step["hang"]:
                        writer.write(b"".join(buf))
                        await writer.drain()
                        await reader.read(1)  # Until the client disconnects.
                        return
                buf.append(chunk(fr))
                if step.get("delay") and is_delta:
                    writer.write(b"".join(buf))
                    buf.clear()
                    await writer.drain()
                    await asyncio.sleep(step["delay"])
                elif len(buf) > 64:
                    writer.write(b"".join(buf))
                    buf.clear()
                    await writer.drain()
            writer.write(b"".join(buf) + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--log")
    args = ap.parse_args()
    srv = await asyncio.start_server(lambda r, w: handle(r, w, args), "127.0.0.1", args.port, limit=1 << 26)
    print(srv.sockets[0].getsockname()[1], flush=True)
    async with srv:
        await srv.serve_forever()


asyncio.run(main())
