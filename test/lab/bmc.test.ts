import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BmcLab, startBmcs } from './bmc.ts';
import { ipmipower, ipmitool } from './tools.ts';

let lab: BmcLab;
beforeAll(async () => {
  lab = await startBmcs({ count: 4, prefix: '127.100', perProcess: 2, no0: true });
});
afterAll(() => lab?.stop());

const tool = (index: number, ...words: string[]) => ipmitool(lab.addresses[index]!, words);

describe('simulated BMCs', () => {
  it('are seen by ipmipower with suites 3 and 17', async () => {
    for (const suite of [3, 17]) {
      expect(await ipmipower(lab.addresses, suite, '--stat')).toEqual(
        Object.fromEntries(lab.addresses.map((address) => [address, 'off'])),
      );
    }
  });

  it('differ from each other', async () => {
    const serials = await Promise.all(lab.addresses.map((_, index) => tool(index, 'fru', 'print', '0')));
    serials.forEach((text, index) => expect(text).toContain(`Product Serial        : SN00000${index}`));
    const guids = await Promise.all(lab.addresses.map((_, index) => tool(index, 'mc', 'guid')));
    expect(new Set(guids).size).toBe(4);
  });

  it('tell what they believe', async () => {
    expect(lab.state(1)).toMatchObject({ power: 'off', bootFlags: undefined, identify: 'off' });
    await tool(1, 'chassis', 'bootdev', 'pxe', 'options=efiboot');
    expect(lab.state(1).bootFlags).toEqual({ persistent: false, efi: true, device: 1 });
    await tool(1, 'chassis', 'power', 'on');
    expect(lab.state(1)).toMatchObject({ power: 'on', bootFlags: undefined });
    expect(lab.state(0).power).toBe('off');
    await tool(1, 'chassis', 'power', 'soft');
    await tool(1, 'chassis', 'identify', 'force');
    expect(lab.state(1)).toMatchObject({ power: 'off', identify: 'on' });
    await tool(1, 'dcmi', 'power', 'set_limit', 'limit', '300');
    await tool(1, 'dcmi', 'power', 'activate');
    expect(lab.state(1).powerLimit).toEqual({ watts: 300, active: true });
  });

  it('log an event where a threshold is crossed, each in its own log', async () => {
    await lab.set(3, 2, 99, true);
    expect(await tool(3, 'sensor', 'reading', 'CPU1 Temp')).toContain('99');
    expect(await tool(3, 'sel', 'list')).toMatch(
      /Temperature #0x02 \| Upper Critical going high[^]*Upper Critical going high/,
    );
    expect((await tool(2, 'sel', 'list')).match(/Upper Critical going high/g)).toHaveLength(1);
  });

  it('refuse suite 0, wrong passwords and levels above those of the user', async () => {
    const address = lab.addresses[0]!;
    await expect(ipmitool(address, ['power', 'status'], { suite: 0 })).rejects.toThrow('no matching cipher suite');
    await expect(ipmitool(address, ['power', 'status'], { password: 'wrong' })).rejects.toThrow();
    const viewer = { username: 'viewer', password: 'viewpw', level: 'USER' };
    expect(await ipmitool(address, ['power', 'status'], viewer)).toContain('is off');
    await expect(ipmitool(address, ['power', 'on'], viewer)).rejects.toThrow('Insufficient privilege level');
  });

  it('lose and garble answers and forget sessions when told to', async () => {
    await lab.fault(0, { loss: 100 });
    await lab.fault(2, { garbage: true });
    const states = await ipmipower(
      lab.addresses,
      17,
      '--stat',
      '--session-timeout=1500',
      '--retransmission-timeout=400',
    );
    expect(states[lab.addresses[0]!]).toBe('connection timeout');
    expect(states[lab.addresses[2]!]).toBe('connection timeout');
    expect(states[lab.addresses[3]!]).toBe('off');
    await lab.fault(0, { loss: 0, forget: true });
    await lab.fault(2, { garbage: false });
    expect(await lab.sessions(0)).toBe(0);
    expect(await tool(0, 'power', 'status')).toContain('is off');
    expect(await tool(2, 'power', 'status')).toContain('is off');
    expect(await lab.sessions(2)).toBe(0);
  });

  it('refuse suite 17 and drop settings when told to', async () => {
    await lab.fault(1, { refuse17: true, dropSettings: true });
    const stat = () => ipmipower([lab.addresses[1]!], 17, '--stat');
    expect(await stat()).toMatchObject({ [lab.addresses[1]!]: 'cipher suite id unavailable' });
    const three = { suite: 3 };
    // Set LAN Configuration Parameters, channel 1, netmask.
    await ipmitool(lab.addresses[1]!, ['raw', '0x0c', '0x01', '1', '6', '255', '255', '0', '0'], three);
    const seen = () => ipmitool(lab.addresses[1]!, ['lan', 'print', '1'], three);
    expect(await seen()).toMatch(/Subnet Mask +: 255\.0\.0\.0/);
    await lab.fault(1, { refuse17: false, dropSettings: false });
    expect(await stat()).toMatchObject({ [lab.addresses[1]!]: 'off' });
    await tool(1, 'lan', 'set', '1', 'snmp', 'private');
    expect(await seen()).toMatch(/SNMP Community String +: private/);
  });

  it('will not answer for another lab', async () => {
    await expect(startBmcs({ count: 1, prefix: '127.100' })).rejects.toThrow('listens on 127.100.0.1 port 623 already');
  });
});

it('starts ipmi_sim as it is shipped, with suite 0 open', async () => {
  const stock = await startBmcs({ count: 1, prefix: '127.101', stock: true });
  try {
    const address = stock.addresses[0]!;
    expect(await ipmitool(address, ['power', 'on'], { suite: 3 })).toContain('Up/On');
    expect(await ipmitool(address, ['power', 'status'], { suite: 0, password: '' })).toContain('is on');
  } finally {
    await stock.stop();
  }
});
