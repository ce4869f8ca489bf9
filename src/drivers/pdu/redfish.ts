import { Fault } from '../../core/errors.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import type { RedfishService, Resource } from '../../protocols/redfish/client.ts';
import { at, linkAt, localPath, numberAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { type KnownOutlet, orderEach, type Pdu, type PduFact } from './outlets.ts';

/** A PDU with a Redfish service: PowerEquipment, RackPDUs and Outlets of the DMTF schemas. */
export function redfishPdu(service: RedfishService): Pdu {
  const unitsOf = async (signal: AbortSignal): Promise<readonly Resource[]> => {
    const { body } = await service.root(signal);
    const equipment = await service.find(linkAt(body, 'PowerEquipment'), signal);
    const units = await memberResources(service, linkAt(equipment?.body, 'RackPDUs'), signal);
    if (units.length > 0) return units;
    throw new Fault('invalid', 'its Redfish service has no PDU: there is nothing below PowerEquipment.');
  };
  return {
    async outlets(_readings, signal) {
      const units = await unitsOf(signal);
      const found: KnownOutlet[] = [];
      for (const unit of units) {
        const before = units.length > 1 ? `${textAt(unit.body, 'Id') ?? ''}.` : '';
        for (const outlet of await memberResources(service, linkAt(unit.body, 'Outlets'), signal))
          found.push(outletIn(outlet, before));
      }
      return found;
    },
    order: (ordered, to, signal) =>
      orderEach(ordered, async ({ handle }) => {
        const outlet = await service.get(handle, signal);
        const action = at(outlet.body, 'Actions', '#Outlet.PowerControl');
        await service.order(localPath(at(action, 'target'))!, { PowerState: to === 'on' ? 'On' : 'Off' }, signal);
      }),
    async total(signal) {
      const metrics = await Promise.all(
        (await unitsOf(signal)).map((unit) => service.find(linkAt(unit.body, 'Metrics'), signal)),
      );
      const sum = (member: string): number | undefined => {
        const values = metrics.flatMap((one) => numberAt(one?.body, member, 'Reading') ?? []);
        return values.length === 0 ? undefined : values.reduce((all, value) => all + value, 0);
      };
      const kilowattHours = sum('EnergykWh');
      return { watts: sum('PowerWatts'), wattHours: kilowattHours === undefined ? undefined : kilowattHours * 1_000 };
    },
    inventory: async (signal) =>
      (await unitsOf(signal)).flatMap(({ body }) =>
        labels.flatMap(([label, member]): PduFact | [] => {
          const value = textAt(body, member);
          return value === undefined ? [] : { label, value };
        }),
      ),
  };
}

const labels = [
  ['PDU Software Version', 'FirmwareVersion'],
  ['PDU Machine Type', 'EquipmentType'],
  ['PDU Model Number', 'Model'],
  ['PDU Part Number', 'PartNumber'],
  ['PDU Name', 'Name'],
  ['PDU Serial Number', 'SerialNumber'],
] as const;

/** Resource.PowerState, besides those that are the same in small letters. */
const states: Readonly<Record<string, string>> = { PoweringOn: 'powering-on', PoweringOff: 'powering-off' };

function outletIn({ path, body }: Resource, before: string): KnownOutlet {
  const word = textAt(body, 'PowerState') ?? 'unknown';
  const action = at(body, 'Actions', '#Outlet.PowerControl');
  const allowed = textsAt(action, 'PowerState@Redfish.AllowableValues');
  const canSwitch =
    localPath(at(action, 'target')) !== undefined &&
    (allowed.length === 0 || ['On', 'Off'].every((state) => allowed.includes(state)));
  const kilowattHours = numberAt(body, 'EnergykWh', 'Reading');
  return {
    id: `${before}${numberOf(textAt(body, 'Id') ?? path.split('/').at(-1)!)}`,
    handle: path,
    name: textAt(body, 'UserLabel') ?? textAt(body, 'Name'),
    state: (Object.hasOwn(states, word) && states[word]) || word.toLowerCase(),
    watts: numberAt(body, 'PowerWatts', 'Reading'),
    amps: numberAt(body, 'CurrentAmps', 'Reading'),
    wattHours: kilowattHours === undefined ? undefined : kilowattHours * 1_000,
    fixed: canSwitch ? undefined : 'its Redfish service offers no Outlet.PowerControl for it',
  };
}

/** `Outlet03` is 3; what has no number keeps its name. */
const numberOf = (id: string): string => /^(?:outlet[-_ ]?)?0*(\d+)$/i.exec(id)?.[1] ?? id;
