import { UsageError } from '../errors.ts';
import { yamlText } from '../formats.ts';
import { membersOf, readTree } from '../muster/definition-files.ts';
import { nearest } from '../../core/nearest.ts';

export type Texts = Readonly<Record<string, string>>;

/** Settings that several machines are to have. */
export interface Profile {
  readonly bios: Texts;
  /** Of their BMCs, by the names of rspconfig. */
  readonly bmc: Texts;
}

/** What of a BMC can be the same on many; addresses, names and accounts cannot. */
export const bmcSettings = [
  'netmask',
  'gateway',
  'backupgateway',
  'garp',
  'vlan',
  'alert',
  'solenabled',
  'solbitrate',
  'ntpservers',
  'timesyncmethod',
  'autoreboot',
  'powerrestorepolicy',
  'bootmode',
  'thermalmode',
  'powersupplyredundancy',
] as const;

const sections = ['bios', 'bmc'] as const;

/** Reads YAML or JSON with the sections `bios` and `bmc`. A value is a text, a number, true or false. */
export async function readProfile(text: string, file: string): Promise<Profile> {
  const found = Object.fromEntries(membersOf(await readTree(text, file), file, 'the top'));
  const stranger = Object.keys(found).find((name) => !(sections as readonly string[]).includes(name));
  if (stranger !== undefined)
    throw new UsageError(`${file}: "${stranger}" is not a section of a profile; there are ${sections.join(' and ')}.`);
  const [bios, bmc] = sections.map((section) =>
    Object.fromEntries(
      membersOf(found[section], file, section).map(([name, value]) => [name, valueText(value, `${file}: ${name}`)]),
    ),
  ) as [Texts, Texts];
  const unknown = Object.keys(bmc).find((name) => !(bmcSettings as readonly string[]).includes(name));
  if (unknown !== undefined) {
    const meant = nearest(unknown, bmcSettings);
    const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
    throw new UsageError(
      `${file}: "${unknown}" is not a setting that BMCs can have in common; known are ${bmcSettings.join(', ')}.${hint}`,
    );
  }
  if (isEmpty(bios) && isEmpty(bmc)) throw new UsageError(`${file} has no settings: write them below bios: or bmc:.`);
  return { bios, bmc };
}

export const profileText = (profile: Profile): Promise<string> =>
  yamlText(Object.fromEntries(sections.flatMap((name) => (isEmpty(profile[name]) ? [] : [[name, profile[name]]]))));

export const isEmpty = (texts: Texts): boolean => Object.keys(texts).length === 0;

function valueText(value: unknown, what: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new UsageError(`${what} must be a text, a number, true or false.`);
}
