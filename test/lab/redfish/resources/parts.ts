import { type Bmc, healthy, serial } from '../bmc.ts';
import { collection, type Json, link } from '../resource.ts';

interface Part {
  readonly id: string;
  readonly body: Json;
}

/** Processors, memory and interfaces of a system. Answers the links that a system has to them. */
export function addParts(bmc: Bmc, system: string): Json {
  if (bmc.kind === 'sparse') return {};
  const number = serial(bmc.index);
  const processors = [0, 1].map(
    (socket): Part => ({
      id: `cpu${socket}`,
      body: {
        Name: `Processor ${socket}`,
        Socket: `CPU ${socket + 1}`,
        ProcessorType: 'CPU',
        Manufacturer: 'Lab Chips',
        Model: 'Lab CPU 9000',
        MaxSpeedMHz: 3600,
        TotalCores: 32,
        TotalThreads: 64,
        Status: healthy,
      },
    }),
  );
  const memory = [1, 2, 3, 4].map(
    (slot): Part => ({
      id: `dimm${slot}`,
      body: {
        Name: `DIMM ${slot}`,
        DeviceLocator: `DIMM_${slot}`,
        ...(slot === 4
          ? { Status: { State: 'Absent' } }
          : {
              CapacityMiB: 131_072,
              MemoryDeviceType: 'DDR5',
              OperatingSpeedMhz: 4800,
              Manufacturer: 'Lab Memory',
              PartNumber: 'LM-128-4800',
              SerialNumber: `M${slot}${number}`,
              Status: healthy,
            }),
      },
    }),
  );
  const interfaces = [0, 1].map(
    (port): Part => ({
      id: `nic${port}`,
      body: {
        Name: `Ethernet ${port}`,
        MACAddress: macAddress(bmc, 0x10 + port),
        LinkStatus: port === 0 ? 'LinkUp' : 'NoLink',
        SpeedMbps: 25_000,
        Status: healthy,
      },
    }),
  );
  return {
    Processors: addGroup(bmc, `${system}/Processors`, 'Processor', '#Processor.v1_16_0.Processor', processors),
    Memory: addGroup(bmc, `${system}/Memory`, 'Memory', '#Memory.v1_16_0.Memory', memory),
    EthernetInterfaces: addGroup(
      bmc,
      `${system}/EthernetInterfaces`,
      'EthernetInterface',
      '#EthernetInterface.v1_8_0.EthernetInterface',
      interfaces,
    ),
  };
}

export function addGroup(bmc: Bmc, path: string, kind: string, type: string, parts: readonly Part[]): Json {
  const pathOf = (id: string): string => `${path}/${id}-${bmc.tag}`;
  bmc.resources.set(
    path,
    collection(path, kind, () => parts.map(({ id }) => pathOf(id))),
  );
  for (const { id, body } of parts) {
    bmc.resources.set(pathOf(id), {
      get: () => ({ '@odata.id': pathOf(id), '@odata.type': type, Id: `${id}-${bmc.tag}`, ...body }),
    });
  }
  return link(path);
}

export const macAddress = ({ index }: Bmc, device: number): string =>
  [0x02, 0xbf, device, 0x00, (index >> 8) & 0xff, index & 0xff]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join(':');
