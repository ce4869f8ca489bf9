import { mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { writeFileAtomically } from '../../core/files.ts';
import { type Client, path } from '../client.ts';
import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { type HostLine, hostLines, isAbout, linesOfNode, markOf } from '../known-hosts.ts';
import { errorLine, referenceVersion, warningLine } from '../lines.ts';
import { nodeFromServer } from '../names-from-server.ts';
import { asksHelp, asksVersion, rangeWords } from '../nodes/range-words.ts';

const usage = `Usage: makeknownhosts NODERANGE [-r] [-V]

  Writes the host keys of nodes that muster knows to ~/.ssh/known_hosts; -r takes them out. Lines that muster did not write, or
  wrote for another server, stay as they are, and a node that has one gets no other key.`;

const known: ReadonlySet<string> = new Set(['-r', '--remove', '-V', '--verbose']);

export const command: CliCommand = {
  usage,
  async run({ argv, env, stdout, stderr, client }) {
    if (argv.some(asksHelp)) return told({ stdout }, usage, 1);
    if (asksVersion(argv[0])) return told({ stdout }, `Version ${referenceVersion}`);
    const { range, words } = rangeWords(argv);
    if (range === undefined) {
      stderr.line(errorLine('The Noderange is missing.', await client.serverName()));
      return 1;
    }
    const strange = words.find((word) => !known.has(word));
    if (strange !== undefined) {
      stderr.line(errorLine(`"${strange}" is neither an option of makeknownhosts nor its noderange.`));
      return told({ stdout }, usage, 1);
    }
    const nodes = (await client.get(path('nodes', range, 'attrs', 'ip'))) as Record<string, { ip?: string }>;
    const names = Object.keys(nodes).map(nodeFromServer);
    const removes = words.includes('-r') || words.includes('--remove');
    const file = realFile(join(env['HOME'] || homedir(), '.ssh', 'known_hosts'));
    const before = textOf(file);
    if (removes && before === undefined) return 0;
    const lines = hostLines(before ?? '');
    const mark = markOf(client.place.socket === undefined ? client.place.shown : 'local');
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
    if (before === undefined || !isSame) write(file, after);
    return refused.size > 0 ? 1 : 0;
  },
};

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
