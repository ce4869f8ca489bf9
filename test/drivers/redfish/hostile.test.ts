import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { Governor } from '../../../src/drivers/governor.ts';
import { redfishDriver } from '../../../src/drivers/redfish/index.ts';
import { jsonAnswer, type RawTls, rawTls } from '../../lab/raw-tls.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

const address = '127.113.9.1';
const signal = new AbortController().signal;
const link = (path: string) => ({ '@odata.id': path });

type Answers = Readonly<Record<string, object | (() => object)>>;

let server: RawTls;
let driver: Driver | undefined;
let answers: Answers = {};
/** Milliseconds before each answer. */
let delay = 0;

beforeEach(async () => {
  server = await rawTls(address, (socket, { path }) => {
    const answer = answers[path.replace(/\?.*/, '')];
    const body = typeof answer === 'function' ? (answer as () => object)() : answer;
    const text = body === undefined ? jsonAnswer({}, '404 Not Found') : jsonAnswer(body);
    setTimeout(() => socket.write(text), delay);
  });
  drive({});
});
afterEach(async () => {
  await driver?.close();
  await server.stop();
});

const drive = (limits: { commandTime?: number; commandSize?: number }) => {
  void driver?.close();
  driver = redfishDriver({
    trust: memoryTrust(),
    powerTimeout: 0,
    addressTimeout: 0,
    certificateTimeout: 0,
    ...limits,
  });
};
const connected = (): Required<Capabilities> =>
  driver!.connect({ node: 'n1', address, port: server.port, username: 'u', password: 'p' }) as Required<Capabilities>;

const root = { Links: {}, Systems: link('/s'), Chassis: link('/c'), Managers: link('/m') };
const system = { ...link('/s/1'), Id: '1', PowerState: 'On', LogServices: link('/l') };
const good: Answers = { '/redfish/v1/': root, '/s': { Members: [link('/s/1')] }, '/s/1': system };

it('pages without an end cost one command its time, and not the one behind it', async () => {
  drive({ commandTime: 1_500 });
  delay = 20;
  let page = 0;
  const endless = () => ({ Members: [], 'Members@odata.nextLink': `/s?${++page}` });
  const governor = new Governor();
  const state = () => governor.run('bmc', 'user', signal, () => connected().power.state(signal));
  answers = { ...good, '/s': endless };
  await expect(state()).rejects.toMatchObject({
    kind: 'deadline',
    message: /not answered all questions after 1.5 s/,
  });
  answers = good;
  delay = 0;
  expect(await state()).toBe('on');
});

it('each command has its own bound on what it reads', async () => {
  drive({ commandSize: 20 * 1024 * 1024 });
  const large = { ...system, Oem: { padding: 'x'.repeat(900_000) } };
  const members = Array.from({ length: 30 }, (_, i) => link(`/c/${i}`));
  answers = { ...good, '/s/1': large, '/c': { Members: members } };
  for (let i = 0; i < 30; i++) answers = { ...answers, [`/c/${i}`]: { ...large, ...link(`/c/${i}`), Links: {} } };
  const refusal = { kind: 'garbled', message: /sent more than 20971520 bytes for one command/ };
  for (let i = 0; i < 2; i++) {
    await expect(connected().subnodes.list(signal)).rejects.toMatchObject(refusal);
    expect(await connected().power.state(signal)).toBe('on');
  }
});

it('thousands of systems of one name in one chassis are told apart', async () => {
  const systems = Array.from({ length: 2_500 }, (_, i) => ({ ...link(`/s/${i}`), Id: String(i), HostName: 'same' }));
  const inside = { ContainedBy: link('/c/0'), ComputerSystems: systems.map((one) => link(one['@odata.id'])) };
  answers = {
    ...good,
    '/redfish/v1/': { ...root, ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true } } },
    '/s': { Members: systems },
    '/c': { Members: Array.from({ length: 20 }, (_, i) => ({ ...link(`/c/${i}`), Id: `c${i}`, Links: inside })) },
  };
  const names = Object.keys(await connected().subnodes.list(signal));
  expect(names).toHaveLength(2_500);
  expect(names).toContain('same-2500');
});

it('a log of thousands of entries comes in order, whatever its order was', async () => {
  const entries = Array.from({ length: 12_000 }, (_, i) => ({
    ...link(`/l/1/e/${i}`),
    Id: String(12_000 - i),
    Created: `2024-01-01T00:00:${String(i % 2).padStart(2, '0')}Z`,
    Message: `event ${12_000 - i} ${'x'.repeat(300)}`,
  }));
  answers = {
    ...good,
    '/l': { Members: [link('/l/1')] },
    '/l/1': { ...link('/l/1'), Id: 'SEL', Entries: link('/l/1/e') },
    '/l/1/e': { Members: entries },
  };
  const lines = await connected().eventLog.read(signal);
  expect(lines).toHaveLength(12_000);
  expect(lines[0]).toMatch(/^01\/01\/2024 00:00:00 event 2 /);
  expect(lines[6_000]).toMatch(/^01\/01\/2024 00:00:01 event 1 /);
  expect(lines.at(-1)).toMatch(/event 11999 /);
});

it('an action that is not among thousands is refused in one short sentence', async () => {
  const allowed = Array.from({ length: 10_000 }, (_, i) => `Word${i}`);
  const reset = { target: '/s/1/reset', 'ResetType@Redfish.AllowableValues': allowed };
  answers = { ...good, '/s/1': { ...system, Actions: { '#ComputerSystem.Reset': reset } } };
  const outcome = connected().power.set('nmi', signal);
  await expect(outcome).rejects.toMatchObject({ message: /Word19 and others/ });
});
