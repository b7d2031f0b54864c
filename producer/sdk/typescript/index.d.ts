import type { Facts, Fingerprint, ProviderUsage, Ref } from "./facts.js";

export type * from "./facts.js";

/** The data of a fact without schema_version and event_type. */
export type FactData<T extends keyof Facts> = Omit<Facts[T], "schema_version" | "event_type">;

/** CloudEvents attributes with the ids of the runtime. */
export interface Ids {
  sessionid: string;
  agent?: string; resourceid?: string; threadid?: string; turnid?: string; taskid?: string; runid?: string; attemptid?: string;
  stepid?: string; toolcallid?: string; actionid?: string; contextid?: string; parentrunid?: string; rootrunid?: string;
}

export interface Config {
  /** Address of `ctxledger up` or `ctxledger serve`. Defaults to CTXLEDGER_URL, or port 7070 of this machine. */
  url?: string;
  token?: string;
  /** Name of the runtime. Defaults to "unnamed". */
  runtime?: string;
  /** Distinguishes processes of one runtime. Defaults to a new id. */
  instance?: string;
  /** Key for digests and fingerprints. Without a key, there are none. */
  key?: Key | null;
  guard?: Guard;
  /** Folder that keeps events until the gateway has answered. Without a folder, they wait in memory. */
  outbox?: string;
  /** Longest time that an event waits for its batch, in milliseconds. Defaults to 100. */
  linger?: number;
  maxBatch?: number;
  /** Events that wait in memory. Further events are dropped, and the loss is a recorded fact. */
  maxQueued?: number;
  /** Longest time that a seal waits for the stream if there is an outbox, in milliseconds. */
  streamWait?: number;
  log?: (line: string) => void;
  fetch?: typeof fetch;
}

export interface Violation { code: string; pointer?: string; found?: string; fix?: string }
export interface CloudEvent { specversion: "1.0"; id: string; source: string; type: string; time: string; sequence: string; data: Record<string, unknown>; [attribute: string]: unknown }

export declare function connect(config?: Config): Promise<Client>;

export declare class Client {
  constructor(config?: Config);
  readonly source: string;
  readonly stored: number;
  readonly refused: number;
  readonly dropped: number;
  readonly refusals: ReadonlyArray<{ id: string; type: string; violations: Violation[] }>;
  readonly error: Error | null;
  readonly queued: number;
  readonly guard: Guard;
  open(): Promise<void>;
  run(options: RunOptions): Run;
  record<T extends keyof Facts>(type: T, fact: FactData<T>, ids: Ids): CloudEvent | null;
  flush(timeout?: number): Promise<boolean>;
  store(): Promise<"stream" | "outbox">;
  close(timeout?: number): Promise<boolean>;
}

export interface RunOptions extends Partial<FactData<"context.scope.opened">> {
  id?: string; session: string; thread?: string; agent?: string; resource?: string; task?: string; attempt?: string; maxDepth?: number;
}

export declare class Run {
  readonly ids: Ids;
  child(options?: Partial<RunOptions>): Run;
  record<T extends keyof Facts>(type: T, fact: FactData<T>, ids?: Ids): CloudEvent | null;
  turn(id?: string, model?: { name?: string }): Turn;
}

export interface Content extends Partial<Omit<FactData<"context.item.added">, "item_id" | "layer" | "role">> {
  id: string;
  text?: string;
  /** message, tool_call and tool_result also get an entry in the item log. */
  kind?: "message" | "tool_call" | "tool_result" | "retrieved" | "summary" | (string & {});
  role?: string;
  layer?: string;
  /** Tokens by the model's tokenizer. Without them, the size is an estimate and says so. */
  tokens?: number;
  toolCallId?: string;
  name?: string;
}

export interface Item { id: string; layer?: string; role?: string; tokens: number; digest?: string; redaction_state?: string; text: string }
export interface Receipt { context_id: string; sequences: Array<[number, number]>; stored: "stream" | "outbox"; refused: number }

export declare class Turn {
  readonly id: string;
  readonly ids: Ids;
  record<T extends keyof Facts>(type: T, fact: FactData<T>, more?: Partial<Ids>): CloudEvent | null;
  add(content: Content): Item;
  redact(redaction: { target_ref: string; value: string; reason: string; policy_ref: string }): void;
  missing(gap: Partial<FactData<"context.missing.detected">>): Gap;
  call(id?: string): Call;
  seal(): Promise<Receipt>;
}

export interface Chosen { id?: string; item_ref?: Ref; rank?: number; score?: number; signals?: Record<string, number>; tokens?: number; reason?: string; note?: string }

export declare class Call {
  readonly id: string;
  select(selection: { selected: Array<string | Chosen>; omitted?: Chosen[] } & Partial<FactData<"context.selection.completed">>): void;
  assemble(items: Item[], more?: Partial<FactData<"context.assembly.created">>): FactData<"context.assembly.created">;
  inject(assembly: FactData<"context.assembly.created">, injection_point: string): void;
  usage(usage: ProviderUsage, more?: Partial<FactData<"context.usage.recorded">>): void;
  compact(compaction: Partial<FactData<"context.compaction.started">> & { source_item_refs: Ref[] }): OpenCompaction;
}

export interface OpenCompaction {
  complete(outcome?: Partial<FactData<"context.compaction.completed">>): void;
  fail(outcome?: Partial<FactData<"context.compaction.failed">>): void;
  discard(outcome?: Partial<FactData<"context.compaction.discarded">>): void;
}

export declare class Gap {
  readonly id: string;
  request(): void;
  resolve(...resolution_refs: Ref[]): void;
  withdraw(status: "declined" | "blocked" | "expired"): void;
}

export declare class Guard {
  withhold(value: string, policy: { policy_ref: string; reason: string }): void;
  mask(text: string): { text: string; hits: Array<{ value: string; policy_ref: string; reason: string }> };
  maskAll<T>(value: T): T;
}

export declare class Key {
  readonly id: string;
  constructor(id: string, secret: string | Uint8Array);
  static parse(text: string): Key;
  digest(content: string | Uint8Array): string;
  fingerprint(value: string | Uint8Array): Fingerprint | null;
}

export declare function uuidv7(): string;
export declare function bucket(session: string): string;
export declare function messageID(source: string, id: string): string;
