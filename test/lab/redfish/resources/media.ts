import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { get as secureGet } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import type { Bmc } from '../bmc.ts';
import { collection, done, failure, type Json, link, type Reply, unknownMember, textOf } from '../resource.ts';

/** A drive that shows images to the machine. */
export interface Drive {
  readonly id: string;
  readonly types: readonly string[];
  image: string | null;
  inserted: boolean;
}

/** What is wrong with its virtual media. */
export interface MediaFaults {
  /** Addresses are not shown. */
  readonly hides?: boolean;
  /** What is inserted never shows; or what is ejected stays. */
  readonly forgetful?: boolean;
  readonly stuck?: boolean;
  /** `members`: more than the image is refused. `protocol`: it has to be said. `license`: nothing is taken without one. */
  readonly wants?: 'members' | 'protocol' | 'license' | false;
  /** Milliseconds until an image shows. */
  readonly takes?: number;
  /** It fetches the image before it shows it, and refuses what it does not get. */
  readonly fetches?: boolean;
}

/** Somebody has put an image into a drive, or taken it out. */
export interface ForeignMedium {
  readonly drive: string;
  readonly image: string | null;
}

export interface MediaState {
  readonly drives: readonly Drive[];
  readonly faults: MediaFaults;
  /** What it has fetched of images: address and bytes. */
  readonly fetched: { readonly url: string; readonly status: number; readonly bytes: number }[];
}

export function newMedia(kind: Bmc['kind']): MediaState {
  const drive = (id: string, types: readonly string[]): Drive => ({ id, types, image: null, inserted: false });
  const drives =
    kind === 'openbmc'
      ? [drive('Slot_0', ['CD', 'USBStick']), drive('Slot_1', ['CD', 'USBStick'])]
      : kind === 'sparse'
        ? [drive('RemoteCd', ['CD', 'DVD'])]
        : [drive('Usb', ['USBStick', 'Floppy']), drive('Cd', ['CD', 'DVD']), drive('Cd2', ['DVD'])];
  return { drives, faults: {}, fetched: [] };
}

export function changeMedium({ media }: Bmc, { drive, image }: ForeignMedium): void {
  const found = media.drives.find(({ id }) => id === drive);
  if (!found) throw new Error(`There is no drive ${drive}.`);
  Object.assign(found, { image, inserted: image !== null });
}

/** Plain services have actions, sparse ones a PATCH, and one drive of OpenBMC is for viewers only. */
export function addMedia(bmc: Bmc, holder: string): Json {
  if (bmc.kind === 'enclosure' || bmc.kind === 'pdu') return {};
  const path = `${holder}/VirtualMedia`;
  const pathOf = ({ id }: Drive): string => `${path}/${id}`;
  bmc.resources.set(
    path,
    collection(path, 'VirtualMedia', () => bmc.media.drives.map(pathOf)),
  );
  for (const drive of bmc.media.drives) addDrive(bmc, drive, pathOf(drive));
  return { VirtualMedia: link(path) };
}

function addDrive(bmc: Bmc, drive: Drive, path: string): void {
  const hasActions = bmc.kind === 'plain' || drive.id === 'Slot_1';
  const info = bmc.kind === 'openbmc' ? `${path}/InsertMediaActionInfo` : undefined;
  const action = (name: string): string => `${path}/Actions/VirtualMedia.${name}`;
  if (hasActions) {
    bmc.resources.set(action('InsertMedia'), {
      post: (body) => insert(bmc, drive, body),
      privilege: 'ConfigureManager',
    });
    bmc.resources.set(action('EjectMedia'), { post: () => eject(bmc, drive), privilege: 'ConfigureManager' });
    if (info !== undefined) bmc.resources.set(info, { get: () => actionInfo(info) });
  }
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#VirtualMedia.v1_6_0.VirtualMedia',
      Id: drive.id,
      Name: `Virtual media ${drive.id}`,
      MediaTypes: drive.types,
      Image: bmc.media.faults.hides ? null : drive.image,
      ...(bmc.kind === 'sparse' ? {} : { ImageName: bmc.media.faults.hides ? null : drive.image }),
      Inserted: drive.inserted,
      WriteProtected: true,
      ConnectedVia: drive.inserted ? 'URI' : 'NotConnected',
      ...(drive.id === 'Slot_0' ? { Oem: { OpenBMC: { WebSocketEndpoint: '/nbd/0' } } } : {}),
      ...(hasActions
        ? {
            Actions: {
              '#VirtualMedia.InsertMedia': {
                target: action('InsertMedia'),
                ...(info === undefined ? {} : { '@Redfish.ActionInfo': info }),
              },
              '#VirtualMedia.EjectMedia': { target: action('EjectMedia') },
            },
          }
        : {}),
    }),
    ...(bmc.kind === 'sparse'
      ? { patch: (body: Json) => change(bmc, drive, body), privilege: 'ConfigureManager' as const }
      : {}),
  });
}

