import { Fault, Unreachable } from '../../core/errors.ts';
import { Refusal, type Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { at, flagAt, linkAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { type MediaDrive, type MediaEjection, type MediaOrder, type OwnMedium, shownImage } from '../media.ts';
import type { VirtualMedia } from '../media.ts';
import { insertBodies, type MediaWay, scrubbed, wayOf } from './media-ways.ts';
import { managerFor, systemIfAny, type Target, until } from './target.ts';

/** Milliseconds that a service may take to show what it has taken: it looks at the image first. */
const settles = 30_000;

interface Drive extends MediaDrive {
  readonly resource: Resource;
}

export function redfishMedia(target: Target): VirtualMedia {
  return {
    list: async (own, signal) => (await drivesOf(target, own, signal)).map(shown),
    insert: (order, signal) => insert(target, order, signal),
    eject: (order, signal) => eject(target, order, signal),
  };
}

const shown = ({ id, types, image, isInserted, isOwn }: Drive): MediaDrive => ({
  id,
  types,
  image,
  isInserted,
  isOwn,
});

/** Newer services have the drives with the system, older ones with the manager; some show the same in both places. */
async function drivesOf(target: Target, own: OwnMedium | undefined, signal: AbortSignal): Promise<readonly Drive[]> {
  for (const holder of [systemIfAny, managerFor]) {
    const resource = await holder(target, signal);
    const found = await memberResources(target.service, linkAt(resource?.body, 'VirtualMedia'), signal);
    if (found.length > 0) return found.map((each) => driveIn(each, own));
  }
  throw new Fault('invalid', 'its BMC has no virtual media; some need a license for them.');
}

function driveIn(resource: Resource, own: OwnMedium | undefined): Drive {
  const { body, path } = resource;
  const id = textAt(body, 'Id') ?? path.split('/').at(-1) ?? path;
  const address = textAt(body, 'Image');
  const image = address ?? textAt(body, 'ImageName');
  // A service may show an image before it is there.
  const isInserted = flagAt(body, 'Inserted') ?? image !== undefined;
  const hasOwn = own?.drive === id && (isInserted || image !== undefined) && isOwnImage(own.url, image);
  const types = textsAt(body, 'MediaTypes');
  return { resource, id, types, image: image && shownImage(image), isInserted: isInserted || hasOwn, isOwn: hasOwn };
}

/** Services show an address as a whole, or the end of it, or nothing. */
function isOwnImage(url: string, image: string | undefined): boolean {
  if (image === undefined || image === url) return true;
  const path = URL.parse(url)?.pathname ?? url;
  return image.endsWith(path) || image === path.split('/').at(-1);
}

const takesDiscs = ({ types }: Drive): boolean => types.length === 0 || types.includes('CD') || types.includes('DVD');

/** What OpenBMC offers to viewers only, which send the image themselves. */
const isForViewers = ({ resource: { body } }: Drive): boolean =>
  at(body, 'Actions', '#VirtualMedia.InsertMedia') === undefined &&
  at(body, 'Oem', 'OpenBMC', 'WebSocketEndpoint') !== undefined;

async function insert(target: Target, order: MediaOrder, signal: AbortSignal): Promise<MediaDrive> {
  const { url, own, force } = order;
  const drives = await drivesOf(target, own, signal);
  const before = drives.find(({ isOwn }) => isOwn);
  if (before && own?.url === url && (order.drive === undefined || order.drive === before.id)) return shown(before);
  const drive = chosenDrive(drives, order);
  // Refused here, before anything is changed.
  const way = await wayOf(target, drive.resource, 'InsertMedia', signal);
  if (before) await empty(target, before, own, signal);
  if (drive.isInserted && drive.id !== before?.id) {
    if (!force) throw occupied(drive);
    await empty(target, drive, own, signal);
  }
  await order.keep(drive.id);
  const fresh: OwnMedium = { drive: drive.id, url };
  try {
    await send(target, drive, way, url, signal);
  } catch (error) {
    // The service may have it, or be at it.
    if (!isLost(error) || signal.aborted) throw scrubbed(error, url);
  }
  const isThere = ({ isInserted, isOwn }: Drive): boolean => isInserted && isOwn;
  const late = (): Fault =>
    new Fault('invalid', `its BMC accepted the image, but drive ${drive.id} is still empty: can it reach the address?`);
  return shown(await untilShown(target, fresh, isThere, late, signal));
}

function chosenDrive(drives: readonly Drive[], { drive: wanted, force }: MediaOrder): Drive {
  const usable = drives.filter((drive) => takesDiscs(drive) && !isForViewers(drive));
  const known = (): string => drives.map(driveText).join(', ');
  if (wanted !== undefined) {
    const named = usable.find(({ id }) => id.toLowerCase() === wanted.toLowerCase());
    if (!named) throw new Fault('invalid', `its BMC has no drive "${wanted}" that takes CDs; it has ${known()}.`);
    if (named.isInserted && !named.isOwn && !force) throw occupied(named);
    return named;
  }
  const free = usable.find(({ isOwn }) => isOwn) ?? usable.find(({ isInserted }) => !isInserted);
  if (free) return free;
  const [first] = usable;
  if (!first) throw new Fault('invalid', `its BMC has no drive that takes images of CDs; it has ${known()}.`);
  if (!force) throw occupied(first);
  return first;
}

const driveText = ({ id, types }: MediaDrive): string => (types.length > 0 ? `${id} (${types.join(', ')})` : id);

const occupied = ({ id, image }: MediaDrive): Fault =>
  new Fault(
    'conflict',
    `drive ${id} has an image that muster did not insert${image === undefined ? '' : `: ${image}`}. Nothing was changed; force ejects it.`,
  );

/** One body after the other, as long as the service refuses the form of it: then it has done nothing. */
async function send(target: Target, drive: Drive, way: MediaWay, url: string, signal: AbortSignal): Promise<void> {
  let first: unknown;
  for (const body of insertBodies(way, url)) {
    try {
      if (way.kind === 'action') await target.service.act(way.path, body, signal);
      else await target.service.patch(drive.resource, body, signal);
      return;
    } catch (error) {
      if (!(error instanceof Refusal && error.ofRequest && error.status < 500)) throw error;
      first ??= error;
    }
  }
  throw first;
}

const isLost = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof Fault && error.kind === 'deadline');

async function eject(target: Target, order: MediaEjection, signal: AbortSignal): Promise<readonly MediaDrive[]> {
  const { own, force, drive: wanted } = order;
  const drives = await drivesOf(target, own, signal);
  const named = wanted === undefined ? drives : drives.filter(({ id }) => id.toLowerCase() === wanted.toLowerCase());
  if (named.length === 0)
    throw new Fault('invalid', `its BMC has no drive "${wanted}"; it has ${drives.map(driveText).join(', ')}.`);
  const full = named.filter(({ isInserted }) => isInserted);
  const foreign = full.find(({ isOwn }) => !isOwn);
  const meant = force ? full : full.filter(({ isOwn }) => isOwn);
  if (meant.length === 0 && foreign) throw occupied(foreign);
  for (const drive of meant) await empty(target, drive, own, signal);
  return meant.map(shown);
}

async function empty(target: Target, drive: Drive, own: OwnMedium | undefined, signal: AbortSignal): Promise<void> {
  const way = await wayOf(target, drive.resource, 'EjectMedia', signal);
  try {
    if (way.kind === 'action') await target.service.act(way.path, {}, signal);
    else await target.service.patch(drive.resource, { Image: null, Inserted: false }, signal);
  } catch (error) {
    if (!isLost(error) || signal.aborted) throw scrubbed(error, own?.url);
  }
  const isEmpty = ({ isInserted }: Drive): boolean => !isInserted;
  const late = (): Fault =>
    new Fault('invalid', `its BMC took the order to eject, but drive ${drive.id} is not empty.`);
  await untilShown(target, { drive: drive.id, url: own?.url ?? '' }, isEmpty, late, signal);
}

/** Reads one drive until it is as wanted. */
function untilShown(
  target: Target,
  own: OwnMedium,
  isWanted: (drive: Drive) => boolean,
  late: () => Fault,
  signal: AbortSignal,
): Promise<Drive> {
  return until(
    async () => {
      const drives = await drivesOf(target, own, signal);
      const found = drives.find(({ id }) => id === own.drive);
      if (!found) throw new Fault('invalid', `its BMC has no drive ${own.drive} any more.`);
      return found;
    },
    isWanted,
    late,
    Math.min(settles, target.settleTime),
    signal,
  );
}
