import type { Endpoint } from '../endpoints/endpoint.ts';
import { canDryRun, canRespondAsync } from './rows.ts';

/** Segments of paths, by name. */
export const pathParameters: Readonly<Record<string, string>> = {
  objtype: 'A type of objects, such as node or site, or a table as in tables.nodelist.',
  names:
    'Names of objects of the type, separated by commas; of nodes a node range. ALLRESOURCES stands for all where they are read.',
  noderange: 'Nodes: a name, a group or any other node range. ALLRESOURCES stands for all nodes where they are read.',
  servicenode: 'The name of a service node, as servicenode of its nodes has it.',
  imgname: 'Names of operating system images, separated by commas. ALLRESOURCES stands for all where they are read.',
  osdistro: 'The name of an operating system whose media were copied, such as rocky9.6-x86_64.',
  kit: 'The name of a software kit, such as tools-1.0-1.',
  kitcomponents: 'Names of components of kits, separated by commas.',
  netname: 'Names of networks, separated by commas. ALLRESOURCES stands for all where they are read.',
  policy_priority: 'Priorities of policy rules, separated by commas. ALLRESOURCES stands for all where they are read.',
  groupname: 'Names of groups, separated by commas. ALLRESOURCES stands for all where they are read.',
  attributes: 'Names of attributes, separated by commas.',
  attribute: 'The name of one attribute.',
  search:
    'What to search: iprange=..., and optionally method=ipmi or redfish, bmcuser=... and bmcpw=..., separated by commas.',
  rest: 'What follows a slash in what to search, such as 24 in iprange=10.1.0.0/24.',
  address: 'An IP address.',
  account: 'bmcuser=... and bmcpw=..., separated by a comma.',
  kinds: 'Kinds of readings or parts, separated by commas or semicolons.',
  tablelist: 'Names of tables, separated by commas; exactly one where rows are named by keys.',
  log: 'The name of a log: auditlog or eventlog.',
  attrlist: 'Names of columns, separated by commas.',
  columns: 'Columns as TABLE.COLUMN, or names of tables for all of theirs, separated by commas.',
  keys: 'Columns and the values they must have, separated by commas: net=10.1.0.0,mask=255.255.0.0.',
  type: 'A kind of hardware that announces itself, such as IMM2, CMM or REDFISH.',
  snapshot: 'The name of a snapshot.',
  budget: 'The name of a power budget.',
  bmcaccount: 'The name of an account of BMCs.',
  settings: 'Names of BIOS settings, separated by commas.',
  file: 'The path of a file on the nodes; slashes are written %2F.',
  server: 'The name of a server, as GET /servers lists it.',
  change: 'The number of a change, as GET /changes lists them: the revision that it made.',
  id: 'The id of a run, from the header X-Muster-Run.',
};

interface CommonParameter {
  /** Its key among the components of the OpenAPI document. */
  readonly key: string;
  readonly name: string;
  readonly in: 'query' | 'header';
  readonly schema: object;
  readonly example: string;
  readonly description: string;
  /** Absent: every endpoint takes it. */
  readonly takenBy?: (endpoint: Endpoint) => boolean;
}

const flag = { type: 'string', enum: ['0', '1'] };
const count = { type: 'integer', minimum: 0 };

