import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Fault, Unreachable } from '../../../src/core/errors.ts';
import { IpmiClient, type IpmiEndpoint } from '../../../src/protocols/ipmi/client.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { controllerAddresses } from '../../lab/bmc/configuration.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';
import { chassisStatus, powerOn } from './world.ts';

const prefix = '127.20';
const { signal } = new AbortController();
const account = labAccounts.administrator;

let client: IpmiClient;

beforeEach(() => {
  client = new IpmiClient();
});

afterEach(async () => {
  await client.close();
});

const ask = (endpoint: Partial<IpmiEndpoint> & { address: string }, request = chassisStatus) =>
  client.link({ ...account, ...endpoint }).request(request, signal);

describe('ipmi_sim with suite 17', () => {
  let lab: BmcLab;
  const at = (index: number): string => lab.addresses[index]!;

  beforeAll(async () => {
    lab = await startBmcs({ count: 11, prefix });
  });

  afterAll(async () => {
    await lab.stop();
  });

  test.each([[[17]], [[3]], [[17, 3]]] as [(17 | 3)[]][])('suites %s', async (suites) => {
    expect(await ask({ address: at(0), suites })).toMatchObject({ code: 0 });
  });

  test('a presence ping', async () => {
    expect(await client.ping(at(0), undefined, signal)).toBe(true);
    expect(await client.ping('127.20.250.1', undefined, signal)).toBe(false);
  });

  test('power on as operator; the session is closed with the client', async () => {
    const { code } = await ask({ address: at(1), ...labAccounts.operator }, powerOn);
    expect(code).toBe(0);
    expect((await ask({ address: at(1), ...labAccounts.operator })).data[0]! & 1).toBe(1);
    expect(await lab.sessions(1)).toBe(1);
    await client.close();
    expect(await lab.sessions(1)).toBe(0);
  });

  test('an account of the level user may look and not touch', async () => {
    const endpoint = { address: at(2), ...labAccounts.user };
    expect(await ask(endpoint)).toMatchObject({ code: 0 });
    await expect(ask(endpoint, powerOn)).rejects.toThrow('refuses the user "viewer" the privilege level operator');
  });

  test.each([
    ['password', { password: 'wrong' }],
    ['user', { username: 'nobody' }],
  ])('a wrong %s is told at once and leaves no session', async (_name, change) => {
    for (const suites of [[17], [3]] as const) {
      await expect(ask({ address: at(3), suites, ...change })).rejects.toThrow('or the password is wrong');
    }
    expect(await lab.sessions(3)).toBe(0);
  });

  test('a key K_g that the BMC does not have is no obstacle', async () => {
    expect(await ask({ address: at(3), kg: Buffer.from('key') })).toMatchObject({ code: 0 });
  });

  describe('another controller on the bus of a BMC', () => {
    const reading = (address: number, number = 1) => ({
      netfn: 0x04,
      command: 0x2d,
      data: Buffer.of(number),
      bridge: { channel: 0, address },
    });

    test('answers through it', async () => {
      const own = await ask({ address: at(7) }, { netfn: 0x04, command: 0x2d, data: Buffer.of(1) });
      const bridged = await ask({ address: at(6) }, reading(controllerAddresses[7]!));
      expect(bridged).toEqual(own);
    });

    test('refuses what it does not have', async () => {
      expect(await ask({ address: at(6) }, reading(controllerAddresses[7]!, 200))).toMatchObject({ code: 0xcc });
    });

    test('that is not there is told from a BMC that is silent', async () => {
      const { code } = await ask({ address: at(6) }, reading(0x1e));
      expect(code).not.toBe(0);
      expect(await ask({ address: at(6) })).toMatchObject({ code: 0 });
      expect(await lab.sessions(6)).toBe(1);
    });
  });

  test('a dead address costs one timeout, with which all fail who wait', async () => {
    const dead = await Promise.allSettled([1, 2, 3].map(() => ask({ address: '127.20.250.1' })));
    const reasons = new Set(dead.map((one) => one.status === 'rejected' && (one.reason as unknown)));
    expect([...reasons]).toEqual([expect.any(Unreachable)]);
  });

  test('with a loss of 5 % everything is answered', async () => {
    await lab.fault(4, { loss: 5 });
    for (let count = 0; count < 100; count++) expect(await ask({ address: at(4) })).toMatchObject({ code: 0 });
  });

  test('a BMC that answers after 3 s', async () => {
    await lab.fault(5, { delay: 3_000 });
    await client.close();
    client = new IpmiClient({ timeout: 20_000 });
    expect(await ask({ address: at(5) })).toMatchObject({ code: 0 });
    await lab.fault(5, { delay: 0 });
  });

  test('a BMC that forgot the session', async () => {
    expect(await ask({ address: at(6) }, powerOn)).toMatchObject({ code: 0 });
    await lab.fault(6, { forget: true });
    const { code, data } = await ask({ address: at(6) });
    expect(code).toBe(0);
    expect(data[0]! & 1).toBe(1);
  });

  test('a BMC that answers garbage', async () => {
    await lab.fault(7, { garbage: true });
    await expect(ask({ address: at(7) })).rejects.toMatchObject({ kind: 'garbled' });
  });

  test.each([
    ['is not offered it while that is fresh', 3_600_000, 0],
    ['is offered it again when that is no longer fresh', 0, 1],
  ])('a BMC that once refused suite 17 %s', async (_, suiteMemory, offered) => {
    await client.close();
    client = new IpmiClient({ suiteMemory });
    const address = at(8);
    await lab.fault(8, { refuse17: true });
    expect(await ask({ address })).toMatchObject({ code: 0 });
    expect([await lab.sessions(8), await lab.suite17Sessions(8)]).toEqual([1, 0]);
    await lab.fault(8, { refuse17: false });
    // Another key needs another session with the same account.
    expect(await ask({ address, kg: Buffer.from('key') })).toMatchObject({ code: 0 });
    expect([await lab.sessions(8), await lab.suite17Sessions(8)]).toEqual([2, offered]);
  });

  test.each([50, 250, 450, 650])('a request that is ended %i ms into a login leaves no session', async (when) => {
    await client.close();
    client = new IpmiClient({ idle: 50 });
    await lab.fault(9, { delay: 200 });
    const link = client.link({ ...account, address: at(9) });
    await expect(link.request(chassisStatus, AbortSignal.timeout(when))).rejects.toThrow(Fault);
    await expect.poll(() => lab.sessions(9)).toBe(1);
    await expect.poll(() => lab.sessions(9)).toBe(0);
  });

  test.each([250, 450])('a client that closes %i ms into a login leaves no session', async (when) => {
    await lab.fault(10, { delay: 200 });
    const asked = expect(ask({ address: at(10) })).rejects.toThrow('muster is shutting down');
    await pause(when);
    expect(await lab.sessions(10)).toBe(1);
    await client.close();
    await asked;
    await expect.poll(() => lab.sessions(10)).toBe(0);
  });

  test('many at once over one socket', async () => {
    const working = [0, 1, 2, 3, 4, 5, 6].map((index) => at(index));
    const many = Array.from({ length: 20 }, () => working.map((address) => ask({ address })));
    const codes = (await Promise.all(many.flat())).map(({ code }) => code);
    expect(codes).toEqual(Array.from({ length: 140 }, () => 0));
  });
});

describe('ipmi_sim as Debian ships it', () => {
  let lab: BmcLab;

  beforeAll(async () => {
    lab = await startBmcs({ count: 1, prefix, stock: true });
  });

  afterAll(async () => {
    await lab.stop();
  });

  test('suite 3 is used when 17 is unknown', async () => {
    expect(await ask({ address: lab.addresses[0]! }, { netfn: 6, command: 1 })).toMatchObject({ code: 0 });
  });

  test('suite 17 alone is refused', async () => {
    const asked = ask({ address: lab.addresses[0]!, suites: [17] });
    await expect(asked).rejects.toThrow('does not accept IPMI cipher suite 17');
  });

  test('suite 0, which it would let in without a password, is not spoken', async () => {
    await expect(ask({ address: lab.addresses[0]!, suites: [0 as 3] })).rejects.toThrow('cipher suite 0 is refused');
  });
});
