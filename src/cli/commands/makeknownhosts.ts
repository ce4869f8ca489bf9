import { createHmac } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { writeFileAtomically } from '../../core/files.ts';
import { ipText, parseIp } from '../../core/ip.ts';
import { type Client, path } from '../client.ts';
import { say, xcatCommand } from '../command.ts';
import { nodeFromServer } from '../from-server.ts';
import { errorLine, referenceVersion, warningLine } from '../lines.ts';
import { flag, verbose } from '../options.ts';
import { oneLine } from '../output.ts';

/** A line of ~/.ssh/known_hosts, of which only those with our mark may be changed. */
export interface HostLine {
  readonly text: string;
  /** Counted from 1. */
  readonly number: number;
  /** The names as ssh matches them; empty in comments, and in lines about authorities and revoked keys. */
  readonly names: string;
  /** `TYPE BASE64` */
  readonly key: string;
  /** What stands behind the key. */
  readonly comment: string;
}

/** Says who wrote a line, and for which server, so that no server can replace the keys of another one's nodes. */
export const markOf = (server: string): string => `muster-makeknownhosts:${server}`;

/** Text behind the last newline is a line too. */
export function hostLines(text: string): HostLine[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line, at) => {
    const [, names = '', type = '', key = '', comment = ''] =
      /^[ \t]*([^#@\s]\S*)[ \t]+(\S+)[ \t]+(\S+)[ \t]*(.*?)\s*$/.exec(line) ?? [];
    return { text: line, number: at + 1, names, key: `${type} ${key}`, comment };
  });
}

/** Whether ssh would take the line for one of this host. */
export function isAbout({ names }: HostLine, host: string): boolean {
  // ssh looks for names in small letters.
  const wanted = host.toLowerCase();
  const [, salt, hash] = /^\|1\|([^|]+)\|([^|]+)$/.exec(names) ?? [];
  if (salt !== undefined)
    return createHmac('sha1', Buffer.from(salt, 'base64')).update(wanted).digest('base64') === hash;
  const patterns = names.toLowerCase().split(',');
  if (patterns.some((each) => each.startsWith('!') && matches(each.slice(1), wanted))) return false;
  return patterns.some((each) => matches(each, wanted));
}

/** `*` stands for any text, `?` for one character; goes back to the last star only, so that it takes no more than length times length. */
function matches(pattern: string, text: string): boolean {
  let [at, from] = [0, 0];
  let star: readonly [at: number, from: number] | undefined;
  while (from < text.length) {
    if (pattern[at] === '*') star = [at++, from];
    else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[from])) {
      at += 1;
      from += 1;
    } else if (star) {
      star = [star[0], star[1] + 1];
      [at, from] = [star[0] + 1, star[1]];
    } else return false;
  }
  while (pattern[at] === '*') at += 1;
  return at === pattern.length;
}

/** What the server knows of a node. */
interface NodeKey {
  readonly node: string;
  readonly ip: string | undefined;
  /** One or more, separated by newlines or semicolons. */
  readonly hostkey: string;
}

interface NodeLines {
  readonly lines: readonly string[];
  /** The address is left out. */
  readonly warning?: string;
  /** The node is left out. */
  readonly error?: string;
}

/** Lines for a node. A host of which the user has a line already gets no other key, whatever the server says. */
export function linesOfNode({ node, ip, hostkey }: NodeKey, others: readonly HostLine[], mark: string): NodeLines {
  const failed = (error: string): NodeLines => ({ lines: [], error: `${node}: ${error}` });
  if (thisMachine.test(node)) return failed('The name stands for this machine, so no key was written for it.');
  const keys = hostkey.split(/[\n;]+/).filter((text) => text.trim() !== '');
  const checked = keys.map(hostKey).filter((key) => key !== undefined);
  if (checked.length < keys.length) return failed('What the server sent is no SSH host key, so nothing was written.');
  const known = (host: string): HostLine[] => others.filter((line) => isAbout(line, host));
  const [own] = known(node);
  if (own) {
    if (known(node).some(({ key }) => checked.includes(key))) return { lines: [] };
    return failed(
      `Line ${own.number} of known_hosts has another key and was not written by muster for this server. If the node has a new key, remove the line: ssh-keygen -R ${node}`,
    );
  }
  const ownOfAddress = ip ? known(ip) : [];
  const hasAddress = ownOfAddress.some(({ key }) => checked.includes(key));
  const problem = ip && !hasAddress ? addressProblem(ip, ownOfAddress) : undefined;
  const names = ip && !hasAddress && problem === undefined ? `${node},${ip}` : node;
  return {
    lines: checked.map((key) => `${names} ${key} ${mark}`),
    ...(problem === undefined ? {} : { warning: `${node}: The address ${oneLine(ip!)} is left out: ${problem}.` }),
  };
}

const thisMachine = /^(localhost|ip6-[a-z]+|broadcasthost)$/i;

