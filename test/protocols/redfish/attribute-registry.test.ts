import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { isRegistry, readRegistry, registryPlaces } from '../../../src/protocols/redfish/attribute-registry.ts';
import { unpacked } from '../../../src/protocols/redfish/unpacked.ts';
import { checkedValues } from '../../../src/drivers/redfish/bios-values.ts';

const signal = new AbortController().signal;
const bytesOf = (attributes: unknown, more: object = {}): Buffer =>
  Buffer.from(
    JSON.stringify({ Id: 'R', RegistryEntries: { Menus: [{ Attributes: [1] }], Attributes: attributes, ...more } }),
  );
const read = (bytes: Buffer) => readRegistry(bytes, 'the registry', signal);
const setting = (AttributeName: unknown, more: object = {}) => ({ AttributeName, Type: 'String', ...more });

describe('a registry', () => {
  it('of two megabytes with thousands of values is read whole', async () => {
    const names = Array.from({ length: 3_000 }, (_, i) => `Setting${i}`);
    const Value = Array.from({ length: 20 }, (_, i) => ({ ValueName: `V${i}`, ValueDisplayName: `Value ${i}` }));
    const bytes = bytesOf(
      names.map((name) => ({ AttributeName: name, Type: 'Enumeration', HelpText: 'x'.repeat(200), Value })),
    );
    expect(bytes.length).toBeGreaterThan(2_000_000);
    const { settings } = await read(bytes);
    expect([...settings.keys()]).toEqual(names);
    expect(settings.get('Setting2999')!.values).toHaveLength(20);
  });

  const broken: readonly [string, Buffer, RegExp][] = [
    ['without settings', bytesOf([]), /lists no settings/],
    ['that is no JSON', Buffer.from('<html>'), /lists no settings/],
    ['that is cut off', bytesOf([setting('A')]).subarray(0, 60), /lists no settings|is not JSON/],
    ['that nests for ever', Buffer.from('{"a":'.repeat(100_000)), /nested deeper than 64 levels/],
    [
      'with a setting that nests for ever',
      bytesOf([setting('A', { x: JSON.parse('['.repeat(70) + ']'.repeat(70)) })]),
      /nested/,
    ],
    [
      'with millions of values',
      Buffer.from(`{"RegistryEntries":{"Attributes":[${'1,'.repeat(500_000)}1]}}`),
      /more than 400000 values/,
    ],
    ['with one endless setting', bytesOf([setting('A', { HelpText: 'x'.repeat(2_000_000) })]), /a part of more than/],
  ];
  it.each(broken)('%s is refused', async (_what, bytes, sentence) => {
    await expect(read(bytes)).rejects.toMatchObject({ kind: 'garbled', message: expect.stringMatching(sentence) });
  });

  it('takes of strange settings what it understands', async () => {
    const { settings } = await read(
      bytesOf([
        null,
        5,
        setting(7),
        setting(''),
        setting('a\u001b[31mb'),
        setting('x'.repeat(200)),
        setting('__proto__', { MaxLength: '12' }),
        setting('constructor', { Type: 'Nonsense' }),
        setting('Many', {
          Type: 'Enumeration',
          Value: Array.from({ length: 2_000 }, (_, i) => ({ ValueName: `${i}` })),
        }),
      ]),
    );
    expect([...settings.keys()]).toEqual(['__proto__', 'constructor', 'Many']);
    expect(settings.get('__proto__')).toMatchObject({ longest: 12 });
    expect(settings.get('constructor')).toMatchObject({ kind: undefined });
    expect(settings.get('Many')!.values).toEqual([]);
  });

  it('names settings that depend on others, also in circles', async () => {
    const depends = (from: string, to: string) => ({
      Dependency: { MapFrom: [{ MapFromAttribute: from }], MapToAttribute: to, MapToProperty: 'GrayOut' },
    });
    const Dependencies = [depends('A', 'B'), depends('B', 'A'), depends('A', 'A'), { Dependency: 3 }, null];
    const registry = await read(
      bytesOf([setting('A', { ReadOnly: true }), setting('B', { GrayOut: true })], { Dependencies }),
    );
    expect(Object.fromEntries(registry.deciding)).toEqual({ A: new Set(['B', 'A']), B: new Set(['A']) });
    const check = (wanted: Record<string, string>) => checkedValues(wanted, new Map(), registry).problems.length;
    expect([check({ A: 'x' }), check({ A: 'x', B: 'y' })]).toEqual([1, 0]);
  });
});

describe('a pattern of a registry', () => {
  const cases = [
    ['(a+)+$', `${'a'.repeat(4_000)}!`, 1],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(4_000), 1],
    ['^[0-9]{1,3}$', '12', 0],
    // What cannot be judged is left to the machine.
    ['(?<=x)y(?!z)', 'anything', 0],
    ['(((((a{1,100}){1,100}){1,100}){1,100}){1,100})', 'b', 0],
    ['(', 'x', 0],
  ] as const;
  it.each(cases)('%s is matched in time that grows with the text', async (ValueExpression, text, problems) => {
    const registry = await read(bytesOf([setting('A', { ValueExpression })]));
    expect(checkedValues({ A: text }, new Map(), registry).problems).toHaveLength(problems);
  });
});

it('a packed document is unpacked up to a bound', async () => {
  expect((await unpacked(gzipSync('{"a":1}'), '/r', 100)).toString()).toBe('{"a":1}');
  await expect(unpacked(gzipSync('x'.repeat(100_000)), '/r', 1_000)).rejects.toThrow('unpacks to more than 1000 bytes');
  await expect(unpacked(gzipSync('x'.repeat(1_000)).subarray(0, 20), '/r', 1_000)).rejects.toThrow('damaged');
});

describe('the file of a registry', () => {
  it('is known by its name, with or without the version', () => {
    const file = { Id: 'BiosAttributeRegistryU32.v1_2_36', Registry: 'BiosAttributeRegistryU32.1.2' };
    expect(isRegistry(file, 'biosattributeregistryu32.v1_2_36', true)).toBe(true);
    expect(isRegistry(file, 'BiosAttributeRegistryU32.v1_2_40', true)).toBe(false);
    expect(isRegistry(file, 'BiosAttributeRegistryU32.v1_2_40', false)).toBe(true);
    expect(isRegistry(file, 'BiosAttributeRegistryU41.v1_2_36', false)).toBe(false);
    expect(isRegistry({ Id: 'BiosAttributeRegistry' }, 'BiosAttributeRegistry.v1_0_0', false)).toBe(true);
  });

  it('is read at the service itself only, in English first', () => {
    const Location = [
      { Language: 'ja', Uri: '/r/ja' },
      { Language: 'en', ArchiveUri: '/r/archive', PublicationUri: 'https://elsewhere.example/r' },
      { Language: 'en-US', Uri: 'https://10.0.0.9/r/en' },
      { Uri: { extref: '/r/old' } },
      { Uri: '//elsewhere/r' },
    ];
    expect(registryPlaces({ Location })).toEqual(['/r/en', '/r/ja', '/r/old']);
    expect(registryPlaces({ Location: 'none' })).toEqual([]);
  });
});
