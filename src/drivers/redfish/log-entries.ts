import { type RedfishService, Refusal } from '../../protocols/redfish/client.ts';
import { allResources, memberResources, membersOf } from '../../protocols/redfish/collection.ts';
import { at, flagAt, type Json, linkAt, listAt, numberAt, textAt } from '../../protocols/redfish/json.ts';

/** The entries of a log, in the order of the service. With `newest` at least so many of the newest, and as few others as it can do. */
export async function logEntries(
  service: RedfishService,
  path: string | undefined,
  signal: AbortSignal,
  newest?: number,
): Promise<readonly Json[]> {
  if (path === undefined) return [];
  const window = newest === undefined ? undefined : await windowOf(service, path, newest, signal);
  if (window) return whole(service, window, signal);
  const members = await membersOf(service, path, signal);
  if (!members.some(isBare)) return members;
  if (newest !== undefined && members.length > newest) {
    const order = orderOf(await whole(service, [members[0], members.at(-1)], signal));
    if (order !== undefined) return whole(service, cut(members, order, newest), signal);
  }
  return (await memberResources(service, path, signal)).map(({ body }) => body);
}

const isBare = (member: Json): boolean => textAt(member, 'Message') === undefined && textAt(member, 'Id') === undefined;

async function whole(service: RedfishService, members: readonly Json[], signal: AbortSignal): Promise<readonly Json[]> {
  if (!members.some(isBare)) return members;
  return (await allResources(service, members, signal)).map(({ body }) => body);
}

type Order = 'newestFirst' | 'oldestFirst';

const cut = (members: readonly Json[], order: Order, newest: number): readonly Json[] =>
  order === 'newestFirst' ? members.slice(0, newest) : members.slice(-newest);

/** Services have either order; undefined where times do not tell. */
function orderOf(entries: readonly Json[]): Order | undefined {
  const timeOf = (entry: Json): number => Date.parse(textAt(entry, 'Created') ?? '');
  const elapsed = timeOf(entries.at(-1)) - timeOf(entries[0]);
  return elapsed > 0 ? 'oldestFirst' : elapsed < 0 ? 'newestFirst' : undefined;
}

/** The end of the log where the newest are, of services that show parts of a collection ($top and $skip of DSP0266). */
async function windowOf(
  service: RedfishService,
  path: string,
  newest: number,
  signal: AbortSignal,
): Promise<readonly Json[] | undefined> {
  const { body } = await service.root(signal);
  if (flagAt(body, 'ProtocolFeaturesSupported', 'TopSkipQuery') !== true) return undefined;
  // Two tell the order.
  const top = Math.max(newest, 2);
  try {
    const page = (await service.find(`${path}?$top=${top}`, signal, 'collection'))?.body;
    const first = listAt(page, 'Members');
    const count = numberAt(page, 'Members@odata.count');
    if (count === undefined) return undefined;
    // Some services count what they show, not what there is: a full page may be all, or only where it begins.
    const isPart = first.length === top || at(page, 'Members@odata.nextLink') !== undefined;
    if (count <= first.length) return isPart ? undefined : first;
    const order = orderOf(await whole(service, first, signal));
    if (order === undefined || first.length < top) return undefined;
    if (order === 'newestFirst') return first;
    const last = await membersOf(service, `${path}?$skip=${count - top}&$top=${top}`, signal);
    // A service that does not skip shows the oldest again.
    return last.length === top && linkAt(last[0]) !== linkAt(first[0]) ? last : undefined;
  } catch (error) {
    // Promised, but not kept: the whole log is read.
    if (!(error instanceof Refusal && error.ofRequest)) throw error;
    return undefined;
  }
}
