import { get as fetchPlain } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Bmc } from '../bmc.ts';
import {
  collection,
  done,
  failure,
  type Json,
  link,
  notInList,
  type Reply,
  root,
  textOf,
  unknownMember,
  unknownMembers,
} from '../resource.ts';
import { imagePath, inventoryPath, startStaged, takeImage, tasksPath, updatePath } from '../update.ts';

const times = ['Immediate', 'OnReset', 'OnStartUpdateRequest'];
const support = { '@odata.type': '#Settings.v1_3_3.OperationApplyTimeSupport', SupportedValues: times };
const simple = `${updatePath}/Actions/UpdateService.SimpleUpdate`;
const start = `${updatePath}/Actions/UpdateService.StartUpdate`;
const multipart = `${updatePath}/update-multipart`;
const push = `${updatePath}/update`;
const largest = 256 * 1024 * 1024;

/** plain: the form with targets and times. openbmc: files alone, the time by PATCH. sparse: the same, targets by PATCH, no tasks. */
export function addFirmware(bmc: Bmc): void {
  const names: Readonly<Record<string, string>> = { bmc: 'BMC Firmware', bios: 'Host BIOS' };
  const images = Object.keys(names).map((id) => imagePath(bmc, id));
  bmc.resources.set(
    inventoryPath,
    collection(inventoryPath, 'SoftwareInventory', () => images),
  );
  for (const [id, Name] of Object.entries(names)) {
    const path = imagePath(bmc, id);
    const own = { '@odata.id': path, '@odata.type': '#SoftwareInventory.v1_8_0.SoftwareInventory', Id: id, Name };
    bmc.resources.set(path, { get: () => ({ ...own, Version: bmc.update.versions[id], Updateable: true }) });
  }
  const takes = bmc.kind !== 'enclosure';
  bmc.resources.set(updatePath, {
    get: () => ({
      '@odata.id': updatePath,
      '@odata.type': '#UpdateService.v1_11_0.UpdateService',
      Id: 'UpdateService',
      Name: 'Update Service',
      ServiceEnabled: true,
      FirmwareInventory: link(inventoryPath),
      ...(takes ? waysOf(bmc) : {}),
    }),
    privilege: 'ConfigureComponents',
    ...(takes && bmc.kind !== 'plain' ? { patch: (body: Json) => prepare(bmc, body) } : {}),
  });
  if (!takes) return;
  const { resources } = bmc;
  const privilege = 'ConfigureComponents';
  if (bmc.kind === 'plain') {
    resources.set(multipart, { privilege, takesFile: (bytes, type) => takeForm(bmc, bytes, type) });
    resources.set(simple, { privilege, post: (body) => fetchImage(bmc, body) });
    resources.set(start, { privilege, post: () => startStaged(bmc) });
  } else {
    const how = () => ({ way: 'push', apply: bmc.update.applyTime, targets: bmc.update.targets }) as const;
    resources.set(push, { privilege, takesFile: (bytes) => takeImage(bmc, bytes, how()) });
  }
  if (bmc.kind === 'sparse') return;
  const members = () => [...bmc.update.tasks.keys()].map((id) => `${tasksPath}/${id}`);
  resources.set(tasksPath, collection(tasksPath, 'Task', members));
  resources.set(`${root}/TaskService`, {
    get: () => ({
      '@odata.id': `${root}/TaskService`,
      '@odata.type': '#TaskService.v1_2_0.TaskService',
      Id: 'TaskService',
      Name: 'Task Service',
      Tasks: link(tasksPath),
    }),
  });
}

function waysOf({ kind, update }: Bmc): Json {
  if (kind === 'plain')
    return {
      MultipartHttpPushUri: multipart,
      'MultipartHttpPushUri@Redfish.OperationApplyTimeSupport': support,
      MaxImageSizeBytes: largest,
      Actions: {
        '#UpdateService.SimpleUpdate': {
          target: simple,
          'TransferProtocol@Redfish.AllowableValues': ['HTTP', 'HTTPS'],
          '@Redfish.OperationApplyTimeSupport': support,
        },
        '#UpdateService.StartUpdate': { target: start },
      },
    };
  if (kind === 'openbmc')
    return { HttpPushUri: push, HttpPushUriOptions: { HttpPushUriApplyTime: { ApplyTime: update.applyTime } } };
  return { HttpPushUri: push, HttpPushUriTargets: update.targets, HttpPushUriTargetsBusy: update.reserved };
}

