import { execFileSync } from 'node:child_process';
import { describe, expect, it, test } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { given } from '../../../src/boot/answers/installer.ts';
import { KickstartWriter } from '../../../src/boot/answers/kickstart.ts';
import { PreseedWriter } from '../../../src/boot/answers/preseed.ts';
import { render, type Writer } from '../../../src/boot/answers/writer.ts';
import { XmlWriter } from '../../../src/boot/answers/autoyast.ts';
import { renderYaml } from '../../../src/boot/answers/autoinstall.ts';
import { faultOf } from '../../harness/fault-of.ts';
import { parse } from './parse.ts';

const harmless = ['eth0', 'Europe/Vienna', '10.0.0.1', 'http://10.0.0.1:80/x?y', 'a b', 'Größe'];
const hostile = [
  '',
  ' ',
  "it's",
  `"quoted"`,
  `'; touch /tmp/x; '`,
  '"; touch /tmp/x; "',
  '$(touch /tmp/x)',
  '${HOME}',
  '`id`',
  '$HOME',
  '\\',
  'a\\',
  "\\'",
  '\\"',
  '# comment',
  'a #b',
  '%end',
  '%post',
  '--plaintext',
  '-x',
  '<b>bold</b>',
  '</value><evil/>',
  'a & b',
  '&lt;',
  ']]>',
  ']]><evil/><![CDATA[',
  '-->',
  'key: value',
  'a: b: c',
  '- item',
  '[a, b]',
  '{a: b}',
  '* alias',
  '&anchor',
  '!tag',
  '| text',
  '> text',
  'yes',
  'null',
  '1e3',
  '0x10',
  '~',
  'd-i evil/question string x',
  'a,b',
  '*',
];
const values = [...harmless, ...hostile];

interface Written {
  readonly value: string;
  readonly text: string;
}

/** What becomes of each value that is not refused. */
const written = (make: () => Writer, before: string, after: string): Written[] =>
  values.flatMap((value) => {
    try {
      return [{ value, text: render([before, given(value, 'site.x'), after], make()) }];
    } catch (error) {
      return refused(error);
    }
  });

/** The same in YAML. */
async function writtenYaml(before: string, after: string): Promise<Written[]> {
  const each = values.map(async (value) => {
    try {
      return [{ value, text: await renderYaml([before, given(value, 'site.x'), after]) }];
    } catch (error) {
      return refused(error);
    }
  });
  return (await Promise.all(each)).flat();
}

function refused(error: unknown): [] {
  if (!(error instanceof Fault)) throw error;
  expect(error.message).toContain('site.x');
  return [];
}

/** Harmless ones must come through, or the test would be passed by refusing everything. */
const expectHarmless = (cases: readonly { value: string }[], least = 4): void =>
  expect(cases.filter(({ value }) => harmless.includes(value)).length).toBeGreaterThanOrEqual(least);

