import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installMissing, testPackages } from '../scripts/packages.ts';
import { run } from './process.ts';
import { atMost, type Benchmark, compare, median, type Row } from './report.ts';
import { type Muster, newDirectory, root, startMuster } from './server.ts';

const counts = [5_000, 10_000] as const;
const rounds = 5;
const perMessage = 500;
const port = 15_353;

const addressOf = (i: number): string => `10.77.${Math.floor(i / 250) + 1}.${(i % 250) + 1}`;
const nameOf = (i: number): string => `d${i}`;

/** The names of nodes in DNS, against nsupdate with the same records on the same server. */
export const dns: Benchmark = {
  name: 'dns',
  async *rows() {
    installMissing(
      testPackages.filter(({ name }) => name.startsWith('bind9')),
      'the benchmark of DNS',
    );
    for (const count of counts) yield* measure(count);
  },
};

async function* measure(count: number): AsyncIterable<Row> {
  const directory = newDirectory();
  const muster = await startMuster({
    allCores: true,
    env: {
      MUSTER_DNS_DAEMON: 'process',
      MUSTER_DNS_LISTEN: `127.0.0.1:${port}`,
      MUSTER_HOSTS_FILE: join(directory, 'hosts'),
    },
  });
  const client = await muster.connect();
  const call = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<number> => {
    const began = performance.now();
    await client.expect({ method, path: root + path, ...(body ? { body } : {}) });
    return performance.now() - began;
  };
  try {
    await prepare(call, count);
    const setUp = await call('POST', '/services/dns');
    await call('DELETE', '/nodes/all/dns');
    const floor = new Floor(directory, muster, count);
    const times = {
      add: [] as number[],
      remove: [] as number[],
      floorAdd: [] as number[],
      floorRemove: [] as number[],
    };
    const single = { own: [] as number[], floor: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      times.add.push(await call('POST', '/nodes/all/dns'));
      for (let i = 0; i < 5; i++) {
        await call('DELETE', `/nodes/${nameOf(i)}/dns`);
        single.own.push(await call('POST', `/nodes/${nameOf(i)}/dns`));
      }
      times.remove.push(await call('DELETE', '/nodes/all/dns'));
      times.floorAdd.push(await floor.add());
      for (let i = 0; i < 5; i++) single.floor.push(await floor.one(i));
      times.floorRemove.push(await floor.remove());
    }
    const floorName = `nsupdate, ${perMessage} each`;
    const bar = atMost(1.5);
    const row = (what: string, own: number[], other: number[]): Row =>
      compare(what, median(own), median(other), 'ms', bar, floorName);
    yield row(`DNS: records of ${count} nodes added`, times.add, times.floorAdd);
    yield row('  removed', times.remove, times.floorRemove);
    yield compare('  one more node', median(single.own), median(single.floor), 'ms', atMost(1.5), 'nsupdate');
    yield compare('  the whole service set up', setUp, median(times.floorAdd), 'ms', undefined, floorName);
  } finally {
    client.close();
    await muster.stop();
  }
}

type Call = (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => Promise<number>;

async function prepare(call: Call, count: number): Promise<void> {
  const site = { domain: 'cluster.test', master: '10.77.0.1', forwarders: '127.0.0.1', dnsforwardmode: 'only' };
  for (const [name, value] of Object.entries(site)) await call('PUT', `/globalconf/attrs/${name}`, { [name]: value });
  await call('POST', '/networks/net77', { net: '10.77.0.0', mask: '255.255.0.0' });
  const nodes = Array.from({ length: count }, (_, i) => [nameOf(i), { groups: 'all', ip: addressOf(i) }]);
  await call('PUT', '/nodes', Object.fromEntries(nodes));
  await call('POST', '/nodes/all/host');
}

/** nsupdate over TCP with the records that muster sends. */
class Floor {
  readonly #directory: string;
  readonly #keyFile: string;

  constructor(directory: string, { data }: Muster, count: number) {
    this.#directory = directory;
    this.#keyFile = join(data, 'dns', 'muster.key');
    for (const verb of ['add', 'delete'] as const) {
      writeFileSync(
        join(directory, verb),
        script(
          verb,
          Array.from({ length: count }, (_, i) => i),
        ),
      );
    }
  }

  add(): Promise<number> {
    return this.#run('add');
  }

  remove(): Promise<number> {
    return this.#run('delete');
  }

  async one(i: number): Promise<number> {
    writeFileSync(join(this.#directory, 'out'), script('delete', [i]));
    await this.#run('out');
    writeFileSync(join(this.#directory, 'one'), script('add', [i]));
    return this.#run('one');
  }

  async #run(file: string): Promise<number> {
    const began = performance.now();
    await run(['nsupdate', '-v', '-k', this.#keyFile, join(this.#directory, file)]);
    return performance.now() - began;
  }
}

function script(verb: 'add' | 'delete', numbers: readonly number[]): string {
  const ttl = verb === 'add' ? '3600 ' : '';
  const forward = numbers.map((i) => `update ${verb} ${nameOf(i)}.cluster.test. ${ttl}A ${addressOf(i)}`);
  const backward = numbers.map((i) => {
    const name = `${addressOf(i).split('.').reverse().join('.')}.in-addr.arpa.`;
    return `update ${verb} ${name} ${ttl}PTR ${nameOf(i)}.cluster.test.`;
  });
  const lines = [`server 127.0.0.1 ${port}`];
  for (const [zone, updates] of [
    ['cluster.test', forward],
    ['77.10.in-addr.arpa', backward],
  ] as const) {
    lines.push(`zone ${zone}`);
    for (let from = 0; from < updates.length; from += perMessage) {
      lines.push(...updates.slice(from, from + perMessage), 'send');
    }
  }
  return `${lines.join('\n')}\n`;
}
