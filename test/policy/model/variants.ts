import * as fc from 'fast-check';
import type { Need } from './refusals.ts';
import type { Content } from './request.ts';
import { addressOf, masters, nodeNames } from './world.ts';

/** A body, what the policy is asked by it, and what it needs a right to besides the nodes of the path. */
interface Variant {
  readonly body?: Readonly<Record<string, unknown>>;
  /** The argument line as administrators would write it. */
  readonly line: string;
  /** Where it is not that of the row. */
  readonly command?: string;
  readonly mentions?: readonly string[];
  needs?(nodes: readonly string[]): readonly Need[];
}

/** Where machines are to go: nodes of all kinds, addresses of nodes, and machines that are no nodes. */
const targets = [...nodeNames, ...nodeNames.slice(0, 4).map((node) => addressOf('a', node)), '127.178.9.9', 'nosuch'];

const image = (command: string, line: string, body?: Variant['body']): Variant => ({
  command,
  line,
  ...(body && { body }),
  needs: () => [{ kind: 'cluster' }],
});
const instance = (command: string, action: string, line: string, more: object = {}): Variant =>
  image(command, line, { action, ...more });
const everything = (line = ''): Variant => ({ line, needs: () => [{ kind: 'everything' }] });
const state = (text: string, member = 'state'): Variant => ({ body: { [member]: text }, line: text });
const provisioned = [
  { body: {}, line: '' },
  { body: { osimage: 'img1' }, line: 'osimage=img1' },
];

/** What the rows of machines, images, boot and discovery are sent; most of it fails once it was allowed, before anything is made. */
export const variants: Readonly<Record<string, readonly Variant[]>> = {
  'POST /nodes/{noderange}/vm': [
    { body: {}, line: '' },
    { body: { cpucount: '2', memorysize: '64' }, line: '--mem 64 --cpus 2' },
    { body: { disksize: '1', force: 'yes' }, line: '-s 1 -f' },
  ],
  'PUT /nodes/{noderange}/vm': [
    { body: { memorysize: '64' }, line: '--mem 64' },
    { body: { purgedisk: 'vda', force: 'yes' }, line: '-p vda -f' },
  ],
  'DELETE /nodes/{noderange}/vm': [
    { body: {}, line: '' },
    { body: { purge: 'yes', force: 'yes' }, line: '-p -f' },
  ],
  'POST /nodes/{noderange}/vmclone': [
    { body: { tomaster: 'fresh' }, line: '-t fresh' },
    { body: { tomaster: 'gold', force: 'yes' }, line: '-t gold -f' },
    ...[...Object.keys(masters), 'gold', 'nosuch'].map(
      (name): Variant => ({
        body: { frommaster: name },
        line: `-b ${name}`,
        needs: (nodes) => [{ kind: 'master', name, nodes }],
      }),
    ),
  ],
  'POST /nodes/{noderange}/vmmigrate': targets.map((name) => ({
    body: { target: name },
    line: name,
    mentions: [name],
    needs: () => [{ kind: 'target', name }],
  })),
  'GET /nodes/{noderange}/snapshots': [{ line: 'list' }],
  'POST /nodes/{noderange}/snapshots': [{ body: { name: 'snap1' }, line: 'create snap1' }],
  'DELETE /nodes/{noderange}/snapshots': [{ line: 'clear' }],
  'GET /nodes/{noderange}/subnodes': [{ line: '-z' }],
  'GET /nodes/{noderange}/bootstate': [{ line: 'stat' }],
  'GET /nodes/{noderange}/boot': [{ line: '' }],
  'GET /nodes/{noderange}/answers': [{ line: '' }],
  'PUT /nodes/{noderange}/bootstate': [
    state('boot'),
    state('shell'),
    state('offline'),
    state('runcmd=true'),
    state('runimage=http://127.0.0.1:9/x.tgz'),
    state('ondiscover=runcmd:true'),
    state('shell,osimage=img1'),
    state('next'),
    state('enact'),
    { body: { osimage: 'img1' }, line: 'osimage=img1' },
    { body: { osimage: 'img2' }, line: 'osimage=img2' },
  ],
  'POST /nodes/{noderange}/provision': [...provisioned, state('shell')],
  'PUT /nodes/{noderange}/provision': [...provisioned, state('boot', 'action')],
  'POST /osimages': [
    image('copycds', '/nosuch/a.iso', { iso: '/nosuch/a.iso' }),
    image('imgpull', '127.0.0.1:9/a:b c1', { oci: '127.0.0.1:9/a:b', name: 'c1' }),
    image('imgpull', '/nosuch/c.oci.tar c', { file: '/nosuch/c.oci.tar' }),
    image('imgimport', '/nosuch/b.tgz', { file: '/nosuch/b.tgz' }),
  ],
  'POST /osimages/{imgname}/instance': [
    instance('genimage', 'gen', 'img1'),
    instance('packimage', 'pack', 'img1'),
    instance('imgexport', 'export', 'img1'),
    instance('imgrun', 'run', 'img1 true', { command: ['true'] }),
    instance('rollbackimage', 'rollback', 'img1'),
  ],
  'GET /osimages/{imgname}/instance': [image('lsimage', 'img1')],
  'DELETE /osimages/{imgname}/instance': [image('rmimage', 'img1')],
  'GET /discovery': [everything()],
  'POST /discovery': ['alpha', 'virt', 'n101', 'w601', 'nosuch'].map((noderange) => ({
    body: { noderange },
    line: `noderange=${noderange}`,
    mentions: [noderange],
  })),
  'DELETE /discovery': [
    { body: {}, line: '' },
    { body: { noderange: 'alpha' }, line: 'noderange=alpha' },
  ],
};

/** One of the variants, about the nodes that the text names. */
export const variantContent = (kinds: readonly Variant[], named: string): fc.Arbitrary<Content> =>
  fc.constantFrom(...kinds).map(({ body, line, command, mentions = [], needs }) => ({
    ...(body && { body }),
    mentions,
    lines: [{ line, ...(command !== undefined && { command }) }],
    needs: needs?.(named.split(',')) ?? [],
  }));
