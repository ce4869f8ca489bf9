import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Snapshot } from '../../../src/database/snapshot.ts';
import { parseAttributes } from '../../../src/protocols/slp/service.ts';
import { advertisedDevice, announcedDevice, type Device, kindOfService } from '../../../src/nodes/discovery/device.ts';
import { foldDevices, neighbours } from '../../../src/nodes/discovery/discovery.ts';
import { definitionsOf, KnownNodes } from '../../../src/nodes/discovery/rows.ts';
import { snapshotOf } from '../../harness/snapshot.ts';

const hardware = 'service:management-hardware.IBM';
const software = 'service:management-software.IBM';

const announced = (type: string, address: string, attributes: string, fromDirectory = false): Device =>
  announcedDevice({
    type,
    url: `${type}://${address}`,
    address,
    fromDirectory,
    attributes: parseAttributes(attributes),
  })!;

const fsp = (address: string, more = '', addresses = address): Device =>
  announced(
    `${hardware}:cec-service-processor`,
    address,
    `(type=cec-service-processor),(machinetype-model=9117-570),(serial-number=10A3AEB),(ip-address=${addresses}),${more}`,
  );

const nobody = new KnownNodes(Snapshot.empty);
const shown = (devices: readonly Device[], known = nobody, macs = new Map<string, string>()) =>
  Object.fromEntries(definitionsOf(foldDevices(devices), { known, neighbours: macs }));

