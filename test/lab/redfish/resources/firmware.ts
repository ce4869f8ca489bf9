import type { Bmc } from '../bmc.ts';
import { link, root } from '../resource.ts';
import { addGroup } from './parts.ts';

export function addFirmware(bmc: Bmc): void {
  const path = `${root}/UpdateService`;
  const inventory = `${path}/FirmwareInventory`;
  addGroup(bmc, inventory, 'SoftwareInventory', '#SoftwareInventory.v1_8_0.SoftwareInventory', [
    { id: 'bmc', body: { Name: 'BMC Firmware', Version: `2.15.${bmc.index % 7}`, Updateable: true } },
    { id: 'bios', body: { Name: 'Host BIOS', Version: 'LAB-BIOS-1.42', Updateable: true } },
  ]);
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#UpdateService.v1_11_0.UpdateService',
      Id: 'UpdateService',
      Name: 'Update Service',
      ServiceEnabled: true,
      FirmwareInventory: link(inventory),
    }),
  });
}
