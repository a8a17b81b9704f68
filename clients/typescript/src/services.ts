/** What this program does for bowline: tools, addresses, dialogs and approvals. */
import { Approvals } from "./approvals.js";
import type { RawRecord } from "./connection.js";
import { Dialogs } from "./dialogs.js";
import { HostTools } from "./host_tools.js";
import { HostUris } from "./host_uris.js";
import type { AgentOptions } from "./options.js";
import type { ApprovalDecision, Event } from "./protocol.js";

export class Services {
  readonly tools: HostTools;
  readonly uris: HostUris;
  readonly #dialogs: Dialogs | undefined;
  readonly #approvals: Approvals | undefined;

  constructor(
    options: AgentOptions,
    send: (record: RawRecord) => void,
    decide: (approvalId: string, decision: ApprovalDecision, message: string | undefined) => void,
    report: (error: unknown) => void,
  ) {
    this.tools = new HostTools(send);
    this.uris = new HostUris(send);
    if (options.ui !== "manual") this.#dialogs = new Dialogs(options.ui ?? {}, send, report);
    if (options.approve !== undefined) this.#approvals = new Approvals(options.approve, decide, report);
  }

  /** Does what an event asks for. */
  handle(event: Event): void {
    switch (event.type) {
      case "host_tool_call":
        this.tools.call(event);
        break;
      case "host_tool_cancel":
        this.tools.cancel(event.targetId);
        break;
      case "host_uri_request":
        this.uris.request(event);
        break;
      case "host_uri_cancel":
        this.uris.cancel(event.targetId);
        break;
      case "extension_ui_request":
        this.#dialogs?.request(event);
        break;
      case "approval_request":
        void this.#approvals?.request(event);
        break;
      case "approval_resolved":
        this.#approvals?.resolved(event.id);
        break;
      case "agent_settled":
        if (event.aborted) this.#dialogs?.closeAll();
        break;
    }
  }

  /** bowline has gone on without the answers to its dialogs. */
  closeDialogs(): void {
    this.#dialogs?.closeAll();
  }

  /** The process has ended: nothing can be answered any more. */
  cancelAll(): void {
    this.tools.cancelAll();
    this.uris.cancelAll();
    this.#dialogs?.closeAll();
    this.#approvals?.closeAll();
  }
}
