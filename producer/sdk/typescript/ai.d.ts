import type { LanguageModelMiddleware } from "ai";
import type { Turn } from "./index.js";

/** A middleware of the Vercel AI SDK that records each model call. The caller seals the turn. */
export declare function ledgerMiddleware(turn: Turn | (() => Turn)): LanguageModelMiddleware;
