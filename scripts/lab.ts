// Brings up a simulated cluster, defines it in a muster and says what to try. Ctrl-C ends all it started.
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command, InvalidArgumentError } from 'commander';
import { startBusCluster } from '../test/bus/cluster.ts';
import { startServer, type TestServer } from '../test/harness/server.ts';
import { labAccounts } from '../test/lab/addresses.ts';
import { type Cluster, startCluster } from '../test/lab/cluster.ts';
import { makePostgres } from '../test/lab/postgres.ts';
import { installMissing, labPackages, severalPackages } from './packages.ts';

interface Options {
  servers: number;
  workers: number;
  bmcs: number;
  redfish: number;
  prefix: string;
  redfishPrefix: string;
  delay: number;
  loss: number;
  url?: string;
  token?: string;
  ca?: string;
}

/** The muster that gets the nodes. */
interface Target {
  readonly url: string;
  /** For MUSTER_URL. */
  readonly urls: readonly string[];
  readonly token: string;
  readonly ca: string | undefined;
  /** What runs besides one server, a sentence each. */
  readonly parts: readonly string[];
  /** Service nodes that do the work, in their order. */
  readonly workers: readonly string[];
  stop(): Promise<void>;
}

const ownAuthority = join(import.meta.dirname, '../var/tls/ca.pem');

