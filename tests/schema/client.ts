// A client of every dialect with types generated from schema/. It is compiled in strict mode and never run.
import type * as pi from "./pi";
import type * as classic from "./pi-classic";
import type * as omp from "./omp";
import type * as opi from "./opi";
import type * as operator from "./operator";
import type * as flat from "./operator-flat";

export const commands: pi.Command[] = [
  { id: "1", type: "prompt", message: "hello" },
  { id: 2, type: "prompt", message: "look", images: [{ type: "image", data: "aGk=", mimeType: "image/png" }] },
  { type: "steer", message: "left", attachments: [{ type: "document", fileName: "a", extractedText: "text" }] },
  { id: "4", type: "set_thinking_level", level: "high" },
  { id: "5", type: "set_model", provider: "anthropic", modelId: "claude" },
  { id: "6", type: "bash", command: "ls", excludeFromContext: true },
  { id: "7", type: "get_state" },
];

export const others: [classic.Command, omp.Command, opi.Command, operator.Command, flat.Command] = [
  { id: "1", type: "prompt", message: "hello" },
  { id: "1", type: "abort_and_prompt", message: "hello" },
  { id: "1", type: "prompt", message: "hello" },
  { id: "1", type: "prompt", text: "hello", options: { images: ["aGk="], source: "cron" } },
  { id: "1", type: "steer", message: "hello" },
];

// @ts-expect-error: an id is a string or a number.
export const wrongId: pi.Command = { id: {}, type: "abort" };
// @ts-expect-error: a prompt has a message.
export const noMessage: pi.Command = { id: "1", type: "prompt" };
// @ts-expect-error: there is no such level.
export const wrongLevel: pi.Command = { id: "1", type: "set_thinking_level", level: "hard" };
// @ts-expect-error: there is no such code.
export const wrongCode: pi.FailureResponse["code"] = "very_busy";

const waiting = new Map<string | number, (response: pi.Response) => void>();

export function receive(record: pi.Output): string | undefined {
  switch (record.type) {
    case "response":
      if (record.id !== undefined) waiting.get(record.id)?.(record);
      return record.success ? undefined : retry(record);
    case "message_update":
      return record.assistantMessageEvent.type === "text_delta" ? record.assistantMessageEvent.delta : undefined;
    case "tool_execution_end":
      return record.result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    case "message_end":
      return record.message.role === "user" ? record.message.attachments?.[0]?.fileName : record.message.role;
    case "agent_settled":
      return record.aborted ? "aborted" : "done";
    default:
      return undefined;
  }
}

export function retry(failure: pi.FailureResponse): string {
  switch (failure.code) {
    case "busy":
    case "compacting":
      return "wait";
    case "no_model":
    case "no_credentials":
      return "configure";
    default:
      return failure.error;
  }
}

export function tokens(response: pi.GetStateResponse): number {
  return response.data.contextUsage?.tokens ?? 0;
}

export function answer(record: operator.Output): string {
  if (record.type === "event" && record.event.type === "message_update") {
    const block = record.event.message.contents[0];
    return block?.type === "text" ? block.content : "";
  }
  return "";
}

export function ended(record: flat.Output): boolean {
  return record.type === "agent_end" && record.reason === "completed";
}

export function failed(record: classic.Output): string | undefined {
  return record.type === "error" ? record.error : undefined;
}
