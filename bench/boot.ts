import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installMissing, testPackages } from '../scripts/packages.ts';
import { writePack } from '../test/boot/packed-image.ts';
import { freePort, temporaryPaths } from './nginx.ts';
import { clientCore, processorTime, run, type Running, serverCore, start } from './process.ts';
import { atLeast, type Benchmark, compare, median } from './report.ts';
import { type Muster, newDirectory, root, startMuster } from './server.ts';

const rounds = 5;
const warmUps = 2;
/** The network card of the one node, which has the address that all clients have here. */
const mac = '52-54-00-00-00-01';

/** A muster with a packed image whose parts are as large as given, and a node that boots it. */
async function startBoot(sizes: { root: number; kernel: number }, env: Readonly<Record<string, string>> = {}) {
  const install = newDirectory();
  // nginx has a user of its own.
  for (const each of [install, dirname(install)]) chmodSync(each, 0o755);
  const directory = join(install, 'img');
  mkdirSync(directory);
  const pack = writePack(directory, 'img', {
    root: Buffer.alloc(sizes.root, 'muster '),
    kernel: Buffer.alloc(sizes.kernel, 'kernel '),
    initrd: Buffer.alloc(1_000),
  });
  const muster = await startMuster({
    env: {
      MUSTER_BOOT_LISTEN: '127.0.0.1:0',
      MUSTER_BOOT_TFTP_LISTEN: '127.0.0.1:0',
      MUSTER_BOOT_MAX_CONNECTIONS_PER_ADDRESS: '1000',
      ...env,
    },
  });
  const client = await muster.connect();
  const put = (path: string, body: object) => client.expect({ method: 'PUT', path: root + path, body });
  await put('/globalconf/attrs/installdir', { installdir: install });
  const image = { imagetype: 'linux', provmethod: 'netboot', osvers: 'debian12', osarch: 'x86_64', profile: 'compute' };
  await client.expect({ method: 'POST', path: `${root}/osimages/img`, body: { ...image, rootimgdir: directory } });
  await put('/nodes/n1', {
    groups: 'all',
    arch: 'x86_64',
    netboot: 'xnba',
    ip: '127.0.0.1',
    mac: mac.replaceAll('-', ':'),
  });
  await put('/nodes/n1/bootstate', { osimage: 'img' });
  client.close();
  const http = Number(/served at http:\/\/127\.0\.0\.1:(\d+)/.exec(muster.output())?.[1]);
  const tftp = Number(/by TFTP at 127\.0\.0\.1:(\d+)/.exec(muster.output())?.[1]);
  return { muster, http, tftp, parts: `boot/images/img/${pack}`, files: join(directory, 'packs', pack) };
}

/** nginx that serves a directory as it is. */
async function startPlainNginx(directory: string): Promise<Running & { readonly port: number }> {
  const own = newDirectory();
  const port = await freePort();
  const file = join(own, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; master_process off; worker_processes 1; pid ${join(own, 'pid')}; error_log stderr notice;
     events { worker_connections 2048; }
     http {
       access_log off; sendfile on; tcp_nopush on; sendfile_max_chunk 2m; keepalive_requests 1000000;
       ${temporaryPaths(own)}
       server { listen 127.0.0.1:${port}; root ${directory}; }
     }`,
  );
  const running = await start(['nginx', '-p', own, '-e', 'stderr', '-c', file], {
    core: serverCore,
    ready: /nginx\/\d/,
  });
  return { ...running, port };
}

const install = (...names: string[]): void =>
  installMissing(
    testPackages.filter(({ name }) => names.includes(name)),
    'the benchmarks of network boot',
  );

/** Replies per second, as wrk counts them. */
async function scriptRate(url: string, ...options: string[]): Promise<number> {
  const output = await run(['wrk', '-t1', '-c16', '-d1s', ...options, url], { core: clientCore });
  if (output.includes('Non-2xx')) throw new Error(`${url}: not every reply was a success.\n${output}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]);
}

/** Boot scripts made when nodes ask, against nginx that has them as files. */
const bootScripts: Benchmark = {
  name: 'boot-scripts',
  async *rows() {
    install('nginx-light');
    const { muster, http } = await startBoot({ root: 1_000, kernel: 1_000 });
    const path = `boot/${mac}.ipxe`;
    const url = `http://127.0.0.1:${http}/${path}`;
    const text = await (await fetch(url)).text();
    const directory = newDirectory();
    mkdirSync(join(directory, 'boot'));
    writeFileSync(join(directory, path), text);
    const nginx = await startPlainNginx(directory);
    const still = `http://127.0.0.1:${nginx.port}/${path}`;
    const close = ['-H', 'Connection: close'];
    const rates = { own: [] as number[], floor: [] as number[], ownClose: [] as number[], floorClose: [] as number[] };
    for (let round = -warmUps; round < rounds; round++) {
      const own = await scriptRate(url);
      const floor = await scriptRate(still);
      const ownClose = await scriptRate(url, ...close);
      const floorClose = await scriptRate(still, ...close);
      if (round < 0) continue;
      rates.own.push(own);
      rates.floor.push(floor);
      rates.ownClose.push(ownClose);
      rates.floorClose.push(floorClose);
    }
    await Promise.all([muster.stop(), nginx.stop()]);
    const { own, floor, ownClose, floorClose } = rates;
    yield compare('boot scripts, over kept connections', median(own), median(floor), '/s', atLeast(0.5), 'nginx');
    yield compare('  a connection for each', median(ownClose), median(floorClose), '/s', undefined, 'nginx');
  },
};

