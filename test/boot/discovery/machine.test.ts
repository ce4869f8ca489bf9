import { describe, expect, it } from 'vitest';
import { readMachine } from '../../../src/boot/discovery/machine.ts';
import { faultOf } from '../../harness/fault-of.ts';

const macs = [{ name: 'eth0', mac: '52:54:00:00:00:01' }];
const read = (more: object) => readMachine(JSON.stringify({ macs, ...more }));

describe('what a machine says of itself', () => {
  it('is read, and the interface it has booted from comes first', () => {
    const machine = read({
      macs: [...macs, { name: 'eth1', mac: '52-54-00-00-00-0A' }],
      boot: '5254000000 0a'.replace(' ', ''),
      uuid: '4C4C4544-0031-3510-8054-B3C04F564433',
      serial: ' SN1 ',
      manufacturer: 'Example',
      model: 'E-1',
      arch: 'x86_64',
      cpus: 8,
      memoryMiB: 4096,
      disks: [{ name: 'sda', bytes: 1000, model: 'Disk', serial: 'D1' }],
      bmc: { address: '10.3.0.1' },
      lldp: [
        { interface: 'eth0', chassis: 'sw1', port: 'Ethernet3' },
        { interface: 'eth1', chassis: '', port: '' },
      ],
      more: { of: ['anything'] },
    });
    expect(machine).toEqual({
      state: 'discover',
      mac: '52:54:00:00:00:0a',
      macs: ['52:54:00:00:00:0a', '52:54:00:00:00:01'],
      uuid: '4c4c4544-0031-3510-8054-b3c04f564433',
      serial: 'SN1',
      manufacturer: 'Example',
      model: 'E-1',
      arch: 'x86_64',
      cpus: 8,
      memoryMiB: 4096,
      disks: ['sda, 1000 bytes, Disk, D1'],
      bmc: '10.3.0.1',
      neighbours: [{ interface: 'eth0', chassis: 'sw1', port: 'Ethernet3' }],
    });
  });

  it.each([
    ['serial', 'To Be Filled By O.E.M.'],
    ['serial', 'Default string'],
    ['serial', '0000000'],
    ['serial', 'None'],
    ['serial', '...'],
    ['serial', null],
    ['uuid', '00000000-0000-0000-0000-000000000000'],
    ['uuid', 'ffffffffffffffffffffffffffffffff'],
    ['uuid', '03000200-0400-0500-0006-000700080009'],
    ['uuid', 'not a uuid'],
    ['bmc', { address: '0.0.0.0' }],
    ['bmc', { address: '255.255.255.255' }],
    ['bmc', { address: 'bmc1.example' }],
    ['bmc', null],
  ])('counts as nothing where many machines say the same: %s %j', (name, value) => {
    expect(read({ [name]: value })).toMatchObject({ [name]: undefined });
  });

  it('is made harmless: no control characters, no pattern of a table', () => {
    const { serial, model, manufacturer } = read({
      serial: '|S(\\d)|N($1)|',
      model: '/a/b/\n\u001b[1m',
      manufacturer: 'é+=NEXTRECORD',
    });
    expect([serial, model, manufacturer]).toEqual(['S(\\d)|N($1)|', 'a/b/ [1m', '']);
  });

  it('is kept within bounds: the length of texts, the neighbours of an interface and of a machine', () => {
    const long = 'x'.repeat(256);
    const heard = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({ interface: name, chassis: `sw${index}`, port: long }));
    const machine = read({
      serial: `${long.slice(1)}1`,
      disks: Array.from({ length: 20 }, () => ({ name: long, model: long, serial: long })),
      lldp: [...heard('eth0', 12), ...heard('eth1', 2)],
    });
    expect(machine.serial).toBeUndefined();
    expect(machine.disks).toEqual(Array.from({ length: 16 }, () => long.slice(128)));
    expect(machine.neighbours.map((one) => one.interface)).toEqual([...Array(8).fill('eth0'), 'eth1', 'eth1']);
    expect(machine.neighbours[0]!.port).toHaveLength(128);
    const many = Array.from({ length: 64 }, (_, index) => heard(`eth${index}`, 1)).flat();
    expect(read({ lldp: many }).neighbours).toHaveLength(32);
  });

  it.each([
    ['no JSON', '{"macs":', /not JSON/],
    ['no object', '[]', /not as it should be/],
    ['no MAC', '{"macs":[]}', /macs/],
    ['a MAC of a group', '{"macs":[{"mac":"01:00:5e:00:00:01"}]}', /names no MAC address that a machine can have/],
    ['text for a number', JSON.stringify({ macs, cpus: 'many' }), /cpus/],
    ['too long a text', JSON.stringify({ macs, serial: 'x'.repeat(257) }), /serial/],
    ['too many', JSON.stringify({ macs: Array.from({ length: 65 }, () => macs[0]) }), /macs/],
    ['nothing', 'null', /not as it should be/],
  ])('is refused: %s', (_name, text, message) => {
    const { kind, sentences } = faultOf(() => readMachine(text));
    expect([kind, sentences.join(' ')]).toEqual(['malformed', expect.stringMatching(message)]);
  });
});
