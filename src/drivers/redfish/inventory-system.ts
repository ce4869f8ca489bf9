import { textAt } from '../../protocols/redfish/json.ts';
import type { InventoryReader } from './inventory-reader.ts';
import { present } from './labels.ts';

export const vpdLines: InventoryReader = async ({ system: { body } }) => {
  return present(['System Manufacturer', textAt(body, 'Manufacturer')], ['System SKU', textAt(body, 'SKU')]);
};

export const modelLines: InventoryReader = async ({ system: { body } }) => {
  return present(['System Model/MTM', textAt(body, 'Model')]);
};

export const serialLines: InventoryReader = async ({ system: { body } }) => {
  return present(['System Serial Number', textAt(body, 'SerialNumber')]);
};

export const boardLines: InventoryReader = async ({ system: { body }, ...machine }) => {
  const chassis = await machine.chassis();
  return [
    ...present(['System Asset Number', textAt(body, 'AssetTag')]),
    ...chassis.flatMap((one) =>
      present(
        ['Chassis Serial Number', textAt(one.body, 'SerialNumber')],
        ['Chassis Part Number', textAt(one.body, 'PartNumber')],
      ),
    ),
  ];
};

export const identityLines: InventoryReader = async ({ system: { body } }) => {
  return present(['UUID/GUID', textAt(body, 'UUID')?.toUpperCase()]);
};
