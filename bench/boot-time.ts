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
import { atMost, type Benchmark, compare } from './report.ts';

const plainPort = 81;
const firmware = machineArch === 'x86_64' ? 'bios' : 'uefi';

/** From power on to SSH of a node in memory, against the same kernel and image by iPXE and files of nginx alone. */
export const bootTime: Benchmark = {
  name: 'boot-time',
  async *rows() {
    installMissing(testPackages, 'the benchmark of booting');
    const own = await inWorld('', (world) => secondsToSsh(world));
    const script = `[dhcp]\nbootScript = "http://SERVER:${plainPort}/boot.ipxe"\n`;
    const plain = await inWorld(script, async (world) => {
      const nginx = startPlain(world);
      try {
        return await secondsToSsh(world);
      } finally {
        await nginx.stop();
      }
    });
    yield compare('power on to SSH of a node in memory', own, plain, 's', atMost(1.05), 'iPXE and nginx');
  },
};

async function inWorld<T>(config: string, measure: (world: BootWorld) => Promise<T>): Promise<T> {
  const world = await startBootWorld({ machines: [{ firmware }], config });
  try {
    return await measure(world);
  } finally {
    await world.stop();
  }
}

async function secondsToSsh(world: BootWorld): Promise<number> {
  const node = machineName(0);
  const server = world.server();
  const directory = mkdtempSync(join(tmpdir(), 'muster-bench-ssh-'));
  const door = await openDoor(world.network.namespace, 22, directory, machineAddress(0));
  try {
    await server.ok('PUT', `/nodes/${node}/bootstate`, { osimage: 'ram' });
    await server.ok('PUT', `/nodes/${node}/nextboot`, { order: 'net' });
    const began = performance.now();
    await server.ok('PUT', `/nodes/${node}/power`, { action: 'on' });
    while (!(await greets(door.port))) await pause(200);
    return (performance.now() - began) / 1_000;
  } finally {
    await door.close();
    rmSync(directory, { recursive: true });
  }
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

/** nginx with the files of the image and one script for all. */
function startPlain({ network: { namespace, address }, installdir }: BootWorld): LabChild {
  const directory = mkdtempSync(join(tmpdir(), 'muster-bench-plain-'));
  const files = join(directory, 'files');
  mkdirSync(files);
  const image = join(installdir, 'netboot/debian12', machineArch, 'ram');
  for (const [name, file] of Object.entries({ kernel: 'kernel', initrd: 'initrd-stateless.gz', root: 'rootimg.sfs' }))
    symlinkSync(join(image, file), join(files, name));
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
  writeFileSync(join(files, 'boot.ipxe'), lines.join('\n'));
  const configuration = join(directory, 'nginx.conf');
  writeFileSync(
    configuration,
    `daemon off; master_process off; user root; pid ${directory}/pid; error_log stderr; events {}
     http { access_log off; sendfile on; client_body_temp_path ${directory}/b; proxy_temp_path ${directory}/p; fastcgi_temp_path ${directory}/f;
       uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s; server { listen ${address}:${plainPort}; root ${files}; } }`,
  );
  const [program, ...args] = namespace.command('nginx', '-p', directory, '-e', 'stderr', '-c', configuration);
  const child = startChild(program, args, { directory, logFile: join(directory, 'log') });
  return {
    ...child,
    async stop() {
      await child.stop();
      rmSync(directory, { recursive: true });
    },
  };
}
