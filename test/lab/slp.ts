import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LabChild, startChild } from './child.ts';
import type { LabDevice, Seen } from './slp/devices.ts';

export type { LabDevice, Seen } from './slp/devices.ts';

const run = promisify(execFile);
const folder = join(import.meta.dirname, 'slp');

/** Two network namespaces with a cable between them: ours to search from, the other full of devices. */
export interface SlpLab {
  /** What runs a program in our namespace. */
  readonly under: readonly string[];
  /** The interface in our namespace; its address is 10.77.0.1. */
  readonly interface: string;
  /** The link-local address and the MAC address of the devices' side. */
  readonly linkLocal: string;
  readonly mac: string;
  play(devices: readonly LabDevice[]): Promise<void>;
  seen(): Promise<Seen>;
  /** Searches from our namespace and answers what was found. */
  ask(question: object): Promise<Found[]>;
  /** A port of this machine's loopback that leads to one in our namespace. */
  lead(port: number): Promise<number>;
  stop(): Promise<void>;
}

export interface Found {
  readonly type: string;
  readonly url: string;
  readonly address: string;
  readonly fromDirectory: boolean;
  readonly attributes: Readonly<Record<string, readonly string[]>>;
}

/** The first addresses that devices have; all are on their interface. */
export const labAddress = (i: number): string => `10.77.${1 + Math.floor(i / 200)}.${1 + (i % 200)}`;

const network = '10.77';
const mostDevices = 400;

export async function startSlpLab(): Promise<SlpLab> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-slp-'));
  const mark = `${process.pid}`;
  const [ours, theirs] = [`mslp-a-${mark}`, `mslp-b-${mark}`];
  const [near, far] = ['search0', 'device0'];
  const ip = async (...args: string[]): Promise<string> => (await run('ip', args)).stdout;
  const children: LabChild[] = [];
  const servers: { close(): void }[] = [];
  const stop = async (): Promise<void> => {
    for (const server of servers) server.close();
    await Promise.all(children.map((child) => child.stop()));
    // The cable goes with its ends.
    for (const name of [ours, theirs]) await ip('netns', 'del', name).catch(() => '');
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await removeAbandoned();
    await ip('netns', 'add', ours);
    await ip('netns', 'add', theirs);
    await ip('-n', ours, 'link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', theirs);
    for (const [name, device] of [
      [ours, near],
      [theirs, far],
    ] as const) {
      // Nobody else can have the same link-local address here, so it need not be probed for.
      await run('ip', ['netns', 'exec', name, 'sysctl', '-q', '-w', `net.ipv6.conf.${device}.accept_dad=0`]);
      for (const each of ['lo', device]) await ip('-n', name, 'link', 'set', each, 'up');
    }
    await ip('-n', ours, 'addr', 'add', `${network}.0.1/16`, 'brd', '+', 'dev', near);
    const addresses = Array.from({ length: mostDevices }, (_, i) => labAddress(i));
    await batch(theirs, addresses, (address) => `addr add ${address}/16 brd + dev ${far}`);
    // The kernel's table of neighbours is one for all namespaces and may be full; entries made by hand have room always.
    const [nearMac, farMac] = [await macOf(ours, near), await macOf(theirs, far)];
    await batch(ours, addresses, (address) => `neigh add ${address} lladdr ${farMac} nud permanent dev ${near}`);
    await batch(
      theirs,
      [`${network}.0.1`],
      (address) => `neigh add ${address} lladdr ${nearMac} nud permanent dev ${far}`,
    );
    const linkLocal = /inet6 (fe80:[0-9a-f:]+)/.exec(await ip('-n', theirs, 'addr', 'show', 'dev', far))?.[1] ?? '';
    const child = startChild('ip', ['netns', 'exec', theirs, process.execPath, join(folder, 'responder.ts')], {
      directory,
      logFile: join(directory, 'responder.log'),
      channel: true,
    });
    children.push(child);
    const under = ['ip', 'netns', 'exec', ours];
    return {
      under,
      interface: near,
      linkLocal: `${linkLocal}%${far}`,
      mac: farMac,
      play: async (devices) => void (await question(child, { play: { devices, name: far } })),
      seen: async () => (await question(child, {})) as Seen,
      async ask(asked) {
        const words = [process.execPath, join(folder, 'ask.ts'), JSON.stringify(asked)];
        const { stdout } = await run(under[0]!, [...under.slice(1), ...words], { maxBuffer: 64 * 1_048_576 });
        return JSON.parse(stdout) as Found[];
      },
      async lead(port) {
        const file = join(directory, `${port}.sock`);
        const relay = ['netns', 'exec', ours, process.execPath, join(folder, 'relay.ts'), file, String(port)];
        children.push(startChild('ip', relay, { directory, logFile: join(directory, 'relay.log') }));
        const server = createServer((from) => {
          const to = connect(file);
          from.pipe(to).pipe(from);
          for (const socket of [from, to]) socket.on('error', () => [from, to].forEach((each) => each.destroy()));
        });
        servers.push(server);
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        return (server.address() as AddressInfo).port;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Namespaces of tests that were killed. */
async function removeAbandoned(): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'list']);
  for (const [name, pid] of stdout.matchAll(/\bmslp-[ab]-(\d+)/g))
    if (!existsSync(`/proc/${pid}`)) await run('ip', ['netns', 'del', name]).catch(() => undefined);
}

/** A command of `ip` for each address, in one process. */
function batch(namespace: string, addresses: readonly string[], command: (address: string) => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = execFile('ip', ['-n', namespace, '-batch', '-'], (error) => (error ? reject(error) : resolve()));
    child.stdin?.end(addresses.map((address) => `${command(address)}\n`).join(''));
  });
}

async function macOf(namespace: string, name: string): Promise<string> {
  const { stdout } = await run('ip', ['-n', namespace, 'link', 'show', 'dev', name]);
  return /link\/ether (\S+)/.exec(stdout)?.[1] ?? '';
}

let asked = 0;

function question({ process: child, log }: LabChild, words: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const id = ++asked;
    const ended = (): void => reject(new Error(`The responder has ended: ${log()}`));
    const hear = (answer: { id: number; value?: unknown; error?: string }): void => {
      if (answer.id !== id) return;
      child.off('message', hear);
      child.off('exit', ended);
      if (answer.error === undefined) resolve(answer.value);
      else reject(new Error(answer.error));
    };
    child.on('message', hear);
    child.once('exit', ended);
    child.send({ ...words, id });
  });
}
