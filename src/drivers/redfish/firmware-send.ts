import { randomBytes } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import type { Upload } from '../../protocols/redfish/exchange.ts';
import { textAt } from '../../protocols/redfish/json.ts';
import { header, readable } from '../../protocols/redfish/session.ts';
import type { FirmwareOrder, FirmwareSource } from '../firmware.ts';
import { pushTarget } from './firmware-vendors.ts';
import type { Installed } from './firmware-versions.ts';
import { managerFor, settingsOf, systemIfAny, type Target } from './target.ts';
import {
  isReserved,
  taskIn,
  timeWord,
  transferProtocol,
  type UpdateService,
  type UpdateWay,
} from './update-service.ts';

/** Milliseconds that a BMC may take nothing of a file, and to look at it before it answers. */
const stallTimeout = 120_000;
const answerTimeout = 900_000;

export interface Sending {
  readonly target: Target;
  readonly update: UpdateService;
  readonly way: UpdateWay;
  readonly order: FirmwareOrder;
  readonly chosen: readonly Installed[] | undefined;
  readonly signal: AbortSignal;
}

/** Sends it, once. Resolves with where the service reports on its work, if it says so. */
export async function sendImage(sending: Sending): Promise<string | undefined> {
  const { target, way, order, signal } = sending;
  const { source } = order;
  if (source.kind === 'url') {
    const reply = await target.service.order(way.path, await fetchBody(sending, source.url), signal);
    return taskIn(header(reply, 'location'), readable(reply));
  }
  const push = way.kind === 'multipart' ? formOf(source, await parametersOf(sending)) : rawOf(source);
  const reply = await target.service.push({ path: way.path, ...push }, signal);
  return taskIn(header(reply, 'location'), readable(reply));
}

async function fetchBody(sending: Sending, url: string): Promise<object> {
  const { way, update, order } = sending;
  const time = timeWord(way, update, order.apply);
  const targets = await targetsOf(sending);
  return {
    ImageURI: url,
    TransferProtocol: transferProtocol(way, url),
    ...(targets.length > 0 ? { Targets: targets } : {}),
    ...(time === undefined || (order.apply === 'now' && way.times.length === 0)
      ? {}
      : { '@Redfish.OperationApplyTime': time }),
  };
}

/** UpdateParameters of DSP0266 "Software update types". */
async function parametersOf(sending: Sending): Promise<object> {
  const { way, update, order } = sending;
  const time = timeWord(way, update, order.apply);
  const targets = await targetsOf(sending);
  const oem = update.vendor.oem?.(pushTarget(order.component));
  return {
    ...(targets.length > 0 || update.vendor.namesTargets ? { Targets: targets } : {}),
    ...(time === undefined ? {} : { '@Redfish.OperationApplyTime': time }),
    ...(oem === undefined ? {} : { Oem: oem }),
  };
}

async function targetsOf({ target, update, order, chosen, signal }: Sending): Promise<readonly string[]> {
  if (!chosen) return [];
  const place = update.vendor.targets?.[pushTarget(order.component)] ?? 'inventory';
  if (place === 'manager') {
    const manager = await managerFor(target, signal);
    if (manager) return [manager.path];
  }
  if (place === 'bios') {
    const system = await systemIfAny(target, signal);
    if (system) return [`${system.path}/Bios`];
  }
  return chosen.map(({ path }) => path).filter((path) => path !== '');
}

type FileSource = Extract<FirmwareSource, { kind: 'file' }>;

const times = { stallTimeout, answerTimeout };

function rawOf(source: FileSource): { type: string; upload: Upload } {
  return { type: 'application/octet-stream', upload: { size: source.size, pieces: () => source.pieces(), ...times } };
}

/** multipart/form-data (RFC 7578), with its length known beforehand: some services take nothing else. */
function formOf(source: FileSource, parameters: object): { type: string; upload: Upload } {
  const boundary = `muster-${randomBytes(16).toString('hex')}`;
  const line = '\r\n';
  const part = (name: string, type: string, file?: string): string =>
    [
      `--${boundary}`,
      `Content-Disposition: form-data; name="${name}"${file === undefined ? '' : `; filename="${file}"`}`,
      `Content-Type: ${type}`,
      line,
    ].join(line);
  const start = Buffer.from(
    `${part('UpdateParameters', 'application/json')}${JSON.stringify(parameters)}${line}` +
      part('UpdateFile', 'application/octet-stream', plainName(source.name)),
  );
  const end = Buffer.from(`${line}--${boundary}--${line}`);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield start;
    yield* source.pieces();
    yield end;
  }
  const size = start.length + source.size + end.length;
  return { type: `multipart/form-data; boundary=${boundary}`, upload: { size, pieces, ...times } };
}

/** Some services look at the name of the file; nothing in it may end the header. */
const plainName = (name: string): string => name.replace(/[^\w.+-]/g, '_').slice(-100) || 'image';

/** Prepares services of the older push, which hear of target and time before the file; resolves with what takes that back. */
export async function reserve(sending: Sending, isOurs: boolean): Promise<() => Promise<void>> {
  const { target, update, way, order, signal } = sending;
  if (order.source.kind === 'url') return async () => {};
  const { service } = target;
  const resource = await service.get(update.resource.path, signal);
  const change: Record<string, unknown> = {};
  const time = way.kind === 'push' ? timeWord(way, update, order.apply) : undefined;
  const options = resource.body['HttpPushUriOptions'];
  if (time !== undefined && textAt(options, 'HttpPushUriApplyTime', 'ApplyTime') !== time)
    change['HttpPushUriOptions'] = { HttpPushUriApplyTime: { ApplyTime: time } };
  const reserved = isReserved({ ...update, resource });
  if (reserved === true && !isOurs)
    throw new Fault(
      'conflict',
      'another client has reserved its update service (HttpPushUriTargetsBusy). Wait until its update has ended.',
    );
  if (reserved !== undefined) change['HttpPushUriTargetsBusy'] = true;
  const targets = await targetsOf(sending);
  if (way.kind === 'push' && targets.length > 0) {
    if (!('HttpPushUriTargets' in resource.body))
      throw new Fault('invalid', 'its BMC takes no component with a file; leave out --component.');
    change['HttpPushUriTargets'] = targets;
  }
  if (Object.keys(change).length === 0) return async () => {};
  const at = (await service.find(settingsOf(resource), signal)) ?? resource;
  await service.patch(at, change, signal);
  return async () => {
    if (reserved === undefined) return;
    const back = {
      HttpPushUriTargetsBusy: false,
      ...('HttpPushUriTargets' in change ? { HttpPushUriTargets: [] } : {}),
    };
    service.begin(0);
    await service.patch(await service.get(at.path, signal), back, signal);
  };
}
