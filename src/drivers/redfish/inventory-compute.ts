import type { Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { linkAt, numberAt, textAt } from '../../protocols/redfish/json.ts';
import { type InventoryReader, isThere, processorsIn, withUnit } from './inventory-machine.ts';
import { present } from './labels.ts';

const isCpu = ({ body }: Resource): boolean => (textAt(body, 'ProcessorType') ?? 'CPU') === 'CPU';
const isGpu = ({ body }: Resource): boolean => ['GPU', 'Accelerator'].includes(textAt(body, 'ProcessorType') ?? '');

export const cpuLines: InventoryReader = async ({ system: { body }, ...machine }) => {
  const cpus = (await machine.processors()).filter(isCpu);
  if (cpus.length === 0) {
    return present(
      ['CPU Count', numberAt(body, 'ProcessorSummary', 'Count')],
      ['CPU Model', textAt(body, 'ProcessorSummary', 'Model')],
    );
  }
  return cpus.flatMap(({ body: cpu }, index) =>
    present(
      [`CPU ${index + 1} Manufacturer`, textAt(cpu, 'Manufacturer')],
      [`CPU ${index + 1} Model`, textAt(cpu, 'Model')],
      [`CPU ${index + 1} Cores`, numberAt(cpu, 'TotalCores')],
      [`CPU ${index + 1} Threads`, numberAt(cpu, 'TotalThreads')],
      [`CPU ${index + 1} Maximum Speed`, withUnit(numberAt(cpu, 'MaxSpeedMHz'), 'MHz')],
    ),
  );
};

/** Of the system and of the boards beside it; one that both show is shown once. */
export const gpuLines: InventoryReader = async ({ target, signal, ...machine }) => {
  const gpus = (await machine.processors()).filter(isGpu);
  for (const companion of await machine.companions()) {
    const more = (await processorsIn(target, companion, signal)).filter(isGpu);
    gpus.push(...more.filter((gpu) => !gpus.some((known) => isSame(known, gpu))));
  }
  return gpus.flatMap(({ path, body: gpu }, index) =>
    present(
      [
        `GPU ${index + 1} Location`,
        textAt(gpu, 'Location', 'PartLocation', 'ServiceLabel') ?? idOf({ path, body: gpu }),
      ],
      [`GPU ${index + 1} Manufacturer`, textAt(gpu, 'Manufacturer')],
      [`GPU ${index + 1} Model`, textAt(gpu, 'Model')],
      [`GPU ${index + 1} Part Number`, textAt(gpu, 'PartNumber')],
      [`GPU ${index + 1} Serial Number`, textAt(gpu, 'SerialNumber')],
      [`GPU ${index + 1} Memory`, withUnit(numberAt(gpu, 'MemorySummary', 'TotalMemorySizeMiB'), 'MiB')],
      [`GPU ${index + 1} Firmware`, textAt(gpu, 'FirmwareVersion')],
    ),
  );
};

const idOf = ({ path, body }: Pick<Resource, 'path' | 'body'>): string =>
  textAt(body, 'Id') ?? path.slice(path.lastIndexOf('/') + 1);

function isSame(one: Resource, other: Resource): boolean {
  const serials = [one, other].map(({ body }) => textAt(body, 'SerialNumber'));
  return serials[0] !== undefined && serials[1] !== undefined ? serials[0] === serials[1] : idOf(one) === idOf(other);
}

export const dimmLines: InventoryReader = async ({ target, signal, system: { body } }) => {
  const modules = (await memberResources(target.service, linkAt(body, 'Memory'), signal)).filter(isThere);
  if (modules.length === 0) {
    return present(['Total Memory', withUnit(numberAt(body, 'MemorySummary', 'TotalSystemMemoryGiB'), 'GiB')]);
  }
  return modules.flatMap(({ body: dimm }, index) =>
    present(
      [`DIMM ${index + 1} Location`, textAt(dimm, 'DeviceLocator') ?? textAt(dimm, 'Name')],
      [`DIMM ${index + 1} Size`, withUnit(numberAt(dimm, 'CapacityMiB'), 'MiB')],
      [`DIMM ${index + 1} Type`, textAt(dimm, 'MemoryDeviceType')],
      [`DIMM ${index + 1} Speed`, withUnit(numberAt(dimm, 'OperatingSpeedMhz'), 'MHz')],
      [`DIMM ${index + 1} Manufacturer`, textAt(dimm, 'Manufacturer')],
      [`DIMM ${index + 1} Model`, textAt(dimm, 'PartNumber')],
      [`DIMM ${index + 1} Serial Number`, textAt(dimm, 'SerialNumber')],
    ),
  );
};
