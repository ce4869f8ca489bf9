import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { chdef } from '../../src/commands/chdef.ts';
import { lsdef } from '../../src/commands/lsdef.ts';
import { mkdef } from '../../src/commands/mkdef.ts';
import { nodels } from '../../src/commands/node-columns.ts';
import { rmdef } from '../../src/commands/rmdef.ts';
import { Draft } from '../../src/database/draft.ts';
import { snapshotTables } from '../../src/database/tables.ts';
import type { Given } from '../../src/objects/define.ts';
import { contents } from '../harness/random-changes.ts';
import { answerOf, memoryStore, testOrigin, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeAll(async () => {
  cluster = await memoryStore();
});
afterAll(() => cluster.close());
/** Every test begins with an empty cluster. */
afterEach(async () => {
  await cluster.store.change(testOrigin, (head) => {
    const draft = new Draft(head, cluster.services.seal);
    for (const { name } of snapshotTables)
      for (const key of head.rows(name).keys()) if (name !== 'policy' && name !== 'passwd') draft.remove(name, key);
    return draft.changes();
  });
});

const make = (type: string, names: string, attributes: Given, more: { force?: boolean; template?: string } = {}) =>
  cluster.run(mkdef, { type, names, attributes, ...more });
const modify = (type: string, names: string, attributes: Given, mode: 'set' | 'append' | 'remove' = 'set') =>
  cluster.run(chdef, { type, names, attributes, mode });
const write = (args: Parameters<typeof chdef.line>[0]) => cluster.run(chdef, args);
const rename = (names: string, to: string) => cluster.run(chdef, { type: 'node', names, rename: to });
const remove = (type: string, names: string) => cluster.run(rmdef, { type, names });
const show = async (type: string, names: string) => answerOf(await cluster.run(lsdef, { type, names }));
const list = async (type: string) => answerOf(await cluster.run(lsdef, { type, short: true }));
const fault = (kind: string, text = '') =>
  expect.objectContaining({ name: 'Fault', kind, message: expect.stringContaining(text) });

/** The error by which the work is refused; nothing at all may be changed by it. */
async function refusal(work: () => Promise<unknown>): Promise<unknown> {
  const before = contents(cluster.current, snapshotTables);
  const error = await work().then(
    () => 'done',
    (reason: unknown) => reason,
  );
  expect(contents(cluster.current, snapshotTables)).toEqual(before);
  return error;
}

describe('making objects', () => {
  test('refuses a list that names existing and new ones as a whole', async () => {
    await make('node', 'n1', { groups: 'all' });
    await expect(refusal(() => make('node', 'n1,n2', { groups: 'all' }))).resolves.toEqual(fault('invalid', 'n1'));
  });

  test.each([
    ['without groups', { mgt: 'ipmi' }],
    ['with groups that are none', { groups: ' , ' }],
    ['with an attribute there is not', { groups: 'all', bogus: '1' }],
    ['with an invalid value', { groups: 'all', ip: 'nowhere' }],
    ['with a control character', { groups: 'all', usercomment: 'a\nb' }],
    ['with a group that reads as a range', { groups: 'g[1-3]' }],
    ['with an attribute whose condition does not hold', { groups: 'all', bmc: '1.1.1.1' }],
    ['with the name of the object as attribute', { groups: 'all', node: 'x' }],
    ['with nothing', {}],
  ])('refuses a node %s', async (_title, attributes) => {
    await expect(refusal(() => make('node', 'n1', attributes as Given))).resolves.toEqual(fault('invalid'));
  });

  test.each(['a.b', 'bad name', '-x', 'ALLRESOURCES'])('refuses the node name %s', (name) =>
    expect(refusal(() => make('node', name, { groups: 'all' }))).resolves.toEqual(fault('invalid')),
  );

  test('replaces what exists only when forced, and leaves nothing of it', async () => {
    await make('node', 'n1', { groups: 'all', mgt: 'ipmi', bmc: '10.0.0.1', switch: 's1', switchport: '7' });
    await expect(refusal(() => make('node', 'n1', { groups: 'x' }))).resolves.toEqual(
      fault('invalid', 'Already defined'),
    );
    await make('node', 'n1', { groups: 'x', switch: 's2', switchport: '8' }, { force: true });
    expect(await show('node', 'n1')).toEqual({ n1: { groups: 'x', switch: 's2', switchport: '8' } });
  });

  test('replaces a network under the same address', async () => {
    await make('network', 'net', { net: '10.0.0.0', mask: '255.0.0.0', domain: 'a.b' });
    await make('network', 'net', { net: '10.0.0.0', mask: '255.0.0.0' }, { force: true });
    expect(await show('network', 'net')).toEqual({ net: { net: '10.0.0.0', mask: '255.0.0.0' } });
  });

  test('replaces a group with its members', async () => {
    await make('node', 'n[1-3]', { groups: 'all' });
    await make('group', 'g', { members: 'n1,n2', usercomment: 'x', mgt: 'kvm' });
    await make('group', 'g', { members: 'n2,n3' }, { force: true });
    expect(await show('group', 'g')).toEqual({ g: { grouptype: 'static', members: 'n2,n3' } });
    await make('group', 'g', { usercomment: 'empty' }, { force: true });
    expect(await show('group', 'g')).toEqual({ g: { grouptype: 'static', members: '', usercomment: 'empty' } });
  });

  test('replaces a dynamic group by a static one', async () => {
    await make('node', 'n1', { groups: 'all' });
    await make('group', 'g', { grouptype: 'dynamic', wherevals: 'mgt==ipmi' });
    await make('group', 'g', { members: 'n1' }, { force: true });
    expect(await show('group', 'g')).toEqual({ g: { grouptype: 'static', members: 'n1' } });
  });

  test('makes an object again whose row was disabled', async () => {
    await cluster.put(
      ['nodelist', { node: 'n1', groups: 'old', hidden: '1', disable: '1' }],
      ['osimage', { imagename: 'i', osvers: 'old', disable: 'yes' }],
      ['networks', { net: '10.0.0.0', mask: '255.0.0.0', netname: 'net', disable: '1' }],
    );
    expect([await list('node'), await list('osimage'), await list('network')]).toEqual([[], [], []]);
    await make('node', 'n1', { groups: 'new' });
    await make('osimage', 'i', { osarch: 'x' });
    await make('network', 'net', { net: '10.0.0.0', mask: '255.0.0.0' });
    expect(await show('node', 'n1')).toEqual({ n1: { groups: 'new' } });
    expect(await show('osimage', 'i')).toEqual({ i: { osarch: 'x' } });
    expect(await show('network', 'net')).toEqual({ net: { net: '10.0.0.0', mask: '255.0.0.0' } });
  });

  test('takes conditions from the groups named in the same call', async () => {
    await modify('group', 'ipmi', { mgt: 'ipmi' });
    await make('node', 'n1', { groups: 'ipmi', bmc: '10.0.0.1' });
    expect(await show('node', 'n1')).toEqual({ n1: { bmc: '10.0.0.1', groups: 'ipmi', mgt: 'ipmi' } });
  });

  test('takes what a template or another object says, given attributes first', async () => {
    await make('osimage', 'i', { osarch: 'x86_64', osvers: 'a', imagetype: 'linux' });
    await make('osimage', 'j', { osvers: 'b' }, { template: 'i' });
    expect(await show('osimage', 'j')).toEqual({ j: { imagetype: 'linux', osarch: 'x86_64', osvers: 'b' } });
    await expect(refusal(() => make('osimage', 'k', { osvers: 'b' }, { template: 'nope' }))).resolves.toEqual(
      fault('unknown-object', 'nope'),
    );
  });
});

describe('changing objects', () => {
  test('makes absent nodes only from plain names and with groups', async () => {
    await modify('node', 'n1,n2', { groups: 'all' });
    expect(await list('node')).toEqual(['n1', 'n2']);
    await expect(refusal(() => modify('node', 'n1,n3', { mgt: 'x' }))).resolves.toEqual(fault('unknown-object', 'n3'));
    await expect(refusal(() => modify('node', 'n 9', { groups: 'all' }))).resolves.toEqual(fault('unknown-object'));
    await expect(
      refusal(() => write({ type: 'node', names: 'n9', attributes: { groups: 'all' }, mustExist: true })),
    ).resolves.toEqual(fault('unknown-object'));
  });

  test('does not look for all of the names that it could not make', async () => {
    const many = 'x[1-1000]y[1-999]';
    const left = fault('unknown-object', 'more than 9950 more');
    await expect(refusal(() => modify('node', many, { mgt: 'x' }))).resolves.toEqual(left);
    await expect(refusal(() => rename(many, 'n9'))).resolves.toEqual(left);
    await expect(refusal(() => remove('node', many))).resolves.toEqual(left);
    await modify('node', 'x[1-200]y[1-60]', { groups: 'all' });
    expect(await list('node')).toHaveLength(12_000);
  });

  test('with no attributes changes nothing and succeeds', async () => {
    await make('node', 'n1', { groups: 'all' });
    const { revision } = cluster.current;
    await modify('node', 'n1', {});
    expect(cluster.current.revision).toBe(revision);
  });

  test('an invalid attribute among valid ones changes nothing', async () => {
    await make('node', 'n1', { groups: 'all' });
    await expect(refusal(() => modify('node', 'n1', { os: 'x', bogus: '1' }))).resolves.toEqual(
      fault('invalid', 'bogus'),
    );
    await expect(refusal(() => modify('node', 'n1', { os: 'x', bmc: '1.1.1.1' }))).resolves.toEqual(
      fault('invalid', 'mgt'),
    );
  });

  test('a range that selects nothing is refused', async () => {
    await cluster.put(['nodegroup', { groupname: 'none', grouptype: 'static' }]);
    await expect(refusal(() => modify('node', 'none', { os: 'x' }))).resolves.toEqual(fault('invalid', 'none'));
    await expect(refusal(() => remove('node', 'none'))).resolves.toEqual(fault('invalid', 'none'));
  });

  test('a cleared attribute shows what the groups say', async () => {
    await make('node', 'n1', { groups: 'g', os: 'own' });
    await modify('group', 'g', { os: 'ours' });
    await modify('node', 'n1', { os: '' });
    expect(await show('node', 'n1')).toEqual({ n1: { groups: 'g', os: 'ours' } });
  });

  test('an attribute cleared together with what it depends on does not come back with that', async () => {
    await make('node', 'n1', { groups: 'all', mgt: 'ipmi', bmc: '10.0.0.1' });
    await modify('node', 'n1', { mgt: '', bmc: '' });
    await modify('node', 'n1', { mgt: 'ipmi' });
    expect(await show('node', 'n1')).toEqual({ n1: expect.not.objectContaining({ bmc: expect.anything() }) });
  });

  test('adding works on the value in effect, and removing too', async () => {
    await make('node', 'n1', { groups: 'g' });
    await modify('group', 'g', { os: 'a,b' });
    await modify('node', 'n1', { os: 'b,c' }, 'append');
    expect(await show('node', 'n1')).toEqual({ n1: { groups: 'g', os: 'a,b,c' } });
    await modify('node', 'n1', { os: 'a' }, 'remove');
    expect(await show('node', 'n1')).toEqual({ n1: { groups: 'g', os: 'b,c' } });
    await expect(refusal(() => modify('node', 'n1', { os: 'z' }, 'remove'))).resolves.toEqual(fault('invalid', '"z"'));
    await expect(refusal(() => modify('node', 'n1', { arch: 'z' }, 'remove'))).resolves.toEqual(
      fault('invalid', 'no value'),
    );
  });

  test.each(['append', 'remove'] as const)('a secret cannot be changed by %s', async (mode) => {
    await make('node', 'n1', { groups: 'all', mgt: 'ipmi', bmcpassword: 'p' });
    await expect(refusal(() => modify('node', 'n1', { bmcpassword: 'q' }, mode))).resolves.toEqual(
      fault('invalid', 'secret'),
    );
  });

  test('a secret is stored sealed, shown as stars, and kept when the stars are written back', async () => {
    await make('node', 'n1', { groups: 'all', mgt: 'ipmi', bmcpassword: 'p' });
    expect(await show('node', 'n1')).toEqual({ n1: { bmcpassword: '********', groups: 'all', mgt: 'ipmi' } });
    await modify('node', 'n1', { bmcpassword: '********' });
    const stored = cluster.current.get('ipmi', 'n1')!['password']!;
    expect(cluster.box.open(stored, 'ipmi.password')).toBe('p');
  });

  test('a part of a row with several keys can be set, moved and cleared', async () => {
    await make('node', 'n1', { groups: 'all', switch: 's1' });
    await modify('node', 'n1', { switchport: '7' });
    await modify('node', 'n1', { switch: 's2' });
    expect(await show('node', 'n1')).toEqual({ n1: { groups: 'all', switch: 's2', switchport: '7' } });
    await modify('node', 'n1', { switchport: '' });
    expect(cluster.rows('switch')).toEqual([{ node: 'n1', switch: 's2' }]);
  });

  test('a network can get another address but not that of another', async () => {
    await make('network', 'a', { net: '10.0.0.0', mask: '255.0.0.0' });
    await make('network', 'b', { net: '11.0.0.0', mask: '255.0.0.0', domain: 'x' });
    await modify('network', 'b', { net: '12.0.0.0' });
    expect(await show('network', 'b')).toEqual({ b: { domain: 'x', mask: '255.0.0.0', net: '12.0.0.0' } });
    await expect(refusal(() => modify('network', 'b', { net: '10.0.0.0' }))).resolves.toEqual(
      fault('invalid', 'already'),
    );
  });

  test('scripts that run on every node are not repeated on one', async () => {
    await cluster.put(['postscripts', { node: 'xcatdefaults', postscripts: 'all' }]);
    await make('node', 'n1', { groups: 'g', postscripts: 'all,mine' });
    await modify('node', 'n1', { postscripts: 'more' }, 'append');
    expect(cluster.current.get('postscripts', 'n1')).toEqual({ node: 'n1', postscripts: 'mine,more' });
  });

  test('the site adds to and takes from lists, and an empty value removes', async () => {
    await modify('site', 'clustersite', { nameservers: 'a,b', domain: 'x.y', empty: '' });
    await modify('site', 'clustersite', { nameservers: 'b,c' }, 'append');
    await modify('site', 'clustersite', { nameservers: 'a' }, 'remove');
    await modify('site', 'clustersite', { domain: '' });
    expect(cluster.rows('site')).toEqual([{ key: 'nameservers', value: 'b,c' }]);
  });
});

describe('many objects at once', () => {
  test('are made and changed together, each with its own attributes', async () => {
    await make('node', 'n1', { groups: 'all', os: 'a' });
    await write({ type: 'node', definitions: { n1: { os: 'b' }, n2: { groups: 'all', os: 'c' } } });
    expect(await show('node', 'n1,n2')).toEqual({ n1: { groups: 'all', os: 'b' }, n2: { groups: 'all', os: 'c' } });
  });

  test('written back as they were read change nothing', async () => {
    await modify('group', 'g', { os: 'inherited', mgt: 'ipmi' });
    await make('node', 'n[1-3]', { groups: 'g', bmcpassword: 'p', 'nicips.eth0': '10.0.0.1' });
    await make('group', 'dyn', { wherevals: 'os==inherited', grouptype: 'dynamic' });
    await make('network', 'net', { net: '10.0.0.0', mask: '255.0.0.0' });
    for (const type of ['node', 'group', 'network', 'policy']) {
      const { revision } = cluster.current;
      const all = answerOf(await cluster.run(lsdef, { type })) as Record<string, Given>;
      await write({ type, definitions: all });
      expect([type, cluster.current.revision]).toEqual([type, revision]);
    }
  });

  test('are refused as a whole if one of them is', async () => {
    await make('node', 'n1', { groups: 'all' });
    await expect(
      refusal(() => write({ type: 'node', definitions: { n1: { os: 'b' }, n2: { os: 'c' } } })),
    ).resolves.toEqual(fault('invalid', 'n2'));
    await expect(
      refusal(() => write({ type: 'node', definitions: { n1: { os: 'b' }, n2: { groups: 'g', bogus: 'c' } } })),
    ).resolves.toEqual(fault('invalid'));
    const net = { net: '10.0.0.0', mask: '255.0.0.0' };
    await expect(refusal(() => write({ type: 'network', definitions: { a: net, b: net } }))).resolves.toEqual(
      fault('invalid', 'already'),
    );
  });
});

describe('groups', () => {
  test('an unknown member is an error and changes nothing', async () => {
    await make('node', 'n1', { groups: 'all' });
    await expect(refusal(() => make('group', 'g', { members: 'n1,zz' }))).resolves.toEqual(
      fault('unknown-object', 'zz'),
    );
    await make('group', 'g', { members: 'n1' });
    await expect(refusal(() => modify('group', 'g', { members: 'zz' }))).resolves.toEqual(
      fault('unknown-object', 'zz'),
    );
    await expect(refusal(() => modify('group', 'g', { members: 'zz' }, 'append'))).resolves.toEqual(
      fault('unknown-object', 'zz'),
    );
  });

  test('members are replaced, added and taken away; a new group comes last', async () => {
    await make('node', 'n[1-4]', { groups: 'first' });
    await make('group', 'g', { members: 'n1,n2' });
    await modify('group', 'g', { members: 'n2,n3' });
    expect(await show('group', 'g')).toEqual({ g: { grouptype: 'static', members: 'n2,n3' } });
    await modify('group', 'g', { members: 'n4' }, 'append');
    await modify('group', 'g', { members: 'n2' }, 'remove');
    expect(await show('group', 'g')).toEqual({ g: { grouptype: 'static', members: 'n3,n4' } });
    expect(cluster.current.get('nodelist', 'n4')!['groups']).toBe('first,g');
    await expect(refusal(() => modify('group', 'g', { members: 'n1' }, 'remove'))).resolves.toEqual(
      fault('invalid', 'n1'),
    );
    await modify('group', 'g', { members: '' });
    expect(await show('group', 'g')).toEqual({ g: { grouptype: 'static', members: '' } });
  });

  test('a hidden member stays one when the members are added to', async () => {
    await make('node', 'h1', { groups: 'g', hidden: '1' });
    await make('node', 'n1', { groups: 'all' });
    await modify('group', 'g', { members: 'n1' }, 'append');
    expect(cluster.current.get('nodelist', 'h1')!['groups']).toBe('g');
  });

  test('a group can become dynamic and static again', async () => {
    await make('node', 'n1', { groups: 'all', mgt: 'ipmi' });
    await make('group', 'g', { usercomment: 'x' });
    await modify('group', 'g', { grouptype: 'dynamic', wherevals: 'mgt==ipmi' });
    expect(await show('group', 'g')).toMatchObject({ g: { grouptype: 'dynamic', members: 'n1' } });
    await modify('group', 'g', { grouptype: 'static' });
    expect(await show('group', 'g')).toEqual({ g: { grouptype: 'static', members: '', usercomment: 'x' } });
  });

  test('a selection is added to and taken from', async () => {
    await make('group', 'g', { wherevals: 'mgt==ipmi' });
    await modify('group', 'g', { wherevals: 'os==x' }, 'append');
    expect(await show('group', 'g')).toMatchObject({ g: { wherevals: 'mgt==ipmi::os==x' } });
    await modify('group', 'g', { wherevals: 'mgt==ipmi' }, 'remove');
    expect(await show('group', 'g')).toMatchObject({ g: { wherevals: 'os==x' } });
    await expect(refusal(() => modify('group', 'g', { wherevals: 'os==x' }, 'remove'))).resolves.toEqual(
      fault('invalid', 'selection'),
    );
  });

  test.each([
    ['without a selection', { grouptype: 'dynamic' }],
    ['with members', { grouptype: 'dynamic', wherevals: 'mgt==x', members: 'n1' }],
    ['with attributes', { grouptype: 'dynamic', wherevals: 'mgt==x', os: 'y' }],
    ['with a broken selection', { grouptype: 'dynamic', wherevals: 'mgt' }],
    ['by an attribute there is not', { grouptype: 'dynamic', wherevals: 'bogus==1' }],
    ['by a secret', { grouptype: 'dynamic', wherevals: 'bmcpassword==x' }],
    ['that is neither static nor dynamic', { grouptype: 'other' }],
    ['that is static with a selection', { grouptype: 'static', wherevals: 'mgt==x' }],
  ])('a group %s is refused', (_title, attributes) =>
    expect(refusal(() => make('group', 'g', attributes as Given))).resolves.toEqual(fault('invalid')),
  );

  test('a removed group leaves its members and takes its attributes along', async () => {
    await make('node', 'n1', { groups: 'a,g,b' });
    await modify('group', 'g', { os: 'x' });
    await remove('group', 'g');
    expect(await show('node', 'n1')).toEqual({ n1: { groups: 'a,b' } });
    expect(cluster.rows('nodetype')).toEqual([]);
    await expect(refusal(() => remove('group', 'g'))).resolves.toEqual(fault('unknown-object', 'g'));
  });
});

describe('renaming a node', () => {
  test('moves its rows in every table', async () => {
    await make('node', 'n1', {
      groups: 'g',
      mgt: 'ipmi',
      bmcpassword: 'p',
      switch: 's',
      switchport: '1',
      ip: '10.0.0.1',
    });
    const before = await show('node', 'n1');
    await rename('n1', 'm1');
    expect(await list('node')).toEqual(['m1']);
    expect(await show('node', 'm1')).toEqual({ m1: (before as Record<string, unknown>)['n1'] });
    const left = contents(cluster.current, snapshotTables);
    expect(JSON.stringify(left)).not.toContain('"n1"');
  });

  test.each([
    ['to the name of another node', 'n1', 'n2', 'invalid'],
    ['to the name of a group', 'n1', 'g', 'invalid'],
    ['to what is no name', 'n1', 'a.b', 'invalid'],
    ['of one that is not there', 'zz', 'm1', 'unknown-object'],
    ['of several', 'n1,n2', 'm1', 'invalid'],
  ])('is refused %s', async (_title, from, to, kind) => {
    await make('node', 'n1,n2', { groups: 'g', os: 'x' });
    await expect(refusal(() => rename(from, to))).resolves.toEqual(fault(kind));
  });
});

describe('removing objects', () => {
  test('removes all rows of a node and no others', async () => {
    await make('node', 'n1,n10', { groups: 'g', mgt: 'ipmi', bmc: 'b', switch: 's', switchport: '1' });
    await remove('node', 'n1');
    expect(JSON.stringify(contents(cluster.current, snapshotTables))).not.toContain('"n1"');
    expect(await show('node', 'n10')).toMatchObject({ n10: { switch: 's' } });
  });

  test('removes nothing if one of them is unknown', async () => {
    await make('node', 'n1', { groups: 'g' });
    await expect(refusal(() => remove('node', 'n1,zz'))).resolves.toEqual(fault('unknown-object', 'zz'));
  });

  test('removes an image from all its tables', async () => {
    await make('osimage', 'i', { imagetype: 'linux', template: '/t', osvers: 'x' });
    await remove('osimage', 'i');
    expect([cluster.rows('osimage'), cluster.rows('linuximage')]).toEqual([[], []]);
  });

  test('the last rule that lets somebody do everything cannot be removed', () =>
    expect(refusal(() => remove('policy', '1'))).resolves.toEqual(fault('invalid', 'full rights')));
});

describe('listing', () => {
  test('shows a hidden node only when it is named', async () => {
    await make('node', 'h1', { groups: 'all', hidden: '1' });
    await make('node', 'n1', { groups: 'all' });
    expect(await list('node')).toEqual(['n1']);
    expect(await show('node', 'all')).toEqual({ n1: { groups: 'all' } });
    expect(await show('node', 'h1')).toEqual({ h1: { groups: 'all', hidden: '1' } });
    expect(answerOf(await cluster.run(nodels, { range: 'all,h1' }))).toEqual(['h1', 'n1']);
  });

  test('the text of the catalog says the same as the attributes', async () => {
    await make('node', 'n[1-3]', { groups: 'all', 'nicips.eth0': '10.0.0.1' });
    const { answer } = await cluster.run(lsdef, { type: 'node' });
    if (answer.shape !== 'objects') throw new Error(answer.shape);
    for (const name of answer.names) expect(JSON.parse(answer.text!(name))).toEqual(answer.attributes(name));
  });

  test('an unknown name or attribute is an error', async () => {
    await make('node', 'n1', { groups: 'all' });
    await expect(refusal(() => show('node', 'n1,zz'))).resolves.toEqual(fault('unknown-object', 'zz'));
    await expect(
      refusal(() => cluster.run(lsdef, { type: 'node', names: 'n1', attributes: ['bogus'] })),
    ).resolves.toEqual(fault('invalid', 'bogus'));
    await expect(refusal(() => cluster.run(nodels, { range: 'zz' }))).resolves.toEqual(fault('unknown-object', 'zz'));
  });

  test('the site shows only rows that are enabled and set', async () => {
    await cluster.put(['site', { key: 'a', value: '1' }], ['site', { key: 'b', value: '2', disable: '1' }]);
    expect(await show('site', 'clustersite')).toEqual({ clustersite: { a: '1' } });
    const chosen = answerOf(await cluster.run(lsdef, { type: 'site', attributes: ['a', 'b', 'c'] }));
    expect(chosen).toEqual({ clustersite: { a: '1' } });
  });
});

test('a dry run tells what would change and changes nothing', async () => {
  await make('node', 'n1', { groups: 'g' });
  const { revision } = cluster.current;
  const { answer } = await cluster.run(chdef, { type: 'node', names: 'n1', attributes: { os: 'x' } }, { dryRun: true });
  const change = { table: 'nodetype', key: 'n1', before: undefined, after: { node: 'n1', os: 'x' } };
  expect(answer).toEqual({ shape: 'dry-run', changes: [change], nodes: 1 });
  expect([cluster.current.revision, cluster.rows('nodetype')]).toEqual([revision, []]);
});