const actionInfo = (path: string): Json => ({
  '@odata.id': path,
  Id: 'InsertMediaActionInfo',
  Parameters: ['Image', 'TransferMethod', 'TransferProtocolType', 'WriteProtected'].map((Name) => ({
    Name,
    Required: Name === 'Image',
  })),
});

function insert(bmc: Bmc, drive: Drive, body: Json): Reply | Promise<Reply> {
  const { Image: image, TransferProtocolType: protocol, ...others } = body;
  const { wants } = bmc.media.faults;
  if (typeof image !== 'string') return failure(400, 'ActionParameterMissing', 'Image is missing.');
  if (wants === 'license') return failure(403, 'LicenseRequired', 'Virtual media need a license.');
  const known = ['Inserted', 'WriteProtected', 'TransferMethod', 'UserName', 'Password'];
  const extra = Object.keys(others).find((name) => wants === 'members' || !known.includes(name));
  if (extra !== undefined)
    return failure(400, 'ActionParameterUnknown', `The parameter ${extra} with image ${image} is not known.`);
  if ((wants === 'protocol' || bmc.kind === 'openbmc') && protocol === undefined)
    return failure(400, 'ActionParameterMissing', 'TransferProtocolType is missing.');
  if (drive.inserted) return failure(409, 'ResourceInUse', 'The drive has an image.');
  return take(bmc, drive, image);
}

function change(bmc: Bmc, drive: Drive, body: Json): Reply | Promise<Reply> {
  const unknown = Object.keys(body).find((name) => !['Image', 'Inserted'].includes(name));
  if (unknown !== undefined) return unknownMember(unknown);
  if (body.Image === null) return eject(bmc, drive);
  return take(bmc, drive, textOf(body.Image));
}

/** Its first bytes. BMCs usually believe every certificate. */
async function begin(image: string): Promise<{ readonly status: number; readonly bytes: number }> {
  const options = { headers: { Range: 'bytes=0-65535' }, agent: false } as const;
  const asked = image.startsWith('https:')
    ? secureGet(image, { ...options, rejectUnauthorized: false })
    : get(image, options);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  return { status: response.statusCode!, bytes };
}

/** Most BMCs look at an image before they answer. */
async function take({ media }: Bmc, drive: Drive, image: string): Promise<Reply> {
  const { faults, fetched } = media;
  if (faults.fetches) {
    const { status, bytes } = await begin(image).catch(() => ({ status: 0, bytes: 0 }));
    fetched.push({ url: image, status, bytes });
    if (status !== 200 && status !== 206)
      return failure(400, 'ResourceMissingAtURI', `The image at ${image} cannot be fetched.`);
  }
  if (faults.forgetful) return done;
  const show = (): void => void Object.assign(drive, { image, inserted: true });
  if (faults.takes) void pause(faults.takes).then(show);
  else show();
  return done;
}

function eject({ media }: Bmc, drive: Drive): Reply {
  if (!drive.inserted) return failure(400, 'ActionNotSupported', 'The drive is empty.');
  if (!media.faults.stuck) Object.assign(drive, { image: null, inserted: false });
  return done;
}
