import type { Span, Trace, TracingProcessor } from "@openai/agents";
import type { Client, RunOptions } from "./index.js";

/** A tracing processor of the OpenAI Agents SDK. A trace is a turn, and its group a session. */
export declare class LedgerProcessor implements TracingProcessor {
  constructor(client: Client, options?: Partial<Omit<RunOptions, "session">>);
  onTraceStart(trace: Trace): Promise<void>;
  onTraceEnd(trace: Trace): Promise<void>;
  onSpanStart(span: Span<any>): Promise<void>;
  onSpanEnd(span: Span<any>): Promise<void>;
  forceFlush(): Promise<void>;
  shutdown(timeout?: number): Promise<void>;
}
