import { rmSync } from 'node:fs';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { type Nats, startNats } from '../lab/nats.ts';
import { type Cable, makeNamespace, makeSwitch, type Namespace, type Switch } from '../lab/netns.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';
import { isReady, joinedData, launchWorker, type Listed, makeBusFiles, type TestWorker } from './cluster.ts';

/** A machine with a server. Each network that it is on can be cut. */
export interface ServerMachine {
  readonly cables: { readonly database: Cable; readonly bus: Cable; readonly bmcs: Cable };
  /** Its process, as long as that runs. */
  readonly server: TestServer;
  start(main?: string): Promise<void>;
}

/** A service node. */
export interface WorkerMachine {
  readonly name: string;
  readonly cables: { readonly bus: Cable; readonly bmcs: Cable };
  readonly worker: TestWorker;
  start(main?: string): Promise<void>;
}

/** Servers and workers, each in a network namespace, with PostgreSQL, NATS and BMCs on networks of their own. */
export interface NetworkedCluster {
  readonly postgres: Postgres;
  readonly nats: Nats;
  /** That of the node n1 is the first. */
  readonly bmcs: LightLab;
  readonly servers: readonly ServerMachine[];
  readonly workers: readonly WorkerMachine[];
  remove(): Promise<void>;
}

export interface NetworkedOptions {
  readonly servers: number;
  readonly workers: number;
  readonly bmcs: number;
  /** Milliseconds that each BMC holds its answers back longer than the one before it. */
  readonly delayStep: number;
}

const databaseHost = '10.41.0.1';
const busHost = '10.42.0.1';
const [databasePort, busPort] = [5432, 4222];
const database = 'muster';
/** Servers and workers have addresses in the other half of 10.43. */
const bmcNetwork = '10.43.0.0/17';

interface Lab {
  readonly networks: { readonly database: Switch; readonly bus: Switch; readonly bmcs: Switch };
  readonly environment: Readonly<Record<string, string>>;
  /** The data directory with all keys. */
  readonly data: string;
}

const plug = (network: Switch, namespace: Namespace, name: string, address: string): Cable =>
  network.plug({ namespace, interface: name, addresses: [address] });

function serverMachine({ networks, environment, data: first }: Lab, number: number): ServerMachine {
  const namespace = makeNamespace();
  const cables = {
    database: plug(networks.database, namespace, 'database', `10.41.0.${10 + number}/24`),
    bus: plug(networks.bus, namespace, 'bus', `10.42.0.${10 + number}/24`),
    bmcs: plug(networks.bmcs, namespace, 'bmcs', `10.43.255.${10 + number}/16`),
  };
  let data: string | undefined;
  let server: TestServer | undefined;
  return {
    cables,
    get server() {
      return server!;
    },
    async start(main) {
      // What it shares with others is there when the first has started once.
      data ??= number === 0 ? first : joinedData(first);
      server = await startServer({ data, environment, namespace, ...(main !== undefined && { main }) });
    },
  };
}

function workerMachine({ networks, environment, data }: Lab, number: number): WorkerMachine {
  const namespace = makeNamespace();
  const name = workerName(number);
  const cables = {
    bus: plug(networks.bus, namespace, 'bus', `10.42.0.${100 + number}/24`),
    bmcs: plug(networks.bmcs, namespace, 'bmcs', `10.43.255.${100 + number}/16`),
  };
  let worker: TestWorker | undefined;
  return {
    name,
    cables,
    get worker() {
      return worker!;
    },
    async start(main) {
      worker = launchWorker(name, data, { environment, namespace, ...(main !== undefined && { main }) });
      await isReady(worker);
    },
  };
}

const workerName = (number: number): string => `sn${number + 1}`;

/** The nodes n1, n2 ... with their BMCs; each has a worker, and the next one in its place. */
async function defineNodes(server: TestServer, bmcs: LightLab, workers: number): Promise<void> {
  const { username, password } = labAccounts.administrator;
  await server.ok('POST', '/definitions', {
    definitions: bmcs.addresses.map((bmc, index) => ({
      type: 'node',
      names: `n${index + 1}`,
      attributes: {
        groups: 'all',
        mgt: 'ipmi',
        bmc,
        bmcusername: username,
        bmcpassword: password,
        servicenode: [index, index + 1].map((each) => workerName(each % workers)).join(','),
      },
    })),
  });
}

export async function startNetworkedCluster(options: NetworkedOptions): Promise<NetworkedCluster> {
  const count = (number: number): number[] => Array.from({ length: number }, (_, index) => index);
  const networks = {
    database: makeSwitch(`${databaseHost}/24`),
    bus: makeSwitch(`${busHost}/24`),
    bmcs: makeSwitch('10.43.255.1/16'),
  };
  networks.bmcs.namespace.run('ip', 'route', 'add', 'local', bmcNetwork, 'dev', 'lo');
  const data = temporaryDirectory();
  const configuration = await makeBusFiles(data, `${busHost}:${busPort}`, count(options.workers).map(workerName));
  const network = { addresses: [databaseHost], port: databasePort, namespace: networks.database.namespace };
  const [postgres, nats, bmcs] = await Promise.all([
    makePostgres(database, network),
    startNats(configuration, busHost, busPort, networks.bus.namespace),
    startLightBmcs({
      count: options.bmcs,
      prefix: '10.43',
      delayStep: options.delayStep,
      namespace: networks.bmcs.namespace,
    }),
  ]);
  const environment = {
    MUSTER_DATABASE: `postgresql://kea:secret@${databaseHost}:${databasePort}/${database}?sslmode=disable`,
    MUSTER_BUS_SERVERS: nats.url,
    MUSTER_HARDWARE_NETWORKS: bmcNetwork,
  };
  const lab: Lab = { networks, environment, data };
  const servers = count(options.servers).map((number) => serverMachine(lab, number));
  const workers = count(options.workers).map((number) => workerMachine(lab, number));
  await servers[0]!.start();
  await Promise.all([...servers.slice(1), ...workers].map((machine) => machine.start()));
  await defineNodes(servers[0]!.server, bmcs, options.workers);
  await Promise.all(servers.map(({ server }) => allWorkers(server, options.workers)));
  return {
    postgres,
    nats,
    bmcs,
    servers,
    workers,
    async remove() {
      await Promise.all(workers.map(({ worker }) => worker.kill()));
      await Promise.all(servers.map(({ server }) => server.kill()));
      await Promise.all([bmcs.stop(), nats.remove(), postgres.remove()]);
      for (const { server } of servers) rmSync(server.data, { recursive: true, force: true });
    },
  };
}

/** Resolves when the server gives work to so many workers. */
export async function allWorkers(server: TestServer, count: number, token = server.token): Promise<void> {
  for (;;) {
    const { servers } = (await server.ok('GET', '/servers', undefined, { token })) as { servers: Listed[] };
    const working = servers.filter(
      ({ role, state, problem }) => role === 'worker' && state === 'connected' && problem === undefined,
    );
    if (working.length === count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
