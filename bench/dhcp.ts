import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { installMissing, testPackages } from '../scripts/packages.ts';
import { atMost, type Benchmark, compare, median, type Row } from './report.ts';
import { root, startMuster } from './server.ts';

const counts = [5_000, 10_000] as const;
const rounds = 11;
const together = 20;

// No interface of any machine is in this network, which is meant for measurements.
const addressOf = (i: number): string => `198.18.${Math.floor(i / 250) + 1}.${(i % 250) + 1}`;
const macOf = (i: number): string =>
  `52:54:01${[16, 8, 0].map((shift) => `:${((i >> shift) & 255).toString(16).padStart(2, '0')}`).join('')}`;
const nameOf = (i: number): string => `d${i}`;

/** Reservations of nodes, against Kea's own config-set of the same document. */
export const dhcp: Benchmark = {
  name: 'dhcp',
  async *rows() {
    installMissing(
      testPackages.filter(({ name }) => name.startsWith('kea-dhcp')),
      'the benchmark of DHCP',
    );
    for (const count of counts) yield* measure(count);
  },
};

async function* measure(count: number): AsyncIterable<Row> {
  const muster = await startMuster({ allCores: true, env: { MUSTER_DHCP_DAEMON: 'process' } });
  const clients = await Promise.all(Array.from({ length: together }, () => muster.connect()));
  const client = clients[0]!;
  const call = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object, by = client): Promise<number> => {
    const began = performance.now();
    await by.expect({ method, path: root + path, ...(body ? { body } : {}) });
    return performance.now() - began;
  };
  /** Kea is given what it has been given by muster. */
  const floor = (): Promise<number> =>
    configSet(join(muster.data, 'dhcp/kea4.sock'), join(muster.data, 'dhcp/kea-dhcp4.json'));
  try {
    // None of this machine's interfaces is to be listened on, not even for relays.
    await call('PUT', '/globalconf/attrs/dhcpinterfaces', { dhcpinterfaces: 'nobody|none' });
    await call('POST', '/networks/bench', { net: '198.18.0.0', mask: '255.254.0.0' });
    const all = Array.from({ length: count + together }, (_, i) => [
      nameOf(i),
      { groups: i < count ? 'all' : 'later', ip: addressOf(i), mac: macOf(i) },
    ]);
    await call('PUT', '/nodes', Object.fromEntries(all));
    await call('POST', '/services/dhcp');
    await call('POST', '/nodes/all/dhcp');
    const times = { add: [] as number[], one: [] as number[], many: [] as number[], remove: [] as number[] };
    const floors = { full: [] as number[], empty: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      times.remove.push(await call('DELETE', '/nodes/all/dhcp'));
      floors.empty.push(await floor());
      times.add.push(await call('POST', '/nodes/all/dhcp'));
      floors.full.push(await floor());
      times.one.push(await call('POST', `/nodes/${nameOf(count)}/dhcp`));
      await call('DELETE', `/nodes/${nameOf(count)}/dhcp`);
      const began = performance.now();
      await Promise.all(clients.map((by, i) => call('POST', `/nodes/${nameOf(count + i)}/dhcp`, undefined, by)));
      times.many.push(performance.now() - began);
      await call('DELETE', '/nodes/later/dhcp');
    }
    const row = (what: string, own: number[], bar: number): Row =>
      compare(what, median(own), median(floors.full), 'ms', atMost(bar), 'config-set');
    yield row(`DHCP: reservations of ${count} nodes added`, times.add, 1.5);
    yield row('  one more node', times.one, 1.5);
    yield row(`  ${together} requests for one more node each, at once`, times.many, 3);
    yield compare('  all removed', median(times.remove), median(floors.empty), 'ms', undefined, 'config-set');
  } finally {
    for (const each of clients) each.close();
    await muster.stop();
  }
}

function configSet(socket: string, file: string): Promise<number> {
  const text = `{"command":"config-set","arguments":${readFileSync(file, 'utf8')}}`;
  const began = performance.now();
  return new Promise((resolve, reject) => {
    let answer = '';
    const connection = connect(socket, () => connection.write(text));
    connection.on('data', (chunk) => (answer += chunk.toString()));
    connection.once('error', reject);
    connection.once('end', () => {
      connection.destroy();
      if ((JSON.parse(answer) as { result: number }).result === 0) resolve(performance.now() - began);
      else reject(new Error(`Kea refused its own configuration: ${answer}`));
    });
  });
}
