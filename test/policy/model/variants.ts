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
  { body: { osimage: 'img1', force: true }, line: 'osimage=img1 --force' },
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
  'GET /nodes/{noderange}/sp/accounts': [{ line: 'list' }],
  'POST /nodes/{noderange}/sp/accounts': [
    {
      body: { username: 'audit', password: 'a-Secret-9', role: 'readonly' },
      line: 'add audit password=******** role=readonly',
    },
  ],
  'POST /nodes/{noderange}/sp/rotate': [{ body: {}, line: '' }],
  'POST /nodes/{noderange}/sp/certificaterequests': [{ body: {}, line: 'request' }],
  'POST /nodes/{noderange}/sp/certificates': [{ body: { within: 30 }, line: 'sign within=30' }],
  'GET /nodes/{noderange}/firmware': [{ line: '-l' }],
  'POST /nodes/{noderange}/firmware': [
    { body: { url: 'http://127.0.0.9/x', component: 'bios' }, line: 'http://127.0.0.9/x --component bios' },
    { body: { action: 'start' }, line: '--start' },
  ],
  'GET /nodes/{noderange}/subnodes': [{ line: '-z' }],
  'GET /nodes/{noderange}/bootstate': [{ line: 'stat' }],
  'GET /nodes/{noderange}/boot': [{ line: '' }],
  'GET /nodes/{noderange}/answers': [{ line: '' }],
  'GET /nodes/{noderange}/overlay': [{ line: '' }],
  'GET /nodes/{noderange}/overlay/{file}': [{ line: '/etc/motd' }],
  'POST /nodes/{noderange}/overlay': [
    { body: { action: 'diff' }, line: '--diff' },
    { body: {}, line: '' },
  ],
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
    { body: { osimage: 'img2', force: true }, line: 'osimage=img2 --force' },
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
    instance('packimage', 'tag', '--tag good img1', { params: [{ tag: 'good' }] }),
  ],
  'GET /osimages/{imgname}/instance': [image('lsimage', 'img1')],
  'DELETE /osimages/{imgname}/instance': [image('rmimage', 'img1')],
  'GET /osimages/{imgname}/check': [image('chkosimage', 'img1')],
  'DELETE /osdistros/{osdistro}': [image('rmosdistro', 'nosuch')],
  'POST /nodes/{noderange}/capture': [
    image('imgcapture', '-t diskless -o img1', { osimage: 'img1' }),
    image('imgcapture', '-t sysclone -o new', { osimage: 'new', type: 'sysclone' }),
  ],
  'POST /services/kmodules': [image('lskmodules', '-i img1', { osimage: 'img1' })],
  'POST /services/switchdiscover': [
    image('switchdiscover', '-s snmp --range 127.0.0.9', { addresses: '127.0.0.9' }),
    image('switchdiscover', '-s lldp --range 127.0.0.9', { addresses: '127.0.0.9', method: 'lldp' }),
  ],
  'POST /kits': [
    image('addkit', '/nosuch/k.tar.bz2', { file: '/nosuch/k.tar.bz2' }),
    image('addkit', '-i /nosuch/k.tar.bz2', { file: '/nosuch/k.tar.bz2', inspect: true }),
  ],
  'DELETE /kits/{kit}': [image('rmkit', 'nosuch')],
  'GET /kits/{kit}/parameters': [image('lskitdeployparam', '-k nosuch')],
  'POST /osimages/{imgname}/kitcomponents': [
    image('addkitcomp', '-a -i img1 nosuch', { components: 'nosuch', adddeps: true }),
  ],
  'GET /osimages/{imgname}/kitcomponents/{kitcomponents}': [image('chkkitcomp', '-i img1 nosuch')],
  'DELETE /osimages/{imgname}/kitcomponents/{kitcomponents}': [image('rmkitcomp', '-i img1 nosuch')],
  'GET /discovery': [everything()],
  'POST /discovery': ['alpha', 'virt', 'n101', 'w601', 'nosuch'].map((noderange) => ({
    body: { noderange },
    line: `noderange=${noderange}`,
    mentions: [noderange],
  })),
  'POST /services/host': [everything(), { ...everything('-n'), body: { only: 'n101' }, mentions: ['n101'] }],
  'POST /services/routes': [{ ...everything('-r nosuch'), body: { routes: ['nosuch'] } }],
  'DELETE /services/routes': [{ ...everything('-d -r nosuch'), body: { routes: ['nosuch'] } }],
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