describe('in a kickstart', () => {
  it.each([
    ['a word', 'lang ', ' --x', ['lang', '--x']],
    ['an option', 'network --hostname=', ' --y', ['network', '--y']],
    ['double quotes', 'lang "', '" --x', ['lang', '--x']],
    ['single quotes', "lang '", "' --x", ['lang', '--x']],
  ])('a value as %s stays one word', (_, before, after, [first, last]) => {
    const cases = written(() => new KickstartWriter(), `text\n${before}`, `${after}\nreboot\n`);
    expectHarmless(cases, 6);
    const parsed = parse(
      'words',
      cases.map(({ text }) => text),
    );
    for (const [index, { value }] of cases.entries()) {
      const [, line, next] = parsed[index]!;
      const word = before.endsWith('=') ? `--hostname=${value}` : value;
      expect(line).toEqual([first, word, last]);
      expect(next).toEqual(['reboot']);
    }
  });

  it('a value neither begins nor ends a section', () => {
    for (const before of ['', '%packages\n', '%post\n', '%post\n  ', '%addon x\n'])
      for (const value of ['%end', '%post', '%include /etc/passwd'])
        expect(faultOf(() => render([before, given(value, 'site.x'), '\n'], new KickstartWriter())).kind).toBe(
          'invalid',
        );
  });

  it('a line of packages takes names only', () => {
    const cases = written(() => new KickstartWriter(), '%packages\n', '\n%end\n');
    expect(cases.map(({ value }) => value)).toContain('eth0');
    for (const { text } of cases) expect(text).not.toMatch(/[;$`<>'"#]/);
  });
});

/** Where scripts are, in each format. */
const scripts: readonly (readonly [
  name: string,
  make: () => Writer,
  before: string,
  after: string,
  (texts: readonly string[]) => string[],
])[] = [
  [
    'a kickstart',
    () => new KickstartWriter(),
    '%post\n',
    '\n%end\n',
    (texts) => texts.map((text) => text.slice(6, -6)),
  ],
  [
    'a preseed',
    () => new PreseedWriter(),
    'd-i preseed/late_command string ',
    '\n',
    (texts) => texts.map((text) => text.slice('d-i preseed/late_command string '.length)),
  ],
  [
    'AutoYaST',
    () => new XmlWriter(''),
    '<source><![CDATA[\n',
    '\n]]></source>',
    (texts) => parse('xml', texts).map(({ text }) => text),
  ],
];

describe.each(scripts)('in a script of %s', (_name, make, before, after, scriptsOf) => {
  const run = (script: string): string => execFileSync('sh', ['-c', script], { encoding: 'utf8' });

  it.each([
    ['a word', "printf '%s|' first ", ' last'],
    ['part of a word', "printf '%s|' first x=", ' last'],
    ['double quotes', `printf '%s|' first "`, '" last'],
    ['single quotes', `printf '%s|' first '`, "' last"],
  ])('a value as %s stays one argument', (_, left, right) => {
    const cases = written(make, before + left, right + after);
    expectHarmless(cases);
    const texts = scriptsOf(cases.map(({ text }) => text));
    for (const [index, { value }] of cases.entries())
      expect(run(texts[index]!)).toBe(`first|${left.endsWith('=') ? `x=${value}` : value}|last|`);
  });

  it('a value where quoting cannot be told is a plain one or refused', () => {
    const places = ['cat <<E\n', 'x="$(echo ', '`echo ', "$'", '"${x:-', 'echo $', 'echo \\', "# it's ", '"a" "$('];
    for (const place of places) {
      const cases = written(make, before + place, `\n${after}`);
      for (const { value } of cases) expect(value).toMatch(/^[A-Za-z0-9_@%+=:,./-]*$/);
    }
  });
});

describe('where a shell would run a value, however it is quoted', () => {
  const value = given('$(touch /tmp/x)', '/t, line 3: #TABLE:x#');
  const write = (before: string, after: string, what = value): string =>
    render(['%post\n', before, what, after, '\n'], new KickstartWriter());

  it.each([
    ['n=$(( ', ' + 1 ))', 'arithmetic expression'],
    ['echo "$(( (1 + ', ') ))"', 'arithmetic expression'],
    ['(( n = ', ' ))', 'arithmetic expression'],
    ['n=$[ 1 + ', ' ]', 'arithmetic expression'],
    ['n=`echo ', '`', 'backquotes'],
    ['echo "`echo ', '`"', 'backquotes'],
    ['cat <<E\n`echo ', '`\nE', 'backquotes'],
  ])('%s is refused with file and line, whatever the value', (before, after, place) => {
    for (const each of [value, { ...value, value: 'reboot' }, { ...value, value: '8' }])
      expect(faultOf(() => write(before, after, each)).message).toMatch(
        new RegExp(`^/t, line 3: #TABLE:x# cannot stand .*${place}`),
      );
  });

  it('what stands behind such a place is written as before', () => {
    for (const before of ['n=$(( 1 + 1 )); echo ', 'n=`id`; echo ', 'n=$[ 2 ]; echo ', 'echo "$(( 2 ))" ', '( ( echo '])
      expect(write(before, ' ) )')).toContain(`${before}'$(touch /tmp/x)'`);
  });
});

describe('in a preseed', () => {
  it('a value stays the answer of its question', () => {
    const cases = written(() => new PreseedWriter(), 'd-i a/b string x ', '\nd-i c/d string y\n');
    expectHarmless(cases, 6);
    execFileSync('debconf-set-selections', ['-c'], { input: cases.map(({ text }) => text).join('') });
    for (const { value, text } of cases) {
      expect(text).toBe(`d-i a/b string x ${value}\nd-i c/d string y\n`);
      expect(value.endsWith('\\')).toBe(false);
    }
  });

  it('a value is no part of the name of a question unless it is one word', () => {
    for (const before of ['', 'd-i ', 'd-i a/b '])
      for (const { value } of written(() => new PreseedWriter(), before, ' x y z\n'))
        expect(value).toMatch(/^[\w.+/-]+$/);
  });
});

describe('in AutoYaST', () => {
  it.each([
    ['text', '<p><value>', '</value><after/></p>'],
    ['an attribute', '<p><value x="', '"/><after/></p>'],
    ["an attribute in '", "<p><value x='", "'/><after/></p>"],
  ])('a value as %s adds no element', (kind, before, after) => {
    const cases = written(() => new XmlWriter(''), before, after);
    expect(cases).toHaveLength(values.length);
    const parsed = parse(
      'xml',
      cases.map(({ text }) => text),
    );
    for (const [index, { value }] of cases.entries()) {
      const [element, next] = parsed[index]!.children;
      expect(kind === 'text' ? element!.text : element!.attributes['x']).toBe(value);
      expect(element!.children).toEqual([]);
      expect(next!.tag).toBe('after');
    }
  });

  it.each([
    ['a comment', '<p><!-- ', ' --></p>'],
    ['a tag', '<p ', '/>'],
    ['an instruction', '<?x ', '?><p/>'],
    ['a script outside of CDATA', '<source>echo ', '</source>'],
  ])('a value in %s is plain or refused', (_, before, after) => {
    for (const { value } of written(() => new XmlWriter(''), before, after)) expect(value).toMatch(/^[\w@%+=:,./-]*$/);
  });

  it('a script for another interpreter takes plain values only', () => {
    const template = '<interpreter>perl</interpreter>';
    const cases = written(() => new XmlWriter(template), `<source><![CDATA[print `, ']]></source>');
    for (const { value } of cases) expect(value).toMatch(/^[\w@%+=:,./-]*$/);
  });
});

describe('in YAML', () => {
  it.each([
    ['the value of a key', 'a:\n  b: ', '\n  c: d\n', (value: unknown) => ({ a: { b: value, c: 'd' } })],
    ['an item', 'a:\n  - ', '\n  - d\n', (value: unknown) => ({ a: [value, 'd'] })],
    ['double quotes', 'a:\n  b: "', '"\n  c: d\n', (value: unknown) => ({ a: { b: value, c: 'd' } })],
    ['single quotes', "a:\n  b: '", "'\n  c: d\n", (value: unknown) => ({ a: { b: value, c: 'd' } })],
    [
      'part of a text',
      'a:\n  b: x ',
      ' y\n  c: d\n',
      (value: unknown) => ({ a: { b: `x ${value as string} y`, c: 'd' } }),
    ],
    ['part of a list', 'a: [x, ', ', y]\n', (value: unknown) => ({ a: ['x', value, 'y'] })],
  ])('a value as %s adds no key, and stays a text', async (_, before, after, expected) => {
    const cases = await writtenYaml(before, after);
    expectHarmless(cases, 3);
    const parsed = parse(
      'yaml',
      cases.map(({ text }) => text),
    );
    expect(parsed).toEqual(cases.map(({ value }) => expected(value)));
  });

  it('a value can be a key, and a number stays one', async () => {
    const text = await renderYaml(['a:\n  ', given('eth0: x', 'site.x'), ': [', given('8', 'site.y'), ', 1]\n']);
    expect(parse('yaml', [text])).toEqual([{ a: { 'eth0: x': [8, 1] } }]);
  });

  it('all of a template but its values stays as it is', async () => {
    const [before, after] = [
      '#cloud-config\n# a  comment\nx:   {a: yes,  b: 0755}\ny: ',
      '   # end\n\nz: !x &a [ *a ]\n',
    ];
    expect(await renderYaml([before, given('a b', 'site.x'), after])).toBe(`${before}"a b"${after}`);
  });

  it('a template that makes no YAML is refused with its line', async () => {
    await expect(renderYaml(['a: b\nc: [1, 2\nd: ', given('x', 'site.x'), '\n'])).rejects.toThrow(/YAML: .* at line 3/);
  });

  it.each([
    ['a command', 'late-commands:\n  - echo ', '\n'],
    ['a command in quotes', 'runcmd:\n  - "echo ', '"\n'],
    ['a text of several lines', 'x: |\n  echo ', '\n'],
    ['a text in a list', 'x:\n  - |\n    echo ', '\n'],
    ['quotes of several lines', 'x: "a\n  ', '"\n'],
    ['a file', 'write_files:\n  - content: "', '"\n'],
    ['a comment', 'a: b # ', '\n'],
  ])('a value in %s is plain or refused', async (_, before, after) => {
    for (const { value } of await writtenYaml(before, after)) expect(value).toMatch(/^[\w@%+=:,./-]*$/);
  });
});

test.each(['a\nb', 'a\rb', 'a\0b', 'a\u2028b', 'a\u0085b', 'a\x1bb', '\ud800'])(
  'line breaks and control characters are refused everywhere (%j)',
  async (value) => {
    const places: readonly (readonly [Writer, string, string])[] = [
      [new KickstartWriter(), 'lang ', '\n'],
      [new KickstartWriter(), '%post\necho ', '\n%end\n'],
      [new PreseedWriter(), 'd-i a/b string ', '\n'],
      [new XmlWriter(''), '<p>', '</p>'],
    ];
    for (const [writer, before, after] of places) {
      const fault = faultOf(() => render([before, given(value, 'site.x'), after], writer));
      expect(fault.message).toContain('site.x has the value');
    }
    await expect(renderYaml(['a: "', given(value, 'site.x'), '"\n'])).rejects.toThrow('site.x has the value');
  },
);
