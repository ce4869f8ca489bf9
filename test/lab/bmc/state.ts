import { readFileSync } from 'node:fs';

/** What a BMC believes, from the file its process appends every change to. */
export interface BmcState {
  readonly power: 'on' | 'off';
  /** Boot flags as last set (bytes 1 and 2 of parameter 5), undefined when never set or used up by a start. */
  readonly bootFlags: { readonly persistent: boolean; readonly efi: boolean; readonly device: number } | undefined;
  readonly identify: 'off' | 'timed' | 'on';
  readonly powerLimit: { readonly watts: number; readonly active: boolean };
  /** Every change since the start, such as `power=1`, oldest first. */
  readonly changes: readonly string[];
}

export function readState(file: string, controller: number): BmcState {
  const mark = `${controller.toString(16).padStart(2, '0')} `;
  const changes = readOrNothing(file)
    .split('\n')
    .filter((line) => line.startsWith(mark))
    .map((line) => line.slice(mark.length));
  const last = (key: string): number | undefined => {
    const change = changes.findLast((line) => line.startsWith(`${key}=`));
    return change === undefined ? undefined : Number(change.slice(key.length + 1));
  };
  const boot = changes.findLast((line) => /^boot(?:flags|used)=/.test(line));
  const flags = boot?.startsWith('bootflags=') ? Number(boot.slice('bootflags='.length)) : 0;
  const identify = last('identify') ?? 0;
  return {
    power: last('power') === 1 ? 'on' : 'off',
    bootFlags:
      flags & 0x8000
        ? { persistent: (flags & 0x4000) !== 0, efi: (flags & 0x2000) !== 0, device: (flags >> 2) & 0x0f }
        : undefined,
    identify: identify === 0 ? 'off' : identify === 999 ? 'on' : 'timed',
    powerLimit: { watts: last('limit') ?? 500, active: last('limit_on') === 1 },
    changes,
  };
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
