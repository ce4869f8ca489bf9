import { createServer, type Server } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LdapSource } from '../../src/accounts/ldap/ldap.ts';
import type { LdapSettings } from '../../src/accounts/ldap/settings.ts';
import { createLog } from '../../src/core/log.ts';
import { freePort } from '../lab/nats.ts';
import { dnOf, group, groupDn, person, type Slapd, startSlapd } from '../lab/slapd.ts';

let slapd: Slapd;
const said: string[] = [];
const log = { ...createLog('silent'), warn: (text: string) => said.push(text) } as unknown as ReturnType<
  typeof createLog
>;
const strange = 'smith, john (*)';

beforeAll(async () => {
  slapd = await startSlapd(
    [
      ...['alice', 'bob', 'carol', 'twin', 'j+smith', 'busy'].map((name) => person(name)),
      person('old', 'shadowExpire: 1'),
      person('new', 'shadowExpire: 99999'),
      // Another entry of the same name.
      person('other').replace('uid=other,ou=people', 'cn=other,ou=elsewhere').replace('uid: other', 'uid: twin'),
      `dn: cn=${strange.replace(',', '\\,')},ou=people,dc=cluster\nobjectClass: inetOrgPerson\nuid: strange\ncn: ${strange}\nsn: x\nuserPassword: pw-strange\n\n`,
      group('Admins', dnOf('alice'), `cn=${strange.replace(',', '\\,')},ou=people,dc=cluster`),
      group('operators', groupDn('Admins')),
      group('all', groupDn('operators'), dnOf('carol')),
      // A circle.
      group('circle', groupDn('all'), groupDn('circle')),
      `dn: cn=staff,ou=groups,dc=cluster\nobjectClass: posixGroup\ncn: staff\ngidNumber: 1\nmemberUid: bob\nmemberUid: alice\n\n`,
      ...Array.from({ length: 2_001 }, (_, i) => group(`many${i}`, dnOf('busy'))),
      group('root', dnOf('bob')).replace('ou=groups', 'ou=elsewhere'),
    ].join(''),
  );
});
afterAll(() => slapd.remove());
beforeEach(() => void said.splice(0));

const settings = (more: Partial<LdapSettings> = {}): LdapSettings => ({
  servers: [slapd.url],
  ca: slapd.ca,
  base: 'dc=cluster',
  bindDn: slapd.reader.dn,
  bindPasswordFile: slapd.reader.passwordFile,
  nameAttribute: 'uid',
  groupBase: 'OU=Groups, dc=Cluster',
  groupFilter: '(|(member={dn})(uniqueMember={dn})(memberUid={name}))',
  groupAttribute: 'cn',
  nested: false,
  // Machines that test are busy.
  timeout: 30,
  ...more,
});
const source = (more: Partial<LdapSettings> = {}): LdapSource => new LdapSource(settings(more), log);
const check = (name: string, password = `pw-${name}`, more: Partial<LdapSettings> = {}) =>
  source(more).check(name, password);
const groupsOf = async (name: string, more: Partial<LdapSettings> = {}): Promise<readonly string[] | undefined> => {
  const found = await source(more).look(name);
  return found && [...found.groups].sort();
};
const unavailable = { kind: 'unavailable', retryAfter: expect.any(Number) };

