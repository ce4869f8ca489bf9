import { type Bmc, healthy, serial, uuid } from '../bmc.ts';
import { reset, resetTypes } from '../power.ts';
import {
  collection,
  done,
  type Json,
  link,
  notInList,
  type Reply,
  root,
  unknownMember,
  unknownMembers,
  textOf,
} from '../resource.ts';
import { addBootOptions } from './boot-options.ts';
import { addBios } from './bios.ts';
import { addMedia } from './media.ts';
import { addParts } from './parts.ts';

const systems = `${root}/Systems`;
const bootTargets = ['None', 'Pxe', 'Hdd', 'Cd', 'Floppy', 'Usb', 'BiosSetup', 'UefiHttp', 'Diags'];

export interface Neighbours {
  readonly chassis: string;
  readonly manager: string;
  /** Absent where the event log is with the manager. */
  readonly logServices: string | undefined;
}

export const systemPath = ({ kind, tag }: Bmc): string => `${systems}/${kind === 'openbmc' ? 'system' : `Node-${tag}`}`;

export function addSystems(bmc: Bmc, neighbours: Neighbours): void {
  const path = systemPath(bmc);
  const has = bmc.kind !== 'enclosure';
  bmc.resources.set(
    systems,
    collection(systems, 'ComputerSystem', () => (has ? [path, ...(bmc.kind === 'twin' ? [`${path}-b`] : [])] : [])),
  );
  if (!has) return;
  const resetTarget =
    bmc.kind === 'openbmc' ? `${path}/Actions/ComputerSystem.Reset` : `${path}/Actions/${bmc.tag}/Reset`;
  bmc.resources.set(resetTarget, { post: (body) => reset(bmc, body), privilege: 'ConfigureComponents' });
  if (bmc.kind === 'twin') addTwin(bmc, `${path}-b`, neighbours);
  const parts = addParts(bmc, path);
  const bootOptions = addBootOptions(bmc, path);
  const bios = bmc.kind === 'openbmc' ? {} : addBios(bmc, path);
  // Newer services have their drives here, and older ones with the manager.
  const media = bmc.kind === 'plain' && bmc.newStyle ? addMedia(bmc, path) : {};
  const resetTypeList = { 'ResetType@Redfish.AllowableValues': resetTypes[bmc.kind] };
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
      Id: path.slice(systems.length + 1),
      Name: 'Computer System',
      SystemType: 'Physical',
      Manufacturer: bmc.console.vendor ?? 'Lab Systems',
      Model: 'LabServer 2000',
      SerialNumber: `SN${serial(bmc.index)}`,
      UUID: uuid(bmc.index, 'system'),
      PowerState: bmc.host === 'quiesced' ? 'On' : bmc.power,
      ...optionalMembers(bmc, parts),
      ...indicatorMembers(bmc),
      ...bios,
      Boot: { ...bootMember(bmc), ...bootOptions },
      Links: { Chassis: [link(neighbours.chassis)], ManagedBy: [link(neighbours.manager)] },
      ...(neighbours.logServices === undefined ? {} : { LogServices: link(neighbours.logServices) }),
      ...media,
      ...bmc.console.system,
      Actions: {
        '#ComputerSystem.Reset': { target: resetTarget, ...(bmc.kind === 'sparse' ? {} : resetTypeList) },
      },
    }),
    patch: (body) => change(bmc, body),
    privilege: 'ConfigureComponents',
    demandsETag: bmc.kind === 'plain' && bmc.newStyle,
  });
}

/** The second system of a box; what it does is nobody's concern. */
const addTwin = (bmc: Bmc, path: string, { chassis, manager }: Neighbours): unknown =>
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
      Id: path.slice(systems.length + 1),
      Name: 'Computer System',
      SystemType: 'Physical',
      HostName: `twin${bmc.index}`,
      PowerState: 'On',
      Links: { Chassis: [link(chassis)], ManagedBy: [link(manager)] },
    }),
  });

