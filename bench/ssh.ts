import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newKeyPair } from '../src/protocols/ssh/host-keys.ts';
import { installMissing, testPackages } from '../scripts/packages.ts';
import { startRoots } from '../test/lab/roots.ts';
import { type SshLab, startSsh } from '../test/lab/ssh.ts';
import { bindTo, clientCore, run } from './process.ts';
import { atMost, type Benchmark, compare, figure, median, type Row } from './report.ts';
import { newDirectory } from './server.ts';
import type { Farm } from './ssh-fan-out.ts';

interface Cost {
  /** Milliseconds. */
  readonly wall: number;
  readonly processor: number;
}

interface OwnCost extends Cost {
  /** Mebibytes of memory at its highest. */
  readonly highest: number;
}

const fanOutProgram = join(import.meta.dirname, 'ssh-fan-out.ts');
/** More makes them slower here. */
const peersFanOut = '64';
const copySize = 1024 * 1024;
const treeFiles = 2_000;
const tmpfs = '/dev/shm';

/** On all cores, and so are those who use it: on one core the time would be that of sshd alone, whoever asks. */
async function startFarm(count: number): Promise<SshLab> {
  await bindTo(undefined);
  try {
    return await startSsh({ count, prefix: '127.125', directory: tmpfs });
  } finally {
    await bindTo(clientCore);
  }
}

