import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changeContexts } from '../../src/cli/places.ts';
import { atTerminal, ended, muster } from '../harness/muster-command.ts';
import { flood } from '../lab/raw-tls.ts';
import { type Answers, hostileServer, type HostileServer, stream, type Tree, Victim } from './hostile-server.ts';

let hostile: HostileServer;
beforeAll(async () => {
  hostile = await hostileServer();
});
afterAll(() => hostile.server.stop());

const printed = (text: string) => ({ stdout: Buffer.from(text).toString('base64'), stderr: '', code: 0 });
const dump = (value: string) => ({ columns: ['key'], keys: ['key'], rows: [{ key: value }] });

const key = (letter: string): string => {
  const field = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const blob = Buffer.concat([field(Buffer.from('ssh-ed25519')), field(Buffer.alloc(32, letter))]);
  return `ssh-ed25519 ${blob.toString('base64')}`;
};
const knownHosts = (nodes: Record<string, { ip?: string }>, rows: readonly { node: string; hostkey: string }[]) => ({
  '/nodes/': nodes,
  '/tables/sshhostkey/rows': { sshhostkey: rows },
});
const known = '.ssh/known_hosts';
const mine = [
  '# mine',
  `github.com ${key('g')}`,
  '',
  `@cert-authority *.example.com ${key('c')} company`,
  `gitlab,10.0.0.9 ${key('l')}`,
].join('\n');
const pulled = ['xdcp', 'all', '-P', '/etc/f', 'HOME/here'];
const dumped = ['dumpxCATdb', '-p', 'HOME/here'];
const noNode = 'as the name of a node, and muster has no such names. Check which server answers: muster doctor';

interface Case {
  readonly what: string;
  readonly words: readonly string[];
  readonly answers: Answers;
  readonly files?: Tree;
  /** Links in the home directory, and where they lead. */
  readonly links?: Tree;
  readonly code: number;
  readonly said: string;
  /** Files that are new, or other than before. */
  readonly written?: Tree;
}

const strangeNodes = ['x/../../../evil', '..', '', '-rf', 'a b', 'n1\n', '\u001B[2Jn', 'github.com', 'n'.repeat(64)];