const optionalMembers = (bmc: Bmc, parts: Json): Json =>
  bmc.kind === 'sparse'
    ? {}
    : {
        AssetTag: bmc.assetTag,
        PartNumber: '7X00LAB',
        SKU: 'LS-2000',
        BiosVersion: bmc.update.versions['bios'],
        HostName: `node${bmc.index}`,
        Status: { ...healthy, ...(bmc.host === 'quiesced' ? { State: 'Quiesced' } : {}), HealthRollup: 'OK' },
        ProcessorSummary: { Count: 2, Model: 'Lab CPU 9000', CoreCount: 64, Status: healthy },
        MemorySummary: { TotalSystemMemoryGiB: 512, Status: healthy },
        ...parts,
      };

/** Older services have IndicatorLED, newer ones LocationIndicatorActive, some neither. */
function indicatorMembers(bmc: Bmc): Json {
  if (bmc.kind === 'sparse') return {};
  return bmc.newStyle || bmc.kind === 'openbmc'
    ? { LocationIndicatorActive: bmc.indicator !== 'Off' }
    : { IndicatorLED: bmc.indicator };
}

const bootMember = ({ boot, bootOrder, kind }: Bmc): Json => ({
  BootSourceOverrideEnabled: boot.enabled,
  BootSourceOverrideTarget: boot.target,
  ...(kind === 'sparse' ? {} : { BootSourceOverrideMode: boot.mode }),
  ...(kind === 'plain' ? { BootOrder: bootOrder } : {}),
  ...(kind === 'sparse' ? {} : { 'BootSourceOverrideTarget@Redfish.AllowableValues': bootTargets }),
});

export function changeIndicator(bmc: Bmc, body: Json): Reply | undefined {
  const { IndicatorLED, LocationIndicatorActive } = body;
  if (IndicatorLED !== undefined) {
    if (!['Off', 'Lit', 'Blinking'].includes(textOf(IndicatorLED))) return notInList(IndicatorLED, 'IndicatorLED');
    bmc.indicator = IndicatorLED as Bmc['indicator'];
  }
  if (LocationIndicatorActive !== undefined) bmc.indicator = LocationIndicatorActive ? 'Blinking' : 'Off';
  return undefined;
}

function change(bmc: Bmc, body: Json): Reply {
  const known = ['Boot', ...Object.keys(indicatorMembers(bmc)), ...(bmc.kind === 'sparse' ? [] : ['AssetTag'])];
  const [unknown] = unknownMembers(body, known);
  if (unknown !== undefined) return unknownMember(unknown);
  const refused = (body.Boot ? changeBoot(bmc, body.Boot as Json) : undefined) ?? changeIndicator(bmc, body);
  if (refused) return refused;
  if (body.AssetTag !== undefined) bmc.assetTag = textOf(body.AssetTag);
  return done;
}

function changeBoot(bmc: Bmc, body: Json): Reply | undefined {
  const [unknown] = unknownMembers(
    body,
    Object.keys(bootMember(bmc)).filter((name) => !name.includes('@')),
  );
  if (unknown !== undefined) return unknownMember(unknown);
  const enabled = textOf(body.BootSourceOverrideEnabled ?? bmc.boot.enabled);
  const target = textOf(body.BootSourceOverrideTarget ?? bmc.boot.target);
  const mode = textOf(body.BootSourceOverrideMode ?? bmc.boot.mode);
  if (!['Disabled', 'Once', 'Continuous'].includes(enabled)) return notInList(enabled, 'BootSourceOverrideEnabled');
  if (!bootTargets.includes(target)) return notInList(target, 'BootSourceOverrideTarget');
  if (!['Legacy', 'UEFI'].includes(mode)) return notInList(mode, 'BootSourceOverrideMode');
  const order = body.BootOrder as readonly string[] | undefined;
  if (order && (order.length !== bmc.bootOrder.length || order.some((one) => !bmc.bootOrder.includes(one))))
    return notInList(order, 'BootOrder');
  if (order) bmc.bootOrder = order;
  bmc.boot = { enabled, target: enabled === 'Disabled' ? 'None' : target, mode };
  return undefined;
}
