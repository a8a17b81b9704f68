import { type RawRecord } from "./connection.js";
import { type UiHandlers } from "./dialogs.js";
import type { CommandData, CommandMap, CommandName, EventMap, ImageInput, Message, Model, QueueMode, ThinkingLevel } from "./omp_protocol.js";
export type * from "./omp_protocol.js";
/** The events that listeners of omp's client get. */
declare const EVENTS: readonly ["agent_start", "agent_end", "turn_start", "turn_end", "message_start", "message_update", "message_end", "tool_execution_start", "tool_execution_update", "tool_execution_end", "auto_compaction_start", "auto_compaction_end", "auto_retry_start", "auto_retry_end", "ttsr_triggered", "todo_reminder"];
export type AgentEvent = EventMap[(typeof EVENTS)[number]];
/** The data of the response to a command. */
type Data<Name extends CommandName> = CommandData[Name];
export interface RpcClientOptions {
    /** The program to start instead of the bowline of this system. It gets `--dialect omp`. */
    cliPath?: string;
    cwd?: string;
    /** Is added to the environment of this process. */
    env?: Record<string, string>;
    provider?: string;
    model?: string;
    /** Where sessions are kept. */
    sessionDir?: string;
    /** Further flags. */
    args?: string[];
    /** What to do with what extensions ask and show; without functions, dialogs are closed at once. */
    ui?: UiHandlers;
    /** How long `stop()` waits before it kills the process; 10,000 milliseconds if absent. */
    terminationGraceMs?: number;
}
export declare class RpcClient {
    #private;
    constructor(options?: RpcClientOptions);
    /** Starts bowline, and waits until it is ready. */
    start(): Promise<void>;
    /** Ends bowline: it stops what is in progress and exits. */
    stop(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
    /** Calls a function for each event of the session. Returns a function that ends that. */
    onEvent(listener: (event: AgentEvent) => void): () => void;
    /** Calls a function for each record that is not a response, such as `command_output` or `host_tool_call`. */
    onRecord(listener: (record: RawRecord) => void): () => void;
    /** Sends a record that has no response, such as `host_tool_result`. */
    send(record: RawRecord): void;
    /** The last lines that bowline wrote to stderr. */
    getStderr(): string;
    prompt(message: string, images?: ImageInput[]): Promise<void>;
    steer(message: string, images?: ImageInput[]): Promise<void>;
    followUp(message: string, images?: ImageInput[]): Promise<void>;
    abort(): Promise<void>;
    abortAndPrompt(message: string, images?: ImageInput[]): Promise<void>;
    newSession(parentSession?: string): Promise<Data<"new_session">>;
    getState(): Promise<Data<"get_state">>;
    setModel(provider: string, modelId: string): Promise<Data<"set_model">>;
    cycleModel(): Promise<Data<"cycle_model">>;
    getAvailableModels(): Promise<Model[]>;
    setThinkingLevel(level: ThinkingLevel): Promise<void>;
    cycleThinkingLevel(): Promise<Data<"cycle_thinking_level">>;
    setSteeringMode(mode: QueueMode): Promise<void>;
    setFollowUpMode(mode: QueueMode): Promise<void>;
    setInterruptMode(mode: CommandMap["set_interrupt_mode"]["mode"]): Promise<void>;
    compact(customInstructions?: string): Promise<Data<"compact">>;
    setAutoCompaction(enabled: boolean): Promise<void>;
    setAutoRetry(enabled: boolean): Promise<void>;
    abortRetry(): Promise<void>;
    bash(command: string): Promise<Data<"bash">>;
    abortBash(): Promise<void>;
    getSessionStats(): Promise<Data<"get_session_stats">>;
    exportHtml(outputPath?: string): Promise<Data<"export_html">>;
    switchSession(sessionPath: string): Promise<Data<"switch_session">>;
    branch(entryId: string): Promise<Data<"branch">>;
    getBranchMessages(): Promise<Data<"get_branch_messages">["messages"]>;
    getLastAssistantText(): Promise<string | null>;
    setSessionName(name: string): Promise<void>;
    getMessages(): Promise<Message[]>;
    /** Waits until no run is in progress. Fails if a prompt fails after it was acknowledged, and after the time. */
    waitForIdle(timeout?: number): Promise<void>;
    /** Waits until no run is in progress, and returns the events up to then. */
    collectEvents(timeout?: number): Promise<AgentEvent[]>;
    /** Sends a prompt, waits for the end of its run, and returns its events. */
    promptAndWait(message: string, images?: ImageInput[], timeout?: number): Promise<AgentEvent[]>;
    /** Sends any command of the dialect, and returns the data of its response. */
    command<Name extends CommandName>(command: Name, fields: Omit<CommandMap[Name], "id" | "type">): Promise<Data<Name>>;
}
