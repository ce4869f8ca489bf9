import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { linkAt, linksAt, textAt } from '../../protocols/redfish/json.ts';
import type { FirmwareChange, FirmwareItem, FirmwareState } from '../firmware.ts';
import { notOffered, managerFor, systemIfAny, type Target } from './target.ts';

/** An installed image, or one that waits beside it. */
export interface Installed extends FirmwareItem {
  readonly path: string;
  /** Its machine or BMC runs it. */
  readonly runs: boolean;
}

export interface InstalledFirmware extends FirmwareState {
  readonly items: readonly Installed[];
}

/** SoftwareInventory Ids with which vendors mark what does not run: iDRACs have an entry for each version that they keep. */
const spareIds = /^(available|previous|rollback)-/i;
/** Of an iDRAC `Installed-159-2.15.1__BIOS.Setup.1-1`: the version is a part of the Id. */
const idWithVersion = /^(?:installed|current|available|previous|rollback)-\d+-.*__(.+)$/i;
/** Of OpenBMC: made from the version. */
const hashedId = /^[0-9a-f]{8}$/;
/** Resource.State of what is there, but is not what runs. */
const spareStates = new Set(['Updating', 'StandbySpare', 'StandbyOffline', 'Absent']);
/** Names that some services give to all of their images. */
const nameless = /^(software|firmware) inventory$/i;

/** More than any machine has; each is kept while an update goes on, and so is this much of its texts. */
const mostImages = 1_000;
const longestText = 120;

/** Everything that the service says is installed; of one without an inventory, what BMC and system say of themselves. */
export async function installedFirmware(
  target: Target,
  inventory: string | undefined,
  signal: AbortSignal,
): Promise<InstalledFirmware> {
  const { service } = target;
  const system = await systemIfAny(target, signal);
  const model = textAt(system?.body, 'Model');
  const listed = (await memberResources(service, inventory, signal, 'leaveOut')).map(installedIn);
  if (listed.length > mostImages)
    throw new Fault('garbled', `its BMC lists ${listed.length} images; muster reads at most ${mostImages}.`);
  if (listed.length > 0) return { model, items: listed };
  const manager = await managerFor(target, signal);
  const own = (component: string, name: string, path: string | undefined, version: string | undefined): Installed[] =>
    version === undefined ? [] : [{ component, name, version, path: path ?? '', runs: true }];
  const items = [
    ...own('bmc', 'BMC Firmware', manager?.path, textAt(manager?.body, 'FirmwareVersion')),
    ...own('bios', 'BIOS', system?.path, textAt(system?.body, 'BiosVersion')),
  ];
  return { model, items };
}

function installedIn({ path, body }: Resource): Installed {
  const id = textAt(body, 'Id') ?? path.slice(path.lastIndexOf('/') + 1);
  const component = componentOf(id, body);
  const name = [textAt(body, 'Name'), textAt(body, 'Description')].find((one) => one && !nameless.test(one));
  const state = textAt(body, 'Status', 'State');
  return {
    component: component.slice(0, longestText),
    name: (name ?? component).slice(0, longestText),
    version: textAt(body, 'Version')?.slice(0, longestText),
    path,
    runs: !spareIds.test(id) && !(state !== undefined && spareStates.has(state)),
  };
}

function componentOf(id: string, body: Resource['body']): string {
  const part = idWithVersion.exec(id)?.[1];
  if (part !== undefined) return part;
  const [related] = linksAt(body, 'RelatedItem');
  return hashedId.test(id) && related !== undefined ? related.slice(related.lastIndexOf('/') + 1).toLowerCase() : id;
}

/** Those that a word means: a component, else a name. */
export function itemsCalled(items: readonly Installed[], wanted: string): readonly Installed[] {
  const same = (text: string): boolean => text.toLowerCase() === wanted.toLowerCase();
  const found = items.filter(({ component }) => same(component));
  const called = found.length > 0 ? found : items.filter(({ name }) => same(name));
  if (called.length === 0) throw notOffered(`component "${wanted}"`, [...new Set(items.map((item) => item.component))]);
  return called;
}

/** What runs, and what was chosen though it does not run, by component; several versions of one component are joined. */
export function versionsOf(items: readonly Installed[], chosen: readonly Installed[] = []): Record<string, string> {
  const paths = new Set(chosen.map(({ path }) => path));
  const shown = items.filter(({ runs, version, path }) => version !== undefined && (runs || paths.has(path)));
  const groups = Map.groupBy(shown, ({ component }) => component);
  return Object.fromEntries(
    [...groups].map(([component, all]) => [
      component,
      [...new Set(all.map(({ version }) => version!))].sort().join(', '),
    ]),
  );
}

/** What has another version now, or is new. */
export function changesSince(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
  components: readonly string[] | undefined,
): readonly FirmwareChange[] {
  return Object.entries(now).flatMap(([component, after]) => {
    const isMeant = components?.includes(component) ?? true;
    const old = Object.hasOwn(before, component) ? before[component] : undefined;
    return isMeant && old !== after ? [{ component, before: old, after }] : [];
  });
}

/** Where the inventory is. */
export const inventoryOf = (service: Resource | undefined): string | undefined =>
  linkAt(service?.body, 'FirmwareInventory');