const cases: readonly Case[] = [
  ...strangeNodes.map((node) => ({
    what: `a file of a node named ${JSON.stringify(node.slice(0, 20))}`,
    words: pulled,
    answers: { '/nodes/': stream({ node, value: printed('evil') }) },
    code: 1,
    said: noNode,
  })),
  {
    what: 'a file whose pieces come for a strange node',
    words: pulled,
    answers: { '/nodes/': stream({ node: '../evil', stdout: 'ZXZpbA==' }, { node: '../evil', value: printed('') }) },
    code: 1,
    said: noNode,
  },
  {
    what: 'a file where a link is',
    words: pulled,
    answers: { '/nodes/': stream({ node: 'n1', value: printed('evil') }) },
    files: { profile: 'mine' },
    links: { 'here/f._n1': '../profile' },
    code: 1,
    said: 'here/f._n1 is there already and is no plain file',
  },
  {
    what: 'a file where a link is, with --replace',
    words: [...pulled, '--replace'],
    answers: { '/nodes/': stream({ node: 'n1', value: printed('evil') }) },
    files: { profile: 'mine' },
    links: { 'here/f._n1': '../profile' },
    code: 1,
    said: 'here/f._n1 is there already and is no plain file',
  },
  {
    what: 'a file where another is; the other nodes get theirs',
    words: pulled,
    answers: { '/nodes/': stream({ node: 'n1', value: printed('new') }, { node: 'n2', value: printed('two') }) },
    files: { 'here/f._n1': 'old' },
    code: 1,
    said: 'here/f._n1 is there already. Name another directory, or replace it with --replace.',
    written: { 'here/f._n2': 'two' },
  },
  {
    what: 'a file where another is, replaced when the user says so',
    words: [...pulled, '--replace'],
    answers: { '/nodes/': stream({ node: 'n1', value: printed('new') }) },
    files: { 'here/f._n1': 'old' },
    code: 0,
    said: '',
    written: { 'here/f._n1': 'new' },
  },
  ...['../evil', '..', '/etc/evil', 'a.b', '', '-x'].map((table) => ({
    what: `a table named ${JSON.stringify(table)}`,
    words: dumped,
    answers: {
      '/tables/': { site: dump('x'), [table]: dump('evil') },
      '/definitions/': {},
      '/tables': ['site', table],
    },
    code: 1,
    said: 'as the name of a table, and muster has no such names',
  })),
  {
    what: 'a table that nobody asked for',
    words: dumped,
    answers: { '/tables/': { site: dump('x'), '../evil': dump('evil') }, '/definitions/': {}, '/tables': ['site'] },
    code: 1,
    said: 'Error: The server sent tables that nobody asked for, so nothing was written.',
  },
  {
    what: 'fewer tables than were asked for',
    words: dumped,
    answers: { '/tables/': { site: dump('x') }, '/definitions/': {}, '/tables': ['site', 'hosts'] },
    code: 1,
    said: 'Error: The server did not send the table hosts, so nothing was written.',
  },
  {
    what: 'a table named like a file of the user',
    words: dumped,
    answers: {
      '/tables/': { aaa: dump('x'), results: dump('evil') },
      '/definitions/': {},
      '/tables': ['aaa', 'results'],
    },
    files: { 'here/results.csv': 'mine' },
    code: 1,
    said: 'here/results.csv is there already. Name another directory, or replace it with --replace.',
  },
  {
    what: 'a table where a link is, with --replace',
    words: [...dumped, '--replace'],
    answers: { '/tables/': { site: dump('evil') }, '/definitions/': {}, '/tables': ['site'] },
    files: { profile: 'mine' },
    links: { 'here/site.csv': '../profile' },
    code: 1,
    said: 'here/site.csv is there already and is no plain file',
  },
  {
    what: 'a new dump over an old one',
    words: dumped,
    answers: { '/tables/': { site: dump('new') }, '/definitions/': {}, '/tables': ['site'] },
    files: { 'here/site.csv': '#key\n"old"\n' },
    code: 0,
    said: 'Backup Complete.',
    written: { 'here/site.csv': '#key\n"new"\n' },
  },
  ...['github.com', '*', '@cert-authority *', '10.0.0.9', '[n1]:22', 'n1,github.com', '|1|x|y', 'n1 '].map((node) => ({
    what: `a host key for ${JSON.stringify(node)}`,
    words: ['makeknownhosts', 'all'],
    answers: knownHosts({ [node]: {} }, [{ node, hostkey: key('e') }]),
    files: { [known]: mine },
    code: 1,
    said: noNode,
  })),
  {
    what: 'a host key for this machine',
    words: ['makeknownhosts', 'all'],
    answers: knownHosts({ localhost: {} }, [{ node: 'localhost', hostkey: key('e') }]),
    files: { [known]: mine },
    code: 1,
    said: 'localhost: The name stands for this machine',
  },
  ...[
    `@cert-authority * ${key('e')}`,
    `${key('e')}\ngithub.com ${key('e')}`,
    `${key('e')};* ${key('e')}`,
    `ssh-ed25519 ${Buffer.from('no key at all').toString('base64')}`,
    `ssh-rsa ${key('e').split(' ')[1]}`,
    'ssh-ed25519',
    `${key('e')}\r\u0085github.com`,
  ].map((hostkey) => ({
    what: `a host key that is none: ${JSON.stringify(hostkey.slice(0, 24))}`,
    words: ['makeknownhosts', 'all'],
    answers: knownHosts({ n1: {} }, [{ node: 'n1', hostkey }]),
    files: { [known]: mine },
    code: 1,
    said: 'n1: What the server sent is no SSH host key, so nothing was written.',
  })),
  ...['10.0.0.1,github.com', '*', '127.0.0.1', '0:0::1', '10.0.0.9', 'github.com', '10.0.0.1 x'].map((ip) => ({
    what: `an address that is ${JSON.stringify(ip)}`,
    words: ['makeknownhosts', 'all'],
    answers: knownHosts({ n1: { ip } }, [{ node: 'n1', hostkey: key('e') }]),
    files: { [known]: `${mine}\n` },
    code: 0,
    said: `n1: The address ${ip} is left out`,
    written: { [known]: `${mine}\nn1 ${key('e')} MARK\n` },
  })),
  {
    what: 'another key for a host that the user has a line for',
    words: ['makeknownhosts', 'all'],
    answers: knownHosts({ gitlab: {}, n2: {} }, [
      { node: 'gitlab', hostkey: key('e') },
      { node: 'n2', hostkey: key('2') },
    ]),
    files: { [known]: mine },
    code: 1,
    said: 'gitlab: Line 5 of known_hosts has another key and was not written by muster for this server. If the node has a new key, remove the line: ssh-keygen -R gitlab',
    written: { [known]: `${mine}\nn2 ${key('2')} MARK\n` },
  },
  {
    what: 'the key that the user has for a host already',
    words: ['makeknownhosts', 'all'],
    answers: knownHosts({ gitlab: {} }, [{ node: 'gitlab', hostkey: `${key('x')};${key('l')} root@gitlab` }]),
    files: { [known]: mine },
    code: 0,
    said: '',
  },
  {
    what: 'keys of another server',
    words: ['makeknownhosts', 'all'],
    answers: knownHosts({ n1: {} }, [{ node: 'n1', hostkey: key('e') }]),
    files: { [known]: `n1 ${key('1')} muster-makeknownhosts:mn:8443\n` },
    code: 1,
    said: 'n1: Line 1 of known_hosts has another key',
  },
  {
    what: 'a new key of a node of its own',
    words: ['makeknownhosts', 'all'],
    answers: knownHosts({ n1: { ip: '10.0.0.1' } }, [{ node: 'n1', hostkey: key('2') }]),
    files: { [known]: `n1,10.0.0.1 ${key('1')} MARK\n${mine}` },
    code: 0,
    said: '',
    written: { [known]: `${mine}\nn1,10.0.0.1 ${key('2')} MARK\n` },
  },
  {
    what: 'the end of keys that it did not write',
    words: ['makeknownhosts', 'all', '-r'],
    answers: { '/nodes/': { gitlab: {}, n1: {} } },
    files: { [known]: `n1 ${key('1')} MARK\n${mine}\n` },
    code: 0,
    said: 'stays: muster did not write it. ssh-keygen -R gitlab removes it.',
    written: { [known]: `${mine}\n` },
  },
];

