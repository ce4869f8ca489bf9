// Brings up a simulated cluster, defines it in a muster and says what to try. Ctrl-C ends all it started.
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command, InvalidArgumentError } from 'commander';
import { startServer } from '../test/harness/server.ts';
import { labAccounts } from '../test/lab/addresses.ts';
import { type Cluster, startCluster } from '../test/lab/cluster.ts';
import { installMissing, labPackages } from './packages.ts';

interface Options {
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
  readonly token: string;
  readonly ca: string | undefined;
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

async function findTarget({ url, token, ca }: Options): Promise<Target> {
  if (url !== undefined) {
    if (token === undefined) throw new Error('--url needs --token: get one with POST /tokens.');
    return { url, token, ca: ca ?? (existsSync(ownAuthority) ? ownAuthority : undefined), stop: async () => {} };
  }
  const server = await startServer();
  const authority = join(server.data, 'tls/ca.pem');
  return {
    url: `https://127.0.0.1:${server.port}/muster`,
    token: server.token,
    ca: authority,
    stop: () => server.stop(),
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

function printHelp({ url, token, ca }: Target, { parts }: Cluster, { bmcs, redfish }: Options): void {
  const node = bmcs > 0 ? 'sim1' : 'rf1';
  const few = bmcs > 0 ? `sim[1-${Math.min(bmcs, 5)}]` : `rf[1-${Math.min(redfish, 5)}]`;
  const { username, password } = labAccounts.administrator;
  const curl = 'curl -g -s $CA -H "$A"';
  const json = '-H "$J" -X PUT';
  const lines = [
    ...parts.map((part) => `# ${part}`),
    `# every BMC: ${username} / ${password}; group lab has all nodes`,
    '',
    `H='${url}'`,
    `A='X-Auth-Token: ${token}'`,
    `CA='${ca === undefined ? '' : `--cacert ${ca}`}'`,
    "J='Content-Type: application/json'",
    `export MUSTER_URL='${new URL(url).origin}' MUSTER_TOKEN='${token}' MUSTER_CA='${ca ?? ''}'`,
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
      await put(target, '/nodes', cluster.nodes);
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
