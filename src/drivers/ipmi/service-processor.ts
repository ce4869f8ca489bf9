import { Fault } from '../../core/errors.ts';
import { within } from '../../core/waiting.ts';
import { pause, unanswered } from '../../protocols/ipmi/commands/ask.ts';
import { byteAt } from '../../protocols/ipmi/commands/bytes.ts';
import { getControllerId, setControllerId } from '../../protocols/ipmi/commands/dcmi.ts';
import {
  decodeArpInterval,
  decodeCommunity,
  decodeDestination,
  decodeIpv4,
  decodeMac,
  decodeVlan,
  encodeIpv4,
  getAlerting,
  getLanParameter,
  lanChannel,
  lanName,
  type LanParameter,
  type LanSetting,
  moveLanAddress,
  setAlerting,
  setLanParameters,
} from '../../protocols/ipmi/commands/lan.ts';
import { enableSol, isSolEnabled, setSolBitRate, solBitRate } from '../../protocols/ipmi/commands/sol-settings.ts';
import { getUserName } from '../../protocols/ipmi/commands/users.ts';
import type { IpmiLink } from '../../protocols/ipmi/link.ts';
import { type Accounts, verifyAccount } from '../accounts.ts';
import { type Check, sayingWhatIsDone, verifyKept } from '../bmc/kept-settings.ts';
import type { Labelled } from '../capabilities.ts';
import { type Bmc, difference, readIdentity } from './bmc.ts';
import { changeAccount, checkAccount } from './sp-account.ts';
import { lanNamesIn, planSettings, type SettingsPlan, numberedDestination } from './sp-settings.ts';

type Reader = (bmc: Bmc, signal: AbortSignal) => Promise<Labelled>;

interface LanAttribute {
  readonly label: string;
  readonly parameter: LanParameter;
  readonly show: (value: Buffer) => string;
}

const lanAttributes: ReadonlyMap<string, LanAttribute> = new Map<string, LanAttribute>([
  ['ip', { label: 'BMC IP', parameter: 'address', show: decodeIpv4 }],
  ['netmask', { label: 'BMC Netmask', parameter: 'netmask', show: decodeIpv4 }],
  ['gateway', { label: 'BMC Gateway', parameter: 'gateway', show: decodeIpv4 }],
  ['backupgateway', { label: 'BMC Backup Gateway', parameter: 'backupGateway', show: decodeIpv4 }],
  [
    'garp',
    { label: 'Gratuitous ARP seconds', parameter: 'arpInterval', show: (value) => String(decodeArpInterval(value)) },
  ],
  ['mac', { label: 'BMC MAC', parameter: 'mac', show: decodeMac }],
  ['vlan', { label: 'BMC VLAN ID', parameter: 'vlan', show: (value) => String(decodeVlan(value) ?? 'off') }],
  ['community', { label: 'SP SNMP Community', parameter: 'community', show: decodeCommunity }],
]);

async function readParameter(
  bmc: Bmc,
  name: LanParameter,
  signal: AbortSignal,
  selector = 0,
): Promise<Buffer | undefined> {
  const channel = await lanChannel(bmc.link, signal);
  return await getLanParameter(bmc.link, channel, name, signal, selector);
}

async function readLan(
  bmc: Bmc,
  attribute: string,
  lanAttribute: LanAttribute,
  signal: AbortSignal,
): Promise<Labelled> {
  const { label, parameter: name, show } = lanAttribute;
  const value = await readParameter(bmc, name, signal);
  if (value === undefined) {
    throw new Fault('invalid', `its BMC does not have the setting ${attribute} (${lanName(name)}).`, {
      reference: ['Unknown ipmi error 80h'],
    });
  }
  const shown = show(value);
  return attribute === 'vlan' && shown === 'off' ? { Message: ['BMC VLAN disabled'] } : { [label]: shown };
}

async function destination(bmc: Bmc, number: number, signal: AbortSignal): Promise<Labelled> {
  const value = await readParameter(bmc, 'destination', signal, number);
  if (value === undefined) throw new Fault('invalid', `its BMC has no SNMP destination ${number}.`);
  return { [`SP SNMP Destination ${number}`]: decodeDestination(value) };
}

