import type { Reply } from './exchange.ts';
import { type Json, parseResource, textAt } from './json.ts';
import { header } from './session.ts';

export interface Resource {
  readonly path: string;
  readonly body: Readonly<Record<string, Json>>;
  readonly etag: string | undefined;
}

/** What a reply that is a success holds. */
export function resourceIn(path: string, reply: Reply): Resource {
  const body = parseResource(reply.bytes, `what its service processor answered to GET ${path}`);
  return { path, body, etag: header(reply, 'etag') ?? textAt(body, '@odata.etag') };
}
