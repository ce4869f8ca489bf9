/**
 * Commands and copies by muster's SSH transport in a process of their own, as the service would do them. Arguments: a file with the
 * farm as JSON, and what to do in turn (`hostname`, or `copy:SOURCE`). Prints `round NAME WALL PROCESSOR HIGHEST` after each, in
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
  known: (name) => keys.get(name),
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

for (const round of rounds) {
  const source = round.startsWith('copy:') ? await SharedSource.open(round.slice('copy:'.length)) : undefined;
  const before = process.cpuUsage();
  const began = performance.now();
  for await (const _ of asTheyCome(targets, fanOut, source ? copyOf(source) : hostname)) continue;
  const wall = performance.now() - began;
  const { user: own, system } = process.cpuUsage(before);
  await source?.close();
  const name = source ? 'copy' : round;
  console.log(
    `round ${name} ${wall.toFixed(1)} ${((own + system) / 1e3).toFixed(1)} ${memory(process.pid).highest.toFixed(0)}`,
  );
}
await client.close();