/** One that is not set is 0.0.0.0, as the reference system prints it. There is always a first to ask for. */
async function destinations(bmc: Bmc, signal: AbortSignal): Promise<Labelled> {
  const count = byteAt((await readParameter(bmc, 'destinationCount', signal)) ?? Buffer.of(1), 0) & 0x0f;
  const labels = [await destination(bmc, 1, signal)];
  for (let number = 2; number <= count; number += 1) labels.push(await destination(bmc, number, signal));
  return Object.assign({}, ...labels) as Labelled;
}

const enabledWord = (on: boolean): string => (on ? 'enabled' : 'disabled');

async function readSol<T>(
  { link }: Bmc,
  read: (link: IpmiLink, channel: number, signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  return await read(link, await lanChannel(link, signal), signal);
}

const otherReaders: Readonly<Record<string, Reader>> = {
  snmpdest: destinations,
  alert: async (bmc, signal) => ({ 'SP Alerting': enabledWord(await getAlerting(bmc.link, signal)) }),
  solenabled: async (bmc, signal) => ({ 'Serial over LAN': enabledWord(await readSol(bmc, isSolEnabled, signal)) }),
  solbitrate: async (bmc, signal) => ({ 'Serial over LAN bit rate': await readSol(bmc, solBitRate, signal) }),
  hostname: async (bmc, signal) => ({ 'BMC Hostname': await getControllerId(bmc.link, signal) }),
};

export async function getSetting(bmc: Bmc, attribute: string, signal: AbortSignal): Promise<Labelled> {
  const number = numberedDestination.exec(attribute)?.[1];
  if (number !== undefined) return await destination(bmc, Number(number), signal);
  const lanAttribute = lanAttributes.get(attribute);
  if (lanAttribute !== undefined) return await readLan(bmc, attribute, lanAttribute, signal);
  const read = Object.hasOwn(otherReaders, attribute) ? otherReaders[attribute] : undefined;
  if (read === undefined) {
    const list = [...lanAttributes.keys(), ...Object.keys(otherReaders)].join(', ');
    throw new Fault('invalid', `"${attribute}" cannot be read from an IPMI BMC; known: ${list}, snmpdest<n>.`);
  }
  return await read(bmc, signal);
}

/** IPMI 2.0 table 23-4, parameter 4. */
const addressSources = ['unspecified', 'static', 'dhcp', 'set by the BIOS'] as const;
type AddressSource = (typeof addressSources)[number];
const addressPoll = 1000;

async function setSource(bmc: Bmc, channel: number, wanted: AddressSource, signal: AbortSignal): Promise<void> {
  const read = async (aborted: AbortSignal): Promise<string | undefined> => {
    const value = await getLanParameter(bmc.link, channel, 'source', aborted);
    return value && (addressSources[byteAt(value, 0) & 0x0f] ?? 'other');
  };
  if ((await read(signal)) === wanted) return;
  const value = Buffer.of(addressSources.indexOf(wanted));
  await setLanParameters(bmc.link, channel, [{ parameter: 'source', value }], signal);
  await verifyKept([{ attribute: 'ip', wanted, read }], pause, signal);
}

/** Moves the BMC and waits until it, and no other one with the same account, answers at its new address. */
async function move(bmc: Bmc, channel: number, address: string, signal: AbortSignal): Promise<void> {
  const bytes = encodeIpv4(address);
  if (bytes === undefined) {
    await setSource(bmc, channel, 'dhcp', signal);
    return;
  }
  const now = await getLanParameter(bmc.link, channel, 'address', signal);
  await setSource(bmc, channel, 'static', signal);
  if (now !== undefined && decodeIpv4(now) === address) return;
  const identity = await readIdentity(bmc.link, signal);
  await moveLanAddress(bmc.link, channel, bytes, signal);
  const ordered = `its BMC was asked to use the address ${address}`;
  const maybe = `It may still answer at ${bmc.access.address}.`;
  let reason = 'does not answer there.';
  const late = (): Fault => new Fault('deadline', [`${ordered} but ${reason}`, maybe]);
  const found = await within(bmc.times.addressTimeout, late, signal, async (inTime) => {
    for (;;) {
      try {
        return await bmc.identityAt(address, inTime);
      } catch (error) {
        if (!(error instanceof Fault) || inTime.aborted) throw error;
        const isSilent: boolean = unanswered(error, inTime);
        if (!isSilent) reason = `what answers there refuses: ${error.message}`;
      }
      await pause(addressPoll, inTime);
    }
  });
  const differs = difference(identity, found);
  if (differs === undefined) return;
  throw new Fault('invalid', [`${ordered}, but another BMC answers there (${differs}).`, maybe]);
}

/** What the settings other than the LAN's should be, and where that shows. */
function otherChecks(bmc: Bmc, { alerting, hostname, account, solEnabled, solBits }: SettingsPlan): Check[] {
  const checks: Check[] = [];
  if (alerting !== undefined) {
    const read = async (signal: AbortSignal) => enabledWord(await getAlerting(bmc.link, signal));
    checks.push({ attribute: 'alert', wanted: enabledWord(alerting), read });
  }
  if (solEnabled !== undefined) {
    const read = async (signal: AbortSignal) => enabledWord(await readSol(bmc, isSolEnabled, signal));
    checks.push({ attribute: 'solenabled', wanted: enabledWord(solEnabled), read });
  }
  if (solBits !== undefined)
    checks.push({ attribute: 'solbitrate', wanted: solBits, read: (signal) => readSol(bmc, solBitRate, signal) });
  if (hostname !== undefined) {
    checks.push({ attribute: 'hostname', wanted: hostname, read: (signal) => getControllerId(bmc.link, signal) });
  }
  if (account?.name !== undefined) {
    const { userId, name } = account;
    checks.push({ attribute: 'username', wanted: name, read: (signal) => getUserName(bmc.link, userId, signal) });
  }
  return checks;
}

/** The address comes last: after it the way to the BMC may be another one. Resolves with what the user has to do now. */
export async function setSettings(
  bmc: Bmc,
  settings: Readonly<Record<string, string>>,
  accounts: () => Accounts,
  signal: AbortSignal,
): Promise<Labelled> {
  const plan = planSettings(settings);
  const { link } = bmc;
  const { lan, account, alerting, solBits, solEnabled, hostname } = plan;
  const channel = await lanChannel(link, signal);
  const before = account && (await checkAccount(bmc, channel, account, plan.address !== undefined, signal));
  const done: string[] = [];
  const send = async <T>(names: readonly string[], work: () => Promise<T>): Promise<T> => {
    const said = await sayingWhatIsDone(done, work);
    done.push(...names.filter((name) => settings[name] !== undefined));
    return said;
  };
  if (lan.length > 0) await send(lanNamesIn(settings), () => setLanParameters(link, channel, lan, signal));
  if (alerting !== undefined) await send(['alert'], () => setAlerting(link, channel, alerting, signal));
  if (solBits !== undefined) await send(['solbitrate'], () => setSolBitRate(link, channel, solBits, signal));
  if (solEnabled !== undefined) await send(['solenabled'], () => enableSol(link, channel, solEnabled, signal));
  if (hostname !== undefined) await send(['hostname'], () => setControllerId(link, hostname, signal));
  let todo: string | undefined;
  if (account && before)
    todo = await send(['username', 'password'], () => changeAccount(bmc, channel, account, before, signal));
  const lanToCheck = lan.flatMap((setting) => lanChecks(bmc, channel, setting));
  await verifyKept([...lanToCheck, ...otherChecks(bmc, plan)], pause, signal);
  if (account?.password !== undefined && before?.name !== bmc.access.username)
    await verifyAccount(accounts(), account.name ?? before!.name, { password: account.password }, signal);
  if (plan.address !== undefined) await sayingWhatIsDone(done, () => move(bmc, channel, plan.address!, signal));
  return todo === undefined ? {} : { Message: [todo] };
}

/** How a LAN setting is read back; none for one that only goes with another. */
function lanChecks(bmc: Bmc, channel: number, { parameter, value }: LanSetting): Check[] {
  const [number = 0] = value;
  const [attribute, show, selector] =
    parameter === 'destination'
      ? ([`snmpdest${number}`, decodeDestination, number] as const)
      : ([attributeOf(parameter), lanAttributes.get(attributeOf(parameter))?.show, 0] as const);
  if (show === undefined) return [];
  return [
    {
      attribute,
      wanted: show(Buffer.from(value)),
      async read(signal) {
        const found = await getLanParameter(bmc.link, channel, parameter, signal, selector);
        return found && show(found);
      },
    },
  ];
}

const attributeOf = (parameter: string): string =>
  [...lanAttributes].find(([, attribute]) => attribute.parameter === parameter)?.[0] ?? '';
