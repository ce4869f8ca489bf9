// Backups that muster makes by itself have their time in their names: it decides which are kept, whatever copied them since.

const pattern = /^muster-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar$/;
const day = 86_400_000;

export const backupName = (time: Date): string => `muster-${time.toISOString().replaceAll(/[-:]|\.\d+/g, '')}.tar`;

/** Milliseconds; undefined: the file is none of these. */
export function timeIn(name: string): number | undefined {
  const found = pattern.exec(name);
  if (!found) return undefined;
  const [year = 0, month = 0, date = 0, hour, minute, second] = found.slice(1).map(Number);
  const time = Date.UTC(year, month - 1, date, hour, minute, second);
  return backupName(new Date(time)) === name ? time : undefined;
}

/** What a killed run left: never a backup. */
export const isUnfinished = (name: string): boolean => /^muster-\d{8}T\d{6}Z\.tar\.(tmp|staging-\w+)$/.test(name);

interface Kept {
  readonly daily: number;
  readonly weekly: number;
}

/** Which of the files in a directory are backups that need not be kept any more. Other files never are. */
export function superfluous(names: readonly string[], { daily, weekly }: Kept): string[] {
  const backups = names
    .flatMap((name) => ({ name, time: timeIn(name) }))
    .filter((each): each is { name: string; time: number } => each.time !== undefined)
    .toSorted((a, b) => b.time - a.time);
  const kept = new Set([
    ...latestOfEach(backups, (time) => Math.floor(time / day), daily),
    // Weeks begin on Mondays; the first day of 1970 was a Thursday.
    ...latestOfEach(backups, (time) => Math.floor((Math.floor(time / day) + 3) / 7), weekly),
  ]);
  return backups.map(({ name }) => name).filter((name) => !kept.has(name));
}

function latestOfEach(
  newestFirst: readonly { readonly name: string; readonly time: number }[],
  periodOf: (time: number) => number,
  most: number,
): string[] {
  const latest = new Map<number, string>();
  for (const { name, time } of newestFirst) {
    const period = periodOf(time);
    if (!latest.has(period) && latest.size < most) latest.set(period, name);
  }
  return [...latest.values()];
}