describe('a hostile server', { timeout: 60_000 }, () => {
  it.each(cases)('sends $what', async ({ words, answers, files = {}, links = {}, code, said, written = {} }) => {
    hostile.answers = answers;
    const marked = (tree: Tree): Tree =>
      Object.fromEntries(
        Object.entries(tree).map(([name, text]) => [
          name,
          text.replaceAll('MARK', `muster-makeknownhosts:127.0.0.1:${hostile.server.port}`),
        ]),
      );
    const victim = new Victim(hostile, marked(files));
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(victim.home, name));
    const before = victim.tree();
    const reply = await victim.run(words);
    const told = reply.stdout + reply.stderr;
    expect([reply.code, told]).toEqual([code, expect.stringContaining(said)]);
    if (said === '') expect(told).toBe('');
    expect(victim.tree()).toEqual({ ...before, ...marked(written) });
  });
});

describe('what other programs read', { timeout: 60_000 }, () => {
  const strange = (node: string, groups: string): Answers => ({
    '/nodes/all': { [node]: { groups, ip: '10.0.0.1' } },
    '/nodes': [node],
  });
  it.each<readonly [what: string, words: readonly string[], answers: Answers]>([
    ['a node in a genders file', ['genders'], strange('n1\nn2 root', 'all')],
    ['a group in a genders file', ['genders'], strange('n1', 'all\nn9')],
    ['a node in slurm.conf', ['slurm', 'nodes'], strange('n1\nProlog=/tmp/evil', 'all')],
    ['a partition in slurm.conf', ['slurm', 'partitions'], strange('n1', 'a\nProlog=/tmp/evil')],
    ['a host for Ansible', ['inventory', '--list'], strange('-oProxyCommand=evil', 'all')],
    ['a group for ClusterShell', ['groups'], strange('n1', '$(touch${IFS}evil)')],
    ['a node for ClusterShell', ['nodels'], strange('$(touch${IFS}evil)', 'all')],
  ])('has no lines, options or commands of a server: %s', async (_, words, answers) => {
    hostile.answers = answers;
    const { code, stdout, stderr } = await new Victim(hostile).run(words);
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('and muster has no such names')]);
  });

  it('has no address that is an option or a line', async () => {
    for (const ip of ['-oProxyCommand=evil', '10.0.0.1 State=DOWN', '10.0.0.1\nProlog=/tmp/evil', '{{ evil }}']) {
      hostile.answers = { '/nodes/all': { n1: { groups: 'all', ip } } };
      const victim = new Victim(hostile);
      const { hostvars } = JSON.parse((await victim.run(['inventory', '--list'])).stdout)['_meta'];
      expect(hostvars.n1).not.toHaveProperty('ansible_host');
      expect((await victim.run(['slurm', 'nodes', '--addresses'])).stdout).toBe('NodeName=n1 State=UNKNOWN\n');
    }
  });

  it('is no option in completion', async () => {
    hostile.answers = { '/definitions/': ['-rf', 'n1', '$(evil)'] };
    expect((await new Victim(hostile).run(['completion', '--words', 'lsdef', ''])).stdout).toBe('n1\nn1\n');
  });

  it('is a text at a terminal, in questions too', async () => {
    hostile.answers = {
      '/nodes/': Object.fromEntries(
        Array.from({ length: 9 }, (_, n) => n + 1).map((n) => [`\u001B]0;x\u0007${n}\n`, {}]),
      ),
    };
    const { screen } = await atTerminal(['rpower', 'all', 'off'], new Victim(hostile).env, [['[y/N] ', 'n\r']]);
    expect(screen).toContain(String.raw`rpower off on 9 nodes (\u001b]0;x\u0007`);
    expect(screen).not.toContain('\u001B]0');
  });
});

