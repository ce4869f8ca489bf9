/** A request for a boot script, as loaders send them. */
export interface ScriptRequest {
  readonly path: string;
  /** Whether the connection stays. */
  readonly keep: boolean;
}

const longest = 2_048;
const start = /^GET (\/boot\/[A-Za-z0-9:-]{1,64}\.(?:ipxe|grub)) HTTP\/1\.([01])$/;
const header = /^([A-Za-z-]{1,32}): ?([ -~]*)$/;
/** Those that change nothing in the answer. */
const idle: ReadonlySet<string> = new Set(['host', 'user-agent', 'accept', 'accept-encoding', 'accept-language']);

/** Undefined: it is anything else, or not all of it, or more; then a whole parser has to look. */
export function scriptRequest(bytes: Buffer): ScriptRequest | undefined {
  if (bytes.length > longest) return undefined;
  const text = bytes.toString('latin1');
  if (!text.endsWith('\r\n\r\n')) return undefined;
  const line = text.indexOf('\r\n');
  const [, path, minor] = start.exec(text.slice(0, line)) ?? [];
  if (path === undefined) return undefined;
  const headers = text.slice(line + 2, -2);
  const keep = remembered(headers, minor!);
  return keep === undefined ? undefined : { path, keep };
}

/** What the headers of a loader come to: all machines with the same loader send the same. */
const known = new Map<string, boolean | undefined>();
const mostKnown = 64;

function remembered(headers: string, minor: string): boolean | undefined {
  const key = minor + headers;
  if (known.has(key)) return known.get(key);
  if (known.size >= mostKnown) known.clear();
  const keep = keeps(headers, minor);
  known.set(key, keep);
  return keep;
}

/** Whether the connection stays; undefined: there is something in them that is not understood here. */
function keeps(headers: string, minor: string): boolean | undefined {
  let hosts = 0;
  let connection: string | undefined;
  for (const line of headers.split('\r\n').slice(0, -1)) {
    const [, written, value] = header.exec(line) ?? [];
    const name = written?.toLowerCase();
    if (name === 'connection' && connection === undefined) connection = value!.toLowerCase();
    else if (name === undefined || !idle.has(name)) return undefined;
    if (name === 'host') hosts++;
  }
  if (hosts > 1 || (minor === '1' && hosts === 0)) return undefined;
  if (connection === undefined) return minor === '1';
  if (connection === 'close') return false;
  return connection === 'keep-alive' && minor === '1' ? true : undefined;
}
