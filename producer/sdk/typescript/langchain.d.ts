import type { CallbackHandlerMethods } from "@langchain/core/callbacks/base";
import type { Turn } from "./index.js";

/** A callback handler of LangChain that records each call of a chat model. The caller seals the turn. */
export declare class LedgerHandler implements CallbackHandlerMethods {
  constructor(turn: Turn | (() => Turn));
  name: string;
  handleChatModelStart: NonNullable<CallbackHandlerMethods["handleChatModelStart"]>;
  handleLLMEnd: NonNullable<CallbackHandlerMethods["handleLLMEnd"]>;
  handleLLMError: NonNullable<CallbackHandlerMethods["handleLLMError"]>;
}
