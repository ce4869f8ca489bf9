import { childElements, type Element, textOf } from '../../protocols/libvirt/xml.ts';
import type { InventoryKind } from '../capabilities.ts';
import type { InventoryLine } from './inventory.ts';

type Told = readonly [block: string, name: string, label: string, ...kinds: readonly InventoryKind[]];

const told: readonly Told[] = [
  ['system', 'manufacturer', 'System Manufacturer', 'vpd', 'hw'],
  ['system', 'product', 'System Description', 'vpd', 'hw'],
  ['system', 'serial', 'System Serial Number', 'serial', 'vpd', 'hw'],
  ['chassis', 'asset', 'System Asset Number', 'asset', 'hw'],
  ['chassis', 'serial', 'Chassis Serial Number', 'hw'],
  ['baseBoard', 'manufacturer', 'Board manufacturer', 'hw'],
  ['baseBoard', 'product', 'Board Description', 'hw'],
  ['baseBoard', 'serial', 'Board Serial Number', 'hw'],
];

/** What a definition has its machine tell of itself, as firmware does. Most have nothing of the kind. */
export function* smbiosLines(domain: Element): Generator<InventoryLine> {
  const all = childElements(domain, 'sysinfo').filter(({ attributes }) => attributes['type'] === 'smbios');
  for (const [block, name, label, ...kinds] of told) {
    const entries = all.flatMap((each) => childElements(each, block)).flatMap((each) => childElements(each, 'entry'));
    const value = textOf(entries.find(({ attributes }) => attributes['name'] === name));
    if (value) yield { label, value, kinds };
  }
}
