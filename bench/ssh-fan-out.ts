/**
 * Commands and copies by muster's SSH transport in a process of their own, as the service would do them. Arguments: a file with the
 * farm as JSON, and what to do in turn (`hostname`, `copy:SOURCE` of a file, `tree:SOURCE` of a directory to where the node has none, or
 * `sync:SOURCE` as files of a synclist are, to the same path on the node). Prints `round NAME WALL PROCESSOR HIGHEST` after each, in
 * milliseconds and mebibytes.
 */
import { readFileSync } from 'node:fs';
import { SshClient } from '../src/protocols/ssh/client.ts';
import { CollectedOutput } from '../src/protocols/ssh/collected.ts';
import { asTheyCome } from '../src/core/as-they-come.ts';
import type { HostKeys } from '../src/protocols/ssh/host-keys.ts';
import { RemoteFiles } from '../src/protocols/ssh/sftp/files.ts';
import { putFile } from '../src/protocols/ssh/sftp/put.ts';
import { SharedSource } from '../src/protocols/ssh/sftp/source.ts';
import type { Target } from '../src/protocols/ssh/target.ts';
import { copyAllowance, pathKey } from '../src/nodes/remote/cargo.ts';
import { deliver } from '../src/nodes/remote/place.ts';
import { LocalFiles } from '../src/nodes/remote/local-files.ts';
import { type RemoteNode, RemoteNodes } from '../src/nodes/remote/remote-nodes.ts';
import { NodeShell } from '../src/nodes/update/node-shell.ts';
import { sendChanged } from '../src/nodes/update/send-changed.ts';
import { memory } from './process.ts';

export interface Farm {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly username: string;
  readonly keyFile: string;
}

/** The service's own default. */
const fanOut = 256;

const [farmFile = '', ...rounds] = process.argv.slice(2);
const farm = JSON.parse(readFileSync(farmFile, 'utf8')) as Farm;
const keys = new Map<string, string>();
const hostKeys: HostKeys = {
  policy: 'first-use',
  known: (name) => [keys.get(name)].filter((key) => key !== undefined),
  learn: async (name, key) => void keys.set(name, key),
  howToForget: () => '',
  howToLearn: () => '',
};
const client = new SshClient({ privateKey: readFileSync(farm.keyFile, 'utf8'), hostKeys, kept: farm.addresses.length });
const options = { signal: new AbortController().signal, connectTimeout: 120_000 };
const { port, username: user } = farm;
const targets = farm.addresses.map((address): Target => ({ name: address, address, port, user }));

async function hostname(target: Target): Promise<void> {
  const output = new CollectedOutput(1024 * 1024);
  const { code } = await client.exec(target, 'hostname', output, options);
  if (code !== 0 || output.text('stdout') === '') throw new Error(`${target.name} answered ${code}.`);
}

const copyOf =
  (source: SharedSource) =>
  async (target: Target): Promise<void> => {
    const files = await RemoteFiles.open(client, target, options);
    try {
      await putFile(files, source, 'copied', options.signal);
    } finally {
      files.close();
    }
  };

/** As the service does it, once for all nodes. */
async function sending(kind: 'tree' | 'sync', path: string): Promise<(target: Target) => Promise<void>> {
  const nodes = new RemoteNodes({ transport: client, connectTimeout: options.connectTimeout, commandTimeout: 600_000 });
  const local = new LocalFiles();
  const cargo = await local.cargo([{ path, real: path }]);
  const more = copyAllowance(cargo, fanOut);
  const root = path.slice(0, path.lastIndexOf('/') + 1);
  const placed = cargo.items.map((item) => {
    const there = Buffer.concat([Buffer.from(root), item.name]);
    return { item, path: there, key: pathKey(there) };
  });
  const tree = (node: RemoteNode): Promise<void> =>
    node.withFiles((files, signal) => deliver({ node, files, local, signal }, cargo, `trees/${process.pid}/`), more);
  const sync = async (node: RemoteNode): Promise<void> => {
    const shell = new NodeShell(node, { limit: 65_536 });
    await node.withFiles(
      (files, signal) => sendChanged({ files, shell, local, signal, keepOwner: true }, placed),
      more,
    );
  };
  const work = kind === 'tree' ? tree : sync;
  return (target) => nodes.use(target, { node: target.name, user: 'root', signal: options.signal }, work);
}

for (const round of rounds) {
  const [kind = '', path = ''] = round.split(':');
  const source = kind === 'copy' ? await SharedSource.open(path) : undefined;
  const before = process.cpuUsage();
  const began = performance.now();
  const work = kind === 'tree' || kind === 'sync' ? await sending(kind, path) : source ? copyOf(source) : hostname;
  for await (const _ of asTheyCome(targets, fanOut, work)) continue;
  const wall = performance.now() - began;
  const { user: own, system } = process.cpuUsage(before);
  await source?.close();
  console.log(
    `round ${kind} ${wall.toFixed(1)} ${((own + system) / 1e3).toFixed(1)} ${memory(process.pid).highest.toFixed(0)}`,
  );
}
await client.close();
