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
