// The answer of a model while it is streamed: pi's events have all of it, the engine sends what is new.

/** An answer that grows. */
export class StreamedMessage {
  #partialArguments = new Map();

  /** Begins with the message of `message_start`. */
  constructor(message) {
    this.message = { ...message, content: [...(message?.content ?? [])] };
  }

  /** Adds a step. Returns the event `message_update` as pi has it. */
  update({ type, usage, assistantMessageEvent: step }) {
    const message = this.message;
    if (usage) message.usage = usage;
    this.#apply(step);
    const snapshot = { ...message, content: message.content.map((block) => ({ ...block })) };
    return { type, message: snapshot, assistantMessageEvent: { ...step, partial: snapshot } };
  }

  #apply(step) {
    const { content } = this.message;
    const place = step.contentIndex;
    switch (step.type) {
      case "text_start":
        content[place] = { type: "text", text: "" };
        break;
      case "text_delta":
        (content[place] ??= { type: "text", text: "" }).text += step.delta;
        break;
      case "text_end":
        content[place] = { ...content[place], type: "text", text: step.content };
        break;
      case "thinking_start":
        content[place] = { type: "thinking", thinking: "" };
        break;
      case "thinking_delta":
        (content[place] ??= { type: "thinking", thinking: "" }).thinking += step.delta;
        break;
      case "thinking_end":
        content[place] = { ...content[place], type: "thinking", thinking: step.content };
        break;
      case "toolcall_start":
        content[place] = { type: "toolCall", id: step.id, name: step.toolName, arguments: {} };
        this.#partialArguments.set(place, "");
        break;
      case "toolcall_delta": {
        const text = (this.#partialArguments.get(place) ?? "") + step.delta;
        this.#partialArguments.set(place, text);
        const parsed = wholeObject(text);
        if (content[place] && parsed) content[place].arguments = parsed;
        break;
      }
      case "toolcall_end":
        content[place] = step.toolCall;
        this.#partialArguments.delete(place);
        break;
      default:
    }
    for (let index = 0; index < content.length; index += 1) content[index] ??= { type: "text", text: "" };
  }
}

function wholeObject(text) {
  if (!text.endsWith("}")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // More follows.
    return undefined;
  }
}
