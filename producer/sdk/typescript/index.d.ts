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
  /** Address of `ctxledger up` or `ctxledger serve`, or of NATS (nats://user:password@host:4222). Defaults to CTXLEDGER_URL, or port 7070 of this machine. */
  url?: string;
  /** The tenant whose facts are published to NATS. Over HTTP the token decides. Defaults to "default". */
  tenant?: string;
  token?: string;
  /** Path of a credentials file (.creds) for NATS. */
  creds?: string;
  /** How events are sent. Defaults to what the address says; "@ctxledger/sdk/nats" has more options. close closes it. */
  transport?: Transport | null;
  /** Name of the runtime. Defaults to "unnamed". */
  runtime?: string;
  /** Distinguishes processes of one runtime. Defaults to a new id. */
  instance?: string;
  /** Key for digests and fingerprints. Without a key, there are none. */
  key?: Key | null;
  guard?: Guard;
  /** Folder that keeps events until the gateway has answered. One client owns it: connect throws with code OUTBOX_IN_USE if another does. Without a folder, events wait in memory. */
  outbox?: string;
  /** Longest time that an event waits for its batch, in milliseconds. Defaults to 100. */
  linger?: number;
  maxBatch?: number;
  /** Events that wait in memory. Further events are dropped, and the loss is a recorded fact. */
  maxQueued?: number;
  /** Longest time that a seal waits for the stream if there is an outbox, in milliseconds. */
  streamWait?: number;
  /** Time between an event and the question whether it was quarantined, in milliseconds. null asks only when receipts is called. Defaults to 5,000. */
  receipts?: number | null;
  log?: (line: string) => void;
  fetch?: typeof fetch;
}

export interface Verdict { verdict: "stored" | "refused" | "waits"; violations?: Violation[]; error?: Error; stream?: string; sequence?: number }

/** A way to send events. send gives a verdict for each event, in order; an event that waits is sent again. */
export interface Transport {
  readonly name: string;
  /** Throws if the transport cannot work on this machine. */
  open?(): Promise<void>;
  send(documents: string[]): Promise<Verdict[]>;
  hear(source: string): void;
  notices(): Notice[];
  close(): Promise<void>;
}

export interface Violation { code: string; pointer?: string; found?: string; fix?: string }

export interface Notice { outcome: string; stream: string; sequence: number; recorded_at: string; source?: string; id?: string; type?: string; session_id?: string; code: string; pointer: string; fix?: string }

export declare function connect(config?: Config): Promise<Client>;

export declare class Client {
  constructor(config?: Config);
  readonly source: string;
  readonly stored: number;
  readonly refused: number;
  readonly dropped: number;
  readonly refusals: ReadonlyArray<{ id: string; type: string; violations: Violation[] }>;
  readonly quarantined: number;
  readonly notices: ReadonlyArray<Notice>;
  readonly error: Error | null;
  readonly queued: number;
  readonly guard: Guard;
  open(): Promise<void>;
  run(options: RunOptions): Run;
  record<T extends keyof Facts>(type: T, fact: FactData<T> | ((sequence: number) => FactData<T>), ids: Ids, used?: (sequence: number) => void): boolean;
  receipts(): Promise<number>;
  flush(timeout?: number): Promise<boolean>;
  store(): Promise<"stream" | "outbox">;
  close(timeout?: number): Promise<boolean>;
}

export interface RunOptions extends Partial<FactData<"context.scope.opened">> {
  id?: string; session: string; thread?: string; agent?: string; resource?: string; task?: string; attempt?: string; maxDepth?: number;
}

export declare class Run {
  readonly ids: Ids;
  readonly depth: number;
  child(options?: Partial<Omit<RunOptions, "maxDepth">>): Run;
  record<T extends keyof Facts>(type: T, fact: FactData<T>): boolean;
  turn(id?: string, model?: Model): Turn;
}

/** With maxTokens, the size of the window, select records the budget too. */
export interface Model { name?: string; maxTokens?: number; reservedOutput?: number }

