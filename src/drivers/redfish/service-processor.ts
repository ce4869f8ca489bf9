import { Fault } from '../../core/errors.ts';
import { pause } from '../../protocols/redfish/abort.ts';
import type { ServiceProcessor } from '../capabilities.ts';
import { type Check, MovedFault, sayingWhatIsDone, verifyKept } from '../bmc/kept-settings.ts';
import { type Line, labelled } from './labels.ts';
import { checkAccount, setAccount } from './sp-account.ts';
import { redfishSpReaders, type SpCheck, type SpReader, type SpWriter, unknownAttribute } from './sp-attributes.ts';
import {
  checkAddress,
  checkCommunity,
  checkHostname,
  checkNtp,
  checkVlan,
  setAddress,
  setCommunity,
  setHostname,
  setNtp,
  setVlan,
} from './sp-network.ts';
import type { Target } from './target.ts';

/** Attributes that are set together, and how. */
export type SpWriters = readonly (readonly [attributes: readonly string[], write: SpWriter, check?: SpCheck])[];

/** The account comes after what its old password is needed for, and the address last: it may cut the path to the service. */
export const redfishSpWriters: SpWriters = [
  [['hostname'], setHostname, checkHostname],
  [['ntp', 'ntpservers'], setNtp, checkNtp],
  [['community'], setCommunity, checkCommunity],
  [['vlan'], setVlan, checkVlan],
  [['userid', 'username', 'password'], setAccount, checkAccount],
  [['ip', 'netmask', 'gateway'], setAddress, checkAddress],
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
      if (lines.length === 0) throw new Fault('invalid', `its BMC does not report ${attribute}.`);
      return labelled(lines);
    },
    async set(settings, signal) {
      const unknown = Object.keys(settings).find((name) => !settable.includes(name));
      if (unknown !== undefined) throw unknownAttribute(unknown, settable);
      const given = writers.flatMap(([attributes, write, check]) => {
        const mine = Object.fromEntries(Object.entries(settings).filter(([name]) => attributes.includes(name)));
        return Object.keys(mine).length === 0 ? [] : [{ mine, write, check }];
      });
      for (const { mine, check } of given) await check?.(mine, target, signal, settings);
      const writeOne = async (mine: Readonly<Record<string, string>>, write: SpWriter): Promise<readonly Line[]> => {
        const written = await write(target, mine, signal);
        try {
          if (!written?.pending)
            await verifyKept(settingChecks(written?.moved ?? target, readers, mine), pause, signal);
        } catch (error) {
          throw written?.moved && error instanceof Fault ? new MovedFault(error) : error;
        }
        return written?.notes ?? [];
      };
      const notes: Line[] = [];
      const done: string[] = [];
      for (const { mine, write } of given) {
        notes.push(...(await sayingWhatIsDone(done, () => writeOne(mine, write))));
        done.push(...Object.keys(mine));
      }
      return labelled(notes);
    },
  };
}

/** Attributes whose values are not repeated. */
const hidden: readonly string[] = ['community'];

/** What a setting reads back as, unless as it was written; undefined if that cannot be known. */
const readsAs: Readonly<Record<string, (value: string) => string | undefined>> = {
  ip: (value) => (value === 'dhcp' ? undefined : value),
  vlan: (value) => (['off', '0'].includes(value) ? 'BMC VLAN disabled' : String(Number(value))),
  ntp: (value) => serverList(value),
  ntpservers: (value) => serverList(value),
};

const serverList = (value: string): string =>
  value
    .split(',')
    .map((server) => server.trim())
    .join(',');

function settingChecks(
  target: Target,
  readers: Readonly<Record<string, SpReader>>,
  settings: Readonly<Record<string, string>>,
): Check[] {
  return Object.entries(settings).flatMap(([attribute, value]) => {
    const read = readers[attribute];
    const wanted = readsAs[attribute] ? readsAs[attribute](value) : value;
    if (!read || wanted === undefined) return [];
    return {
      attribute,
      wanted,
      hidden: hidden.includes(attribute),
      read: async (signal) => (await read(target, signal))[0]?.[1],
      // Services may hide what is secret, and write names in their own case.
      isSame: (shown) => shown.toLowerCase() === wanted.toLowerCase() || /^\*+$/.test(shown),
    } satisfies Check;
  });
}
