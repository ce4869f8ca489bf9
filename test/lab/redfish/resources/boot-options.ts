import type { Bmc } from '../bmc.ts';
import { collection, type Json, link } from '../resource.ts';

const options = [
  { name: 'Network Adapter 1', alias: 'Pxe' },
  { name: 'Hard Drive', alias: 'Hdd' },
  { name: 'Network Adapter 2', alias: 'Pxe' },
  { name: 'Optical Drive', alias: 'Cd' },
];

/** What a plain system can boot from. Answers the link that `Boot` has to it. */
export function addBootOptions(bmc: Bmc, system: string): Json {
  if (bmc.kind !== 'plain') return {};
  const path = `${system}/BootOptions`;
  const members = options.map(({ name, alias }, index) => {
    const member = `${path}/${bmc.tag}${index + 1}`;
    const body = {
      '@odata.id': member,
      '@odata.type': '#BootOption.v1_0_4.BootOption',
      Id: `${bmc.tag}${index + 1}`,
      Name: `Boot Option ${index + 1}`,
      BootOptionReference: `Boot000${index + 1}`,
      DisplayName: name,
      Alias: alias,
      BootOptionEnabled: true,
    };
    bmc.resources.set(member, { get: () => body });
    return member;
  });
  bmc.resources.set(
    path,
    collection(path, 'BootOption', () => members),
  );
  return { BootOptions: link(path) };
}
