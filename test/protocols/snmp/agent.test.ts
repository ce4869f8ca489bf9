import { execFileSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tags } from '../../../src/protocols/snmp/message.ts';
import { type SnmpAccess, type SnmpAgent, type SnmpSession, withSession } from '../../../src/protocols/snmp/session.ts';
import { numberOf, octetsValue, parseOid, integerValue, textOf } from '../../../src/protocols/snmp/values.ts';
import { type SnmpLab, startAgent } from '../../lab/snmp.ts';

const [address, port] = ['127.0.0.65', 16_165];
const protocols = [
  ['MD5', 'DES'],
  ['SHA', 'AES'],
  ['SHA-224', 'AES'],
  ['SHA-256', 'AES-192'],
  ['SHA-384', 'AES-256'],
  ['SHA-512', 'AES-256'],
  ['MD5', 'AES-256'],
] as const;
const secrets = { auth: 'secret-of-auth', priv: 'secret-of-priv' };
const userOf = (auth: string, priv: string): string => `${auth}${priv}`.replaceAll('-', '');
const [writable, text] = ['1.3.6.1.4.1.99999.1.0', '1.3.6.1.4.1.99999.2.0'];
const table = '1.3.6.1.4.1.99999.3.1';
const { signal } = new AbortController();

let lab: SnmpLab;
beforeAll(async () => {
  const users = protocols.map(([auth, priv]) => [userOf(auth, priv), auth, priv] as const);
  lab = await startAgent({
    address,
    port,
    lines: [
      'rwcommunity of-the-pdu',
      ...users.flatMap(([user, auth, priv]) => [
        `createUser ${user} ${auth} "${secrets.auth}" ${priv} "${secrets.priv}"`,
        `rwuser ${user} priv`,
      ]),
      `createUser onlyauth SHA "${secrets.auth}"`,
      'rwuser onlyauth auth',
      'createUser open',
      'rouser open noauth',
      `override -rw ${writable} integer 1`,
      `override -rw ${text} octet_str "here"`,
      ...Array.from({ length: 60 }, (_, row) => `override ${table}.${row + 1} uinteger ${4_294_967_000 + row}`),
    ],
  });
});
afterAll(() => lab.stop());

const agent = (access: SnmpAccess, at = port): SnmpAgent => ({ address, port: at, access, timeout: 500 });
const talk = <T>(access: SnmpAccess, work: (session: SnmpSession) => Promise<T>): Promise<T> =>
  withSession(agent(access), signal, work);

const usm = (auth: string, priv: string): SnmpAccess => ({
  version: '3',
  user: userOf(auth, priv),
  auth: { protocol: auth, password: secrets.auth },
  priv: { protocol: priv, password: secrets.priv },
});

const ways: readonly (readonly [string, SnmpAccess])[] = [
  ['version 1', { version: '1', community: 'of-the-pdu' }],
  ['version 2c', { version: '2c', community: 'of-the-pdu' }],
  ...protocols.map(([auth, priv]) => [`version 3 with ${auth} and ${priv}`, usm(auth, priv)] as const),
  [
    'version 3 without encryption',
    { version: '3', user: 'onlyauth', auth: { protocol: 'SHA', password: secrets.auth } },
  ],
];

describe.each(ways)('an agent by %s', (_name, access) => {
  it('is read, walked to the end of a table, and set', async () => {
    const seen = await talk(access, async (session) => {
      const rows = await session.walk(parseOid(table));
      await session.set([
        { oid: parseOid(writable), value: integerValue(300) },
        { oid: parseOid(text), value: octetsValue('there') },
      ]);
      const [number, words, missing] = await session.get([writable, text, '1.3.6.1.4.1.99999.9.0'].map(parseOid));
      return { rows, number: numberOf(number!), words: textOf(words?.content), missing };
    });
    expect(seen).toMatchObject({ number: 300, words: 'there', missing: undefined });
    expect(seen.rows.map(({ oid }) => oid[0])).toEqual(Array.from({ length: 60 }, (_, row) => row + 1));
    expect(numberOf(seen.rows[59]!)).toBe(4_294_967_059);
    // As others read it.
    const opinion = execFileSync('snmpget', ['-v2c', '-c', 'of-the-pdu', '-Oqv', `${address}:${port}`, writable]);
    expect(opinion.toString().trim()).toBe('300');
    await talk(access, (session) => session.set([{ oid: parseOid(writable), value: integerValue(-1) }]));
  });
});

