import { Fault } from '../../core/errors.ts';
import { mapInSlices } from '../../core/slices.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { type Json, linkAt, textAt } from '../../protocols/redfish/json.ts';
import { messageText } from '../../protocols/redfish/message.ts';
import type { EventLog } from '../capabilities.ts';
import { withoutMediaAddress } from '../media.ts';
import { logEntries } from './log-entries.ts';
import { actionOf, chassisFor, managerFor, systemIfAny, type Target, until } from './target.ts';

const clearing = 30_000;

export function redfishEventLog(target: Target): EventLog {
  return {
    async read(signal, newest) {
      const { log, others } = await eventLogOf(target, signal);
      const all = await logLines(await entriesOf(target, log, signal, newest));
      const lines = newest === undefined ? all : all.slice(-newest);
      return others === 0 ? lines : lines.map((line) => `${line} [${log.path}]`);
    },
    clear: (signal) => clearLog(target, signal),
  };
}

interface Found {
  readonly log: Resource;
  /** How many more could be taken for it: lines then say which one they are from. */
  readonly others: number;
}

/**
 * The best ranked log of the system, else of its manager, else of its chassis: the system event log first, then logs of events by
 * their names, then of no special name; what the BIOS, dumps, audits and the like write comes last or not at all.
 */
export async function eventLogOf(target: Target, signal: AbortSignal): Promise<Found> {
  const holders = [
    async () => [await systemIfAny(target, signal)],
    async () => [await managerFor(target, signal)],
    () => chassisFor(target, signal),
  ];
  let best: { log: Resource; rank: number } | undefined;
  let candidates = 0;
  for (const holder of holders) {
    for (const resource of await holder()) {
      const logs = await memberResources(target.service, linkAt(resource?.body, 'LogServices'), signal);
      for (const log of logs) {
        const rank = rankOf(log.body);
        if (rank > 0) candidates++;
        if (rank > (best?.rank ?? 0)) best = { log, rank };
      }
    }
    // A log of the system itself comes before better named ones of what is around it.
    if (best && best.rank > 1) break;
  }
  if (!best) throw new Fault('invalid', 'its BMC has no event log.');
  return { log: best.log, others: candidates - 1 };
}

/** 0: not to be taken for the event log. */
export function rankOf(log: Json): number {
  if (linkAt(log, 'Entries') === undefined) return 0;
  const names = [textAt(log, 'Id') ?? '', textAt(log, 'Name') ?? ''];
  const type = textAt(log, 'LogEntryType');
  // It calls its entries SEL on some boards, beside the manager's own.
  if (names.some((name) => /bios|uefi/i.test(name))) return 1;
  if (names.some((name) => /^(sel|system event log)$/i.test(name)) || type === 'SEL') return 4;
  if (names.some((name) => /dump|journal|audit|security|post ?code|console|host ?logger|crash|fault/i.test(name)))
    return 0;
  if (names.some((name) => /event|iml|^log1$/i.test(name))) return 3;
  return type === 'Event' || type === 'Multiple' ? 2 : 1;
}

const entriesOf = (
  { service }: Target,
  log: Resource,
  signal: AbortSignal,
  newest?: number,
): Promise<readonly Json[]> => logEntries(service, linkAt(log.body, 'Entries'), signal, newest);

/** One line each, oldest first. */
export async function logLines(entries: readonly Json[]): Promise<readonly string[]> {
  const time = timeMember(entries);
  return inOrder(await mapInSlices(entries, (entry) => datedLine(entry, textAt(entry, time) ?? '')));
}

/** Some services say when they were asked instead of when an entry was created: all entries are of one moment. */
function timeMember(entries: readonly Json[]): string {
  const [first, ...others] = entries;
  const created = textAt(first, 'Created');
  const isConstant = others.length > 0 && others.every((entry) => textAt(entry, 'Created') === created);
  return isConstant && textAt(first, 'EventTimestamp') !== undefined ? 'EventTimestamp' : 'Created';
}

interface DatedLine {
  readonly line: string;
  readonly created: number;
  readonly id: number;
}

const datedLine = (entry: Json, time: string): DatedLine => ({
  line: lineOf(entry, time),
  created: Date.parse(time),
  id: Number(textAt(entry, 'Id') ?? ''),
});

/** Services have them in either order; without times, theirs is all there is. */
function inOrder(lines: DatedLine[]): readonly string[] {
  if (lines.every(({ created }) => !Number.isNaN(created))) {
    lines.sort((a, b) => a.created - b.created || a.id - b.id || 0);
  }
  return lines.map(({ line }) => line);
}

/** As the reference system prints it: `MM/DD/YYYY hh:mm:ss Type, Description (sensor)`. */
function lineOf(entry: Json, time: string): string {
  const severity = textAt(entry, 'Severity');
  const type = textAt(entry, 'SensorType') ?? (severity === 'OK' ? undefined : severity);
  const text = messageText(entry) ?? textAt(entry, 'MessageId') ?? textAt(entry, 'Name') ?? 'no description';
  const message = withoutMediaAddress(text);
  const over = /deassert/i.test(textAt(entry, 'EntryCode') ?? '') ? ' - Recovered' : '';
  return [whenIn(time), type === undefined ? undefined : `${type},`, `${message}${over}`]
    .filter((part) => part !== undefined)
    .join(' ');
}

/** In the service's own clock, as it is written. */
function whenIn(time: string): string | undefined {
  const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d)/.exec(time);
  return parts ? `${parts[2]}/${parts[3]}/${parts[1]} ${parts[4]}` : undefined;
}

/** Many services begin a cleared log with an entry that says so: it is empty when nothing of before is left. */
async function clearLog(target: Target, signal: AbortSignal): Promise<void> {
  const { log } = await eventLogOf(target, signal);
  const action = await actionOf(target.service, log, 'LogService.ClearLog', 'Action', signal);
  if (!action) throw new Fault('invalid', 'its BMC cannot clear the event log.');
  const identities = async (): Promise<string[]> => mapInSlices(await entriesOf(target, log, signal), identityOf);
  const before = new Set(await identities());
  await target.service.act(action.target, {}, signal);
  await until(
    async () => (await identities()).filter((identity) => before.has(identity)).length,
    (left) => left === 0,
    (left) =>
      new Fault('invalid', `its BMC was asked to clear its event log, but the log still has ${left} of its entries.`),
    clearing,
    signal,
  );
}

function identityOf(entry: Json): string {
  return JSON.stringify(['Id', 'Created', 'Message'].map((name) => textAt(entry, name) ?? ''));
}
