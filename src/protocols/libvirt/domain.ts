import type { XdrReader } from './xdr-reader.ts';
import type { XdrWriter } from './xdr-writer.ts';

/** A machine as libvirt names it. The daemon finds it by the UUID. */
export interface Domain {
  readonly name: string;
  /** In the usual form with dashes. */
  readonly uuid: string;
}

/** Of one that does not run; nobody reads it on the way to the daemon. */
const noId = -1;

const uuidParts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;

export const uuidText = (bytes: Buffer): string => bytes.toString('hex').replace(uuidParts, '$1-$2-$3-$4-$5');
export const uuidBytes = (text: string): Buffer => Buffer.from(text.replaceAll('-', ''), 'hex');

export function readDomain(body: XdrReader): Domain {
  const name = body.string();
  const uuid = uuidText(body.uuid());
  body.int();
  return { name, uuid };
}

export const writeDomain = (body: XdrWriter, { name, uuid }: Domain): XdrWriter =>
  body.string(name).opaque(uuidBytes(uuid)).int(noId);

export const domainStates = {
  none: 0,
  running: 1,
  blocked: 2,
  paused: 3,
  shuttingDown: 4,
  off: 5,
  crashed: 6,
  suspended: 7,
} as const;

export const lifecycles = {
  defined: 0,
  undefined: 1,
  started: 2,
  suspended: 3,
  resumed: 4,
  stopped: 5,
  shutdown: 6,
  suspendedByGuest: 7,
  crashed: 8,
} as const;

/** Details of `lifecycles.started` and of `lifecycles.stopped` that something is made of. */
export const startReasons = { migrated: 1 } as const;
export const stopReasons = { migrated: 3 } as const;