/** What a request may carry besides path, body and credentials. */
export const commonParameters: readonly CommonParameter[] = [
  {
    key: 'pretty',
    name: 'pretty',
    in: 'query',
    schema: flag,
    example: '1',
    description: 'Indents the reply, one member a line.',
  },
  {
    key: 'debug',
    name: 'debug',
    in: 'query',
    schema: flag,
    example: '1',
    description:
      'Adds messages about what was done: a member debug in an object, a last element {"debug": [...]} in an array.',
  },
  {
    key: 'xcoll',
    name: 'xcoll',
    in: 'query',
    schema: flag,
    example: '1',
    description: 'Merges objects with equal content under their names joined by commas.',
  },
  {
    key: 'ver',
    name: 'ver',
    in: 'query',
    schema: { type: 'string' },
    example: '1.0',
    description: 'With 1.0, attributes that hold lists (groups, members, postscripts) are arrays.',
  },
  {
    key: 'dryRun',
    name: 'dryRun',
    in: 'query',
    schema: { type: 'string', const: '1' },
    example: '1',
    description:
      'Checks everything and does nothing: the reply says what a change of the database would write, and where a command on nodes would go.',
    takenBy: canDryRun,
  },
  {
    key: 'expectNodes',
    name: 'X-Expect-Nodes',
    in: 'header',
    schema: count,
    example: '12',
    description:
      'Where the path names objects: how many existing ones it must select. If it is another number, nothing is done and the status is 417.',
    takenBy: ({ range }) => range !== undefined,
  },
  {
    key: 'revision',
    name: 'X-Muster-Revision',
    in: 'header',
    schema: count,
    example: '1042',
    description: 'Answer from this revision or a later one: what an earlier reply showed or changed is seen.',
  },
  {
    key: 'prefer',
    name: 'Prefer',
    in: 'header',
    schema: { type: 'string' },
    example: 'respond-async',
    description:
      'With respond-async the reply does not wait for the end. Its status is 202, and Location is the path of the run. For work on nodes, at /muster, with handling=lenient the status is 200 and the body {"results": {node: ...}, "errors": {node: sentence}}, also if some nodes failed. With errors=detailed, at /muster, an error body also has its kind and, in missing, the names that nothing has; it and the errors of nodes have, in reference, the words of the reference system where those are known.',
    takenBy: canRespondAsync,
  },
  {
    key: 'ifNoneMatch',
    name: 'If-None-Match',
    in: 'header',
    schema: { type: 'string' },
    example: '"tMx0qPcV.1042.0"',
    description:
      'For GET: the ETag of an earlier reply. If nothing has changed since, the status is 304 and there is no body.',
    takenBy: ({ method }) => method === 'GET',
  },
  {
    key: 'ifMatch',
    name: 'If-Match',
    in: 'header',
    schema: { type: 'string' },
    example: '"tMx0qPcV.1042.0"',
    description:
      'For writes: the ETag of a GET of definitions. If anything has changed in what such a GET shows, the status is 412 and nothing is changed; `*` means that the objects must exist.',
    takenBy: ({ method }) => method !== 'GET',
  },
];

/** Headers of replies. */
export const responseHeaders = {
  'X-Request-Id': { schema: { type: 'string' }, description: 'Names the request in the log of the service.' },
  'X-Muster-Run': { schema: { type: 'string' }, description: 'The id of the run; GET /runs/{id} shows it for a day.' },
  'X-Muster-Revision': { schema: count, description: 'The revision of the database that was read or written.' },
  'X-Muster-Note': {
    schema: { type: 'string' },
    description: 'Something was taken though it looks wrong, or output was cut: one sentence; the run shows more.',
  },
  'X-Muster-Contested': {
    schema: { type: 'string' },
    description:
      'The note says that another node keeps what this one was given, such as a MAC address, or that no machine can have that address.',
  },
  'X-Muster-Age': {
    schema: count,
    description:
      'Seconds for which the server has not heard from its database; the reply may be that old. Absent if it is up to date.',
  },
  'X-Muster-Server': {
    schema: { type: 'string' },
    description: 'The short host name of the server, for known callers who sent a preference.',
  },
  ETag: { schema: { type: 'string' }, description: 'Stands for the content of the reply; see If-None-Match.' },
  Location: { schema: { type: 'string' }, description: 'With the status 202: the path of the run.' },
  'Preference-Applied': {
    schema: { type: 'string' },
    description:
      'respond-async, if the reply did not wait for the end of long work; handling=lenient, if it has results beside errors.',
  },
  Allow: { schema: { type: 'string' }, description: 'The methods the path offers.' },
  'X-Muster-Done': {
    schema: { type: 'string' },
    description:
      'With the status 503: `nothing` if nothing was done, so that the request may be sent to another server.',
  },
  'Retry-After': { schema: count, description: 'Seconds after which trying again makes sense.' },
} as const;
