import type { Transport } from "./index.js";

export interface NatsOptions {
  /** Addresses of servers, separated by commas, with user and password, or a token as the user. Defaults to CTXLEDGER_NATS_URL. */
  url?: string;
  /** A connection of @nats-io/transport-node that is open already. close leaves it open. */
  connection?: object;
  /** The tenant whose facts are published. Defaults to "default". */
  tenant?: string;
  /** Longest time that an event waits for its acknowledgement, in milliseconds. Defaults to 5,000. */
  timeout?: number;
  /** Path of a credentials file (.creds), with the user's token and its key. */
  creds?: string;
  /** Further options of the connection, such as tls or authenticator. */
  [option: string]: unknown;
}

/**
 * nats returns a transport that publishes to JetStream without a gateway. It needs the packages
 * @nats-io/transport-node and @nats-io/jetstream. The projector judges the events after they are stored;
 * the client counts and logs the notices of those that it quarantines.
 */
export declare function nats(options?: NatsOptions): Transport;
export declare function subject(tenant: string, runtime: string, session: string, eventType: string): string;
export declare function messageID(source: string, id: string): string;
