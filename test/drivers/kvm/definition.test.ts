import { expect, test } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { definitionOf } from '../../../src/drivers/kvm/definition.ts';
import { placesOf, volumeDefinition } from '../../../src/drivers/kvm/disks.ts';
import { bytesOf, type MachineAttributes, machineSettings } from '../../../src/drivers/kvm/machine-settings.ts';
import { locationsIn, newPool, placeOf } from '../../../src/drivers/kvm/locations.ts';
import { childElements, elementAt, textOf, writeXml } from '../../../src/protocols/libvirt/xml.ts';

test.each([
  ['20', 'G', 20n << 30n],
  ['20', 'M', 20n << 20n],
  ['1.5G', 'M', 1536n << 20n],
  ['512MB', 'G', 512n << 20n],
  ['4GiB', 'M', 4n << 30n],
  ['2t', 'M', 2n << 40n],
  ['-1', 'G', undefined],
  ['1e3', 'G', undefined],
  ['', 'G', undefined],
  ['9999999999', 'G', undefined],
])('%j counted in %s is %s bytes', (text, unit, bytes) => {
  expect(bytesOf(text, unit)).toBe(bytes);
});

const identity = { name: 'n1', uuid: '00000000-1111-2222-3333-444444444444', macs: ['42:00:00:00:00:01'] };

test('a definition holds what the attributes say', () => {
  const settings = machineSettings(
    {
      arch: 'x86_64',
      vmmemory: '1G',
      vmcpus: '1',
      vmnics: 'eth0:br0=e1000',
      vmbootorder: 'hd,net',
      vmstorage: 'dir:///images',
      vmstoragemodel: 'virtio',
      vmothersetting: 'machine:q35;cpumode:host-model',
    },
    { cpus: '2' },
  );
  const disk = { path: '/images/n1.vda.qcow2', kind: 'file', format: 'qcow2', device: 'vda', bus: 'virtio' } as const;
  expect(writeXml(definitionOf(identity, settings, [disk], 'kvm'))).toBe(
    [
      "<domain type='kvm'><name>n1</name><uuid>00000000-1111-2222-3333-444444444444</uuid>",
      "<metadata><muster:machine xmlns:muster='urn:muster:machine'/></metadata>",
      "<memory unit='B'>1073741824</memory><vcpu>2</vcpu>",
      "<os><type arch='x86_64' machine='q35'>hvm</type><boot dev='hd'/><boot dev='network'/></os>",
      "<features><acpi/></features><cpu mode='host-model'/><clock offset='utc'/>",
      '<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>',
      "<devices><disk type='file' device='disk'><driver name='qemu' type='qcow2' cache='none'/>",
      "<source file='/images/n1.vda.qcow2'/><target dev='vda' bus='virtio'/></disk>",
      "<interface type='bridge'><mac address='42:00:00:00:00:01'/><source bridge='br0'/><model type='e1000'/></interface>",
      "<serial type='pty'/><console type='pty'/></devices></domain>",
    ].join(''),
  );
});

const hostile = `'/><disk type="file"><source file="/etc/shadow"/></disk><x a='`;

