import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { at, flagAt, type Json, listAt, localPath, numberAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import type { ApplyTime } from '../firmware.ts';
import { type UpdateVendor, vendorOf } from './firmware-vendors.ts';
import { actionOf, notOffered, type Target } from './target.ts';

/** Settings.OperationApplyTime. */
const timeWords: Readonly<Record<ApplyTime, string>> = {
  now: 'Immediate',
  'on-reset': 'OnReset',
  'at-maintenance': 'AtMaintenanceWindowOnReset',
  'on-start': 'OnStartUpdateRequest',
};

/** How a service is given an image, and what it says of the times at which it may apply it. */
export type UpdateWay =
  | { readonly kind: 'multipart'; readonly path: string; readonly times: readonly string[] }
  | { readonly kind: 'push'; readonly path: string; readonly times: readonly string[] }
  | {
      readonly kind: 'fetch';
      readonly path: string;
      readonly times: readonly string[];
      readonly protocols: readonly string[] | undefined;
    };

export interface UpdateService {
  readonly resource: Resource;
  readonly vendor: UpdateVendor;
}

export async function updateService(target: Target, signal: AbortSignal): Promise<UpdateService> {
  const resource = await rootMember(target.service, 'UpdateService', signal);
  if (!resource) throw new Fault('invalid', 'its Redfish service has no update service.');
  if (flagAt(resource.body, 'ServiceEnabled') === false)
    throw new Fault(
      'invalid',
      'its update service is switched off (ServiceEnabled is false); switch it on at its BMC.',
    );
  const root = await target.service.root(signal);
  return { resource, vendor: vendorOf(root.body, resource.body) };
}

const timesAt = (body: Json): readonly string[] =>
  textsAt(body, '@Redfish.OperationApplyTimeSupport', 'SupportedValues');

/** How files reach it: the form of DSP0266 that names a target and a time, else the older one. */
export function pushWay({ resource: { body }, vendor }: UpdateService): UpdateWay {
  const form = localPath(at(body, 'MultipartHttpPushUri'));
  if (form !== undefined) {
    const own = textsAt(body, 'MultipartHttpPushUri@Redfish.OperationApplyTimeSupport', 'SupportedValues');
    return { kind: 'multipart', path: form, times: own.length > 0 ? own : timesAt(body) };
  }
  const path = localPath(at(body, 'HttpPushUri'));
  const instead = 'Give the address of the image with --url instead: its BMC then fetches it.';
  if (path === undefined) throw new Fault('invalid', `its BMC takes no files. ${instead}`);
  if (vendor.ownPush?.test(path))
    throw new Fault(
      'invalid',
      `its BMC takes files only in ${vendor.name}'s own way, which muster does not speak. ${instead}`,
    );
  const own = textsAt(
    body,
    'HttpPushUriOptions',
    'HttpPushUriApplyTime@Redfish.OperationApplyTimeSupport',
    'SupportedValues',
  );
  const settable = at(body, 'HttpPushUriOptions', 'HttpPushUriApplyTime') !== undefined;
  return { kind: 'push', path, times: own.length > 0 || !settable ? own : ['Immediate', 'OnReset'] };
}

/** How it fetches an image itself. */
export async function fetchWay(target: Target, { resource }: UpdateService, signal: AbortSignal): Promise<UpdateWay> {
  const name = 'UpdateService.SimpleUpdate';
  const action = await actionOf(target.service, resource, name, 'TransferProtocol', signal);
  if (!action)
    throw new Fault(
      'invalid',
      'its BMC fetches no images (it has no SimpleUpdate); give the file itself instead of an address.',
    );
  const times = timesAt(at(resource.body, 'Actions', `#${name}`));
  return { kind: 'fetch', path: action.target, times, protocols: action.allowed };
}

/** The word of the service for a time; undefined if nothing need be said. */
export function timeWord({ times }: UpdateWay, { vendor }: UpdateService, apply: ApplyTime): string | undefined {
  const word = timeWords[apply];
  if (times.includes(word)) return word;
  if (times.length === 0 && (apply === 'now' || vendor.alwaysTimed)) return vendor.alwaysTimed ? word : undefined;
  // It applies what it gets when it gets it.
  const known = Object.entries(timeWords).flatMap(([own, theirs]) => (times.includes(theirs) ? [own] : []));
  throw notOffered(`"${apply}" for updates`, known.length > 0 ? known : times.length > 0 ? times : ['now']);
}

export function checkSize({ resource: { body } }: UpdateService, size: number): void {
  const most = numberAt(body, 'MaxImageSizeBytes');
  if (most !== undefined && most > 0 && size > most)
    throw new Fault('invalid', `its BMC takes images of at most ${most} bytes; this one has ${size}.`);
}

/** The protocol of an address, as the service calls it. */
export function transferProtocol(way: UpdateWay, url: string): string {
  const wanted = new URL(url).protocol.replace(/:$/, '').toUpperCase();
  if (way.kind === 'fetch' && way.protocols && !way.protocols.includes(wanted))
    throw notOffered(`way to fetch images by ${wanted}`, way.protocols);
  return wanted;
}

/** What services that serve one client at a time say. */
export const isReserved = ({ resource: { body } }: UpdateService): boolean | undefined =>
  flagAt(body, 'HttpPushUriTargetsBusy');

/** Where an answer, a task or a message in one leads to a task. */
export function taskIn(location: string | undefined, body: Json): string | undefined {
  const own = /Task/.test(textAt(body, '@odata.type') ?? '') ? localPath(at(body, '@odata.id')) : undefined;
  if (own !== undefined) return own;
  const named = localPath(location) ?? messageTask(body);
  // Reading a monitor makes some services forget a task that has ended; the task itself may be read again and again.
  return named?.replace(/\/Monitor\/?$/i, '').replace(/\/TaskMonitors\//, '/Tasks/');
}

/** Supermicro names it in the arguments of a message. */
function messageTask(body: Json): string | undefined {
  const holders = [at(body, 'Accepted'), at(body, 'Success'), at(body, 'error'), body];
  const texts = holders.flatMap((holder) =>
    listAt(holder, '@Message.ExtendedInfo').flatMap((message) => textsAt(message, 'MessageArgs')),
  );
  return texts.map((text) => localPath(text)).find((path) => path !== undefined && /\/Tasks\/[^/]+/.test(path));
}
