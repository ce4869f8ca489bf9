import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** A request as the parts of this floor see it. */
export interface HttpRequest {
  readonly id: string;
  readonly raw: IncomingMessage;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The address of the client, also behind proxies. */
  readonly ip: string;
  /** The path it was found at, with `:name` for segments; undefined if there is nothing there. */
  readonly path: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** When it came, as `performance.now()` says. */
  readonly began: number;
}
