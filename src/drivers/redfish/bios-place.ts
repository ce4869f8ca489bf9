import { Fault } from '../../core/errors.ts';
import { settingName } from '../../protocols/redfish/attribute-registry.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { at, flagAt, type Json, linkAt, listAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { messageText } from '../../protocols/redfish/message.ts';
import type { Texts } from '../bios.ts';
import type { BiosValue } from './bios-values.ts';
import { settingsOf, systemFor, type Target } from './target.ts';

/** The settings of a machine's firmware, where they are read and where they are changed. */
export interface BiosPlace {
  readonly system: Resource;
  readonly bios: Resource;
  /** Where changes wait for the next start; undefined: the settings themselves are changed. */
  readonly settings: Resource | undefined;
  readonly current: ReadonlyMap<string, BiosValue>;
  /** What is there: all of them, or those that wait. */
  readonly waiting: ReadonlyMap<string, BiosValue>;
  /** Those that wait. */
  readonly pending: ReadonlyMap<string, BiosValue>;
}

/** More than any firmware has. */
const mostSettings = 10_000;

export async function biosPlace(target: Target, signal: AbortSignal): Promise<BiosPlace> {
  const { service } = target;
  const system = await systemFor(target, signal);
  const bios = await service.find(linkAt(system.body, 'Bios'), signal);
  if (!bios) throw new Fault('invalid', 'its BMC does not show the settings of its BIOS.');
  const settings = await settingsFor(target, bios, signal);
  const current = valuesIn(bios);
  const waiting: BiosPlace['waiting'] = settings ? valuesIn(settings) : new Map();
  const pending = [...waiting].filter(([name, value]) => current.has(name) && !isSame(current.get(name), value));
  return { system, bios, settings, current, waiting, pending: new Map(pending) };
}

/** What one maker calls the resource of settings, whose own link some of its firmware lacks. */
const unlinked = ['SD', 'Settings'];

async function settingsFor({ service }: Target, bios: Resource, signal: AbortSignal): Promise<Resource | undefined> {
  const linked = settingsOf(bios);
  if (linked !== undefined) return service.find(linked, signal);
  const place = bios.path.replace(/\/$/, '');
  for (const name of unlinked) {
    const found = await service.find(`${place}/${name}`, signal);
    if (found && at(found.body, 'Attributes') !== undefined) return found;
  }
  return undefined;
}

/** Numbers may be written as text. */
export const isSame = (a: BiosValue | undefined, b: BiosValue | undefined): boolean => String(a) === String(b);

function valuesIn({ body }: Resource): ReadonlyMap<string, BiosValue> {
  const attributes = at(body, 'Attributes');
  const values = new Map<string, BiosValue>();
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes)) return values;
  for (const [name, value] of Object.entries(attributes as Record<string, Json>)) {
    const known = settingName(name);
    const read = valueOf(value);
    if (known !== undefined && !known.includes('@') && read !== undefined && values.size < mostSettings)
      values.set(known, read);
  }
  return values;
}

function valueOf(value: Json): BiosValue | undefined {
  if (typeof value === 'string') return textAt(value) ?? '';
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)) ? value : undefined;
}

const secretName = /(?:password|passwd|pwd|passphrase|secret)\d*(?:#\w*)?$/i;
const hidden = '********';

/** As people see them: no passwords, which some firmware shows. */
export const shownTexts = (values: Iterable<readonly [string, BiosValue]>): Texts =>
  Object.fromEntries([...values].map(([name, value]) => [name, shownText(name, value)]));

const shownText = (name: string, value: BiosValue): string =>
  secretName.test(name) && value !== '' ? hidden : String(value);

const mostNotes = 20;

/** What there is to know besides values. */
export function biosNotes({ bios: { body } }: BiosPlace): readonly string[] {
  const resets = flagAt(body, 'ResetBiosToDefaultsPending') ?? textAt(body, 'ResetBiosToDefaultsPending') === 'true';
  const said = listAt(body, '@Redfish.Settings', 'Messages').slice(0, mostNotes).flatMap(remarkOf);
  return [...(resets ? ['All settings return to their defaults when the machine restarts.'] : []), ...said];
}

/** What became of the settings that were taken on at the last start (DSP0266 "Settings resource"). */
function remarkOf(message: Json): readonly string[] {
  const id = textAt(message, 'MessageId') ?? '';
  const severity = textAt(message, 'Severity') ?? textAt(message, 'MessageSeverity') ?? '';
  if (/\.(?:Success|SettingsSuccess|NoOperation)$/i.test(id) || severity === 'OK') return [];
  const names = textsAt(message, 'RelatedProperties').map((pointer) => pointer.slice(pointer.lastIndexOf('/') + 1));
  const about = names.length === 0 ? '' : ` of ${names.slice(0, mostNotes).join(', ')}`;
  const text = messageText(message) ?? id;
  return text === '' ? [] : [`The BIOS said of the last change${about}: ${text}`];
}
