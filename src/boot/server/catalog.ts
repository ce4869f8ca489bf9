import type { BootNote, BootReports } from '../reports.ts';
import type { BootClient, BootRoute, Found } from '../routes/route.ts';

/** Finds what a path leads to, for HTTP and TFTP alike. What no route has does not exist; a directory is nothing. */
export class BootCatalog {
  readonly #routes: readonly BootRoute[];

  constructor(routes: readonly BootRoute[]) {
    this.#routes = routes;
  }

  /** Undefined: there is nothing. A Fault `denied` is for those who may not have it. */
  async find(segments: readonly string[], client: BootClient): Promise<Found | undefined> {
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
export function noteFetch(
  reports: BootReports,
  found: Found,
  path: string,
  address: string,
  fetched: Pick<BootNote, 'at' | 'source' | 'bytes' | 'complete'>,
): void {
  const { node, foreignNode, step, leadsTo, problem } = found;
  if (foreignNode !== undefined) reports.noteForeign(foreignNode, { address, at: fetched.at });
  if (node !== undefined) reports.note(node, { ...fetched, step, text: problem ?? withoutToken(path, node), leadsTo });
}

const ownKinds: ReadonlySet<string> = new Set(['answer', 'authorized-keys', 'postscripts', 'statelite']);

/** What only a node gets lies below `boot/KIND/NODE/TOKEN`; who may see how far it is need not be able to do what it can. */
function withoutToken(path: string, node: string): string {
  const [first, kind, owner, token, ...rest] = path.split('/');
  const isOwn = first === 'boot' && ownKinds.has(kind ?? '') && owner === node && token !== undefined;
  return isOwn ? [first, kind, owner, ...rest].join('/') : path;
}
