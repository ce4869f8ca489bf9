import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { path } from '../client.ts';
import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { asksHelp, asksVersion } from '../nodes/range-words.ts';

const usage = `Usage: makeknownhosts NODERANGE [-r]

  Writes the host keys of nodes that muster knows to ~/.ssh/known_hosts; -r takes them out.`;

export const command: CliCommand = {
  usage,
  async run({ argv, env, stdout, stderr, client }) {
    if (argv.some(asksHelp)) return told({ stdout }, usage, 1);
    if (asksVersion(argv[0])) return told({ stdout }, `Version ${referenceVersion}`);
    const range = argv.find((word) => !word.startsWith('-'));
    if (range === undefined) {
      stderr.line(errorLine('The Noderange is missing.', await client.serverName()));
      return 1;
    }
    const nodes = (await client.get(path('nodes', range, 'attrs', 'ip'))) as Record<string, { ip?: string }>;
    const removes = argv.includes('-r') || argv.includes('--remove');
    const directory = join(env['HOME'] || homedir(), '.ssh');
    const file = join(directory, 'known_hosts');
    const before = textOf(file);
    if (removes && before === undefined) return 0;
    const kept = (before ?? '').split('\n').filter((line) => line !== '' && !isOf(line, nodes));
    const added = removes ? [] : await keysOf(client, nodes);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(file, [...kept, ...added].map((line) => `${line}\n`).join(''), { mode: 0o600 });
    return 0;
  },
};

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The names before the key are those of one host. */
const isOf = (line: string, nodes: Readonly<Record<string, unknown>>): boolean =>
  line
    .split(' ', 1)[0]!
    .split(',')
    .some((name) => Object.hasOwn(nodes, name));

async function keysOf(
  client: Parameters<CliCommand['run']>[0]['client'],
  nodes: Readonly<Record<string, { readonly ip?: string }>>,
): Promise<string[]> {
  const { sshhostkey = [] } = (await client.get('/tables/sshhostkey/rows')) as {
    sshhostkey?: { readonly node: string; readonly hostkey?: string }[];
  };
  return sshhostkey.flatMap(({ node, hostkey }) => {
    if (!hostkey || !Object.hasOwn(nodes, node)) return [];
    const names = [node, nodes[node]!.ip].filter(Boolean).join(',');
    return hostkey.split(/[\n;]+/).map((key) => `${names} ${key.trim()}`);
  });
}
