import type { Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { linkAt, textAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import type { InventoryReader } from './inventory-machine.ts';
import { type Line, present } from './labels.ts';

export const firmwareLines: InventoryReader = async ({ target, signal, system: { body }, ...machine }) => {
  const manager = await machine.manager();
  const updates = await rootMember(target.service, 'UpdateService', signal);
  const images = await memberResources(target.service, linkAt(updates?.body, 'FirmwareInventory'), signal);
  const known = present(
    ['BMC Firmware', textAt(manager?.body, 'FirmwareVersion')],
    ['UEFI Version', textAt(body, 'BiosVersion')],
  );
  const listed = new Set(known.map((line) => line.join()));
  return [...known, ...imageLines(images).filter((line) => !listed.has(line.join()))];
};

/** Names that some services give to all of their images. */
const nameless = /^(software|firmware) inventory$/i;

/** One each. Images of the same name differ by their Ids: disks of one make, or what runs and what ran before. */
function imageLines(images: readonly Resource[]): readonly Line[] {
  const named = images.map(({ path, body }) => {
    const id = textAt(body, 'Id') ?? path.slice(path.lastIndexOf('/') + 1);
    const name = textAt(body, 'Name');
    return { id, name: name === undefined || nameless.test(name) ? id : name, version: textAt(body, 'Version') };
  });
  const alike = Map.groupBy(named, ({ name }) => name);
  return named.flatMap(({ id, name, version }) =>
    present([alike.get(name)!.length === 1 ? labelOf(name) : `${labelOf(name)} (${id})`, version]),
  );
}

function labelOf(name: string): string {
  return /firmware|bios|uefi|version/i.test(name) ? name : `${name} Firmware`.trim();
}