describe('a device becomes a definition', () => {
  it.each<[string, Device, Record<string, object>]>([
    [
      'HMC',
      announced(
        `${software}:hardware-management-console`,
        '10.0.0.5',
        '(machinetype-model=7315CR2),(serial-number=10407DA),(hostname=hmc02.cluster.example),(ip-address=192.168.7.7,10.0.0.5)',
      ),
      {
        hmc02: {
          objtype: 'node',
          hcp: 'hmc02',
          nodetype: 'ppc',
          mtm: '7315CR2',
          serial: '10407DA',
          groups: 'hmc,all',
          mgt: 'hmc',
          hidden: '0',
          ip: '10.0.0.5',
          hwtype: 'hmc',
        },
      },
    ],
    [
      'IVM',
      announced(
        `${software}:integrated-virtualization-manager`,
        '10.0.0.6',
        '(machinetype-model=8203),(serial-number=X1)',
      ),
      {
        'Server-8203-SNX1': {
          objtype: 'node',
          hcp: 'Server-8203-SNX1',
          nodetype: 'ppc',
          mtm: '8203',
          serial: 'X1',
          groups: 'ivm,all',
          mgt: 'ivm',
          hidden: '0',
          ip: '10.0.0.6',
          hwtype: 'ivm',
        },
      },
    ],
    [
      'CMM',
      announced(
        `${hardware}:chassis-management-module`,
        '10.0.0.30',
        '(enclosure-mtm=98939AX),(enclosure-serial-number=102537A),(serial-number=CARD),(slot=1),(hostname=cmm01),(mac-address=40:F2:E9:A0:00:01),(ipv4-address=10.0.0.30)',
      ),
      {
        cmm01: {
          objtype: 'node',
          mpa: 'cmm01',
          nodetype: 'mp',
          mtm: '98939AX',
          serial: '102537A',
          side: '1',
          groups: 'cmm,all',
          mgt: 'blade',
          mac: '40:f2:e9:a0:00:01',
          hidden: '0',
          otherinterfaces: '10.0.0.30',
          hwtype: 'cmm',
        },
      },
    ],
    [
      'MM',
      announced(
        `${hardware}:management-module`,
        '10.0.0.31',
        '(enclosure-machinetype-model=029310C),(enclosure-serial-number=100485A),(ip-address=10.0.0.31)',
      ),
      {
        'Server-029310C-SN100485A': {
          objtype: 'node',
          mpa: 'Server-029310C-SN100485A',
          nodetype: 'mp',
          mtm: '029310C',
          serial: '100485A',
          groups: 'mm,all',
          mgt: 'blade',
          hidden: '0',
          otherinterfaces: '10.0.0.31',
          hwtype: 'mm',
        },
      },
    ],
    [
      'RSA of the second kind, without model and serial number',
      announced(`${hardware}:remote-supervisor-adapter-2`, '10.0.0.32', '(hostname=)'),
      {
        '10.0.0.32': {
          objtype: 'node',
          mpa: '10.0.0.32',
          nodetype: 'mp',
          groups: 'rsa,all',
          mgt: 'blade',
          hidden: '0',
          otherinterfaces: '10.0.0.32',
          hwtype: 'rsa',
        },
      },
    ],
    [
      'IMM2',
      announced(
        `${hardware}:integrated-management-module2`,
        '10.0.0.33',
        '(enclosure-machinetype-model=7915AC1),(enclosure-serial-number=06ABC),(uuid=564d4f6ea405706e38ecda52ad81e97a)',
      ),
      {
        'Server-7915AC1-SN06ABC': {
          objtype: 'node',
          bmc: '10.0.0.33',
          nodetype: 'mp',
          mtm: '7915AC1',
          serial: '06ABC',
          groups: 'imm2,all',
          mgt: 'ipmi',
          hidden: '0',
          otherinterfaces: '10.0.0.33',
          hwtype: 'imm2',
          uuid: '564d4f6e-a405-706e-38ec-da52ad81e97a',
        },
      },
    ],
    [
      'Redfish service',
      advertisedDevice({
        address: '10.0.0.40',
        uuid: '564d4f6e-a405-706e-38ec-da52ad81e97a',
      }),
      {
        '10.0.0.40': {
          objtype: 'node',
          bmc: '10.0.0.40',
          nodetype: 'mp',
          groups: 'redfish,all',
          mgt: 'redfish',
          hidden: '0',
          otherinterfaces: '10.0.0.40',
          hwtype: 'redfish',
          uuid: '564d4f6e-a405-706e-38ec-da52ad81e97a',
        },
      },
    ],
    [
      'device of the family that nobody knows',
      announced(`${hardware}:new-Thing`, '10.0.0.50', '(machinetype-model=M),(serial-number=S)'),
      {
        'Server-M-SNS': {
          objtype: 'node',
          bmc: '10.0.0.50',
          nodetype: 'mp',
          mtm: 'M',
          serial: 'S',
          groups: 'new-thing,all',
          hidden: '0',
          otherinterfaces: '10.0.0.50',
          hwtype: 'new-thing',
        },
      },
    ],
    [
      'device that a directory told of, at its own address',
      announcedDevice({
        type: `${hardware}:management-module`,
        url: `${hardware}:management-module://10.0.0.9:427`,
        address: '10.0.0.1',
        fromDirectory: true,
        attributes: new Map(),
      })!,
      {
        '10.0.0.9': {
          objtype: 'node',
          mpa: '10.0.0.9',
          nodetype: 'mp',
          groups: 'mm,all',
          mgt: 'blade',
          hidden: '0',
          otherinterfaces: '10.0.0.9',
          hwtype: 'mm',
        },
      },
    ],
  ])('%s', (_name, device, definitions) => {
    expect(shown([device])).toEqual(definitions);
  });

  const moved = (url: string, address = '10.0.0.31'): Device =>
    announcedDevice({
      type: `${hardware}:management-module`,
      url,
      address,
      fromDirectory: false,
      attributes: new Map(),
    })!;
  const redfishAt = (url: string, address = '10.0.0.31'): Device => advertisedDevice({ address, uuid: '', url });
  const both = 'answered from 10.0.0.31, announces 10.9.9.9';

  it.each<[string, Device, string | undefined]>([
    ['by SLP', moved(`${hardware}:management-module://10.9.9.9:427`), both],
    ['by SSDP', redfishAt('https://10.9.9.9/redfish/v1/'), both],
    ['of IPv6', redfishAt('https://[fd00::9]/redfish/v1/'), 'answered from 10.0.0.31, announces fd00::9'],
    ['that is the sender by SLP', moved('service:x://10.0.0.31'), undefined],
    ['that is the sender by SSDP', redfishAt('https://10.0.0.31:8443/redfish/v1/'), undefined],
    ['that is the sender in another spelling', redfishAt('https://[FE80:0::1]/', 'fe80::1%eth0'), undefined],
    ['that is a name', redfishAt('https://bmc.example/redfish/v1/'), undefined],
    ['that is none', redfishAt('javascript:alert(1)'), undefined],
  ])('with an announced address %s', (_name, device, comment) => {
    expect(shown([device])[device.address]?.['usercomment']).toBe(comment);
    expect(shown([device])[device.address]).toMatchObject({ otherinterfaces: device.address });
  });

  it('with its port that answered from another address than it announces', () => {
    const url = `${hardware}:cec-service-processor://10.9.9.9`;
    const attributes = parseAttributes('(machinetype-model=M),(serial-number=S),(ip-address=10.0.0.94,10.1.0.94)');
    const type = `${hardware}:cec-service-processor`;
    const found = shown([announcedDevice({ type, url, address: '10.0.0.94', fromDirectory: false, attributes })!]);
    expect(Object.entries(found).map(([name, { usercomment }]) => [name, usercomment])).toEqual([
      ['10.0.0.94', 'answered from 10.0.0.94, announces 10.9.9.9'],
      ['10.1.0.94', undefined],
      ['Server-M-SNS', undefined],
    ]);
  });

  it('without a remark when what it announced by IPv6 is the address it answered from by IPv4', () => {
    const uuid = '6f1c7e1a-0000-4000-8000-0123456789ab';
    const url = 'https://10.0.0.1/redfish/v1/';
    const answers = ['fe80::1%eth0', '10.0.0.1'].map((address) => advertisedDevice({ address, uuid, url }));
    for (const devices of [answers, answers.toReversed()])
      expect(shown(devices)['10.0.0.1']).not.toHaveProperty('usercomment');
  });

  it('with the MAC address by which the kernel knows it, rather than the one it tells', () => {
    const device = announced(`${hardware}:management-module`, '10.0.0.31', '(mac-address=02-00-00-00-00-01)');
    expect(shown([device])['10.0.0.31']).toMatchObject({ mac: '02:00:00:00:00:01' });
    expect(shown([device], nobody, new Map([['10.0.0.31', '02:00:00:00:00:02']]))['10.0.0.31']).toMatchObject({
      mac: '02:00:00:00:00:02',
    });
  });
});