const imageSize = 200_000_000;
const fetchers = 500;

/** Bytes that many clients at once get for a second of processor time of the servers. */
async function imageRate(url: string, pids: readonly number[]): Promise<number> {
  const time = (): number => pids.reduce((sum, pid) => sum + processorTime(pid), 0);
  const fetch = (seconds: number): Promise<string> =>
    run(['wrk', '-t1', `-c${fetchers}`, `-d${seconds}s`, '--timeout', '60s', url], { core: clientCore });
  // What is done once for each fetch is done by code that runs often.
  await fetch(2);
  const before = time();
  const output = await fetch(20);
  if (output.includes('Non-2xx')) throw new Error(`${url}: not every reply was a success.\n${output}`);
  const [, amount = '', unit = ''] = /Transfer\/sec:\s+([\d.]+)([KMG]?B)/.exec(output) ?? [];
  const seconds = Number(/requests in ([\d.]+)s/.exec(output)?.[1]);
  const scale = { B: 1, KB: 1_024, MB: 1_024 ** 2, GB: 1_024 ** 3 }[unit] ?? 0;
  return ((Number(amount) * scale * seconds) / (time() - before)) * 1_000;
}

const megabytes = 1_000_000;

/** A large image fetched by many at once, against nginx alone. */
const bootImages: Benchmark = {
  name: 'boot-images',
  async *rows() {
    install('nginx-light');
    const sizes = { root: imageSize, kernel: 1_000 };
    const alone = await startBoot(sizes);
    const front = await startBoot(sizes, {
      MUSTER_BOOT_FILES: 'nginx',
      MUSTER_BOOT_LISTEN: `127.0.0.1:${await freePort()}`,
    });
    const plain = await startPlainNginx(front.files);
    const url = ({ http, parts }: typeof alone) => `http://127.0.0.1:${http}/${parts}/root`;
    const fetched = { nginx: [] as number[], alone: [] as number[], plain: [] as number[] };
    for (let round = 0; round < 3; round++) {
      fetched.plain.push(await imageRate(`http://127.0.0.1:${plain.port}/rootimg.sfs`, [plain.pid]));
      fetched.nginx.push(await imageRate(url(front), [front.muster.pid, ...nginxOf(front.muster)]));
      fetched.alone.push(await imageRate(url(alone), [alone.muster.pid]));
    }
    await Promise.all([alone.muster.stop(), front.muster.stop(), plain.stop()]);
    const per = (list: readonly number[]): number => median(list) / megabytes;
    const what = `${fetchers} fetch ${imageSize / megabytes} MB each, with boot.files = nginx`;
    yield compare(what, per(fetched.nginx), per(fetched.plain), 'MB/CPU s', atLeast(0.9), 'nginx');
    yield compare('  with boot.files = muster', per(fetched.alone), per(fetched.plain), 'MB/CPU s', undefined, 'nginx');
  },
};

/** All processes of the nginx that a muster has started. */
function nginxOf({ data }: Muster): number[] {
  const first = Number(readFileSync(join(data, 'boot/nginx.pid'), 'utf8'));
  const workers = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').trim().split(' ').map(Number);
  return [first, ...workers];
}

const kernelSize = 8_000_000;
const tftpClients = 8;

/** Loaders and kernels by TFTP, many at once, against tftpd-hpa. */
const bootTftp: Benchmark = {
  name: 'boot-tftp',
  async *rows() {
    install('busybox-static', 'tftpd-hpa');
    const { muster, tftp, parts, files } = await startBoot({ root: 1_000, kernel: kernelSize });
    const port = await freePort();
    // It says nothing of itself when it serves.
    const options = ['--ipv4', '--foreground', '--user', 'root', '--secure', '--address', `127.0.0.1:${port}`, files];
    const daemon = await start(['sh', '-c', 'echo ready && exec in.tftpd "$@"', 'sh', ...options], {
      core: serverCore,
      ready: /ready/,
    });
    const times = { own: [] as number[], floor: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      times.own.push(await tftpTime(tftp, `${parts}/kernel`));
      times.floor.push(await tftpTime(port, 'kernel'));
    }
    await Promise.all([muster.stop(), daemon.stop()]);
    const rate = (list: readonly number[]): number => (kernelSize * tftpClients) / megabytes / (median(list) / 1_000);
    yield compare(
      `${tftpClients} fetch 8 MB each by TFTP`,
      rate(times.own),
      rate(times.floor),
      'MB/s',
      undefined,
      'tftpd-hpa',
    );
  },
};

async function tftpTime(port: number, name: string): Promise<number> {
  const options = ['-b', '1468', '-g', '-r', name, '-l', '/dev/null', '127.0.0.1', String(port)];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: tftpClients }, () => run(['busybox', 'tftp', ...options], { core: clientCore })),
  );
  return performance.now() - began;
}

export const boot: readonly Benchmark[] = [bootScripts, bootImages, bootTftp];
