import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pduKinds } from '../../../src/drivers/pdu/kinds.ts';
import { pduDriver } from '../../../src/drivers/pdu/index.ts';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { SnmpAccess } from '../../../src/protocols/snmp/session.ts';
import { type PduLab, startPdus } from '../../lab/pdus.ts';
import { type MakeName, makes } from '../../lab/pdus/makes.ts';

const port = 16_166;
const names = Object.keys(makes) as MakeName[];
const pduOf = (make: MakeName): string => `pdu-${make}`;
const addressOf = (make: MakeName): string => `127.0.1.${names.indexOf(make) + 1}`;
const { signal } = new AbortController();

let lab: PduLab;
beforeAll(async () => {
  lab = await startPdus(
    names.map((make) => ({ name: pduOf(make), address: addressOf(make), make, outlets: 30 })),
    port,
  );
});
afterAll(() => lab.stop());

const trust = { known: () => undefined, learn: async () => undefined } as never;
const driver = pduDriver({ trust, powerTimeout: 3_000, snmpTimeout: 1_000, resetPause: 10, kinds: pduKinds });

function connect(
  make: MakeName,
  more: { type?: string; access?: SnmpAccess } = {},
): Required<Pick<Capabilities, 'outlets' | 'vitals' | 'inventory'>> {
  const { type, access = { version: '2c', community: pduOf(make) } } = more;
  return driver.connect({
    node: pduOf(make),
    address: addressOf(make),
    port,
    type,
    way: { by: 'snmp', access },
  }) as never;
}

describe.each(names)('a PDU of make %s', (make) => {
  it('is recognized, and shows each outlet with what is measured', async () => {
    const outlets = await connect(make).outlets.list(true, signal);
    expect(outlets.map(({ id }) => id)).toEqual(Array.from({ length: 30 }, (_, at) => String(at + 1)));
    const [, second] = outlets;
    expect(second).toMatchObject({ state: 'on', amps: 1 });
    if (second!.watts !== undefined) expect(second!.watts).toBe(200);
    if (second!.wattHours !== undefined) expect(second!.wattHours).toBe(2_000);
  });

  it('switches an outlet off and on, each by one order', async () => {
    const { outlets } = connect(make);
    expect(await outlets.set(['7'], 'off', signal)).toMatchObject([{ id: '7', state: 'off' }]);
    expect(lab.state(pduOf(make), 7)).toBe('off');
    expect((await outlets.list(false, signal)).filter(({ state }) => state === 'off').map(({ id }) => id)).toEqual([
      '7',
    ]);
    await outlets.set(['7'], 'on', signal);
    await outlets.set(['7'], 'on', signal);
    expect(lab.state(pduOf(make), 7)).toBe('on');
    expect(lab.orders(pduOf(make))).toEqual(['7 off', '7 on']);
  });

  it('does the same by version 1, with the kind given', async () => {
    const given = connect(make, { type: make, access: { version: '1', community: pduOf(make) } });
    await given.outlets.set(['9', '10'], 'off', signal);
    expect([lab.state(pduOf(make), 9), lab.state(pduOf(make), 10)]).toEqual(['off', 'off']);
  });
});

describe('what a PDU says of itself', () => {
  it('is its inventory', async () => {
    expect(await connect('apc-rpdu2').inventory.read([], signal)).toEqual({
      'PDU Software Version': ['v6.5.6'],
      'PDU Model Number': ['AP8941'],
      'PDU Name': ['pdu-apc-rpdu2'],
      'PDU Serial Number': ['ZA1234567890'],
    });
    expect(await connect('ibm', { type: 'irpdu' }).inventory.read(['firm'], signal)).toEqual({
      'PDU Software Version': ['OPDP_sIBM_v01.3_2'],
    });
  });

  it('is what it measures, by kind', async () => {
    const { vitals } = connect('apc-rpdu2');
    expect(await vitals.read([], signal)).toMatchObject({
      'PDU Power': '1230 Watts',
      'PDU Energy': '4567.8 kWh',
      'Outlet 3 State': 'on',
      'Outlet 3 Power': '300 Watts',
      'Outlet 3 Current': '1.5 Amps',
      'Outlet 3 Energy': '3 kWh',
    });
    const energy = await connect('raritan-px2').vitals.read(['energy'], signal);
    expect(energy).toMatchObject({ 'Outlet 30 Energy': '30 kWh' });
    expect(Object.keys(energy)).toHaveLength(30);
  });
});

describe('an outlet', () => {
  it('that the PDU does not have is refused before anything is sent', async () => {
    const set = connect('apc-rpdu').outlets.set(['1', '31'], 'off', signal);
    await expect(set).rejects.toThrow('it has no outlet 31; it has 1 to 30.');
    expect(lab.orders('pdu-apc-rpdu')).not.toContain('1 off');
  });

  it('that does not switch is named, and its order is not repeated', async () => {
    const pdu = pduOf('vertiv-geist');
    await lab.stick(pdu, 20);
    const set = connect('vertiv-geist').outlets.set(['20', '21'], 'off', signal);
    await expect(set).rejects.toThrow('outlet 20 did not go off within 3 s of the order.');
    expect(lab.orders(pdu).slice(-2)).toEqual(['20 off', '21 off']);
    expect(lab.state(pdu, 21)).toBe('off');
  });

  it('that takes its time is waited for', async () => {
    const pdu = pduOf('servertech-sentry3');
    await lab.wait(pdu, 1);
    await connect('servertech-sentry3').outlets.set(['12'], 'off', signal);
    expect(lab.state(pdu, 12)).toBe('off');
    await lab.wait(pdu, 0.05);
  });
});

describe('a PDU that', () => {
  it('does not know the community says nothing', async () => {
    const { outlets } = connect('eaton-epdu', { access: { version: '2c', community: 'nobody' } });
    await expect(outlets.list(false, signal)).rejects.toThrow(
      'does not answer; check its address, SNMP version and community',
    );
  });

  it('is of another kind than given is refused', async () => {
    await expect(connect('eaton-epdu', { type: 'apc' }).outlets.list(false, signal)).rejects.toThrow(
      'it has no table of outlets as a PDU of kind apc-rpdu2 or apc-rpdu has',
    );
  });

  it('is not there is unreachable at once', async () => {
    const away = driver.connect({
      node: 'away',
      address: '127.0.1.200',
      port,
      way: { by: 'snmp', access: { version: '2c', community: 'x' } },
    });
    await expect(away.outlets!.list(false, signal)).rejects.toThrow('nothing listens at UDP port');
  });
});
