import { Fault } from '../../core/errors.ts';
import { pause } from '../../protocols/redfish/abort.ts';
import type { ServiceProcessor } from '../capabilities.ts';
import { verifyKept } from '../bmc/kept-settings.ts';
import { MovedFault } from '../bmc/moved.ts';
import { type Line, labelled } from './labels.ts';
import { redfishSpReaders, type SpReader, type SpWriter, unknownAttribute } from './sp-attributes.ts';
import { setAccount } from './sp-account.ts';
import { setAddress } from './sp-address.ts';
import { setCommunity, setHostname, setNtp, setVlan } from './sp-network.ts';
import { settingChecks } from './setting-checks.ts';
import type { Target } from './target.ts';

/** Attributes that are set together, and how. */
export type SpWriters = readonly (readonly [attributes: readonly string[], write: SpWriter])[];

/** The address comes last: it may cut the path to the service. */
export const redfishSpWriters: SpWriters = [
  [['userid', 'username', 'password'], setAccount],
  [['hostname'], setHostname],
  [['ntp', 'ntpservers'], setNtp],
  [['community'], setCommunity],
  [['vlan'], setVlan],
  [['ip', 'netmask', 'gateway'], setAddress],
];

export function redfishServiceProcessor(
  target: Target,
  readers: Readonly<Record<string, SpReader>> = redfishSpReaders,
  writers: SpWriters = redfishSpWriters,
): ServiceProcessor {
  const settable = writers.flatMap(([attributes]) => attributes);
  return {
    async get(attribute, signal) {
      const read = Object.hasOwn(readers, attribute) ? readers[attribute] : undefined;
      if (!read) throw unknownAttribute(attribute, Object.keys(readers));
      const lines = await read(target, signal);
      if (lines.length === 0) throw new Fault('invalid', `its service processor does not tell ${attribute}.`);
      return labelled(lines);
    },
    async set(settings, signal) {
      const unknown = Object.keys(settings).find((name) => !settable.includes(name));
      if (unknown !== undefined) throw unknownAttribute(unknown, settable);
      const notes: Line[] = [];
      for (const [attributes, write] of writers) {
        const mine = Object.fromEntries(Object.entries(settings).filter(([name]) => attributes.includes(name)));
        if (Object.keys(mine).length === 0) continue;
        const written = await write(target, mine, signal);
        try {
          await verifyKept(settingChecks(written?.moved ?? target, readers, mine), pause, signal);
        } catch (error) {
          throw written?.moved && error instanceof Fault ? new MovedFault(error) : error;
        }
        notes.push(...(written?.notes ?? []));
      }
      return labelled(notes);
    },
  };
}