describe('BMCs and power controllers', () => {
  const frame = announced(
    `${hardware}:bulk-power-controller`,
    '10.0.1.1',
    '(machinetype-model=9458-100),(serial-number=99201WM),(ip-address=10.0.1.1),(slot=1),(frame-number=17),(cage-number=0)',
  );
  const inFrame =
    '(slot=1),(frame-number=17),(cage-number=4),(bpc-machinetype-model=9458-100),(bpc-serial-number=99201WM)';

  it('stand for each of their ports, and for the machine and the frame they belong to', () => {
    const devices = [
      fsp('10.0.0.94', inFrame, '10.0.0.94,10.1.0.94'),
      fsp('10.0.0.95', inFrame.replace('slot=1', 'slot=0'), '10.0.0.95,192.168.3.147'),
      frame,
    ];
    const found = shown(devices);
    expect(Object.keys(found)).toEqual([
      '10.0.0.94',
      '10.0.0.95',
      '10.0.1.1',
      '10.1.0.94',
      'Server-9117-570-SN10A3AEB',
      'Server-9458-100-SN99201WM',
    ]);
    expect(found['10.0.0.94']).toEqual({
      objtype: 'node',
      hcp: '10.0.0.94',
      nodetype: 'ppc',
      mtm: '9117-570',
      serial: '10A3AEB',
      side: 'A-0',
      groups: 'fsp,all',
      mgt: 'fsp',
      id: '4',
      parent: 'Server-9117-570-SN10A3AEB',
      hidden: '1',
      otherinterfaces: '10.0.0.94',
      hwtype: 'fsp',
    });
    expect(found['10.1.0.94']).toMatchObject({ side: 'A-1', otherinterfaces: '10.1.0.94', hidden: '1' });
    expect(found['10.0.0.95']).toMatchObject({ side: 'B-0' });
    expect(found['Server-9117-570-SN10A3AEB']).toEqual({
      objtype: 'node',
      hcp: 'Server-9117-570-SN10A3AEB',
      nodetype: 'ppc',
      mtm: '9117-570',
      serial: '10A3AEB',
      groups: 'cec,all',
      mgt: 'fsp',
      id: '4',
      parent: 'Server-9458-100-SN99201WM',
      hidden: '0',
      hwtype: 'cec',
    });
    expect(found['Server-9458-100-SN99201WM']).toMatchObject({
      groups: 'frame,all',
      mgt: 'bpa',
      id: '17',
      hidden: '0',
      hwtype: 'frame',
    });
    expect(found['10.0.1.1']).toMatchObject({
      side: 'A-0',
      id: '17',
      parent: 'Server-9458-100-SN99201WM',
      hidden: '1',
      mgt: 'bpa',
    });
  });

  it('without a frame that was found or is defined name no parent', () => {
    expect(shown([fsp('10.0.0.94', inFrame)])['Server-9117-570-SN10A3AEB']).not.toHaveProperty('parent');
    expect(
      shown([fsp('10.0.0.94', '(bpc-machinetype-model=0),(bpc-serial-number=0)')])['Server-9117-570-SN10A3AEB'],
    ).not.toHaveProperty('parent');
  });

  it('that do not know their place yet get it from those that do', () => {
    const found = shown([fsp('10.0.0.94', '(slot=1),(cage-number=0)'), fsp('10.0.0.95', '(slot=0),(cage-number=3)')]);
    expect(Object.values(found).map((each) => each['id'])).toEqual(['3', '3', '3']);
  });

  it('without model and serial number stand for themselves', () => {
    const bare = announced(`${hardware}:cec-service-processor`, '10.0.0.94', '');
    expect(shown([bare])).toEqual({
      '10.0.0.94': {
        objtype: 'node',
        hcp: '10.0.0.94',
        nodetype: 'ppc',
        groups: 'fsp,all',
        mgt: 'fsp',
        hidden: '1',
        otherinterfaces: '10.0.0.94',
        hwtype: 'fsp',
      },
    });
  });
});

