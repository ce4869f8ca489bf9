// Network boot from beginning to end: a machine with nothing on its disk becomes a node that runs in memory, another is written to its
// disk, and a third is a virtual machine, by REST calls that are printed as curl lines with their times. All of it is in a network of
// its own; nothing stays.
import { setTimeout as pause } from 'node:timers/promises';
import type { TestServer } from '../test/harness/server.ts';
import { join } from 'node:path';
import { machineArch } from '../test/lab/netboot/machine.ts';
import {
  type AdminRequest,
  type BootWorld,
  machineName,
  startBootWorld,
  virtualName,
} from '../test/lab/netboot/world.ts';
import { installMissing, testPackages } from './packages.ts';

const isPc = machineArch === 'x86_64';
const firmware = isPc ? 'bios' : 'uefi';
const began = Date.now();
const seconds = (since: number): string => `${((Date.now() - since) / 1000).toFixed(1)} s`;
const line = (text: string): void => console.log(`${seconds(began).padStart(9)}  ${text}`);

/** Sends a request as it is printed. */
async function send(server: TestServer, { method, path, body }: AdminRequest | GetRequest): Promise<unknown> {
  const data = body === undefined ? '' : ` -d '${JSON.stringify(body)}'`;
  const since = Date.now();
  line(`curl --cacert $CA -H "X-Auth-Token: $TOKEN" -H 'Content-Type: application/json' -X ${method} $H${path}${data}`);
  const reply: unknown = await server.ok(method, path, body);
  line(`  ${seconds(since)}${reply === undefined ? '' : `: ${JSON.stringify(reply).slice(0, 200)}`}`);
  return reply;
}

interface GetRequest {
  readonly method: 'GET';
  readonly path: string;
  readonly body?: undefined;
}

interface Progress {
  readonly steps?: readonly string[];
  readonly why?: string;
}

/** Prints the steps of a node's boot as they come, until it is up. */
async function watch(server: TestServer, node: string): Promise<void> {
  const since = Date.now();
  const told = new Set<string>();
  for (;;) {
    const { [node]: progress = {} } = (await server.ok('GET', `/nodes/${node}/boot`)) as Record<string, Progress>;
    for (const step of progress.steps ?? []) {
      if (told.has(step)) continue;
      told.add(step);
      line(`    ${node}: ${step}`);
      if (step.includes(' report booted')) {
        line(`  ${node} is up ${seconds(since)} after power on.`);
        return;
      }
      if (step.includes(' report failed')) throw new Error(`${node} has failed: ${step}`);
    }
    await pause(500);
  }
}

interface Chapter {
  readonly node: string;
  readonly title: string;
  readonly image: 'ram' | 'disk';
  /** What its virtual machine is to be; without, it is a machine already. */
  readonly machine?: object;
}

const chapters: readonly Chapter[] = [
  { node: machineName(0), title: 'the image runs in memory', image: 'ram' },
  { node: machineName(1), title: 'the image is written to the disk, and starts from there', image: 'disk' },
  // Where this machine is no PC, the hypervisor of the lab has none for it.
  ...(isPc
    ? [
        {
          node: virtualName(0),
          title: 'a virtual machine is made, and the image runs in its memory',
          image: 'ram',
          machine: { cpucount: '1', memorysize: '1024', disksize: '1' },
        } as const,
      ]
    : []),
];

async function story(world: BootWorld, { node, title, image, machine }: Chapter): Promise<void> {
  const server = world.server();
  line('');
  line(`# ${node}: ${title}`);
  if (machine) await send(server, { method: 'POST', path: `/nodes/${node}/vm`, body: machine });
  await send(server, { method: 'PUT', path: `/nodes/${node}/bootstate`, body: { osimage: image } });
  await send(server, { method: 'PUT', path: `/nodes/${node}/nextboot`, body: { order: 'net' } });
  await send(server, { method: 'PUT', path: `/nodes/${node}/power`, body: { action: 'on' } });
  await watch(server, node);
  const command = 'hostname; uptime -p; findmnt -no SOURCE,FSTYPE /';
  await send(server, { method: 'POST', path: `/nodes/${node}/nodeshell`, body: { command } });
}

installMissing(testPackages, 'the demonstration');
line('# an image of Debian is built from the mirror, if none is kept from an earlier run; this takes minutes');
let announced = false;
const world = await startBootWorld({
  machines: [{ firmware }, { firmware, disk: 3 }],
  virtual: isPc ? [{}] : [],
  async send(server, request) {
    if (!announced) {
      line(`H=https://127.0.0.1:${server.port}/muster CA=${join(server.data, 'tls/ca.pem')} TOKEN=${server.token}`);
      line('# the network, the machines and the images are defined, and the images packed');
    }
    announced = true;
    return send(server, request);
  },
});
try {
  for (const chapter of chapters) await story(world, chapter);
  line('');
  line(`Done: ${chapters.length} blank machines are nodes that answer.`);
} finally {
  await world.stop();
}
process.exit(0);