test.each([
  [{ vmmemory: '0' }, '"0" is not a size of memory'],
  [{ vmmemory: hostile }, 'is not a size of memory'],
  [{ vmcpus: '0' }, '"0" is not a number of processors: give 1 to 4096.'],
  [{ vmbootorder: 'hd,tape' }, '"tape" cannot be booted'],
  [{ vmbootorder: 'toString' }, '"toString" cannot be booted'],
  [{ vmnics: hostile }, 'its attribute vmnics'],
  [{ vmnics: 'br0|hub' }, 'use bridges like br0'],
  [{ vmnicnicmodel: hostile, vmnics: 'br0' }, 'its attribute vmnicnicmodel'],
  [{ arch: hostile }, 'its attribute arch'],
  [{ mac: 'xx!n1' }, '"xx" is not a MAC address'],
  [{ vmstorage: `dir://${hostile}` }, 'its attribute vmstorage'],
  [{ vmstorage: 'dir:///images/../etc' }, '"/images/../etc" is not a path'],
  [{ vmstorage: 'ftp://vg' }, 'use dir:///DIRECTORY'],
  [{ vmstorage: 'lvm://../vg' }, '"../vg" is not a volume group'],
  [{ vmstorage: "lvm://vg'/><x/>" }, 'is not a volume group'],
  [{ vmstorage: "nfs://a'><x>/b" }, 'is not a server'],
  [{ vmstorage: 'nfs://server' }, '"" is not a path'],
  [{ vmstorage: 'nfs://server/a/../etc' }, '"/a/../etc" is not a path'],
  [{ vmstorage: 'dir:///a,dev:cdrom' }, 'options after a comma are not supported'],
  [{ vmstoragemodel: 'floppy' }, 'use ide, scsi, virtio, sata'],
  [{ vmstorageformat: 'vmdk' }, 'use qcow2, raw'],
  [{ vmothersetting: 'devpassthrough:pci_0000_00_00_9' }, 'is not known; use machine:TYPE'],
  [{ vmothersetting: `devpassthrough:pci_0000_00_00_0,${hostile}` }, 'is not known; use machine:TYPE'],
  [{ vmothersetting: 'firmware:coreboot' }, 'is not known; use machine:TYPE'],
  [{ vmothersetting: `vcpupin:${hostile}` }, 'is not known; use machine:TYPE'],
  [{ vmothersetting: 'membind:all' }, 'is not known; use machine:TYPE'],
  [{ vmothersetting: 'toString:1' }, 'is not known; use machine:TYPE'],
  [{ vmothersetting: 'q35' }, 'is not known; use machine:TYPE'],
  [{ vmvirtflags: 'hvm' }, '"hvm" means nothing to libvirt; use imageformat='],
  [{ vmvirtflags: 'imageformat=vmdk' }, '"imageformat=vmdk" means nothing to libvirt'],
  [{ vmvirtflags: 'clonemethod=reflink' }, 'means nothing to libvirt'],
  [{ vmvirtflags: 'constructor=1' }, 'means nothing to libvirt'],
  [{ 'vm.vidproto': 'rdp' }, 'its vidproto in table vm, "rdp", is wrong: use vnc, spice.'],
  [{ 'vm.vidmodel': hostile }, 'its vidmodel in table vm'],
  [{ 'vm.clockoffset': 'mars' }, 'use utc, localtime'],
] satisfies [MachineAttributes, string][])('%j is refused', (attributes, sentence) => {
  const read = (): unknown => machineSettings(attributes);
  expect(read).toThrow(Fault);
  expect(read).toThrow(sentence);
});

test.each(['ninechars', 'é', '\u0007'])(
  'a password for VNC that is none is refused without a word of it: %j',
  (password) => {
    const read = (): unknown => machineSettings({ 'vm.vidpassword': password });
    expect(read).toThrow('its vidpassword in table vm does not suit vnc, which takes 1 to 8 ASCII characters.');
  },
);

test.each([
  [{}, []],
  [{ 'vm.vidmodel': 'qxl' }, ["<graphics type='vnc' autoport='yes'/>", "<video><model type='qxl'/></video>"]],
  [
    { 'vm.vidproto': 'spice', 'vm.vidpassword': `a'<b>&"` },
    ["<graphics type='spice' autoport='yes' passwd='a&apos;&lt;b&gt;&amp;&quot;'/>"],
  ],
] satisfies [MachineAttributes, string[]][])('%j is the display %j', (attributes, elements) => {
  const devices = elementAt(definitionOf(identity, machineSettings(attributes), [], 'qemu'), 'devices')!;
  const display = [...childElements(devices, 'graphics'), ...childElements(devices, 'video')];
  expect(display.map(writeXml)).toEqual(elements);
});

test.each([
  [{}, 'qcow2', '0'],
  [{ vmvirtflags: 'imageformat=raw' }, 'raw', '0'],
  [{ vmvirtflags: 'placement_affinity=pinned, imageformat=fullraw' }, 'raw', '7'],
  [{ vmvirtflags: 'imageformat=fullraw', vmstorageformat: 'qcow2' }, 'qcow2', '0'],
] satisfies [MachineAttributes, string, string][])(
  '%j makes disks as %s with %s of 7 bytes',
  (attributes, form, room) => {
    const { format, isAllocated } = machineSettings(attributes);
    expect(format).toBe(form);
    const volume = volumeDefinition({ name: 'd', size: 7n, format, isAllocated });
    expect(textOf(elementAt(volume, 'allocation'))).toBe(room);
  },
);

