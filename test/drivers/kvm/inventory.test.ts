import { expect, test } from 'vitest';
import { inventoryLines } from '../../../src/drivers/kvm/readings.ts';
import { readXml } from '../../../src/protocols/libvirt/xml.ts';

const linesOf = (inside: string, devices = ''): Record<string, string> =>
  Object.fromEntries(
    [...inventoryLines(readXml(`<domain>${inside}<devices>${devices}</devices></domain>`))].map(
      ({ label, value, kinds }) => [label, `${value} as ${kinds.join()}`],
    ),
  );

test('memory modules are told where a definition has some', () => {
  const dimm = (slot: string) =>
    `<memory model='dimm'><target><size unit='KiB'>1048576</size><node>0</node></target>${slot}</memory>`;
  const plain = linesOf("<memory unit='KiB'>65536</memory>");
  expect(Object.keys(plain).filter((label) => label.startsWith('DIMM'))).toEqual([]);
  expect(plain).toMatchObject({ Memory: '64 MB as dimm' });
  expect(linesOf('', dimm("<address type='dimm' slot='4' base='0x100000000'/>") + dimm(''))).toMatchObject({
    'DIMM 4': '1024 MB (dimm) as dimm',
    'DIMM 1': '1024 MB (dimm) as dimm',
  });
});

test('what a machine tells of itself is told where a definition has it so', () => {
  const sysinfo = `<sysinfo type='smbios'>
    <system><entry name='manufacturer'>Lab &amp; Co</entry><entry name='serial'>SN1</entry><entry name='uuid'>x</entry></system>
    <chassis><entry name='asset'>A7</entry></chassis></sysinfo><sysinfo type='fwcfg'><entry name='serial'>no</entry></sysinfo>`;
  expect(linesOf(sysinfo)).toMatchObject({
    'System Manufacturer': 'Lab & Co as vpd,hw',
    'System Serial Number': 'SN1 as serial,vpd,hw',
    'System Asset Number': 'A7 as asset,hw',
  });
  expect(Object.keys(linesOf('')).filter((label) => label.startsWith('System '))).toEqual(['System Model/MTM']);
});