function prepare(bmc: Bmc, body: Json): Reply {
  const { update, kind } = bmc;
  const known = kind === 'openbmc' ? ['HttpPushUriOptions'] : ['HttpPushUriTargets', 'HttpPushUriTargetsBusy'];
  const [unknown] = unknownMembers(body, known);
  if (unknown !== undefined) return unknownMember(unknown);
  const options = body.HttpPushUriOptions as { HttpPushUriApplyTime?: { ApplyTime?: unknown } } | undefined;
  const time = options?.HttpPushUriApplyTime?.ApplyTime;
  if (time !== undefined && time !== 'Immediate' && time !== 'OnReset') return notInList(time, 'ApplyTime');
  if (time !== undefined) update.applyTime = textOf(time);
  if (body.HttpPushUriTargets !== undefined) update.targets = body.HttpPushUriTargets as readonly string[];
  if (body.HttpPushUriTargetsBusy !== undefined) update.reserved = body.HttpPushUriTargetsBusy === true;
  return done;
}

/** multipart/form-data as DSP0266 "Software update types" has it: parameters, then the file. */
function takeForm(bmc: Bmc, bytes: Buffer, type: string): Reply {
  const boundary = /^multipart\/form-data; boundary=([\w-]{1,70})$/.exec(type)?.[1];
  if (boundary === undefined) return failure(415, 'HeaderInvalid', 'The Content-Type is not multipart/form-data.');
  const parts = partsIn(bytes, `--${boundary}`);
  const [parameters, file] = parts;
  if (
    parts.length !== 2 ||
    !/name="UpdateParameters"/.test(parameters!.head) ||
    !/name="UpdateFile"; filename="[^"]+"/.test(file!.head)
  )
    return failure(400, 'MalformedForm', 'The form has not the parts UpdateParameters and UpdateFile.');
  const asked = JSON.parse(parameters!.body.toString()) as Json;
  const [unknown] = unknownMembers(asked, ['Targets', '@Redfish.OperationApplyTime']);
  if (unknown !== undefined) return unknownMember(unknown);
  const apply = textOf(asked['@Redfish.OperationApplyTime'] ?? 'Immediate');
  if (!times.includes(apply)) return notInList(apply, '@Redfish.OperationApplyTime');
  return takeImage(bmc, file!.body, { way: 'multipart', apply, targets: (asked.Targets ?? []) as string[] });
}

function partsIn(bytes: Buffer, boundary: string): { readonly head: string; readonly body: Buffer }[] {
  const found: { head: string; body: Buffer }[] = [];
  let at = bytes.indexOf(boundary);
  for (;;) {
    const from = at + boundary.length + 2;
    const next = bytes.indexOf(`\r\n${boundary}`, from);
    const blank = bytes.indexOf('\r\n\r\n', from);
    if (at < 0 || next < 0 || blank < 0 || blank > next) return found;
    found.push({ head: bytes.subarray(from, blank).toString(), body: bytes.subarray(blank + 4, next) });
    at = next + 2;
  }
}

/** It fetches the image before it answers, as some do. */
async function fetchImage(bmc: Bmc, body: Json): Promise<Reply> {
  const [unknown] = unknownMembers(body, ['ImageURI', 'TransferProtocol', 'Targets', '@Redfish.OperationApplyTime']);
  if (unknown !== undefined) return unknownMember(unknown);
  const url = textOf(body.ImageURI);
  const bytes = await new Promise<Buffer | undefined>((resolve) => {
    const asked = fetchPlain(url, (response) =>
      response.statusCode === 200 ? void buffer(response).then(resolve) : resolve(undefined),
    );
    asked.on('error', () => resolve(undefined));
  });
  if (!bytes) return failure(400, 'ResourceAtUriUnauthorized', `The image could not be fetched from ${url}.`);
  const apply = textOf(body['@Redfish.OperationApplyTime'] ?? 'Immediate');
  return takeImage(bmc, bytes, { way: 'fetch', apply, targets: (body.Targets ?? []) as string[] });
}
