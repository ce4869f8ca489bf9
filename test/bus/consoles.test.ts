import { afterAll, beforeAll, expect, test } from 'vitest';
import { atConsole, type ConsoleClient, until } from '../consoles/web-socket.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type SshConsoleLab, startSshConsoles } from '../lab/ssh-consoles.ts';
import { type BusCluster, startBusCluster } from './cluster.ts';

let cluster: BusCluster;
let bmcs: BmcLab;
let sshBmcs: SshConsoleLab;

beforeAll(async () => {
  [cluster, bmcs, sshBmcs] = await Promise.all([
    startBusCluster(['sn1', 'sn2']),
    startBmcs({ count: 3, prefix: '127.210', serial: (typed) => typed }),
    startSshConsoles(['openbmc'], '127.211', 2200),
  ]);
  const { username, password } = labAccounts.administrator;
  const node = (names: string, attributes: object) => ({
    type: 'node',
    names,
    attributes: { groups: 'all', bmcusername: username, bmcpassword: password, ...attributes },
  });
  await cluster.server.ok('POST', '/definitions', {
    definitions: [
      ...bmcs.addresses.map((bmc, index) =>
        node(`n${index + 1}`, { mgt: 'ipmi', bmc, servicenode: index === 2 ? 'sn2' : 'sn1,sn2' }),
      ),
      node('b1', { mgt: 'openbmc', bmc: sshBmcs.addresses[0], servicenode: 'sn1' }),
    ],
  });
}, 300_000);
afterAll(async () => {
  await cluster?.remove();
  await Promise.all([bmcs?.stop(), sshBmcs?.stop()]);
});

const connectedBy = (client: ConsoleClient, worker: string): Promise<void> =>
  until(() => client.state?.state === 'connected' && new RegExp(`${worker}$`).test(client.state.way ?? ''));

/** What is typed comes back from the machine. */
async function echoes(client: ConsoleClient, text: string): Promise<void> {
  client.type(text);
  await until(() => client.output.includes(text));
}

const notesOf = async (node: string): Promise<string[]> =>
  (await cluster.server.ok('GET', `/nodes/${node}/consolelog`))[node]
    .map((line: string) => line.slice(25))
    .filter((line: string) => line.startsWith('--'));

test('a worker opens the console of its node, and if it dies the next way is taken while viewers stay', async () => {
  const { server } = cluster;
  const [first, second] = [await cluster.worker('sn1'), await cluster.worker('sn2')];
  const [client, looker] = [
    await atConsole(server, '/nodes/n1/console'),
    await atConsole(server, '/nodes/n1/console?view=1'),
  ];
  expect(client.state.way).toBe(`SOL ${bmcs.addresses[0]} from sn1`);
  await echoes(client, 'typed by sn1.');
  client.ask({ type: 'break' });
  await until(() => client.notices.includes('The break was sent.'));
  await first.kill();
  await connectedBy(client, 'from sn2');
  await echoes(client, 'typed by sn2.');
  await second.kill();
  await connectedBy(client, `SOL ${bmcs.addresses[0]}`);
  await echoes(client, 'typed by the server.');
  // The first in the list has it again when it is back, and gives it back when it is stopped.
  const back = await cluster.worker('sn1');
  await connectedBy(client, 'from sn1');
  await echoes(client, 'typed by sn1 again.');
  await back.stop();
  expect(back.child.exitCode).toBe(0);
  await connectedBy(client, `SOL ${bmcs.addresses[0]}`);
  await echoes(client, 'and by the server again.');
  expect([client.closed, looker.closed]).toEqual([undefined, undefined]);
  await until(() => looker.output.endsWith('and by the server again.'));
  // The session of a worker that was killed is taken over: nobody waits until the BMC has forgotten it.
  const notes = await notesOf('n1');
  expect(notes.filter((note) => note.includes('in use'))).toEqual([]);
  expect(notes).toContain('-- not connected: the worker sn1, which had the console, is gone.');
  expect(notes).toContain('-- not connected: The worker is stopping.');
  await Promise.all([client.leave(), looker.leave()]);
});

test('a console that somebody else has stays theirs until it is taken, also by way of a worker', async () => {
  const { server } = cluster;
  const worker = await cluster.worker('sn2');
  const other = await atConsole(server, '/nodes/n3/console');
  expect(other.state.way).toMatch(/from sn2$/);
  // The same BMC as another node of the server itself.
  const { username, password } = labAccounts.administrator;
  const bmc = bmcs.addresses[2];
  await server.ok('POST', '/definitions', {
    definitions: [
      {
        type: 'node',
        names: 'rival',
        attributes: { groups: 'all', mgt: 'ipmi', bmc, bmcusername: username, bmcpassword: password },
      },
    ],
  });
  await server.ok('PUT', '/nodes/n3', { servicenode: '' });
  // Whoever is no service node any more gives it up at once.
  await connectedBy(other, `SOL ${bmc}`);
  await server.ok('PUT', '/nodes/rival', { servicenode: 'sn2' });
  const rival = await atConsole(server, '/nodes/rival/console?takeover=1');
  expect(rival.state.way).toMatch(/from sn2$/);
  await until(() => other.state.state === 'waiting');
  await echoes(rival, 'mine now');
  other.ask({ type: 'reconnect' });
  await until(() => other.state.message?.includes('in use'));
  await Promise.all([rival.leave(), other.leave()]);
  await worker.stop();
});

test('what a BMC shows first is kept by the server, whichever worker sees it', async () => {
  const { server } = cluster;
  let worker = await cluster.worker('sn1');
  const client = await atConsole(server, '/nodes/b1/console');
  expect(client.state.way).toBe(`SSH ${sshBmcs.addresses[0]}:2200 from sn1`);
  await until(() => client.output.includes('machine login:'));
  const trusted = (): Promise<{ spcert: { hostkey?: string }[] }> => server.ok('GET', '/tables/spcert/rows');
  await until(async () => (await trusted()).spcert[0]?.hostkey?.startsWith('ssh-ed25519 '));
  await client.leave();
  await worker.stop();
  await sshBmcs.changeHostKey(0);
  // Another process, which has seen nothing.
  worker = await cluster.worker('sn1');
  const again = await entered('/nodes/b1/console');
  await until(() => again.state?.message?.includes('the host key of its sshd'));
  await again.leave();
  await worker.stop();
});

async function entered(path: string): Promise<ConsoleClient> {
  const { openConsole, ConsoleClient: Client } = await import('../consoles/web-socket.ts');
  const client = await openConsole(cluster.server, path);
  if (!(client instanceof Client)) throw new Error(JSON.stringify(client));
  return client;
}