describe('what an agent refuses', () => {
  const refused = (access: SnmpAccess): Promise<unknown> =>
    talk(access, (session) => session.walk(parseOid(table))).catch((error: unknown) => (error as Error).message);
  const good = usm('SHA', 'AES') as Extract<SnmpAccess, { version: '3' }>;

  it.each([
    ['a user', { ...good, user: 'nobody' }, 'its SNMP agent does not know the user "nobody"; check snmpuser.'],
    [
      'an authentication key',
      { ...good, auth: { protocol: 'SHA', password: 'another-key' } },
      'its SNMP agent does not take the authentication key of "SHAAES"; check authtype and authkey.',
    ],
    [
      'an authentication protocol',
      { ...good, auth: { protocol: 'MD5', password: secrets.auth } },
      'its SNMP agent does not take the authentication key of "SHAAES"; check authtype and authkey.',
    ],
    [
      'a level that the user does not have',
      { version: '3', user: 'onlyauth', auth: good.auth, priv: good.priv },
      'its SNMP agent does not take this security level of the user; check seclevel.',
    ],
    [
      'a community',
      { version: '2c', community: 'wrong' },
      `its SNMP agent at ${address} does not answer; check its address, SNMP version and community.`,
    ],
  ] as readonly [string, SnmpAccess, string][])('because of %s is named', async (_what, access, sentence) => {
    expect(await refused(access)).toBe(sentence);
  });

  it('because of an encryption key does not become a value', async () => {
    const seen = await refused({ ...good, priv: { protocol: 'AES', password: 'another-key' } });
    expect(seen).toMatch(/cannot decrypt|does not answer/);
  });

  it('to write is named', async () => {
    const open: SnmpAccess = { version: '3', user: 'open' };
    const set = talk(open, (session) => session.set([{ oid: parseOid(writable), value: integerValue(1) }]));
    await expect(set).rejects.toThrow('its SNMP agent refuses it: this account or community has no right to it.');
  });

  it('of a wrong type is named', async () => {
    const set = talk(ways[1]![1], (session) => session.set([{ oid: parseOid(writable), value: octetsValue('on') }]));
    await expect(set).rejects.toThrow('its SNMP agent refuses it');
  });
});

describe('a hostile agent', () => {
  let socket: Socket;
  let heard: Buffer[];
  beforeAll(async () => {
    socket = createSocket('udp4');
    socket.bind(0, '127.0.0.66');
    await once(socket, 'listening');
  });
  afterAll(() => void socket.close());

  const withAnswers = async (answers: (asked: Buffer) => readonly Buffer[], access: SnmpAccess) => {
    heard = [];
    socket.removeAllListeners('message').on('message', (bytes, from) => {
      heard.push(bytes);
      for (const answer of answers(bytes)) socket.send(answer, from.port, from.address);
    });
    const at = { address: '127.0.0.66', port: socket.address().port, access, timeout: 200 };
    return withSession(at, signal, (session) => session.walk([1, 3, 6, 1, 4], 100)).catch(
      (error: unknown) => (error as Error).message,
    );
  };
  const community: SnmpAccess = { version: '2c', community: 'public' };
  const echoed = (asked: Buffer): Buffer => {
    const answer = Buffer.from(asked);
    answer[answer.indexOf(tags.getBulk, 10)] = tags.response;
    return answer;
  };

  it('that sends noise costs a few tries', async () => {
    const noise = [Buffer.alloc(60_000, 0x30), Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), Buffer.alloc(0)];
    expect(await withAnswers(() => noise, community)).toContain('does not answer');
    expect(heard).toHaveLength(3);
  });

  it('that answers with a header of version 3 is not heard', async () => {
    const header = Buffer.from('300e020103300602010102010004010102010304', 'hex');
    expect(await withAnswers(() => [header], community)).toContain('does not answer');
  });

  it('that answers other questions is not heard', async () => {
    const other = (asked: Buffer): Buffer => {
      const answer = echoed(asked);
      const id = answer.indexOf(tags.response, 10) + 4;
      answer[id + 1]! ^= 1;
      return answer;
    };
    expect(await withAnswers((asked) => [other(asked)], community)).toContain('does not answer');
  });

  it('that does not go forward ends the walk', async () => {
    expect(await withAnswers((asked) => [echoed(asked)], community)).toEqual([]);
  });

  it('that takes the place of another is not heard', async () => {
    const other = createSocket('udp4');
    other.bind(0, '127.0.0.67');
    await once(other, 'listening');
    heard = [];
    socket.removeAllListeners('message').on('message', (bytes, from) => {
      other.send(echoed(bytes), from.port, from.address);
    });
    const at = { address: '127.0.0.66', port: socket.address().port, access: community, timeout: 200 };
    const walked = withSession(at, signal, (session) => session.walk([1, 3, 6, 1, 4]));
    await expect(walked).rejects.toThrow('does not answer');
    other.close();
  });
});
