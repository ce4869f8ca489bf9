import { isDeepStrictEqual } from 'node:util';
import { Fault } from '../../core/errors.ts';
import { limiter } from '../../core/limiter.ts';
import { abortFault, onAbort } from './abort.ts';
import { Refusal } from './faults.ts';
import { flagAt, type Json, linkAt, listAt, localPath, textAt } from './json.ts';
import type { Resource, RedfishService } from './service.ts';

const maximumMembers = 20_000;
const maximumPages = 1_000;
/** Members of a collection that are looked at themselves, one request each unless it shows them whole. */
const maximumResources = 5_000;
/** Requests that wait at the connection, which sends one after the other. */
const ahead = 8;

/** The members of a collection as it shows them: links, or resources when it shows them whole (log entries, $expand). */
export async function membersOf(
  service: RedfishService,
  path: string | undefined,
  signal: AbortSignal,
): Promise<readonly Json[]> {
  const members: Json[] = [];
  const seen = new Set<string>();
  let next = path;
  while (next !== undefined && !seen.has(next) && seen.size < maximumPages && members.length < maximumMembers) {
    seen.add(next);
    const page = await service.find(next, signal, 'collection');
    for (const member of listAt(page?.body, 'Members')) members.push(member);
    next = localPath(page?.body['Members@odata.nextLink']);
  }
  return members.slice(0, maximumMembers);
}

/** What becomes of the others when one member answers that the service itself has failed (500): `all` fail with it, or it is left out. */
export type OnBroken = 'failAll' | 'leaveOut';

/** The members as resources, in one request where the service can ("$expand" of DSP0266); those that are gone are left out. */
export async function memberResources(
  service: RedfishService,
  path: string | undefined,
  signal: AbortSignal,
  onBroken: OnBroken = 'failAll',
): Promise<readonly Resource[]> {
  if (path === undefined) return [];
  if (await expands(service, signal)) {
    try {
      const query = `${path}${path.includes('?') ? '&' : '?'}$expand=.($levels=1)`;
      return await allResources(service, await membersOf(service, query, signal), signal, onBroken);
    } catch (error) {
      // Promised, but not kept: the members are read one by one.
      if (!(error instanceof Refusal && error.ofRequest)) throw error;
    }
  }
  return allResources(service, await membersOf(service, path, signal), signal, onBroken);
}

/** Whether a collection shows its members whole in one request. */
export async function expands(service: RedfishService, signal: AbortSignal): Promise<boolean> {
  const { body } = await service.root(signal);
  return flagAt(body, 'ProtocolFeaturesSupported', 'ExpandQuery', 'NoLinks') === true;
}

/** Those at the paths, as `allResources`. */
export function resourcesAt(
  service: RedfishService,
  paths: readonly string[],
  signal: AbortSignal,
  onBroken: OnBroken = 'failAll',
): Promise<readonly Resource[]> {
  return allResources(
    service,
    paths.map((path) => ({ '@odata.id': path })),
    signal,
    onBroken,
  );
}

/** Those that are gone are left out. When one fails, the others are not asked for any more. */
export async function allResources(
  service: RedfishService,
  members: readonly Json[],
  signal: AbortSignal,
  onBroken: OnBroken = 'failAll',
): Promise<readonly Resource[]> {
  if (members.length > maximumResources) {
    throw new Fault('garbled', `its BMC lists ${members.length} parts; muster reads at most ${maximumResources}.`);
  }
  if (signal.aborted) throw abortFault(signal);
  const rest = new AbortController();
  const ignore = onAbort(signal, () => rest.abort(signal.reason));
  const inTurn = limiter(ahead);
  let broken: Refusal | undefined;
  const read = async (member: Json): Promise<Resource | undefined> => {
    try {
      return await resourceOf(service, member, rest.signal);
    } catch (error) {
      if (onBroken === 'failAll' || !(error instanceof Refusal && error.ofService)) throw error;
      broken = error;
      return undefined;
    }
  };
  try {
    const reading = eachOnce(members).map((member) => inTurn(() => read(member)));
    const found = (await Promise.all(reading)).filter((resource) => resource !== undefined);
    if (broken && found.length === 0) throw broken;
    return found;
  } catch (error) {
    rest.abort(error);
    throw error;
  } finally {
    ignore();
  }
}

/** Some services list a member twice. Others give one address to several that they show whole. */
function eachOnce(members: readonly Json[]): readonly Json[] {
  const seen = new Map<string, Json>();
  return members.filter((member) => {
    const path = linkAt(member);
    if (path === undefined) return true;
    if (seen.has(path)) return !isDeepStrictEqual(seen.get(path), member);
    seen.set(path, member);
    return true;
  });
}

async function resourceOf(service: RedfishService, member: Json, signal: AbortSignal): Promise<Resource | undefined> {
  const path = linkAt(member);
  const whole = typeof member === 'object' && member !== null && Object.keys(member).length > 1;
  if (whole && path !== undefined)
    return { path, body: member as Resource['body'], etag: textAt(member, '@odata.etag') };
  return service.find(path, signal);
}
