import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { installMissing, testPackages } from '../scripts/packages.ts';
import { type LabChild, startChild } from '../test/lab/child.ts';
import { openDoor } from '../test/lab/netboot/door.ts';
import { machineArch, machineConsole } from '../test/lab/netboot/machine.ts';
import { machineAddress } from '../test/lab/netboot/network.ts';
import { type BootWorld, machineName, startBootWorld } from '../test/lab/netboot/world.ts';
import { bindTo, clientCore } from './process.ts';
import { atMost, type Benchmark, compare } from './report.ts';

/** Milliseconds. */
const patience = 1_200_000;
const plainPort = 81;
const firmware = machineArch === 'x86_64' ? 'bios' : 'uefi';

/** What a machine asks for on its way, in this order. */
const files = ['script', 'kernel', 'initrd', 'root'] as const;
type Journey = Readonly<Record<(typeof files)[number] | 'ssh', number>>;

/** From power on to SSH of a node in memory, against the same kernel and image by iPXE and files of nginx alone. */
export const bootTime: Benchmark = {
  name: 'boot-time',
  async *rows() {
    installMissing(testPackages, 'the benchmark of booting');
    // A machine under emulation takes a core for itself; who serves it has the others.
    await bindTo(undefined);
    try {
      const own = await inWorld('', (world) => travel(world, () => seenByMuster(world)));
      const script = `[dhcp]\nbootScript = "http://SERVER:${plainPort}/boot.ipxe"\n`;
      const plain = await inWorld(script, async (world) => {
        const nginx = startPlain(world);
        try {
          return await travel(world, () => Promise.resolve(nginx.seen()));
        } finally {
          await nginx.stop();
        }
      });
      yield compare('power on to SSH of a node in memory', own.ssh, plain.ssh, 's', atMost(1.05), 'iPXE and nginx');
      for (const file of files) yield compare(`  power on to its ${file}`, own[file], plain[file], 's');
    } finally {
      await bindTo(clientCore);
    }
  },
};

async function inWorld<T>(config: string, measure: (world: BootWorld) => Promise<T>): Promise<T> {
  const world = await startBootWorld({ machines: [{ firmware }], images: ['ram'], config });
  try {
    return await measure(world);
  } finally {
    await world.stop();
  }
}

type Times = Readonly<Record<(typeof files)[number], number>>;

/** Seconds until each step; `seen` tells the moments of the files in milliseconds. */
async function travel(world: BootWorld, seen: () => Promise<Times>): Promise<Journey> {
  const node = machineName(0);
  const server = world.server();
  const directory = mkdtempSync(join(tmpdir(), 'muster-bench-ssh-'));
  const door = await openDoor(world.network.namespace, 22, directory, machineAddress(0));
  try {
    await server.ok('PUT', `/nodes/${node}/bootstate`, { osimage: 'ram' });
    await server.ok('PUT', `/nodes/${node}/nextboot`, { order: 'net' });
    const began = Date.now();
    await server.ok('PUT', `/nodes/${node}/power`, { action: 'on' });
    while (!(await greets(door.port))) {
      if (Date.now() - began > patience)
        throw new Error(`The machine has not booted: ${world.machine(0).screen().slice(-4_000)}`);
      await pause(200);
    }
    const moments = { ...(await seen()), ssh: Date.now() };
    return Object.fromEntries(Object.entries(moments).map(([step, at]) => [step, (at - began) / 1_000])) as Journey &
      Times;
  } finally {
    await door.close();
    rmSync(directory, { recursive: true });
  }
}

async function seenByMuster(world: BootWorld): Promise<Times> {
  const { steps } = (await world.server().ok('GET', `/nodes/${machineName(0)}/boot`))[machineName(0)];
  const at = (file: string): number => {
    const line = (steps as string[]).find((each) => each.split(' ')[2] === file);
    if (line === undefined) throw new Error(`The machine has not asked for its ${file}: ${steps}`);
    return Date.parse(line.split(' ', 1)[0]!);
  };
  return Object.fromEntries(files.map((file) => [file, at(file)])) as Times;
}

/** Whether an SSH server answers. */
const greets = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (found: boolean): void => {
      socket.destroy();
      resolve(found);
    };
    socket.setTimeout(5_000, () => end(false));
    socket.on('data', (data: Buffer) => end(data.toString('latin1').startsWith('SSH-')));
    socket.on('error', () => end(false));
    socket.on('close', () => end(false));
  });

/** nginx with the files of the image and one script for all. `seen` tells when each was asked for. */
function startPlain({ network: { namespace, address }, installdir }: BootWorld): LabChild & { seen(): Times } {
  const directory = mkdtempSync(join(tmpdir(), 'muster-bench-plain-'));
  const served = join(directory, 'files');
  const access = join(directory, 'access');
  mkdirSync(served);
  const image = join(installdir, 'netboot/debian12', machineArch, 'ram');
  for (const [name, file] of Object.entries({ kernel: 'kernel', initrd: 'initrd-stateless.gz', root: 'rootimg.sfs' }))
    symlinkSync(join(image, file), join(served, name));
  const sum = createHash('sha256')
    .update(readFileSync(join(image, 'rootimg.sfs')))
    .digest('hex');
  const url = `http://${address}:${plainPort}`;
  const words = `imgurl=${url}/root imgsum=sha256:${sum} console=${machineConsole} quiet BOOTIF=01-\${netX/mac:hexhyp}`;
  const lines = [
    '#!ipxe',
    `kernel ${url}/kernel initrd=initrd ${words}`,
    `initrd --name initrd ${url}/initrd`,
    'boot',
    '',
  ];
  writeFileSync(join(served, 'boot.ipxe'), lines.join('\n'));
  const configuration = join(directory, 'nginx.conf');
  writeFileSync(
    configuration,
    `daemon off; master_process off; user root; pid ${directory}/pid; error_log stderr; events {}
     http { log_format moments '$msec $request_time $uri'; access_log ${access} moments; sendfile on; client_body_temp_path ${directory}/b; proxy_temp_path ${directory}/p; fastcgi_temp_path ${directory}/f;
       uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s; server { listen ${address}:${plainPort}; root ${served}; } }`,
  );
  const [program, ...args] = namespace.command('nginx', '-p', directory, '-e', 'stderr', '-c', configuration);
  const child = startChild(program, args, { directory, logFile: join(directory, 'log') });
  return {
    ...child,
    seen() {
      const logged = readFileSync(access, 'utf8').split('\n');
      const at = (name: string): number => {
        // The moment that is logged is that of the end.
        const [end = '', took = ''] = logged.find((each) => each.endsWith(` /${name}`))?.split(' ') ?? [];
        return (Number(end) - Number(took)) * 1_000;
      };
      return { script: at('boot.ipxe'), kernel: at('kernel'), initrd: at('initrd'), root: at('root') };
    },
    async stop() {
      await child.stop();
      rmSync(directory, { recursive: true });
    },
  };
}
