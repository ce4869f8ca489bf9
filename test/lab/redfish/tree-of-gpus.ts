type Body = Record<string, unknown>;
type Tree = Record<string, Body>;

const root = '/redfish/v1';
const link = (path: string): Body => ({ '@odata.id': path });
const links = (paths: readonly string[]): Body[] => paths.map(link);
const chassisPath = (id: string): string => `${root}/Chassis/${id}`;

interface Chassis {
  readonly id: string;
  /** Ids of the systems that it names. */
  readonly systems?: readonly string[];
  readonly contains?: readonly string[];
  readonly by?: string;
  readonly sensors?: readonly Body[];
  readonly more?: Body;
}

const sensor = (Id: string, ReadingType: string, ReadingUnits: string, Reading: number, more: Body = {}): Body => ({
  Id,
  Name: Id.replaceAll('_', ' '),
  ReadingType,
  ReadingUnits,
  Reading,
  ...more,
});

/**
 * A machine as those with many accelerators are: its system names the chassis of the BMC alone, others name the system, and the
 * accelerators are in chassis of a second system that has no switch. All GPUs call their temperature the same.
 */
export function treeOfGpus(gpus: number): Tree {
  const ids = Array.from({ length: gpus }, (_, index) => `Board_GPU_${index}`);
  const chassis: readonly Chassis[] = [
    { id: 'BMC_0', systems: ['Host_0'], sensors: [sensor('BMC_Temp', 'Temperature', 'Cel', 31)] },
    {
      id: 'Shelf_0',
      systems: ['Host_0'],
      sensors: [sensor('Fan_1_Front', 'Rotational', 'RPM', 6000)],
      more: { EnvironmentMetrics: link(`${chassisPath('Shelf_0')}/Environment`) },
    },
    { id: 'RoT_0', systems: ['Host_0'] },
    {
      id: 'Feed_0',
      systems: ['Host_0'],
      sensors: [sensor('Feed_Input', 'Current', 'A', 9.5), sensor('Feed_Power', 'Power', 'W', 530)],
    },
    {
      id: 'Board_0',
      systems: ['HGX_Baseboard_0'],
      contains: ids,
      sensors: [
        sensor('Air_Pressure', 'Altitude', 'Pa', 101_300),
        sensor('Core_Util', 'Percent', '%', 6.5),
        sensor('Fan_PWM', 'Percent', '%', 30),
      ],
      // It has a power limit, which is that of the board and not of the node.
      more: { EnvironmentMetrics: link(`${chassisPath('Board_0')}/Environment`) },
    },
    ...ids.map((id, index) => ({
      id,
      systems: ['HGX_Baseboard_0'],
      by: 'Board_0',
      sensors: [
        sensor('TEMP_0', 'Temperature', 'Cel', 50 + index),
        sensor(`${id}_Energy_0`, 'EnergyJoules', 'J', 1_000 + index),
      ],
    })),
    { id: 'Spare_0' },
  ];
  const tree: Tree = {
    [`${root}/`]: {
      Systems: link(`${root}/Systems`),
      Chassis: link(`${root}/Chassis`),
      Managers: link(`${root}/Managers`),
      ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true } },
    },
    [`${root}/Systems`]: { Members: links([`${root}/Systems/HGX_Baseboard_0`, `${root}/Systems/Host_0`]) },
    [`${root}/Systems/Host_0`]: {
      Id: 'Host_0',
      PowerState: 'On',
      Actions: { '#ComputerSystem.Reset': { target: `${root}/Systems/Host_0/Reset` } },
      Processors: link(`${root}/Systems/Host_0/Processors`),
      Links: { Chassis: [link(chassisPath('BMC_0'))] },
    },
    [`${root}/Systems/Host_0/Processors`]: { Members: [link(`${root}/Systems/Host_0/Processors/CPU_0`)] },
    [`${root}/Systems/Host_0/Processors/CPU_0`]: { Id: 'CPU_0', ProcessorType: 'CPU', Model: 'Core 9' },
    [`${root}/Systems/HGX_Baseboard_0`]: {
      Id: 'HGX_Baseboard_0',
      PowerState: 'On',
      Processors: link(`${root}/Systems/HGX_Baseboard_0/Processors`),
      Links: { Chassis: [link(chassisPath('Board_0'))] },
    },
    [`${root}/Systems/HGX_Baseboard_0/Processors`]: {
      Members: links(ids.map((id) => `${root}/Systems/HGX_Baseboard_0/Processors/${id}`)),
    },
    [`${root}/Chassis`]: { Members: links(chassis.map(({ id }) => chassisPath(id))) },
    [`${chassisPath('Shelf_0')}/Environment`]: { PowerWatts: { Reading: 1073.19 } },
    [`${chassisPath('Board_0')}/Environment`]: {
      PowerWatts: { Reading: 830 },
      PowerLimitWatts: { SetPoint: 700, ControlMode: 'Automatic' },
    },
  };
  for (const [index, id] of ids.entries()) {
    const path = `${root}/Systems/HGX_Baseboard_0/Processors/${id}`;
    tree[path] = { Id: id, ProcessorType: 'GPU', Model: 'Accelerator 3', SerialNumber: `G${index}` };
  }
  for (const { id, systems = [], contains = [], by, sensors, more } of chassis) {
    const path = chassisPath(id);
    tree[path] = {
      Id: id,
      Links: {
        ComputerSystems: links(systems.map((system) => `${root}/Systems/${system}`)),
        Contains: links(contains.map(chassisPath)),
        ...(by === undefined ? {} : { ContainedBy: link(chassisPath(by)) }),
      },
      ...more,
      ...(sensors ? { Sensors: link(`${path}/Sensors`) } : {}),
    };
    if (!sensors) continue;
    const pathOf = ({ Id }: Body): string => `${path}/Sensors/${String(Id)}`;
    tree[`${path}/Sensors`] = { Members: links(sensors.map(pathOf)) };
    for (const one of sensors) tree[pathOf(one)] = one;
  }
  // Collections that are expanded show where their members are.
  for (const [path, body] of Object.entries(tree)) body['@odata.id'] = path;
  return tree;
}
