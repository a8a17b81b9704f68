import type { SessionChoice } from "./options.js";
import type { CommandName, State } from "./protocol.js";
export declare class Resumption {
    #private;
    /** Takes note of a command that has succeeded. */
    remember(name: CommandName, fields: object): void;
    /** Takes note of the session, the model and the thinking level. */
    open(state: State): void;
    /** Returns the session to open again. */
    session(): SessionChoice | undefined;
    /** Returns the commands to send to a process with this state, the model before its thinking level. */
    commands(state: State): [CommandName, object][];
}
/** Whether another session may be open after a command. */
export declare function changesSession(name: CommandName): boolean;
/** Whether another session, model or thinking level may be in use after a command. */
export declare function changesState(name: CommandName): boolean;
