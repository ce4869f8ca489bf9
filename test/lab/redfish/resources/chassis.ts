import { type Bmc, healthy, serial, uuid } from '../bmc.ts';
import { reset, resetTypes } from '../power.ts';
import { collection, done, type Json, link, root, unknownMember, unknownMembers } from '../resource.ts';
import { addEnvironment } from './environment.ts';
import { addPowerAndThermal } from './power-thermal.ts';
import { changeIndicator } from './system.ts';

const chassisRoot = `${root}/Chassis`;
const sledCount = 4;

export const chassisPath = ({ kind, tag }: Bmc): string =>
  `${chassisRoot}/${kind === 'openbmc' ? 'chassis' : `Box-${tag}`}`;

export function addChassis(bmc: Bmc, system: string, manager: string): void {
  const path = chassisPath(bmc);
  const sleds = bmc.kind === 'enclosure' ? addSleds(bmc, path) : [];
  const environment = bmc.newStyle ? addEnvironment(bmc, path) : addPowerAndThermal(bmc, path);
  const canBeReset = bmc.kind === 'enclosure' || bmc.kind === 'twin';
  const inside = bmc.kind === 'twin' ? [system, `${system}-b`] : [system];
  const resetTarget = `${path}/Actions/${bmc.tag}/Reset`;
  bmc.resources.set(
    chassisRoot,
    collection(chassisRoot, 'Chassis', () => [path, ...sleds]),
  );
  if (canBeReset)
    bmc.resources.set(resetTarget, { post: (body) => reset(bmc, body), privilege: 'ConfigureComponents' });
  const indicator = (): Json => (bmc.kind === 'sparse' ? {} : { LocationIndicatorActive: bmc.indicator !== 'Off' });
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#Chassis.v1_22_0.Chassis',
      Id: path.slice(chassisRoot.length + 1),
      Name: 'Chassis',
      ChassisType: bmc.kind === 'enclosure' ? 'Enclosure' : 'RackMount',
      Manufacturer: 'Lab Systems',
      Model: bmc.kind === 'enclosure' ? 'LabEnclosure 4' : 'LabChassis 1',
      SerialNumber: `CH${serial(bmc.index)}`,
      PartNumber: 'LC-1',
      PowerState: bmc.power === 'On' || bmc.host === 'chassis' ? 'On' : 'Off',
      Status: healthy,
      ...indicator(),
      ...environment,
      Links: {
        ...(bmc.kind === 'enclosure' ? { Contains: sleds.map(link) } : { ComputerSystems: inside.map(link) }),
        ManagedBy: [link(manager)],
      },
      ...(canBeReset
        ? {
            Actions: {
              '#Chassis.Reset': { target: resetTarget, 'ResetType@Redfish.AllowableValues': resetTypes.enclosure },
            },
          }
        : {}),
    }),
    patch: (body) => {
      const [unknown] = unknownMembers(body, Object.keys(indicator()));
      if (unknown !== undefined) return unknownMember(unknown);
      return changeIndicator(bmc, body) ?? done;
    },
    privilege: 'ConfigureComponents',
  });
}

/** The nodes inside an enclosure; the last slot is empty. */
function addSleds(bmc: Bmc, enclosure: string): string[] {
  return Array.from({ length: sledCount }, (_, place) => {
    const slot = place + 1;
    const empty = slot === sledCount;
    const id = `Sled-${bmc.tag}-${String.fromCharCode(97 + place)}`;
    const path = `${chassisRoot}/${id}`;
    bmc.resources.set(path, {
      get: () => ({
        '@odata.id': path,
        '@odata.type': '#Chassis.v1_22_0.Chassis',
        Id: id,
        Name: `Sled ${slot}`,
        ChassisType: 'Sled',
        Location: { PartLocation: { ServiceLabel: `Slot ${slot}`, LocationType: 'Slot', LocationOrdinalValue: slot } },
        Links: { ContainedBy: link(enclosure) },
        ...(empty
          ? { Status: { State: 'Absent' } }
          : {
              Manufacturer: 'Lab Systems',
              Model: `LabSled ${slot}00`,
              PartNumber: `LS-${slot}`,
              SerialNumber: `SL${serial(bmc.index)}${slot}`,
              UUID: uuid(bmc.index, `sled${slot}`),
              PowerState: slot === 1 ? 'On' : 'Off',
              Status: healthy,
            }),
      }),
    });
    return path;
  });
}