describe('a password', () => {
  it('is checked by a login of its own, over StartTLS and over LDAPS', async () => {
    const found = { id: expect.stringMatching(/^[0-9a-f-]{36}$/), groups: expect.arrayContaining(['admins', 'staff']) };
    expect(await check('alice')).toEqual(found);
    expect(await check('alice', 'pw-alice', { servers: [slapd.ldaps] })).toEqual(found);
    expect(await check('alice', 'pw-bob')).toBe('wrong');
    expect(await check('nobody', 'pw-alice')).toBeUndefined();
  });

  it('is of the one entry with exactly that name, whatever characters it has', async () => {
    for (const name of ['*', 'al*', 'alice)(uid=*', 'alice\0', '\\61lice', 'alice)(|(uid=*', '(uid=alice)'])
      expect([name, await check(name, 'pw-alice')]).toEqual([name, undefined]);
    expect(await check('j+smith')).toMatchObject({ groups: [] });
    // Two have the name, so it is neither nobody's nor that of another source.
    expect(await check('twin')).toBe('wrong');
    expect(said.join()).toContain('2 entries of the account twin');
  });

  it("is of a name that is nobody else's, also while the account is disabled", async () => {
    const has = (name: string) => source().has(name);
    expect(await Promise.all(['alice', 'old', 'twin', 'nobody', 'al*'].map(has))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it('is not right for an account that has expired', async () => {
    expect(await check('old')).toBe('wrong');
    expect(await source().look('old')).toBeUndefined();
    expect(await check('new')).toMatchObject({ groups: [] });
  });

  it('can be checked as the entry that a template names, with the name in it escaped', async () => {
    const direct = { userDn: 'uid={name},ou=people,dc=cluster', bindDn: undefined, bindPasswordFile: undefined };
    expect(await check('alice', 'pw-alice', direct)).toMatchObject({ id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(await check('j+smith', 'pw-j+smith', direct)).toMatchObject({ groups: [] });
    expect(await check('alice', 'wrong', direct)).toBe('wrong');
    expect(await check('nobody', 'wrong', direct)).toBe('wrong');
    expect(await check('alice,ou=people', 'pw-alice', direct)).toBe('wrong');
    await expect(source(direct).look('alice')).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('groups', () => {
  it('are those below the base of groups, by both sides, in small letters', async () => {
    expect(await groupsOf('alice')).toEqual(['admins', 'staff']);
    // One that is called root is elsewhere.
    expect(await groupsOf('bob')).toEqual(['staff']);
    expect(await groupsOf('bob', { groupBase: undefined })).toEqual(['root', 'staff']);
    // Its name has all that filters and names would take for something else.
    expect(await groupsOf('strange')).toEqual(['admins']);
  });

  it('are members of groups if that is wanted, also in circles', async () => {
    expect(await groupsOf('alice', { nested: true })).toEqual(['admins', 'all', 'circle', 'operators', 'staff']);
    expect(await groupsOf('carol')).toEqual(['all']);
  });

  it('that are too many are no login, since some of them may be ones that rules refuse', async () => {
    await expect(check('busy')).rejects.toMatchObject({
      kind: 'unavailable',
      sentences: [expect.stringMatching(/busy.*groups/), expect.anything()],
    });
  });
});

describe('a directory that does not answer', () => {
  const silent: Server[] = [];
  const listenSilently = async (answer?: Buffer): Promise<string> => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      if (answer) socket.once('data', () => socket.write(answer));
    });
    silent.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `ldap://127.0.0.1:${(server.address() as { port: number }).port}`;
  };
  afterAll(() => silent.forEach((server) => server.close()));

  it('is a Fault that says when to try again, and others are asked meanwhile', async () => {
    const away = `ldap://127.0.0.1:${await freePort('127.0.0.1')}`;
    await expect(check('alice', 'pw-alice', { servers: [away] })).rejects.toMatchObject(unavailable);
    const hung = await listenSilently();
    const both = source({ servers: [away, hung, slapd.url], timeout: 5 });
    expect(await both.check('alice', 'pw-alice')).toMatchObject({ groups: expect.anything() });
    expect(said.filter((text) => text.includes(hung))).toEqual([expect.stringContaining('no answer within 5 s')]);
    // They come last now.
    said.splice(0);
    expect(await both.check('alice', 'wrong')).toBe('wrong');
    expect(said).toEqual([]);
  });

  it('is not asked again for a moment, if no other is there', async () => {
    const hung = source({ servers: [await listenSilently()], timeout: 1 });
    await expect(hung.check('alice', 'pw-alice')).rejects.toMatchObject(unavailable);
    said.splice(0);
    await expect(hung.check('bob', 'pw-bob')).rejects.toMatchObject(unavailable);
    expect(said).toEqual([]);
  });

  it('is one whose certificate somebody else has signed, or is for another name', async () => {
    for (const servers of [[slapd.url], [slapd.ldaps]]) {
      await expect(check('alice', 'pw-alice', { servers, ca: slapd.otherCa })).rejects.toMatchObject(unavailable);
      await expect(check('alice', 'pw-alice', { servers, ca: undefined })).rejects.toMatchObject(unavailable);
    }
    for (const url of [slapd.url, slapd.ldaps]) {
      const servers = [url.replace('127.0.0.1', 'localhost')];
      await expect(check('alice', 'pw-alice', { servers })).rejects.toMatchObject(unavailable);
      expect(said.at(-1)).toMatch(/localhost/);
    }
  });

  it('is one without StartTLS, or with more behind its answer', async () => {
    const refused = Buffer.from('300c02010178070a010204000400', 'hex');
    // Success, and an answer to a login that was not sent yet.
    const forged = Buffer.from('300c02010178070a010004000400300c02010261070a010004000400', 'hex');
    for (const [answer, why] of [
      [refused, 'does not offer StartTLS'],
      [forged, 'was not understood'],
    ] as const) {
      await expect(check('alice', 'pw-alice', { servers: [await listenSilently(answer)] })).rejects.toMatchObject(
        unavailable,
      );
      expect(said.at(-1)).toContain(why);
    }
  });

  it('says what is wrong with the settings', async () => {
    const file = join(slapd.directory, 'wrong');
    writeFileSync(file, 'wrong\n');
    await expect(check('alice', 'pw-alice', { bindPasswordFile: file })).rejects.toMatchObject(unavailable);
    expect(said.at(-1)).toContain('refuses ldap.bindDn');
    await expect(check('alice', 'pw-alice', { base: 'dc=elsewhere' })).rejects.toMatchObject(unavailable);
    const [state] = await source({ bindPasswordFile: file }).states();
    expect(state?.problem).toContain('refuses ldap.bindDn');
    expect((await source().states())[0]).toMatchObject({ name: slapd.url, problem: undefined });
  });

  it('may lead to another one, which is not asked', async () => {
    slapd.change(`dn: ou=far,dc=cluster
changetype: add
objectClass: referral
objectClass: extensibleObject
ou: far
ref: ldap://127.0.0.1:1/ou=far,dc=cluster
`);
    expect(await groupsOf('bob')).toEqual(['staff']);
    const far = { userDn: 'uid={name},ou=far,dc=cluster', bindDn: undefined, bindPasswordFile: undefined };
    expect(await check('bob', 'pw-bob', far).catch((error: { kind: string }) => error.kind)).toMatch(
      /wrong|unavailable/,
    );
  });
});
