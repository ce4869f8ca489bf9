import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installMissing, testPackages } from '../scripts/packages.ts';
import { writePack } from '../test/boot/packed-image.ts';
import { freePort, temporaryPaths } from './nginx.ts';
import {
  clientCore,
  type Helper,
  processorTime,
  run,
  type Running,
  serverCore,
  start,
  startHelper,
} from './process.ts';
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

/** nginx that serves a directory as it is, with as many workers as muster gives its own. */
async function startPlainNginx(directory: string): Promise<Running & { readonly port: number; pids(): number[] }> {
  const own = newDirectory();
  const port = await freePort();
  const file = join(own, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; user root; worker_processes auto; pid ${join(own, 'pid')}; error_log stderr notice;
     events { worker_connections 4096; }
     http {
       access_log off; sendfile on; tcp_nopush on; sendfile_max_chunk 2m; keepalive_requests 1000000;
       ${temporaryPaths(own)}
       server { listen 127.0.0.1:${port}; root ${directory}; }
     }`,
  );
  const running = await start(['nginx', '-p', own, '-e', 'stderr', '-c', file], {
    core: serverCore,
    ready: /start worker process \d/,
  });
  return { ...running, port, pids: () => withChildren(running.pid) };
}

const install = (...names: string[]): void =>
  void installMissing(
    testPackages.filter(({ name }) => names.includes(name)),
    'the benchmarks of network boot',
  );

/** Replies per second, as wrk counts them. */
async function scriptRate(url: string, ...options: string[]): Promise<number> {
  const output = await run(['wrk', '-t1', '-c16', '-d1s', ...options, url], { core: clientCore });
  if (output.includes('Non-2xx')) throw new Error(`${url}: not every reply was a success.\n${output}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]);
}

/**
 * Boot scripts made when nodes ask, against nginx that has them as files. iPXE keeps its connection for the script, the kernel and the
 * RAM disk; each machine has one of its own, so a script comes by a new connection.
 */
const bootScripts: Benchmark = {
  name: 'boot-scripts',
  async *rows() {
    install('nginx-light');
    const sizes = { root: 1_000, kernel: 1_000 };
    const alone = await startBoot(sizes);
    const front = await startBoot(sizes, await behindNginx());
    const path = `boot/${mac}.ipxe`;
    const url = (port: number): string => `http://127.0.0.1:${port}/${path}`;
    const text = await (await fetch(url(alone.http))).text();
    const directory = newDirectory();
    mkdirSync(join(directory, 'boot'));
    writeFileSync(join(directory, path), text);
    const nginx = await startPlainNginx(directory);
    const ports = { alone: alone.http, front: front.http, plain: nginx.port };
    const rates = (await interleaved(ports, (port) => scriptRate(url(port), '-H', 'Connection: close'))) as Rates;
    const kept = (await interleaved(ports, (port) => scriptRate(url(port)))) as Rates;
    await Promise.all([alone.muster.stop(), front.muster.stop(), nginx.stop()]);
    const what = 'boot scripts, a connection for each';
    yield compare(what, rates.alone, rates.plain, '/s', atLeast(0.35), 'nginx');
    yield compare('  with boot.files = nginx', rates.front, rates.plain, '/s', undefined, 'nginx');
    yield compare('  over kept connections', kept.alone, kept.plain, '/s', undefined, 'nginx');
  },
};

type Rates = Readonly<Record<'alone' | 'front' | 'plain', number>>;

/** The median of several rounds for each port, with all of them in each round. */
async function interleaved(
  ports: Readonly<Record<string, number>>,
  measure: (port: number) => Promise<number>,
): Promise<Record<string, number>> {
  const found = new Map(Object.keys(ports).map((name) => [name, [] as number[]]));
  for (let round = -warmUps; round < rounds; round++)
    for (const [name, port] of Object.entries(ports)) {
      const value = await measure(port);
      if (round >= 0) found.get(name)!.push(value);
    }
  return Object.fromEntries([...found].map(([name, values]) => [name, median(values)]));
}

/** Settings with which nginx stands before muster. */
const behindNginx = async (): Promise<Record<string, string>> => ({
  MUSTER_BOOT_FILES: 'nginx',
  MUSTER_BOOT_LISTEN: `127.0.0.1:${await freePort()}`,
});

const imageSize = 200_000_000;
const fetchers = 500;

interface FileServer {
  readonly port: number;
  readonly pids: readonly number[];
  readonly kernel: string;
  readonly root: string;
}

/** Bytes that clients at once, each of which fetches all of a file, get for a second of processor time of the servers. */
async function imageRate(clients: Helper, server: FileServer, count = fetchers): Promise<number> {
  const { port, pids, kernel, root: path } = server;
  const time = (): number => pids.reduce((sum, pid) => sum + processorTime(pid), 0);
  // Each machine has fetched its kernel before, so that what is done once for each fetch is done by code that runs often.
  await clients.ask({ port, path: kernel, count });
  const before = time();
  const bytes = Number(await clients.ask({ port, path, count }));
  if (bytes < imageSize * count) throw new Error(`Of ${imageSize * count} bytes came ${bytes}.`);
  return (bytes / (time() - before)) * 1_000;
}

const megabytes = 1_000_000;
const imageRounds = 3;

/** A large image fetched by many at once, against nginx alone. */
const bootImages: Benchmark = {
  name: 'boot-images',
  async *rows() {
    install('nginx-light');
    const sizes = { root: imageSize, kernel: 1_000 };
    const alone = await startBoot(sizes);
    const front = await startBoot(sizes, await behindNginx());
    const plain = await startPlainNginx(front.files);
    const clients = startHelper(join(import.meta.dirname, 'fetchers.ts'), clientCore);
    const of = ({ http: port, parts }: typeof alone, pids: readonly number[]): FileServer => ({
      port,
      pids,
      kernel: `/${parts}/kernel`,
      root: `/${parts}/root`,
    });
    const bare = { port: plain.port, pids: plain.pids(), kernel: '/kernel', root: '/rootimg.sfs' };
    const behind = of(front, [front.muster.pid, ...nginxOf(front.muster)]);
    const rates = { floor: [] as number[], own: [] as number[] };
    for (let round = 0; round < imageRounds; round++) {
      rates.floor.push(await imageRate(clients, bare));
      rates.own.push(await imageRate(clients, behind));
    }
    const [floor, own] = [median(rates.floor), median(rates.own)];
    // Each byte costs muster the same, so fewer of them show it.
    const slow = await imageRate(clients, of(alone, [alone.muster.pid]), fetchers / 10);
    await Promise.all([alone.muster.stop(), front.muster.stop(), plain.stop(), clients.stop()]);
    const what = `${fetchers} fetch ${imageSize / megabytes} MB each, with boot.files = nginx`;
    yield compare(what, own / megabytes, floor / megabytes, 'MB/CPU s', atLeast(0.9), 'nginx');
    const other = `  with boot.files = muster (${fetchers / 10} fetch)`;
    yield compare(other, slow / megabytes, floor / megabytes, 'MB/CPU s', undefined, 'nginx');
  },
};

/** All processes of the nginx that a muster has started. */
const nginxOf = ({ data }: Muster): number[] =>
  withChildren(Number(readFileSync(join(data, 'boot/nginx.pid'), 'utf8')));

function withChildren(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return [pid, ...children.filter((each) => each !== '').map(Number)];
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