/** The same sshd for all, and curve25519 for all: the default key exchange would cost the peers seven times as much. */
function configurationFor(lab: Pick<SshLab, 'privateKeyFile' | 'port'>): string {
  const file = join(newDirectory(), 'ssh_config');
  const lines = [
    `IdentityFile ${lab.privateKeyFile}`,
    'IdentitiesOnly yes',
    'StrictHostKeyChecking no',
    'UserKnownHostsFile /dev/null',
    'LogLevel ERROR',
    `Port ${lab.port}`,
    'KexAlgorithms curve25519-sha256',
    'BatchMode yes',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

/** Runs a program with all it starts and tells what that cost. */
async function timed(words: readonly string[], env: Record<string, string>): Promise<Cost & { output: string }> {
  const script = `TIMEFORMAT='time %3R %3U %3S'; time "$@"`;
  const output = await run(['bash', '-c', script, 'bash', ...words], { env });
  const [wall, user, system] = /^time ([\d.]+) ([\d.]+) ([\d.]+)$/m.exec(output)!.slice(1).map(Number);
  return { wall: wall! * 1e3, processor: (user! + system!) * 1e3, output };
}

function checkAnswers(tool: string, output: string, count: number): void {
  const answers = output.match(/^127\.\d+\.\d+\.\d+: \S+$/gm)?.length ?? 0;
  if (answers !== count) throw new Error(`${tool} got ${answers} of ${count} answers.\n${output.slice(0, 2_000)}`);
}

async function pdsh(lab: SshLab, configuration: string): Promise<Cost> {
  const env = { PDSH_SSH_ARGS: `-F${configuration} -l%u %h` };
  const hosts = join(newDirectory(), 'hosts');
  writeFileSync(hosts, `${lab.addresses.join('\n')}\n`);
  const cost = await timed(['pdsh', '-R', 'ssh', '-f', peersFanOut, '-w', `^${hosts}`, 'hostname'], env);
  checkAnswers('pdsh', cost.output, lab.addresses.length);
  return cost;
}

async function clush(lab: SshLab, configuration: string): Promise<Cost> {
  const words = ['clush', '-q', '-f', peersFanOut, '-o', `-F${configuration}`, '-w', lab.addresses.join(',')];
  const cost = await timed([...words, 'hostname'], {});
  checkAnswers('clush', cost.output, lab.addresses.length);
  return cost;
}

async function pdcp(lab: SshLab, configuration: string, source: string, ...options: string[]): Promise<Cost> {
  const env = { PDSH_SSH_ARGS: `-F${configuration} -l%u %h` };
  const hosts = lab.addresses.join(',');
  return timed(['pdcp', '-R', 'ssh', '-f', peersFanOut, ...options, '-w', hosts, source, 'copied-by-pdcp'], env);
}

/** As many at once as the others. */
async function rsync(
  lab: Pick<SshLab, 'addresses'>,
  configuration: string,
  source: string,
  target: string,
  atOnce = peersFanOut,
): Promise<Cost> {
  const hosts = join(newDirectory(), 'hosts');
  writeFileSync(hosts, lab.addresses.map((address) => `${address}\n`).join(''));
  const each = ['rsync', '-a', '-e', `ssh -F${configuration}`, source, `{}:${target}`];
  return timed(['xargs', '-a', hosts, '-P', atOnce, '-I', '{}', ...each], {});
}

async function muster(farm: string, ...rounds: string[]): Promise<OwnCost[]> {
  const output = await run([process.execPath, fanOutProgram, farm, ...rounds]);
  const lines = [...output.matchAll(/^round \S+ ([\d.]+) ([\d.]+) (\d+)$/gm)];
  if (lines.length !== rounds.length)
    throw new Error(`The transport did not do all of ${rounds.join(', ')}.\n${output}`);
  return lines.map(([, wall, processor, highest]) => ({
    wall: Number(wall),
    processor: Number(processor),
    highest: Number(highest),
  }));
}

function farmFile({
  addresses,
  port,
  username,
  privateKeyFile: keyFile,
}: Pick<SshLab, 'addresses' | 'port' | 'username' | 'privateKeyFile'>): string {
  const file = join(newDirectory(), 'farm.json');
  writeFileSync(file, JSON.stringify({ addresses, port, username, keyFile } satisfies Farm));
  return file;
}

const middle = (costs: readonly Cost[]): Cost => ({
  wall: median(costs.map(({ wall }) => wall)),
  processor: median(costs.map(({ processor }) => processor)),
});

/** With or without the slower of the peers, so that many nodes do not take long. */
async function* hostnames(count: number, repeats: number, withClush: boolean): AsyncIterable<Row> {
  const lab = await startFarm(count);
  try {
    const [configuration, farm] = [configurationFor(lab), farmFile(lab)];
    const all = { pdsh: [] as Cost[], clush: [] as Cost[], cold: [] as OwnCost[], warm: [] as OwnCost[] };
    for (let repeat = 0; repeat < repeats; repeat++) {
      all.pdsh.push(await pdsh(lab, configuration));
      if (withClush) all.clush.push(await clush(lab, configuration));
      const [cold, warm] = await muster(farm, 'hostname', 'hostname');
      all.cold.push(cold!);
      all.warm.push(warm!);
    }
    const [p, c, cold, warm] = [middle(all.pdsh), middle(all.clush), middle(all.cold), middle(all.warm)];
    const what = `hostname on ${count.toLocaleString('en-US')} nodes`;
    yield compare(`${what}: client CPU`, cold.processor, p.processor, 'ms', atMost(0.5), 'pdsh');
    if (withClush) yield compare('  client CPU', cold.processor, c.processor, 'ms', atMost(0.5), 'clush');
    yield compare('  wall', cold.wall, p.wall, 'ms', atMost(0.8), 'pdsh');
    if (withClush) yield compare('  wall', cold.wall, c.wall, 'ms', undefined, 'clush');
    yield compare('  again over kept connections: client CPU', warm.processor, p.processor, 'ms', atMost(0.4), 'pdsh');
    yield compare('  again over kept connections: wall', warm.wall, p.wall, 'ms', atMost(0.4), 'pdsh');
    const highest = Math.max(...all.warm.map((cost) => cost.highest));
    yield { what: '  memory', muster: `${figure(highest)} MiB`, floor: '', ratio: undefined, bar: undefined };
  } finally {
    await lab.stop();
  }
}

async function* copies(count: number, repeats: number): AsyncIterable<Row> {
  const lab = await startFarm(count);
  try {
    const [configuration, farm] = [configurationFor(lab), farmFile(lab)];
    const source = join(newDirectory(), 'source');
    writeFileSync(source, randomBytes(copySize));
    const peers: Cost[] = [];
    const own: Cost[] = [];
    for (let repeat = 0; repeat < repeats; repeat++) {
      peers.push(await pdcp(lab, configuration, source));
      own.push(...(await muster(farm, `copy:${source}`)));
    }
    const [peer, mine] = [middle(peers), middle(own)];
    yield compare(`1 MiB to ${count} nodes: wall`, mine.wall, peer.wall, 'ms', atMost(1.2), 'pdcp');
    yield compare('  client CPU', mine.processor, peer.processor, 'ms', undefined, 'pdcp');
  } finally {
    await lab.stop();
  }
}

/** Small files in directories of fifty, of sizes as configurations have them. */
function makeTree(files: number): string {
  const tree = join(newDirectory(), 'tree');
  for (let index = 0; index < files; index++) {
    const directory = join(tree, `directory-${Math.floor(index / 50)}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `file-${index}`), randomBytes(200 + ((index * 97) % 4_000)));
  }
  return tree;
}

async function* treeCopies(count: number, repeats: number): AsyncIterable<Row> {
  const lab = await startFarm(count);
  try {
    const [configuration, farm] = [configurationFor(lab), farmFile(lab)];
    const source = makeTree(treeFiles);
    const all = { pdcp: [] as Cost[], rsync: [] as Cost[], own: [] as Cost[] };
    for (let repeat = 0; repeat < repeats; repeat++) {
      for (const address of lab.addresses.keys())
        mkdirSync(join(lab.home(address), 'copied-by-pdcp'), { recursive: true });
      all.pdcp.push(await pdcp(lab, configuration, source, '-r'));
      all.rsync.push(await rsync(lab, configuration, source, `copied-by-rsync-${repeat}/`));
      all.own.push(...(await muster(farm, `tree:${source}`)));
      for (const index of lab.addresses.keys()) {
        const trees = join(lab.home(index), 'trees');
        const files = readdirSync(trees, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
        if (files.length !== treeFiles) throw new Error(`Node ${index} has ${files.length} of ${treeFiles} files.`);
        for (const name of ['trees', 'copied-by-pdcp', `copied-by-rsync-${repeat}`])
          rmSync(join(lab.home(index), name), { recursive: true, force: true });
      }
    }
    const [p, r, own] = [middle(all.pdcp), middle(all.rsync), middle(all.own)];
    const what = `${treeFiles.toLocaleString('en-US')} small files to ${count} nodes`;
    yield compare(`${what}: wall`, own.wall, p.wall, 'ms', atMost(1), 'pdcp');
    yield compare('  wall', own.wall, r.wall, 'ms', undefined, 'rsync');
    yield compare('  client CPU', own.processor, p.processor, 'ms', atMost(0.3), 'pdcp');
    yield compare('  client CPU', own.processor, r.processor, 'ms', undefined, 'rsync');
  } finally {
    await lab.stop();
  }
}

/** Files of a synclist: the first time to nodes with a root file system each, then to those that have them all. */
async function* syncs(first: number, again: number, repeats: number): AsyncIterable<Row> {
  const source = makeTree(treeFiles);
  const alone = await startRootFarm(first, 1);
  try {
    const own = middle(await muster(alone.farm, `sync:${source}`));
    const perFile = (own.processor * 1e3) / treeFiles / first;
    const what = `first sync of ${treeFiles.toLocaleString('en-US')} files to ${first} nodes: CPU a file`;
    yield { what, muster: `${figure(perFile)} us`, floor: '', ratio: undefined, bar: undefined };
  } finally {
    await alone.lab.stop();
  }
  const shared = await startRootFarm(again, 16);
  try {
    // Those that share a root file system get it once.
    const firsts = shared.lab.addresses.filter((_, index) => index % 16 === 0);
    await muster(shared.farmOf(firsts), `sync:${source}`);
    const all = { rsync: [] as Cost[], own: [] as Cost[] };
    for (let repeat = 0; repeat < repeats; repeat++) {
      all.own.push(...(await muster(shared.farm, `sync:${source}`)));
      all.rsync.push(await rsync(shared.lab, shared.configuration, source, `${dirname(source)}/`, '1'));
    }
    const [r, own] = [middle(all.rsync), middle(all.own)];
    yield compare(`sync of ${again} nodes that have all: wall`, own.wall, r.wall, 'ms', atMost(0.5), 'rsync loop');
    yield compare('  client CPU', own.processor, r.processor, 'ms', undefined, 'rsync loop');
  } finally {
    await shared.lab.stop();
  }
}

async function startRootFarm(count: number, perRoot: number) {
  await bindTo(undefined);
  const port = 2_222;
  const lab = await startRoots({ count, prefix: '127.125', port, perRoot });
  await bindTo(clientCore);
  const keyFile = join(newDirectory(), 'id_ed25519');
  const { privateKey, publicKey } = newKeyPair('bench');
  writeFileSync(keyFile, privateKey, { mode: 0o600 });
  lab.authorize(publicKey);
  const farmOf = (addresses: readonly string[]): string =>
    farmFile({ addresses, port, username: 'root', privateKeyFile: keyFile });
  const configuration = configurationFor({ privateKeyFile: keyFile, port });
  return { lab, configuration, farm: farmOf(lab.addresses), farmOf };
}

const packages = [
  { name: 'rsync', program: 'rsync', why: 'a peer' },
  { name: 'pdsh', program: 'pdsh', why: 'a peer' },
  { name: 'clustershell', program: 'clush', why: 'a peer' },
  ...testPackages.filter(({ name }) => name.startsWith('openssh-')),
];

/** Commands and copies over SSH, against what administrators use now, on one farm of real sshd. */
export const ssh: readonly Benchmark[] = [
  {
    name: 'ssh',
    async *rows() {
      installMissing(packages, 'the benchmarks');
      yield* hostnames(200, 5, true);
    },
  },
  {
    name: 'ssh-1000',
    async *rows() {
      installMissing(packages, 'the benchmarks');
      yield* hostnames(1_000, 5, false);
    },
  },
  {
    name: 'ssh-copy',
    async *rows() {
      installMissing(packages, 'the benchmarks');
      yield* copies(200, 3);
    },
  },
  {
    name: 'ssh-tree',
    async *rows() {
      installMissing(packages, 'the benchmarks');
      yield* treeCopies(50, 3);
    },
  },
  {
    name: 'ssh-sync',
    async *rows() {
      installMissing(packages, 'the benchmarks');
      yield* syncs(8, 200, 3);
    },
  },
];
