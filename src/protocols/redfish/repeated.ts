import type { Reply } from './exchange.ts';
import { type Resource, resourceIn } from './resource.ts';
import { header } from './session.ts';

/** Of a reply that is kept, in bytes. */
const mostKept = 16 * 1024;

/**
 * The resource that is read again and again, as that with the power state is. Nearly always it has not changed, and to compare it costs
 * far less than to parse it again. What commands read in passing is not kept.
 */
export class Repeated {
  #path: string | undefined;
  #kept: { readonly bytes: Buffer; readonly etag: string | undefined; readonly resource: Resource } | undefined;

  read(path: string, reply: Reply): Resource {
    const etag = header(reply, 'etag');
    const again = this.#path === path;
    const kept = again ? this.#kept : undefined;
    if (kept && kept.etag === etag && kept.bytes.equals(reply.bytes)) return kept.resource;
    this.#path = path;
    this.#kept = undefined;
    const resource = resourceIn(path, reply);
    // What was received may be a small part of a large buffer.
    if (again && reply.bytes.length <= mostKept) this.#kept = { bytes: Buffer.from(reply.bytes), etag, resource };
    return resource;
  }
}
