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
  const [first = '', ...lines] = text.slice(0, -4).split('\r\n');
  const [, path, minor] = start.exec(first) ?? [];
  if (path === undefined) return undefined;
  let hosts = 0;
  let connection: string | undefined;
  for (const line of lines) {
    const [, written, value] = header.exec(line) ?? [];
    const name = written?.toLowerCase();
    if (name === 'connection' && connection === undefined) connection = value!.toLowerCase();
    else if (name === undefined || !idle.has(name)) return undefined;
    if (name === 'host') hosts++;
  }
  if (hosts > 1 || (minor === '1' && hosts === 0)) return undefined;
  if (connection === undefined) return { path, keep: minor === '1' };
  if (connection === 'close') return { path, keep: false };
  return connection === 'keep-alive' && minor === '1' ? { path, keep: true } : undefined;
}
