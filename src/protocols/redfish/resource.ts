import type { Reply } from './exchange.ts';
import { type Json, parseResource, textAt } from './json.ts';
import { parseCollection } from './large-json.ts';
import { header } from './session.ts';

export interface Resource {
  readonly path: string;
  readonly body: Readonly<Record<string, Json>>;
  readonly etag: string | undefined;
}

const nameOf = (path: string): string => `what its service processor answered to GET ${path}`;

/** What a reply that is a success holds. */
export function resourceIn(path: string, reply: Reply): Resource {
  return resource(path, reply, parseResource(reply.bytes, nameOf(path)));
}

/** The same of a collection, which may be large. */
export async function collectionIn(path: string, reply: Reply, signal: AbortSignal): Promise<Resource> {
  return resource(path, reply, await parseCollection(reply.bytes, nameOf(path), signal));
}

function resource(path: string, reply: Reply, body: Resource['body']): Resource {
  return { path, body, etag: header(reply, 'etag') ?? textAt(body, '@odata.etag') };
}
