/** Asks a function whether tool calls may run. */
import type { ApprovalDecision, EventMap } from "./protocol.js";
export type ApprovalRequest = EventMap["approval_request"];
/** An answer: `true` is `once`, `false` is `deny`. The model reads the message of a denial. */
export type ApprovalAnswer = boolean | ApprovalDecision | {
    decision: ApprovalDecision;
    message?: string;
};
/** Decides about a tool call. The signal is aborted when the answer no longer counts. */
export type Approve = (request: ApprovalRequest, context: {
    signal: AbortSignal;
}) => ApprovalAnswer | Promise<ApprovalAnswer>;
/** Calls the function and sends what it decides. */
export declare class Approvals {
    #private;
    constructor(approve: Approve, respond: (approvalId: string, decision: ApprovalDecision, message: string | undefined) => void, report: (error: unknown) => void);
    request(request: ApprovalRequest): Promise<void>;
    /** Somebody else has decided. */
    resolved(id: string): void;
    closeAll(): void;
}
