import type { ReplyShape } from '../endpoints/endpoint.ts';

/** A request as an example shows it. */
export interface ExampleRequest {
  readonly url: string;
  readonly method: string;
  readonly body?: unknown;
  /** It carries the token of the environment. */
  readonly withToken: boolean;
  readonly reply: ReplyShape;
}

/** What shows the reply, by its shape; everything else is JSON. */
type Printed = 'status' | 'text' | 'stream' | 'json';

const printed = (reply: ReplyShape): Printed =>
  reply === 'none' ? 'status' : reply === 'text' ? 'text' : reply === 'events' ? 'stream' : 'json';

/** How a language writes what JSON can hold. */
interface Notation {
  readonly step: string;
  readonly words: Readonly<Record<string, string>>;
  readonly inBraces: (members: string) => string;
  readonly key: (name: string) => string;
}

const quoted = (text: string): string => JSON.stringify(text);

const python: Notation = {
  step: '    ',
  words: { null: 'None', true: 'True', false: 'False' },
  inBraces: (members) => `{${members}}`,
  key: quoted,
};

const javascript: Notation = {
  step: '  ',
  words: {},
  inBraces: (members) => (members === '' ? '{}' : `{ ${members} }`),
  key: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)),
};

const width = 68;

/** A value on one line, if it ends there before the line is full; else each member on its own. */
function literal(value: unknown, notation: Notation, indent: string, used: number): string {
  const short = onOneLine(value, notation);
  if (used + short.length <= width || value === null || typeof value !== 'object') return short;
  const inner = indent + notation.step;
  const lines = members(value, notation).map(([before, member]) => {
    const text = literal(member, notation, inner, inner.length + before.length + 1);
    return `${inner}${before}${text},\n`;
  });
  return Array.isArray(value) ? `[\n${lines.join('')}${indent}]` : `{\n${lines.join('')}${indent}}`;
}

function onOneLine(value: unknown, notation: Notation): string {
  if (value === null || typeof value !== 'object') {
    const text = JSON.stringify(value);
    return typeof value === 'string' ? text : (notation.words[text] ?? text);
  }
  const text = members(value, notation)
    .map(([before, member]) => `${before}${onOneLine(member, notation)}`)
    .join(', ');
  return Array.isArray(value) ? `[${text}]` : notation.inBraces(text);
}

const members = (value: object, { key }: Notation): (readonly [before: string, member: unknown])[] =>
  Array.isArray(value)
    ? value.map((member: unknown) => ['', member] as const)
    : Object.entries(value).map(([name, member]) => [`${key(name)}: `, member] as const);

/** One header on the line, more below it. */
const headersIn = (headers: readonly string[], { step, inBraces }: Notation): string =>
  headers.length === 1
    ? inBraces(headers[0]!)
    : `{\n${headers.map((header) => `${step}${step}${header},\n`).join('')}${step}}`;

const pythonPrint: Readonly<Record<Printed, string>> = {
  status: 'print(reply.status)',
  text: 'print(reply.read().decode())',
  stream: 'for line in reply:\n        print(line.decode(), end="")',
  json: 'print(json.load(reply))',
};

/** A complete program for Python with nothing but its standard library. */
export function pythonProgram({ url, method, body, withToken, reply }: ExampleRequest): string {
  const print = pythonPrint[printed(reply)];
  const headers = [
    ...(withToken ? ['"X-Auth-Token": os.environ["TOKEN"]'] : []),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const data = '    data=json.dumps(';
  const words = [
    quoted(url),
    ...(method === 'GET' ? [] : [`method=${quoted(method)}`]),
    ...(headers.length === 0 ? [] : [`headers=${headersIn(headers, python)}`]),
  ].map((word) => `    ${word},`);
  const sent =
    body === undefined ? [] : [`${data}${literal(body, python, python.step, `${data}).encode(),`.length)}).encode(),`];
  const modules = [
    ...(body !== undefined || print.startsWith('print(json') ? ['json'] : []),
    ...(withToken ? ['os'] : []),
    'ssl',
  ];
  return [
    ...modules.map((name) => `import ${name}`),
    'from urllib.request import Request, urlopen',
    '',
    'request = Request(',
    ...words,
    ...sent,
    ')',
    'context = ssl.create_default_context(cafile="ca.pem")',
    'with urlopen(request, context=context) as reply:',
    `    ${print}`,
  ].join('\n');
}

const javascriptPrint: Readonly<Record<Printed, string>> = {
  status: 'console.log(reply.status);',
  text: 'console.log(await reply.text());',
  stream:
    'const text = reply.body.pipeThrough(new TextDecoderStream());\nfor await (const piece of text) process.stdout.write(piece);',
  json: 'console.log(await reply.json());',
};

/** A complete ES module for Node. */
export function javascriptProgram({ url, method, body, withToken, reply }: ExampleRequest): string {
  const headers = [
    ...(withToken ? ['"X-Auth-Token": process.env.TOKEN'] : []),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const data = '  body: JSON.stringify(';
  const options = [
    ...(method === 'GET' ? [] : [`  method: ${quoted(method)},`]),
    ...(headers.length === 0 ? [] : [`  headers: ${headersIn(headers, javascript)},`]),
    ...(body === undefined ? [] : [`${data}${literal(body, javascript, javascript.step, `${data}),`.length)}),`]),
  ];
  const call = `const reply = await fetch(${quoted(url)}`;
  return [
    '// NODE_EXTRA_CA_CERTS=ca.pem node example.mjs',
    ...(options.length === 0 ? [`${call});`] : [`${call}, {`, ...options, '});']),
    'if (!reply.ok) throw new Error(await reply.text());',
    javascriptPrint[printed(reply)],
  ].join('\n');
}