function addressProblem(ip: string, [own]: readonly HostLine[]): string | undefined {
  const address = parseIp(ip);
  if (!address) return 'it is no IP address';
  if (['127.0.0.1', '::1'].includes(ipText(address))) return 'it is that of this machine';
  return own ? `line ${own.number} of known_hosts has another key for it` : undefined;
}

const keyTypes = new Set([
  'ssh-ed25519',
  'ssh-rsa',
  'ssh-dss',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
]);

/** `TYPE BASE64` of a host key, without what stands behind it; undefined if it is none. */
function hostKey(text: string): string | undefined {
  const [type = '', key = ''] = text.trim().split(/[ \t]+/, 2);
  if (!keyTypes.has(type) || !/^[A-Za-z0-9+/]+={0,2}$/.test(key)) return undefined;
  // The type stands inside the key too, behind its length.
  const bytes = Buffer.from(key, 'base64');
  return bytes.length > type.length + 4 && bytes.toString('latin1', 4, 4 + bytes.readUInt32BE(0)) === type
    ? `${type} ${key}`
    : undefined;
}

export const makeknownhosts = xcatCommand({
  usage: `Usage: makeknownhosts NODERANGE [-r] [-V]

  Writes the host keys of nodes that muster knows to ~/.ssh/known_hosts. Lines that muster did not write, or wrote for another server,
  stay as they are, and a node that has one gets no other key.`,
  options: {
    'remove|r|delete|d': flag('take them out'),
    ...verbose,
    'help|h|?': 'flag',
    'version|v': 'flag',
  },
  asksItself: true,
  operands: 1,
  common: ['dryRun', 'curl'],
  triesItself: true,
  async run(invocation, call) {
    const { env, stdout, stderr, client } = invocation;
    if (call.flag('help')) return say(invocation, makeknownhosts.usage, 1);
    if (call.flag('version')) return say(invocation, `Version ${referenceVersion}`);
    const [range] = call.operands;
    if (range === undefined) {
      stderr.line(errorLine('The Noderange is missing.', await client.serverName()));
      return 1;
    }
    const nodes = (await client.get(path('nodes', range, 'attrs', 'ip'))) as Record<string, { ip?: string }>;
    const names = Object.keys(nodes).map(nodeFromServer);
    const removes = call.flag('remove');
    const file = realFile(join(env['HOME'] || homedir(), '.ssh', 'known_hosts'));
    const before = textOf(file);
    if (removes && before === undefined) return 0;
    const lines = hostLines(before ?? '');
    // Whichever of several servers answers, its lines are the same ones.
    const [first] = client.places;
    const mark = markOf(first!.socket === undefined ? first!.shown : 'local');
    const others = lines.filter(({ comment }) => comment !== mark);
    const keys = removes ? new Map<string, string>() : await keysOf(client);
    const refused = new Set<string>();
    const added = names.flatMap((node) => {
      const hostkey = keys.get(node);
      if (hostkey === undefined) return [];
      const { lines: made, warning, error } = linesOfNode({ node, ip: nodes[node]!.ip, hostkey }, others, mark);
      if (warning !== undefined) stderr.line(warningLine(warning, client.server));
      if (error === undefined) return made;
      stderr.line(errorLine(error, client.server));
      refused.add(node);
      return [];
    });
    if (removes)
      for (const [host, { number }] of linesAbout(names, others))
        stderr.line(
          warningLine(`Line ${number} of ${file} stays: muster did not write it. ssh-keygen -R ${host} removes it.`),
        );
    const wanted = names.filter((name) => !refused.has(name));
    const gone = new Set(lines.filter((line) => line.comment === mark && wanted.some((name) => isAbout(line, name))));
    const kept = lines.filter((line) => !gone.has(line)).map(({ text }) => text);
    const after = [...kept, ...added].map((line) => `${line}\n`).join('');
    // Without a newline at its end the file is not what would be written, though nothing is to be changed.
    const isSame = gone.size + added.length === 0 || after === before;
    if (call.common.dryRun) {
      for (const { text } of gone) stdout.line(`-${text}`);
      for (const line of added) stdout.line(`+${line}`);
    } else if (before === undefined || !isSame) write(file, after);
    return refused.size > 0 ? 1 : 0;
  },
});

const linesAbout = (names: readonly string[], lines: readonly HostLine[]): readonly (readonly [string, HostLine])[] =>
  names.flatMap((name) => lines.filter((line) => isAbout(line, name)).map((line) => [name, line] as const));

/** Many keep their files elsewhere, with a link to them: the link stays. */
function realFile(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return file;
    throw error;
  }
}

/** Each byte is a character, so that what is not ours goes back as it was. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const there = statSync(file, { throwIfNoEntry: false });
  writeFileAtomically(file, Buffer.from(text, 'latin1'), there ? there.mode & 0o777 : 0o600, there);
}

async function keysOf(client: Client): Promise<Map<string, string>> {
  const { sshhostkey = [] } = (await client.get('/tables/sshhostkey/rows')) as {
    sshhostkey?: { readonly node: string; readonly hostkey?: string }[];
  };
  return new Map(sshhostkey.flatMap(({ node, hostkey }) => (hostkey ? [[node, hostkey] as const] : [])));
}