describe('what a server answers', { timeout: 60_000 }, () => {
  it('does not lead the token elsewhere', async () => {
    const other = await hostileServer();
    try {
      for (const status of ['301 Moved', '302 Found', '307 Temporary', '308 Permanent']) {
        const redirect = `HTTP/1.1 ${status}\r\nlocation: ${other.url}/muster/nodes\r\ncontent-length: 0\r\n\r\n`;
        hostile.answers = { '': redirect };
        const victim = new Victim(hostile);
        for (const words of [['nodels'], ['chdef', 'n1', 'groups=all'], ['rpower', 'n1', 'on'], ['events']])
          expect(await victim.run(words)).toMatchObject({
            code: 1,
            stderr: expect.stringContaining(`The server answered with a redirect (status ${status.slice(0, 3)})`),
          });
      }
      expect(other.server.asked).toEqual([]);
    } finally {
      await other.server.stop();
    }
  });

  it.each([
    ['a line', ['rpower', 'n1', 'stat'], 'application/x-ndjson', 'x'.repeat(65_536), 'a line without an end'],
    ['an event', ['events'], 'text/event-stream', `data: ${'x'.repeat(65_536)}\n`, 'an event without an end'],
  ])('ends, even if %s does not', async (_, words, type, piece, said) => {
    const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n\r\n`;
    const endless = await hostileServer((socket) => {
      socket.write(head);
      flood(socket, piece);
    });
    try {
      const reply = await new Victim(endless).run(words);
      expect(reply).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(said) });
    } finally {
      await endless.server.stop();
    }
  });
});

describe('a server with another authority than before', { timeout: 60_000 }, () => {
  let other: HostileServer;
  let victim: Victim;
  beforeAll(async () => {
    other = await hostileServer();
    victim = new Victim(hostile);
    const url = other.url;
    changeContexts({ HOME: victim.home }, () => ({
      current: 'mn',
      contexts: { mn: { url, token: 'secret-token', user: 'root', ca: hostile.certificate } },
    }));
  });
  afterAll(() => other.server.stop());
  const env = () => ({ HOME: victim.home });
  const changed = 'its certificate authority has changed, or another machine answers in its place';

  it('gets neither token nor request, and the user reads what to do', async () => {
    const xcat = await ended(muster, ['lsdef'], env());
    expect(xcat).toMatchObject({ code: 111, stderr: expect.stringContaining('so nothing was sent') });
    expect(xcat.stderr).toContain(`muster login ${other.url} says what to do`);
    expect(await ended(muster, ['runs'], env())).toMatchObject({ code: 3 });
    expect(other.server.asked).toEqual([]);
  });

  it('is refused even if the environment switches the checks of other programs off', async () => {
    const loose = { ...env(), NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    expect(await ended(muster, ['lsdef'], loose)).toMatchObject({ code: 111 });
    expect(other.server.asked).toEqual([]);
  });

  it.each([
    ['the same name', ['--context', 'mn']],
    ['another name', ['--context', 'new']],
    ['its address', []],
  ])('gets no password at a login by %s', async (_, words) => {
    const { code, screen } = await atTerminal(['login', other.url, '--user', 'root', ...words], env());
    expect([code, screen]).toEqual([3, expect.stringContaining(changed)]);
    expect(screen).toContain('muster logout --forget --context mn');
    expect(screen).not.toContain('Password');
    expect(other.server.asked).toEqual([]);
  });

  it('gets no password where the authorities of this machine were enough before', async () => {
    const own = new Victim(hostile);
    changeContexts({ HOME: own.home }, () => ({ contexts: { mn: { url: other.url, user: 'root' } } }));
    const { code, screen } = await atTerminal(['login', other.url, '--user', 'root'], { HOME: own.home });
    expect([code, screen]).toEqual([3, expect.stringContaining('it was one that this machine trusts, and is')]);
    expect(other.server.asked).toEqual([]);
  });

  it('gets no password where MUSTER_CA names another', async () => {
    const words = ['login', other.url, '--user', 'root', '--password-stdin'];
    const { HOME, MUSTER_CA } = victim.env;
    const reply = await ended(muster, words, { HOME: HOME!, MUSTER_CA: MUSTER_CA! }, 'password');
    expect(reply).toMatchObject({ code: 3, stderr: expect.stringContaining('not from the authority in MUSTER_CA') });
    expect(other.server.asked).toEqual([]);
  });

  it('is accepted after the old one was forgotten, by its fingerprint', async () => {
    expect(await ended(muster, ['logout', '--forget', '--context', 'mn'], env())).toMatchObject({ code: 3 });
    other.answers = { '/tokens': { token: { id: 'new-token', expire: 'soon' } } };
    const fingerprint = execFileSync('openssl', ['x509', '-noout', '-fingerprint', '-sha256'], {
      input: other.certificate,
      encoding: 'utf8',
    }).replace(/.*=/, '');
    const words = ['login', other.url, '--user', 'root', '--password-stdin', '--fingerprint', fingerprint.trim()];
    expect(await ended(muster, words, env(), 'password')).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('known_hosts as ssh writes it', { timeout: 60_000 }, () => {
  it('is read with hashed names, and ssh finds what was added', async () => {
    const victim = new Victim(hostile, { [known]: `n1 ${key('1')}\nN3 ${key('3')}\n` });
    const file = join(victim.home, known);
    execFileSync('ssh-keygen', ['-q', '-H', '-f', file], { stdio: 'pipe' });
    hostile.answers = knownHosts({ n1: {}, N2: { ip: '10.0.0.2' } }, [
      { node: 'n1', hostkey: key('e') },
      { node: 'N2', hostkey: key('2') },
    ]);
    const { code, stderr } = await victim.run(['makeknownhosts', 'all']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('n1: Line 1 of known_hosts has another key')]);
    for (const host of ['N2', '10.0.0.2'])
      expect(execFileSync('ssh-keygen', ['-F', host, '-f', file], { encoding: 'utf8' })).toContain(key('2'));
  });

  it('stays where a link leads to it', async () => {
    const victim = new Victim(hostile, { 'dotfiles/hosts': mine });
    mkdirSync(join(victim.home, '.ssh'));
    symlinkSync('../dotfiles/hosts', join(victim.home, known));
    hostile.answers = knownHosts({ n1: {} }, [{ node: 'n1', hostkey: key('1') }]);
    expect(await victim.run(['makeknownhosts', 'all'])).toMatchObject({ code: 0, stderr: '' });
    expect(victim.tree()).toMatchObject({ [known]: '-> ../dotfiles/hosts' });
    expect(victim.tree()['dotfiles/hosts']).toContain(`n1 ${key('1')} `);
  });
});

it.each([
  ['dumpxCATdb', '-p', 'HOME/here', 'stray'],
  ['dumpxCATdb', '-p', 'HOME/here', '--nosuch'],
  ['makeknownhosts', 'n1', 'stray'],
  ['makeknownhosts', 'n1', '--nosuch'],
])('%s %s %s %s is refused with the usage before anything is written', async (...words) => {
  const victim = new Victim(hostile, {});
  const before = victim.tree();
  hostile.answers = {};
  const { code, stdout } = await victim.run(words.filter((word) => word !== undefined));
  expect([code, stdout, victim.tree()]).toEqual([1, expect.stringContaining(`Usage: ${words[0]}`), before]);
});
