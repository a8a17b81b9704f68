import type { RawRecord } from "./connection.js";
import { HostTools } from "./host_tools.js";
import { HostUris } from "./host_uris.js";
import type { AgentOptions } from "./options.js";
import type { ApprovalDecision, Event } from "./protocol.js";
export declare class Services {
    #private;
    readonly tools: HostTools;
    readonly uris: HostUris;
    constructor(options: AgentOptions, send: (record: RawRecord) => void, decide: (approvalId: string, decision: ApprovalDecision, message: string | undefined) => void, report: (error: unknown) => void);
    /** Does what an event asks for. */
    handle(event: Event): void;
    /** bowline has gone on without the answers to its dialogs. */
    closeDialogs(): void;
    /** The process has ended: nothing can be answered any more. */
    cancelAll(): void;
}
