import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { installMissing, isInstalled, testPackages } from '../scripts/packages.ts';
import { makeWire } from '../test/lab/dhcp.ts';
import { makePostgres } from '../test/lab/postgres.ts';
import { mac, machineWith, node, openSetting } from '../test/names/dhcp/setting.ts';
import { run } from './process.ts';
import { type Benchmark, median, type Row } from './report.ts';

const count = 5_000;
const perSecond = 150;
const seconds = 25;
/** The first time of a change, and how long until the next. */
const [firstAt, every, changes] = [2_000, 5_000, 4];

const names = Array.from({ length: count }, (_, i) => `d${i}`);
const addressOf = (i: number): string => `10.77.${100 + Math.floor(i / 250)}.${(i % 250) + 1}`;

/** Machines that ask all the time while reservations of thousands of others change, and how many are not answered. */
export const dhcpLosses: Benchmark = {
  name: 'dhcp-losses',
  async *rows() {
    installMissing(
      testPackages.filter(({ name }) => /^kea-|^postgresql$|^iproute2$/.test(name)),
      'the benchmark of DHCP',
    );
    yield await losses("reservations in Kea's configuration", undefined);
    if (!isInstalled('/usr/lib/postgresql')) return;
    const postgres = await makePostgres('kea');
    const account = ['-u', 'kea', '-p', 'secret', '-n', 'kea', '-h', postgres.directory, '-P', String(postgres.port)];
    try {
      execFileSync('kea-admin', ['db-init', 'pgsql', ...account], {
        stdio: 'pipe',
        env: { PATH: `${process.env.PATH}:/usr/sbin` },
      });
      yield await losses('in PostgreSQL', postgres.url);
    } finally {
      await postgres.remove();
    }
  },
};

async function losses(where: string, hostsDatabase: string | undefined): Promise<Row> {
  const wire = makeWire(['10.77.0.1/16']);
  // It asks from an address, as a relay does.
  wire.client.run('ip', 'address', 'add', '10.77.0.2/16', 'dev', wire.clientNic);
  const setting = await openSetting(machineWith(wire.serverNic, ['10.77.0.1']), {
    prefix: wire.server.command('env'),
    hostsDatabase,
  });
  try {
    const network = { netname: 'mgmt', net: '10.77.0.0', mask: '255.255.0.0', dynamicrange: '10.77.1.1-10.77.90.250' };
    await setting.store.put(['networks', network], ...names.flatMap((name, i) => node(name, addressOf(i), mac(i))));
    await setting.configure();
    await setting.reserve(...names);
    const words = ['-4', '-i', '-l', wire.clientNic, '-r', String(perSecond), '-R', '4000', '-p', String(seconds)];
    // With 3 it says that some had no answer.
    const tolerant = ['sh', '-c', '"$@" || test $? -eq 3', 'sh'];
    const asking = run([...tolerant, ...wire.client.command('perfdhcp', ...words)]);
    const took: number[] = [];
    const began = performance.now();
    for (let change = 0; change < changes; change++) {
      await pause(Math.max(0, began + firstAt + change * every - performance.now()));
      const start = performance.now();
      await (change % 2 === 0 ? setting.release(...names) : setting.reserve(...names));
      took.push(performance.now() - start);
    }
    const printed = await asking;
    const [sent = 0, lost = 0] = ['sent packets', 'drops'].map((what) =>
      Number(new RegExp(`^${what}: (\\d+)$`, 'm').exec(printed)![1]),
    );
    return {
      what: `${count} reservations changed ${changes} times, ${where}: lost DISCOVERs`,
      muster: `${lost} of ${sent.toLocaleString('en-US')}`,
      floor: `a change ${Math.round(median(took))} ms`,
      ratio: undefined,
      bar: undefined,
    };
  } finally {
    await setting.close();
    wire.remove();
  }
}
