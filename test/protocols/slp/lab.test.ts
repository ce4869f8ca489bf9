import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { labAddress, type LabDevice, type SlpLab, startSlpLab } from '../../lab/slp.ts';

let lab: SlpLab;
beforeAll(async () => {
  lab = await startSlpLab();
});
afterAll(() => lab?.stop());

// Machines that run tests may be slow.
const patient = {
  milliseconds: 30_000,
  timing: { firstGap: 500, laterGap: 1_000, timeouts: [500, 1_000, 2_000, 4_000, 8_000], tcpTimeout: 10_000 },
};

const type = 'service:management-hardware.IBM:integrated-management-module2';

const device = (i: number, more: Partial<LabDevice> = {}): LabDevice => ({
  address: labAddress(i),
  services: [{ type, attributes: `(type=integrated-management-module2),(serial-number=S${i})` }],
  ...more,
});
const devices = (count: number, more: Partial<LabDevice> = {}): LabDevice[] =>
  Array.from({ length: count }, (_, i) => device(i, more));

const found = (i: number) => ({
  type,
  url: `${type}://${labAddress(i)}`,
  address: labAddress(i),
  fromDirectory: false,
  attributes: { type: ['integrated-management-module2'], 'serial-number': [`S${i}`] },
});
const all = (count: number) => Array.from({ length: count }, (_, i) => found(i));

async function search(played: readonly LabDevice[], question: object = {}) {
  await lab.play(played);
  const services = await lab.ask({ interfaces: [lab.interface], types: [type], ...patient, ...question });
  const number = (url: string): number => played.findIndex(({ address }) => url.endsWith(address));
  return services.sort((a, b) => number(a.url) - number(b.url));
}

describe('a search on a network', { timeout: 60_000 }, () => {
  it('finds 300 devices that all answer at once', async () => {
    expect(await search(devices(300))).toEqual(all(300));
    const { mostPrevious, longest, multicasts, broadcasts } = await lab.seen();
    // Those who have answered are named, as many as fit.
    expect(mostPrevious).toBeGreaterThan(80);
    expect(longest).toBeLessThanOrEqual(1_400);
    expect(Math.min(multicasts, broadcasts)).toBeGreaterThanOrEqual(3);
  });

  it('finds those that hear only multicasts, and those that hear only broadcasts', async () => {
    const played = [...devices(3, { hears: 'multicast' }), device(3, { hears: 'broadcast' })];
    expect(await search(played)).toEqual(all(4));
  });

  it('finds those that the first requests do not reach', async () => {
    const played = [device(0), device(1, { deaf: 2 }), device(2, { deaf: 4 }), device(3, { deaf: 3 })];
    expect(await search(played)).toEqual(all(4));
  });

  it('folds what devices repeat that do not care for who has answered', async () => {
    expect(await search(devices(40, { floods: 60 }))).toEqual(all(40));
  });

  it('finds all services of 120 devices whose replies do not fit a datagram, by TCP', async () => {
    const services = Array.from({ length: 4 }, (_, i) => ({ type: `${type}:p${i}`, attributes: `(n=${i})` }));
    const played = devices(120, { services, fits: 1 });
    const services4 = await search(played);
    expect(services4).toHaveLength(480);
    expect(services4.every(({ attributes }) => attributes['n']?.length === 1)).toBe(true);
    expect((await lab.seen()).connections).toBe(120);
  });

  it('asks a directory agent for the devices it knows', async () => {
    const services = ['10.99.0.1', '10.99.0.2'].map((host) => ({ type, host, attributes: `(ip-address=${host})` }));
    const told = await search([device(0), device(1, { directory: true, services })]);
    expect(told.map(({ url, address, fromDirectory }) => [url, address, fromDirectory])).toEqual(
      expect.arrayContaining([
        [`${type}://${labAddress(0)}`, labAddress(0), false],
        [`${type}://10.99.0.1`, labAddress(1), true],
        [`${type}://10.99.0.2`, labAddress(1), true],
      ]),
    );
    expect(told).toHaveLength(3);
  });

  it('finds devices by IPv6, without an IPv4 address of theirs', async () => {
    const services = [{ type, host: '[fe80::1]', attributes: '(serial-number=six)' }];
    const told = await search([device(0), { address: lab.linkLocal, services }]);
    expect(told).toHaveLength(2);
    expect(told).toContainEqual({
      type,
      url: `${type}://[fe80::1]`,
      address: lab.linkLocal.replace(/%.*/, `%${lab.interface}`),
      fromDirectory: false,
      attributes: { 'serial-number': ['six'] },
    });
  });

  it('asks for abstract types, and tells the concrete ones', async () => {
    expect(await search(devices(2), { types: ['service:management-hardware.IBM'] })).toEqual(all(2));
  });

  it('finds nothing of other types, and asks nothing then but who is there', async () => {
    expect(await search(devices(5), { types: ['service:printer'] })).toEqual([]);
    expect((await lab.seen()).unicasts).toBe(0);
  });

  it('goes out on the chosen interfaces only', async () => {
    expect(await search(devices(2), { interfaces: ['lo'] })).toEqual([]);
    expect(await lab.seen()).toMatchObject({ multicasts: 0, broadcasts: 0 });
    expect(await search(devices(2), { interfaces: ['10.77.0.1'] })).toEqual(all(2));
  });

  it('goes out on all interfaces but loopback if none is chosen', async () => {
    expect(await search(devices(2), { interfaces: undefined })).toEqual(all(2));
  });

  it('asks single addresses without asking all', async () => {
    const agents = [labAddress(0), labAddress(2), '10.77.9.9'];
    expect(await search(devices(3), { interfaces: ['lo'], agents })).toEqual([found(0), found(2)]);
  });
});
