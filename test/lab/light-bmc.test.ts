import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerPacket, makeLightBmc } from './light-bmc/bmc.ts';
import { type LightLab, startLightBmcs } from './light-bmc.ts';
import { ipmipower, ipmitool } from './tools.ts';

let lab: LightLab;
beforeAll(async () => {
  lab = await startLightBmcs({ count: 5, prefix: '127.103', processes: 2 });
});
afterAll(() => lab?.stop());

const tool = (index: number, ...words: string[]) => ipmitool(lab.addresses[index]!, words);

describe('light BMCs', () => {
  it.each([3, 17])('are switched and read by ipmipower with suite %i', async (suite) => {
    const all = (state: string) => Object.fromEntries(lab.addresses.map((address) => [address, state]));
    expect(await ipmipower(lab.addresses, suite, '--on', '--wait-until-on')).toEqual(all('ok'));
    expect(await ipmipower(lab.addresses, suite, '--stat')).toEqual(all('on'));
    expect(await lab.poweredOn()).toBe(5);
    expect(await ipmipower(lab.addresses, suite, '--off', '--wait-until-off')).toEqual(all('ok'));
    expect(await lab.poweredOn()).toBe(0);
  });

  it.each([3, 17])('are switched and read by ipmitool with suite %i', async (suite) => {
    const address = lab.addresses[0]!;
    expect(await ipmitool(address, ['power', 'on'], { suite })).toContain('Up/On');
    expect(await ipmitool(address, ['power', 'status'], { suite })).toContain('is on');
    expect(await ipmitool(address, ['power', 'off'], { suite })).toContain('Down/Off');
  });

  it('keep a boot device for one start', async () => {
    await tool(1, 'chassis', 'bootdev', 'pxe');
    expect(await tool(1, 'chassis', 'bootparam', 'get', '5')).toContain('Force PXE');
    await tool(1, 'power', 'on');
    expect(await tool(1, 'chassis', 'bootparam', 'get', '5')).toContain('No override');
    expect(await lab.state(1)).toMatchObject({ power: 'on', bootFlags: null, openSessions: 0 });
  });

  it('show sensors, FRU data and who they are', async () => {
    expect(await tool(2, 'sdr')).toMatch(/Inlet Temp +\| 22 degrees C +\| ok/);
    expect(await tool(2, 'fru', 'print', '0')).toContain('Product Serial        : SN000002');
    expect(await tool(2, 'mc', 'info')).toMatch(/IPMI Version +: 2\.0/);
  });

  it('refuse suite 0, wrong passwords and levels above those of the user', async () => {
    const address = lab.addresses[3]!;
    await expect(ipmitool(address, ['power', 'status'], { suite: 0 })).rejects.toThrow('no matching cipher suite');
    await expect(ipmitool(address, ['power', 'status'], { password: 'wrong' })).rejects.toThrow();
    const viewer = { username: 'viewer', password: 'viewpw', level: 'USER' };
    const before = (await lab.state(3)).controls;
    await expect(ipmitool(address, ['power', 'on'], viewer)).rejects.toThrow('Insufficient privilege level');
    expect((await lab.state(3)).controls).toEqual(before);
  });

  it('work on IPv6', async () => {
    const six = await startLightBmcs({ count: 1, prefix: '', addresses: ['::1'], port: 6230 });
    try {
      expect(await ipmitool('::1', ['power', 'status'], { port: 6230 })).toContain('is off');
    } finally {
      await six.stop();
    }
  });

  it('survive every packet', () => {
    const bmc = makeLightBmc(0, '127.0.0.1');
    const start = fc.constantFrom([], [6, 0, 255, 7, 6], [6, 0, 255, 7, 0], [6, 0, 255, 6]);
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 120 }), (head, rest) => {
        const reply = answerPacket(bmc, Buffer.from([...head, ...rest]));
        return reply === undefined || reply.length > 0;
      }),
      { numRuns: 2000 },
    );
  });
});