describe('names', () => {
  const mm = (address: string, attributes: string): Device =>
    announced(`${hardware}:management-module`, address, attributes);

  it.each([
    ['(hostname=mm-1.example.org)', 'mm-1'],
    ['(hostname=),(machinetype-model=M),(serial-number=S)', 'Server-M-SNS'],
    ['(hostname=../../etc),(machinetype-model=M),(serial-number=S)', 'Server-M-SNS'],
    ['(machinetype-model=A/B \\2c),(serial-number=../x)', 'Server-A-B---SN---x'],
    ['(hostname=-x)', '10.0.0.1'],
    [`(hostname=${'x'.repeat(64)})`, '10.0.0.1'],
    ['(hostname=a\\0ab)', 'ab'],
    ['(hostname=__proto__)', '10.0.0.1'],
  ])('from %s: %s', (attributes, name) => {
    expect([...definitionsOf([mm('10.0.0.1', attributes)], { known: nobody, neighbours: new Map() }).keys()]).toEqual([
      name,
    ]);
  });

  it('that two devices claim are told apart by their addresses', () => {
    expect(Object.keys(shown([mm('10.0.0.1', '(hostname=same)'), mm('10.0.0.2', '(hostname=same)')]))).toEqual([
      'same',
      'same-10.0.0.2',
    ]);
  });

  it('of a node whose BMC announces itself in two ways is told once', () => {
    const known = new KnownNodes(snapshotOf({ nodelist: [{ node: 'n5' }], ipmi: [{ node: 'n5', bmc: '10.0.0.5' }] }));
    const processor = announced(`${hardware}:integrated-management-module2`, '10.0.0.5', '(serial-number=S)');
    const devices = [processor, advertisedDevice({ address: '10.0.0.5', uuid: '' })];
    expect(shown(devices, known)).toEqual({ n5: expect.objectContaining({ bmc: '10.0.0.5', serial: 'S' }) as object });
  });

  it('are those of the nodes that are defined already', () => {
    const known = new KnownNodes(
      snapshotOf({
        nodelist: ['cec1', 'fspA', 'chassis', 'n1', 'n2', 'console'].map((node) => ({ node })),
        vpd: [
          { node: 'cec1', mtm: '9117-570', serial: '10A3AEB' },
          { node: 'fspA', mtm: '9117-570', serial: '10A3AEB', side: 'A-0' },
          { node: 'chassis', mtm: 'M', serial: 'S' },
          { node: 'unlisted', mtm: 'M', serial: 'T' },
        ],
        ppc: [
          { node: 'cec1', nodetype: 'cec' },
          { node: 'fspA', nodetype: 'fsp' },
        ],
        mp: [{ node: 'chassis', nodetype: 'mm' }],
        hosts: [{ node: 'console', ip: '10.0.0.5' }],
        ipmi: [
          { node: 'n1', bmc: '10.0.0.33' },
          { node: 'n2', bmc: '10.0.0.34', disable: '1' },
        ],
      }),
    );
    const imm = (address: string): Device => announced(`${hardware}:integrated-management-module2`, address, '');
    const found = shown(
      [
        fsp('10.0.0.94', '(slot=1)'),
        mm('10.0.0.1', '(machinetype-model=M),(serial-number=S),(hostname=other)'),
        mm('10.0.0.2', '(machinetype-model=M),(serial-number=T)'),
        announced(`${software}:hardware-management-console`, '10.9.9.9', '(ip-address=10.9.9.9,10.0.0.5)'),
        imm('10.0.0.33'),
        imm('10.0.0.34'),
      ],
      known,
    );
    expect(Object.keys(found)).toEqual(['10.0.0.34', 'Server-M-SNT', 'cec1', 'chassis', 'console', 'fspA', 'n1']);
    expect(found['fspA']).toMatchObject({ hcp: 'fspA', parent: 'cec1', otherinterfaces: '10.0.0.94' });
    expect(found['n1']).toMatchObject({ bmc: '10.0.0.33' });
  });
});

