import { cachedBy } from '../../core/cache.ts';
import { Fault } from '../../core/errors.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { JsonForm } from './body-writer.ts';
import type { Root } from '../endpoints/roots.ts';

/** The parameters every endpoint takes, from the query or the body; the query wins. */
export interface CommonParameters extends JsonForm {
  readonly userName: string | undefined;
  readonly userPW: string | undefined;
  readonly debug: boolean;
  readonly xcoll: boolean;
  /** ver=1.0: lists as arrays. */
  readonly lists: boolean;
  readonly dryRun: boolean;
  /** A member of the body that was meant to be one of the credentials, if these are missing. */
  readonly misspelt?: { readonly given: string; readonly meant: string } | undefined;
}

const names: readonly string[] = ['userName', 'userPW', 'pretty', 'debug', 'xcoll', 'ver', 'dryRun'];
/** Whatever is meant to be dryRun, however it is spelled. */
const looksLikeDryRun = (name: string): boolean =>
  /^[^a-z]*d/i.test(name) && name.replaceAll(/[^a-z]/gi, '').toLowerCase() === 'dryrun';

/** How a reply is asked for that is made without the other parameters, such as an error. */
export function formAsked({ blankAfterName }: Root, url = ''): JsonForm {
  const mark = url.indexOf('?');
  const pretty = mark >= 0 && isOn(new URLSearchParams(url.slice(mark + 1)).get('pretty') ?? undefined);
  return { pretty, blankAfterName };
}

const isOn = (value: string | undefined): boolean => {
  const text = (value ?? '').toLowerCase();
  return text !== '' && text !== '0' && text !== 'false' && text !== 'no';
};

/** Takes the common parameters out of query and body; `rest` is the body without them, `own` what the row takes itself. */
export function commonParameters(
  root: Root,
  query: string,
  body: Record<string, unknown>,
  endpoint: Partial<Pick<Endpoint, 'method' | 'bulk' | 'query'>> = {},
): { common: CommonParameters; rest: Record<string, unknown>; own: Record<string, string> } {
  if (query === '' && Object.keys(body).length === 0) return { rest: body, own: {}, common: usualParameters(root) };
  const { bulk = false } = endpoint;
  const { given, own, members } = query === '' ? noParameters() : readQuery(root, query, endpoint);
  let rest = members.size === 0 ? body : { ...body, ...Object.fromEntries(members) };
  for (const name of Object.keys(body)) {
    // In a body of many objects a member that is an object is one of them, whatever its name.
    if (bulk && typeof body[name] === 'object') continue;
    if (looksLikeDryRun(name)) checkDryRun(name, commonText(name, body[name]));
    if (!names.includes(name)) continue;
    if (rest === body) rest = { ...body };
    delete rest[name];
    if (!given.has(name)) given.set(name, commonText(name, body[name]));
  }
  const misspelt = bulk || (given.has('userName') && given.has('userPW')) ? undefined : misspeltIn(body);
  return { rest, own, common: { ...parametersGiven(root, given), misspelt } };
}

const parametersGiven = ({ blankAfterName }: Root, given: ReadonlyMap<string, string>): CommonParameters => ({
  userName: given.get('userName'),
  userPW: given.get('userPW'),
  pretty: isOn(given.get('pretty')),
  blankAfterName,
  debug: isOn(given.get('debug')),
  xcoll: isOn(given.get('xcoll')),
  lists: given.get('ver') === '1.0',
  dryRun: given.has('dryRun'),
});

/** Of a request that gives none, as most do. */
const usualParameters = cachedBy((root: Root) => parametersGiven(root, new Map()));

/** How people write the names of credentials, without the case of letters. */
const spellings: Readonly<Record<string, string>> = {
  username: 'userName',
  user: 'userName',
  userpw: 'userPW',
  password: 'userPW',
};

function misspeltIn(body: Record<string, unknown>): CommonParameters['misspelt'] {
  for (const given of Object.keys(body)) {
    const meant = spellings[given.toLowerCase()];
    if (meant !== undefined && meant !== given) return { given, meant };
  }
  return undefined;
}

function commonText(name: string, value: unknown): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new Fault('malformed', `"${name}" must be a string.`);
}

interface QueryParameters {
  /** The common ones. */
  readonly given: Map<string, string>;
  readonly own: Record<string, string>;
  /** What counts as members of the body; one that is repeated is an array. */
  readonly members: Map<string, string | string[]>;
}

const noParameters = (): QueryParameters => ({ given: new Map(), own: {}, members: new Map() });

function readQuery(
  root: Root,
  query: string,
  { method, query: ownParameters = {} }: Partial<Pick<Endpoint, 'method' | 'query'>>,
): QueryParameters {
  const parameters = noParameters();
  const { given, own, members } = parameters;
  for (const [name, value] of queryPairs(query)) {
    if (looksLikeDryRun(name)) checkDryRun(name, value);
    if (names.includes(name)) given.set(name, value);
    else if (Object.hasOwn(ownParameters, name)) own[name] = value;
    else if (name === '') continue;
    else if (root.strict) {
      throw new Fault(
        'unknown-member',
        `There is no query parameter "${name}"; known are ${[...Object.keys(ownParameters), ...names].join(', ')}.`,
      );
    } else if (root.takesMembersInQuery && method === 'PUT') {
      const before = members.get(name);
      members.set(name, before === undefined ? value : [before, value].flat());
    }
  }
  return parameters;
}

/** Taking a query apart by the standard's rules is slow; most queries need none of them. */
function queryPairs(query: string): Iterable<readonly [name: string, value: string]> {
  if (/[%+?]/.test(query)) return new URLSearchParams(query);
  return query.split('&').map((pair) => {
    const mark = pair.indexOf('=');
    return mark < 0 ? [pair, ''] : [pair.slice(0, mark), pair.slice(mark + 1)];
  });
}

/** Whoever asks for a dry run must not get a real one because of a slip. */
function checkDryRun(name: string, value: string): void {
  if (name !== 'dryRun' || value !== '1') {
    throw new Fault('invalid', `A dry run is asked for with dryRun=1, not with "${name}=${value}"; nothing was done.`);
  }
}
