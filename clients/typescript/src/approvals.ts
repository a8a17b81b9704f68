/** Asks a function whether tool calls may run. */
import type { ApprovalDecision, EventMap } from "./protocol.js";

export type ApprovalRequest = EventMap["approval_request"];

/** An answer: `true` is `once`, `false` is `deny`. The model reads the message of a denial. */
export type ApprovalAnswer = boolean | ApprovalDecision | { decision: ApprovalDecision; message?: string };

/** Decides about a tool call. The signal is aborted when the answer no longer counts. */
export type Approve = (
  request: ApprovalRequest,
  context: { signal: AbortSignal },
) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** Calls the function and sends what it decides. */
export class Approvals {
  readonly #approve: Approve;
  readonly #respond: (approvalId: string, decision: ApprovalDecision, message: string | undefined) => void;
  readonly #report: (error: unknown) => void;
  readonly #open = new Map<string, AbortController>();

  constructor(
    approve: Approve,
    respond: (approvalId: string, decision: ApprovalDecision, message: string | undefined) => void,
    report: (error: unknown) => void,
  ) {
    this.#approve = approve;
    this.#respond = respond;
    this.#report = report;
  }

  async request(request: ApprovalRequest): Promise<void> {
    const controller = new AbortController();
    this.#open.set(request.id, controller);
    let answer: ApprovalAnswer = false;
    try {
      answer = await this.#approve(request, { signal: controller.signal });
    } catch (error) {
      if (!controller.signal.aborted) this.#report(error);
    }
    this.#open.delete(request.id);
    if (controller.signal.aborted) return;
    const { decision, message } = typeof answer === "object" ? answer : { decision: answer, message: undefined };
    this.#respond(request.id, typeof decision === "boolean" ? (decision ? "once" : "deny") : decision, message);
  }

  /** Somebody else has decided. */
  resolved(id: string): void {
    this.#open.get(id)?.abort(new Error("the question was decided without an answer"));
  }

  closeAll(): void {
    for (const controller of this.#open.values()) controller.abort(new Error("bowline has ended"));
    this.#open.clear();
  }
}