describe('answers of one device', () => {
  const mm = (address: string, attributes: string): Device =>
    announced(`${hardware}:management-module`, address, attributes);
  const cmm = (address: string, attributes: string): Device =>
    announced(`${hardware}:chassis-management-module`, address, attributes);
  const redfish = (address: string, uuid = '6f1c7e1a-0000-4000-8000-0123456789ab'): Device =>
    advertisedDevice({ address, uuid });
  const same = '(machinetype-model=M),(serial-number=S)';

  it.each<[string, Device[], string[]]>([
    [
      'on two networks',
      [
        mm('10.0.0.1', `${same},(ip-address=10.0.0.1,10.1.0.1)`),
        mm('10.1.0.1', `${same},(ip-address=10.0.0.1,10.1.0.1)`),
      ],
      ['10.0.0.1'],
    ],
    ['by IPv6 and IPv4', [mm('fe80::1%eth0', same), mm('10.0.0.1', same)], ['10.0.0.1']],
    ['by IPv4 and IPv6', [mm('10.0.0.1', same), mm('fe80::1%eth0', same)], ['10.0.0.1']],
    ['twice from one address', [mm('10.0.0.1', same), mm('10.0.0.1', same)], ['10.0.0.1']],
    ['twice without saying who it is', [mm('10.0.0.1', ''), mm('10.0.0.1', '')], ['10.0.0.1']],
    ['of Redfish by IPv6 and IPv4', [redfish('fe80::1%eth0'), redfish('10.0.0.1')], ['10.0.0.1']],
  ])('%s are folded', (_name, devices, addresses) => {
    expect(foldDevices(devices).map(({ address }) => address)).toEqual(addresses);
  });

  it.each<[string, Device[]]>([
    ['another serial number', [mm('10.0.0.1', same), mm('10.0.0.2', same.replace('=S', '=T'))]],
    ['the same numbers at an address the other does not have', [mm('10.0.0.1', same), mm('10.0.0.2', same)]],
    ['another serial number at the same address', [mm('10.0.0.1', same), cmm('10.0.0.1', same.replace('=S', '=T'))]],
    ['another kind at another address', [mm('10.0.0.1', same), cmm('10.0.0.2', same)]],
    ['the same UUID at another IPv4 address', [redfish('10.0.0.1'), redfish('10.0.0.2')]],
    ['no UUID', [redfish('10.0.0.1', ''), redfish('fe80::1%eth0', '')]],
    ['no numbers', [mm('10.0.0.1', ''), mm('10.0.0.2', '')]],
  ])('are not those of one with %s', (_name, devices) => {
    expect(foldDevices(devices)).toHaveLength(2);
  });

  it.each<[string, Device[], string]>([
    ['the newer kind', [mm('10.0.0.1', same), cmm('10.0.0.1', same)], 'cmm'],
    ['the newer kind, in whatever order', [cmm('10.0.0.1', same), mm('10.0.0.1', same)], 'cmm'],
    ['the known kind', [announced(`${hardware}:new-thing`, '10.0.0.1', ''), mm('10.0.0.1', same)], 'mm'],
    ['what all say', [mm('10.0.0.1', '(type=chassis-management-module)'), cmm('10.0.0.1', '')], 'cmm'],
  ])('to several types are of %s', (_name, devices, kind) => {
    expect(foldDevices(devices).map((device) => device.kind.name)).toEqual([kind]);
  });

  it('are folded, however many claim to be it', () => {
    const devices = Array.from({ length: 8_000 }, (_, i) => mm(`10.${i >> 8}.${i & 255}.1`, same));
    expect(foldDevices(devices)).toHaveLength(8_000);
  });
});

