import type { Range } from './ranges.ts';
import type { Request } from './request.ts';
import { requestAt } from './requests.ts';
import { account, type Rule } from './rules.ts';

/** An account, and what it asks for. */
export interface Example {
  readonly rules: readonly Rule[];
  /** What the token is limited to. */
  readonly limit: Rule | undefined;
  readonly requests: readonly Request[];
}

const node = (name: string): Range => ({ kind: 'node', name });
const group = (name: string): Range => ({ kind: 'group', name });
const allow = (commands: readonly string[], range?: Range): Rule => ({ name: account, commands, range, rule: 'allow' });

/** Few of the others get as far as a machine; this one shows that it would be heard. */
const speaking: Example = {
  limit: undefined,
  rules: [allow(['xdsh'])],
  requests: ['n101', 'h301'].map((name) => requestAt('POST /nodes/{noderange}/nodeshell', name, { command: ['true'] })),
};

/** Sees everything, and has machines of its own: what it sees is no right to act on. */
const machineOperator: Example = {
  limit: undefined,
  rules: [allow(['lsdef', 'nodels']), allow(['rmigrate', 'clonevm', 'rscan', 'mkvm', 'rpower'], group('virt'))],
  requests: [
    ...['y501', 'y503', 'k201', '127.178.9.9', 'nosuch', 'w602'].map((target) =>
      requestAt('POST /nodes/{noderange}/vmmigrate', 'w601', { target }),
    ),
    ...['gold', 'mine'].map((frommaster) => requestAt('POST /nodes/{noderange}/vmclone', 'w601', { frommaster })),
    requestAt('POST /nodes/{noderange}/vm', 'w605', { cpucount: '2', memorysize: '64' }),
  ],
};

/** Has one machine of a hypervisor where others have theirs. */
const neighbour: Example = {
  limit: undefined,
  rules: [allow(['rscan', 'rpower'], node('w605')), allow(['lsdef'], node('n101'))],
  requests: [
    requestAt('GET /nodes/{noderange}/subnodes', 'w605'),
    requestAt('GET /nodes/{noderange}/power', 'w601'),
    ...['RUN', 'GHOST', 'OWN'].map((run) => requestAt('GET /runs/{id}', run)),
    ...['RUN', 'GHOST'].map((run) => requestAt('DELETE /runs/{id}', run)),
    requestAt('GET /runs', ''),
  ],
};

/** Has all of a group; what the group has is for whoever joins it, too. */
const groupOwner: Example = {
  limit: undefined,
  rules: [allow(['chdef'], group('virt'))],
  requests: [{ bmc: '127.177.9.9' }, { vmhost: 'y503' }, { postscripts: 'x' }, { rack: 'r7' }].map((attributes) =>
    requestAt('PUT /groups/{groupname}', 'virt', attributes),
  ),
};

/** Works for the whole cluster, and on some nodes. */
const imageMaker: Example = {
  limit: undefined,
  rules: [allow(['genimage', 'packimage', 'nodediscoverls']), allow(['nodeset', 'imgrun', 'events'], group('alpha'))],
  requests: [
    requestAt('POST /osimages/{imgname}/instance', 'img1', { action: 'gen' }),
    requestAt('POST /osimages/{imgname}/instance', 'img1', { action: 'run', command: ['true'] }),
    requestAt('PUT /nodes/{noderange}/bootstate', 'n101', { osimage: 'img1' }),
    requestAt('PUT /nodes/{noderange}/bootstate', 'k201', { osimage: 'img1' }),
    { ...requestAt('GET /events', ''), query: { after: 'EVENT', seconds: '0' }, needs: [{ kind: 'part' }] },
    requestAt('GET /discovery', ''),
  ],
};

/** The same rights as that of the machines, by a token that is for fewer of them. */
const limited: Example = {
  ...machineOperator,
  limit: allow(['lsdef', 'rmigrate', 'clonevm', 'mkvm', 'rpower'], node('w601')),
};

/** Tried before anything random. */
export const examples: readonly Example[] = [speaking, machineOperator, neighbour, groupOwner, imageMaker, limited];