function wholeNumber(most: number): (text: string) => number {
  return (given) => {
    const number = Number(given);
    if (Number.isInteger(number) && number >= 0 && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${most}.`);
  };
}

function readOptions(): Options {
  const program = new Command('npm run lab --')
    .description(
      'A simulated cluster to try muster with. Needs root for UDP port 623 and TCP port 443 on loopback addresses.',
    )
    .option('--servers <count>', 'servers; more than one share a PostgreSQL database', wholeNumber(16), 1)
    .option('--workers <count>', 'service nodes that do the work, reached over NATS', wholeNumber(64), 0)
    .option('--bmcs <count>', 'IPMI BMCs, by ipmi_sim up to 1,000, by a light simulator above', wholeNumber(50_000), 10)
    .option('--redfish <count>', 'Redfish services', wholeNumber(1_000), 0)
    .option('--prefix <a.b>', 'the loopback network of the IPMI BMCs', '127.10')
    .option('--redfish-prefix <a.b>', 'the loopback network of the Redfish services', '127.11')
    .option('--delay <ms>', 'hold every answer back', wholeNumber(60_000), 0)
    .option('--loss <percent>', 'lose that share of IPMI answers', wholeNumber(100), 0)
    .option('--url <url>', 'a running muster, such as https://127.0.0.1:8443/muster; without it one is started')
    .option('--token <token>', 'a token for it')
    .option('--ca <file>', 'its certificate authority; default: that of this checkout')
    .showHelpAfterError();
  return program.parse().opts<Options>();
}

async function findTarget(options: Options): Promise<Target> {
  const { url, token, ca, servers, workers } = options;
  if (url !== undefined) {
    if (token === undefined) throw new Error('--url needs --token: get one with POST /tokens.');
    const authority = ca ?? (existsSync(ownAuthority) ? ownAuthority : undefined);
    return { url, urls: [new URL(url).origin], token, ca: authority, parts: [], workers: [], stop: async () => {} };
  }
  if (servers > 1 || workers > 0) return startSeveral(options);
  const server = await startServer();
  return { ...reached([server]), parts: [], workers: [], stop: () => server.stop() };
}

/** How these are reached: by curl the first, by commands the next too. */
const reached = (servers: readonly TestServer[]): Pick<Target, 'url' | 'urls' | 'token' | 'ca'> => ({
  url: `https://127.0.0.1:${servers[0]!.port}/muster`,
  urls: servers.map(({ port }) => `https://127.0.0.1:${port}`),
  token: servers[0]!.token,
  ca: join(servers[0]!.data, 'tls/ca.pem'),
});

async function startSeveral({ servers: count, workers: workerCount }: Options): Promise<Target> {
  installMissing(severalPackages, 'several servers and workers');
  const postgres = count > 1 ? await makePostgres('muster') : undefined;
  const workers = Array.from({ length: workerCount }, (_, i) => `sn${i + 1}`);
  const cluster = await startBusCluster(workers, postgres && { MUSTER_DATABASE: postgres.url });
  const servers = [cluster.server];
  while (servers.length < count) servers.push(await cluster.another());
  for (const name of workers) await cluster.worker(name);
  return {
    ...reached(servers),
    parts: [
      `${count} servers${postgres ? ` on PostgreSQL at ${postgres.directory}` : ''}, process ids ${servers.map(({ child }) => child.pid).join(', ')}`,
      `${workerCount} workers over NATS at ${cluster.nats.url}: kill one and see who does its work: bin/muster servers`,
    ],
    workers,
    async stop() {
      await cluster.remove();
      await postgres?.remove();
    },
  };
}

async function put({ url, token, ca }: Target, path: string, body: unknown): Promise<void> {
  const headers = { 'X-Auth-Token': token, 'Content-Type': 'application/json' };
  const trust = ca === undefined ? {} : { ca: readFileSync(ca) };
  const sending = request(`${url}${path}`, { method: 'PUT', headers, ...trust });
  sending.end(JSON.stringify(body));
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
  const [response] = await answered.catch((error: Error) => {
    throw new Error(`No muster answers at ${url}: ${error.message}`);
  });
  const reply = await text(response);
  if ((response.statusCode ?? 0) < 300) return;
  throw new Error(`PUT ${path} was answered with ${response.statusCode}: ${reply.trim()}`);
}

function printHelp({ url, urls, token, ca, parts: own }: Target, { parts }: Cluster, { bmcs, redfish }: Options): void {
  const node = bmcs > 0 ? 'sim1' : 'rf1';
  const few = bmcs > 0 ? `sim[1-${Math.min(bmcs, 5)}]` : `rf[1-${Math.min(redfish, 5)}]`;
  const { username, password } = labAccounts.administrator;
  const curl = 'curl -g -s $CA -H "$A"';
  const json = '-H "$J" -X PUT';
  const lines = [
    ...[...own, ...parts].map((part) => `# ${part}`),
    `# every BMC: ${username} / ${password}; group lab has all nodes`,
    '',
    `H='${url}'`,
    `A='X-Auth-Token: ${token}'`,
    `CA='${ca === undefined ? '' : `--cacert ${ca}`}'`,
    "J='Content-Type: application/json'",
    `export MUSTER_URL='${urls.join()}' MUSTER_TOKEN='${token}' MUSTER_CA='${ca ?? ''}'`,
    'bin/muster rpower lab stat',
    `${curl} "$H/nodes/lab/power"`,
    `${curl} ${json} "$H/nodes/${few}/power" -d '{"action":"on"}'`,
    `${curl} "$H/nodes/${few}/power?pretty=1"`,
    `${curl} -H 'Accept: application/x-ndjson' "$H/nodes/lab/power"`,
    `${curl} "$H/nodes/${node}/vitals?pretty=1"`,
    `${curl} "$H/nodes/${node}/inventory?pretty=1"`,
    `${curl} "$H/nodes/${node}/eventlog?pretty=1"`,
    `${curl} "$H/nodes/${node}/energy?pretty=1"`,
    `${curl} ${json} "$H/nodes/${node}/nextboot" -d '{"order":"net"}'`,
    `${curl} ${json} "$H/nodes/${node}/beacon" -d '{"action":"on"}'`,
    `${curl} "$H/nodes/${node}/explain/bmc?pretty=1"`,
    '',
    'The lab is ready. Ctrl-C ends it.',
  ];
  console.log(lines.join('\n'));
}

/** Each worker is the first of as many nodes, and the others follow it. */
function assigned(nodes: Cluster['nodes'], workers: readonly string[]): Cluster['nodes'] {
  if (workers.length === 0) return nodes;
  const rotated = workers.map((_, i) => [...workers.slice(i), ...workers.slice(0, i)].join());
  return Object.fromEntries(
    Object.entries(nodes).map(([name, attributes], i) => [
      name,
      { ...attributes, servicenode: rotated[i % rotated.length]! },
    ]),
  );
}

const untilSignal = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
    // Signals alone do not keep a process alive.
    const alive = setInterval(() => {}, 60_000);
    process.once('exit', () => clearInterval(alive));
  });

async function main(): Promise<void> {
  const options = readOptions();
  installMissing(labPackages, 'the lab');
  const ended = untilSignal();
  const cluster = await startCluster(options);
  try {
    const target = await findTarget(options);
    try {
      await put(target, '/nodes', assigned(cluster.nodes, target.workers));
      await put(target, '/groups', cluster.groups);
      printHelp(target, cluster, options);
      await ended;
      console.log('Ending the lab.');
      if (options.url !== undefined)
        console.log(`The nodes stay defined; DELETE ${target.url}/nodes/lab removes them.`);
    } finally {
      await target.stop();
    }
  } finally {
    await cluster.stop();
  }
}

try {
  await main();
  process.exit(0);
} catch (error) {
  console.error(`muster: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