describe('what devices say of themselves', () => {
  it('never brings a control character, an endless value or a broken address into a definition', () => {
    const names = [
      'hostname',
      'machinetype-model',
      'serial-number',
      'ip-address',
      'slot',
      'mac-address',
      'uuid',
      'frame-number',
      'cage-number',
    ];
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom('10.0.0.1', '1', 'x'.repeat(5_000)),
    );
    const attributes = fc.array(fc.tuple(fc.constantFrom(...names), fc.array(value, { maxLength: 3 })));
    const type = fc.constantFrom(
      ...['cec-service-processor', 'management-module', 'chassis-management-module', 'odd\u0000'].map(
        (each) => `${hardware}:${each}`,
      ),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(type, attributes), { maxLength: 6 }), (list) => {
        const devices = list.map(
          ([each, pairs], i) =>
            announcedDevice({
              type: each,
              url: `${each}://h`,
              address: `10.0.0.${i + 1}`,
              fromDirectory: i % 2 === 1,
              attributes: new Map(pairs),
            })!,
        );
        for (const [name, definition] of definitionsOf(foldDevices(devices), { known: nobody, neighbours: new Map() }))
          for (const text of [name, ...Object.values(definition)])
            if (text === '' || text.length > 600 || /\p{Cc}/u.test(text)) return false;
        return true;
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    [`${hardware}:cec-service-processor`, 'fsp'],
    [`${hardware.toUpperCase()}:CEC-service-processor`, 'fsp'],
    [`${software}:hardware-management-console:https`, 'hmc'],
    [`${hardware}:remote-supervisor-adapter`, 'rsa'],
    [`${hardware}:remote-supervisor-adapter-2`, 'rsa'],
    [`${hardware}:management-module`, 'mm'],
    ['service:management-hardware.Lenovo:lenovo-xclarity-controller', 'xcc'],
    ['service:lenovo-smm2', 'smm'],
    [`${hardware}:management-modules`, 'management-modules'],
    [hardware, 'management-hardware'],
    ['service:printer:lpr', undefined],
    ['service:management-hardware.Other:management-module', undefined],
  ])('%s is %s', (type, kind) => {
    expect(kindOfService(type)?.name).toBe(kind);
  });

  it.each([
    [`${hardware}:management-module`, ['chassis-management-module'], 'cmm'],
    [hardware, ['CEC-Service-Processor'], 'fsp'],
    ['service:wbem', ['lenovo-xclarity-controller'], 'xcc'],
    [`${hardware}:management-module`, ['something', ''], 'mm'],
    [`${hardware}:new-thing`, ['newer-thing'], 'new-thing'],
    ['service:printer:lpr', ['printer'], undefined],
  ])('%s that says it is %j is %s', (type, said, kind) => {
    expect(kindOfService(type, said)?.name).toBe(kind);
  });
});

describe('neighbours', () => {
  it('are read from the kernel’s table, without those that did not answer', () => {
    const table = `IP address       HW type     Flags       HW address            Mask     Device
10.0.0.1         0x1         0x2         02:fc:00:00:00:05     *        eth0
10.0.0.2         0x1         0x0         00:00:00:00:00:00     *        eth0
10.0.0.3         0x1         0x6         02:fc:00:00:00:07     *        eth0
`;
    expect([...neighbours(table)]).toEqual([
      ['10.0.0.1', '02:fc:00:00:00:05'],
      ['10.0.0.3', '02:fc:00:00:00:07'],
    ]);
    expect(neighbours('').size).toBe(0);
  });
});