test('a device has all its room, whatever flags say', () => {
  const volume = volumeDefinition({ name: 'd', size: 7n, format: 'raw', kind: 'block', isAllocated: false });
  expect(textOf(elementAt(volume, 'allocation'))).toBe('7');
});

test.each([
  [{}, undefined, undefined, 'ide'],
  [{ arch: 'x86_64', vmothersetting: 'firmware:uefi' }, 'efi', 'q35', 'sata'],
  [{ arch: 'x86_64', vmothersetting: 'firmware:secureboot;machine:pc-q35-7.2' }, 'efi', 'pc-q35-7.2', 'sata'],
  [{ arch: 'x86_64', vmothersetting: 'firmware:uefi;machine:pc' }, 'efi', 'pc', 'ide'],
  [{ arch: 'aarch64' }, 'efi', undefined, 'virtio'],
  [{ arch: 'aarch64', vmothersetting: 'firmware:bios' }, undefined, undefined, 'virtio'],
] satisfies [MachineAttributes, string | undefined, string | undefined, string][])(
  '%j has the firmware %s, the type %s and disks on %s',
  (attributes, firmware, type, bus) => {
    const settings = machineSettings(attributes);
    const os = elementAt(definitionOf(identity, settings, [], 'qemu'), 'os')!;
    expect(os.attributes['firmware']).toBe(firmware);
    expect(elementAt(os, 'type')!.attributes['machine']).toBe(type);
    expect(settings.bus).toBe(bus);
  },
);

test.each([
  [
    'lvm://vg0',
    '/dev/vg0',
    "<pool type='logical'><name>NAME</name><source><name>vg0</name><format type='lvm2'/></source><target><path>PLACE</path></target></pool>",
  ],
  [
    'nfs://[fd00::1]/images',
    expect.stringMatching(/^\/var\/lib\/muster\/pools\/[\da-f]{16}$/),
    "<pool type='netfs'><name>NAME</name><source><host name='fd00::1'/><dir path='/images'/><format type='nfs'/></source><target><path>PLACE</path></target></pool>",
  ],
  ['dir:///images', '/images', "<pool type='dir'><name>NAME</name><target><path>PLACE</path></target></pool>"],
])('%s becomes a pool', (text, place, xml) => {
  const [location] = locationsIn(text);
  expect(placeOf(location!)).toEqual(place);
  const written = writeXml(newPool(location as Parameters<typeof newPool>[0]));
  const name = /(?<=<name>)muster-[\da-f]{16}(?=<)/.exec(written)![0];
  expect(written).toBe(xml.replace('NAME', name).replace('PLACE', placeOf(location!)));
});

test.each([
  [{ vmstorage: 'dir:///a' }, ['1', '2', '3'], ['hda', 'hdb', 'hdd']],
  [{ vmstorage: 'pool1=virtio|dir:///b' }, ['1'], ['vda', 'hda']],
  [{ vmstorage: 'phy:/dev/sdb|/images/x.img', vmstoragemodel: 'scsi' }, [], ['sda', 'sdb']],
  [{}, [], []],
] satisfies [MachineAttributes, string[], string[]][])('%j with disks %j are %j', (attributes, sizes, devices) => {
  const places = placesOf(
    machineSettings(attributes),
    sizes.map((size) => BigInt(size)),
  );
  expect(places.map(({ device }) => device)).toEqual(devices);
});

test.each([
  [{}, 1, 'its attribute vmstorage is not set'],
  [{ vmstorage: 'phy:/dev/sdb' }, 1, 'no disk can be made at /dev/sdb'],
  [{ vmstorage: 'dir:///a' }, 4, 'it has more disks than the model ide takes'],
] satisfies [MachineAttributes, number, string][])('%j has no room for %d disks', (attributes, count, sentence) => {
  expect(() => placesOf(machineSettings(attributes), new Array<bigint>(count).fill(1n))).toThrow(sentence);
});