export interface Content extends Partial<Omit<FactData<"context.item.added">, "item_id" | "layer" | "role">> {
  id: string;
  text?: string;
  /** message, tool_call and tool_result also get an entry in the item log. */
  kind?: "message" | "tool_call" | "tool_result" | "retrieved" | "summary" | "fixed" | (string & {});
  role?: string;
  layer?: string;
  /** Tokens by the model's tokenizer. Without them, the size is an estimate and says so. */
  tokens?: number;
  toolCallId?: string;
  /** The model call that produced the content. */
  callId?: string;
  name?: string;
}

/** Item is one piece of a window: its size and relations, and the text to send to the model. */
export interface Item { id: string; tokens: number; kind?: string; layer?: string; role?: string; estimator?: string; digest?: string; redaction_state?: string; text?: string }
export interface Receipt { context_id: string; sequences: Array<[number, number]>; stored: "stream" | "outbox"; refused: number }

export declare class Turn {
  readonly id: string;
  readonly ids: Ids;
  readonly sealed: boolean;
  record<T extends keyof Facts>(type: T, fact: FactData<T>, more?: Partial<Ids>): boolean;
  add(content: Content): Item & { text: string };
  redact(redaction: { target_ref: string; value: string; reason: string; policy_ref: string }): void;
  missing(gap: Partial<FactData<"context.missing.detected">> & { question: string; requested_from: string; requested_action: string; user_summary: string }): Gap;
  /** The facts of the call have the further ids. */
  call(id?: string, ids?: Partial<Ids>): Call;
  seal(): Promise<Receipt>;
}

export interface Selection extends Partial<FactData<"context.selection.completed">> {
  /** The omitted candidates. Each omission has a reason. */
  omitted?: Array<{ id: string; reason: string; note?: string }>;
  /** Scores and signals of candidates, by id. */
  scores?: Record<string, { score?: number; signals?: Record<string, number> }>;
  /** The rungs of the pressure ladder that ran. */
  pressure?: Array<Omit<FactData<"context.pressure.applied">, "pressure_id" | "call_id" | "policy" | "model">>;
  pressure_policy?: FactData<"context.budget.applied">["pressure_policy"];
  surface?: Partial<FactData<"context.surface.created">>;
}

export declare class Call {
  readonly id: string;
  record<T extends keyof Facts>(type: T, fact: FactData<T>): boolean;
  select<I extends Item>(candidates: I[], selection?: Selection): I[];
  assemble(items: Item[], more?: Partial<FactData<"context.assembly.created">>): FactData<"context.assembly.created">;
  inject(assembly: FactData<"context.assembly.created">, injection_point: string): void;
  usage(usage: ProviderUsage, more?: Partial<FactData<"context.usage.recorded">>): void;
  compact<I extends Item>(window: I[], source: string[], more?: Partial<FactData<"context.compaction.started">>): OpenCompaction<I>;
}

export declare class OpenCompaction<I extends Item = Item> {
  complete(summary: Content & { text: string; loss_notes?: string[]; open_questions?: string[]; goal_refs?: Ref[]; coverage?: Record<string, unknown>; validation?: unknown }): Array<I | Item>;
  fail(reason: string, outcome?: Partial<FactData<"context.compaction.failed">>): void;
  discard(reason: string, outcome?: Partial<FactData<"context.compaction.discarded">>): void;
}

export declare class Gap {
  readonly id: string;
  resolve(...resolution_refs: Ref[]): void;
  withdraw(status: "declined" | "expired"): void;
}

export interface Hit { value: string; policy_ref: string; reason: string }

export declare class Guard {
  withhold(value: string, policy: { policy_ref: string; reason: string }): void;
  mask(text: string): { text: string; hits: Hit[] };
  maskAll<T>(value: T, hits?: Hit[]): T;
}

export declare class Key {
  readonly id: string;
  constructor(id: string, secret: string | Uint8Array);
  static parse(text: string): Key;
  digest(content: string | Uint8Array): string;
  fingerprint(value: string | Uint8Array): Fingerprint | null;
  fingerprints(value: string): Fingerprint[];
}

export declare function uuidv7(): string;
export declare function bucket(session: string): string;
export declare function messageID(source: string, id: string): string;
