import type { BootNote, BootReports } from '../reports.ts';
import type { BootClient, BootRoute, Found, Taken } from '../routes/route.ts';

/** What a machine has fetched of a file. */
export type Fetched = Pick<BootNote, 'at' | 'source' | 'bytes' | 'complete'>;

/** A file for a machine that boots. */
export interface Served {
  readonly found: Found;
  /** Hears what became of it. */
  fetched(what: Fetched): void;
}

/** Where listeners for HTTP and TFTP get what machines ask for. */
export interface BootSource {
  /** Undefined: there is nothing. A Fault `denied` is for those who may not have it. */
  find(segments: readonly string[], client: BootClient): Promise<Served | undefined>;
  /** Takes what a machine sends (at most 64 KiB); undefined: nothing can be sent there. */
  take(segments: readonly string[], body: string, client: BootClient): Promise<Taken | undefined>;
}

/** What the routes have. What none of them has does not exist; a directory is nothing. */
export class BootCatalog implements BootSource {
  readonly #routes: readonly BootRoute[];
  readonly #reports: BootReports;

  constructor(routes: readonly BootRoute[], reports: BootReports) {
    this.#routes = routes;
    this.#reports = reports;
  }

  async find(segments: readonly string[], client: BootClient): Promise<Served | undefined> {
    const found = await this.#find(segments, client);
    if (!found) return undefined;
    const path = segments.join('/');
    return { found, fetched: (what) => noteFetch(this.#reports, found, path, client.address, what) };
  }

  async take(segments: readonly string[], body: string, client: BootClient): Promise<Taken | undefined> {
    for (const route of this.#routes) {
      const taken = await route.take?.(segments, body, client);
      if (taken) return taken;
    }
    return undefined;
  }

  async #find(segments: readonly string[], client: BootClient): Promise<Found | undefined> {
    // In URLs the reference system's directory stands before what TFTP has at its root.
    const path = segments[0] === 'tftpboot' ? segments.slice(1) : segments;
    if (path.length === 0) return undefined;
    for (const route of this.#routes) {
      const found = await route.find?.(path, client);
      if (found) return found;
    }
    return undefined;
  }
}

const longest = 2_048;

/**
 * The segments of a path as a client sent it; undefined: it is none that anything here could be found by. Nothing is repaired: what goes
 * up, hides a slash or a control character, or is not UTF-8 is refused.
 */
export function pathSegments(text: string): readonly string[] | undefined {
  if (text.length > longest) return undefined;
  const plain = text.startsWith('/') ? text.slice(1) : text;
  const segments = plain.split('/').map(decoded);
  return segments.every(isPlain) ? segments : undefined;
}

/** The same of a TFTP name, which nothing is encoded in. Firmware writes one, two or no slashes before it, some of it backslashes. */
export function nameSegments(name: string): readonly string[] | undefined {
  if (name.length > longest) return undefined;
  const segments = name.replaceAll('\\', '/').replace(/^\/+/, '').split(/\/+/);
  return segments.every(isPlain) ? segments : undefined;
}

function decoded(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function isPlain(segment: string | undefined): segment is string {
  if (segment === undefined || segment === '' || segment === '.' || segment === '..') return false;
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return !/[\x00-\x1f\x7f/\\\ufffd]/.test(segment);
}

/** Keeps what a node has fetched, when it is known which node that was, and that somebody else has asked for what is the node's. */
function noteFetch(reports: BootReports, found: Found, path: string, address: string, fetched: Fetched): void {
  const { node, foreignNode, step, leadsTo, problem } = found;
  if (foreignNode !== undefined) reports.noteForeign(foreignNode, { address, at: fetched.at });
  if (node !== undefined) reports.note(node, { ...fetched, step, text: problem ?? withoutToken(path, node), leadsTo });
}

const ownKinds: ReadonlySet<string> = new Set(['answer', 'authorized-keys', 'overlay', 'postscripts', 'statelite']);

/** What only a node gets lies below `boot/KIND/NODE/TOKEN`; who may see how far it is need not be able to do what it can. */
function withoutToken(path: string, node: string): string {
  const [first, kind, owner, token, ...rest] = path.split('/');
  const isOwn = first === 'boot' && ownKinds.has(kind ?? '') && owner === node && token !== undefined;
  return isOwn ? [first, kind, owner, ...rest].join('/') : path;
}
