import { Compile } from 'typebox/compile';
import { Check } from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { worksOutside } from '../../src/commands/command.ts';
import { errorKinds, type ErrorKind } from '../../src/core/errors.ts';
import {
  canDryRun,
  dryRunOnNodesReply,
  dryRunReply,
  errorReply,
  examples,
  parameterNames,
  replies,
  resourceGroups,
  rowsAt,
  streamLine,
} from '../../src/rest/describe/rows.ts';
import { pathParameters } from '../../src/rest/describe/parameters.ts';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { openApiDocument } from '../../src/rest/describe/openapi.ts';
import { publicPathsAt } from '../../src/rest/describe/public-paths.ts';
import { roots, statusAt } from '../../src/rest/endpoints/roots.ts';
import { toilRow } from '../lab/toil/command.ts';

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description: string;
  schema: object;
}
interface Response {
  description: string;
  headers?: object;
  content?: Record<string, { schema?: object; example?: unknown }>;
}
interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  security?: object[];
  parameters?: (Parameter & { $ref?: string })[];
  requestBody?: { required: boolean; content: Record<string, { schema: object; example?: unknown }> };
  responses: Record<string, Response & { $ref?: string }>;
  'x-command'?: string;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  servers: { url: string }[];
  tags: { name: string }[];
  security: Record<string, string[]>[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, object>>;
}

const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;

describe.each(roots.map((root) => [root.prefix, root] as const))('the OpenAPI document of %s', (_prefix, root) => {
  // What clients get: the document after its way through JSON.
  const document = JSON.parse(JSON.stringify(openApiDocument(root, endpoints, '1.2.3'))) as Document;
  const rows = rowsAt(root, endpoints);
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const operationOf = (row: Endpoint): Operation => document.paths[row.path]![row.method.toLowerCase()]!;

  const resolved = <T extends object>(thing: T & { $ref?: string }): T => {
    if (thing.$ref === undefined) return thing;
    const keys = thing.$ref.replace(/^#\//, '').split('/');
    const target = keys.reduce<unknown>(
      (value, key) => (value as Record<string, unknown> | undefined)?.[key],
      document,
    );
    expect(target, thing.$ref).toBeTypeOf('object');
    return target as T;
  };

  it('is an OpenAPI 3.1 document for this root and version', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: 'muster', version: '1.2.3' });
    expect(document.servers).toEqual([{ url: root.prefix }]);
  });

  it('has every row of the root and every public path exactly once, and nothing else', () => {
    const documented = operations.map(({ path, method }) => `${method} ${path}`).sort();
    const declared = [...rows.map(nameOf), ...publicPathsAt(root).map(({ path }) => `GET ${path}`)].sort();
    expect(documented).toEqual(declared);
    expect(rows.length).toBe(endpoints.filter(({ only }) => root.prefix === '/muster' || only === undefined).length);
  });

  it('has no two paths that differ only in the names of their parameters', () => {
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{[^}]*\}/g, '{}'));
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  it('gives every operation an id of its own', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9]+$/);
  });

  it('has only references that lead somewhere', () => {
    const found: string[] = [];
    (function walk(value: unknown): void {
      if (value === null || typeof value !== 'object') return;
      if ('$ref' in value) {
        found.push(String(value.$ref));
        resolved(value as { $ref: string });
      }
      Object.values(value).forEach(walk);
    })(document);
    expect(found.length).toBeGreaterThan(100);
    for (const reference of found) expect(reference).toMatch(/^#\/components\/\w+\/[\w-]+$/);
  });

  it('declares exactly the parameters of each path, and no parameter twice', () => {
    for (const { path, operation } of operations) {
      const parameters = (operation.parameters ?? []).map(resolved);
      const inPath = parameters.filter((parameter) => parameter.in === 'path');
      expect(inPath.map(({ name }) => name)).toEqual(parameterNames(path));
      for (const parameter of inPath) {
        expect(parameter.required).toBe(true);
        expect(parameter.description).toBe(pathParameters[parameter.name]);
      }
      const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect(new Set(keys).size).toBe(keys.length);
      for (const parameter of parameters) expect(parameter.schema).toBeTypeOf('object');
    }
  });

  it('tags, describes and names the command of every row', () => {
    const tags = document.tags.map(({ name }) => name);
    expect([...tags].sort()).toEqual(['about', ...resourceGroups(root, endpoints)].sort());
    for (const row of rows) {
      const operation = operationOf(row);
      expect(operation).toMatchObject({ summary: row.summary, 'x-command': row.command.name });
      expect(operation.tags).toEqual([row.path.split('/')[1]]);
    }
  });

  it('offers a dry run for changes of the database and for what is sent to nodes, and for nothing else', () => {
    for (const row of rows) {
      const names = operationOf(row).parameters!.map((parameter) => resolved(parameter).name);
      expect(names.includes('dryRun'), nameOf(row)).toBe(
        row.command.kind === 'change' ||
          (row.command.kind === 'per-node' && !['lsanswers', 'lsoverlay'].includes(row.command.name)),
      );
      expect(names.includes('If-None-Match')).toBe(row.method === 'GET');
      expect(names.includes('X-Expect-Nodes')).toBe(row.range !== undefined);
      expect(names).toEqual(expect.arrayContaining(['pretty', 'debug', 'xcoll', 'ver', 'X-Muster-Revision']));
    }
  });

  it('asks for credentials everywhere but at the public paths', () => {
    const schemes = Object.keys(document.components['securitySchemes']!);
    const sessions = root.takesSessions ? [{ session: [] }] : [];
    expect(document.security).toEqual([{ token: [] }, { userName: [], userPW: [] }, ...sessions]);
    for (const { path, operation } of operations) {
      for (const scheme of [...document.security, ...(operation.security ?? [])].flatMap(Object.keys))
        expect(schemes).toContain(scheme);
      const isPublic = publicPathsAt(root).some((known) => known.path === path);
      if (isPublic) expect(operation.security).toEqual([]);
      else expect(operation.security).not.toEqual([]);
    }
  });

  it('has the body schema of each row, and an example that matches it', () => {
    for (const row of rows) {
      const { requestBody } = operationOf(row);
      if (row.body === undefined) {
        expect(requestBody).toBeUndefined();
        expect(row.example.body, nameOf(row)).toBeUndefined();
      } else {
        const { schema, example } = requestBody!.content['application/json']!;
        const typed = { $ref: expect.stringMatching(/Definition$/) };
        expect(schema).toEqual(row.defines === undefined ? JSON.parse(JSON.stringify(row.body)) : typed);
        expect(example, nameOf(row)).toEqual(row.example.body);
        // Most programs send no body with a GET, so the example of one has none.
        if (row.method === 'GET') expect(example, nameOf(row)).toBeUndefined();
        else expect(Compile(row.body).Check(example), nameOf(row)).toBe(true);
      }
    }
  });

  it('has an example path for each row that is one of the paths it serves', () => {
    for (const { path, example } of rows) {
      const pattern = path.replaceAll(/\{[^}]*\}/g, '[^/]+').replaceAll('/', '\\/');
      expect(example.path).toMatch(new RegExp(`^${pattern}$`));
    }
  });

  it('says 201 for POST and 200 for the rest, with an example that matches the shape, or without a body but that of a dry run', () => {
    for (const row of rows) {
      const { responses } = operationOf(row);
      const success = responses[row.method === 'POST' ? '201' : '200']!;
      expect(Object.keys(success.headers!)).toEqual(expect.arrayContaining(['X-Muster-Run', 'X-Muster-Revision']));
      const isTriable = canDryRun(row) && row.method !== 'GET';
      const dryRun = isTriable ? responses['200']!.content : undefined;
      const { key } = worksOutside(row.command) ? dryRunOnNodesReply : dryRunReply;
      const tried = { $ref: `#/components/schemas/${key}` };
      const isOneOf = row.reply !== 'none' && row.method !== 'POST';
      if (isTriable)
        expect(dryRun, nameOf(row)).toMatchObject({
          'application/json': { schema: isOneOf ? { anyOf: [{}, tried] } : tried },
        });
      if (row.reply === 'none')
        expect(success.content, nameOf(row)).toEqual(row.method === 'POST' ? undefined : dryRun);
      else {
        const media = replies[row.reply].media ?? 'application/json';
        const { schema, example } = success.content![media]!;
        expect(example, nameOf(row)).toEqual(row.example.reply);
        const told = isTriable && isOneOf ? (schema as { anyOf: (typeof schema)[] }).anyOf[0] : schema;
        expect(Check(resolved(told!), example), nameOf(row)).toBe(true);
      }
      expect('304' in responses).toBe(row.method === 'GET');
    }
  });

  it('says of long work and of work on nodes that it need not be waited for, and of nothing else', () => {
    const described = (row: Endpoint): Operation =>
      (JSON.parse(JSON.stringify(openApiDocument(root, [...endpoints, row], '1.2.3'))) as Document).paths[row.path]![
        row.method.toLowerCase()
      ]!;
    const { parameters, responses } = described(toilRow);
    expect(parameters!.map((parameter) => resolved(parameter).name)).toContain('Prefer');
    expect(Object.keys(responses['202']!.headers!)).toEqual(expect.arrayContaining(['Location', 'Preference-Applied']));
    expect(Object.keys(responses)).toEqual(expect.arrayContaining([String(statusAt(root, 'conflict')), '408']));
    for (const row of rows.filter(({ command }) => command.kind !== 'long')) {
      const names = operationOf(row).parameters!.map((parameter) => resolved(parameter).name);
      const isOnNodes =
        row.command.kind === 'per-node' ||
        (['nodeset', 'rinstall', 'bmcrotate', 'bmccertify'].includes(row.command.name) && row.method !== 'GET');
      expect([names.includes('Prefer'), '202' in operationOf(row).responses]).toEqual([isOnNodes, isOnNodes]);
    }
  });

  it('explains every status the root can send', () => {
    const statuses = Object.entries(document.components['responses'] as Record<string, Response>);
    const kinds = (Object.keys(errorKinds) as ErrorKind[]).filter(
      (kind) => root.strict || (kind !== 'unknown-member' && kind !== 'not-acceptable'),
    );
    const expected = [...new Set(kinds.map((kind) => statusAt(root, kind)))].map((status) => `Status${status}`);
    expect(statuses.map(([key]) => key).sort()).toEqual(expected.sort());
    for (const [, { description, content }] of statuses) {
      expect(description).toMatch(/\. \(errorcode \d\)/);
      expect(Check(errorReply.schema, content!['application/json']!.example)).toBe(true);
    }
  });

  it('lists for each operation the statuses of what can go wrong with it', () => {
    for (const row of rows) {
      const statuses = Object.keys(operationOf(row).responses);
      const always = (['malformed', 'unauthenticated', 'invalid', 'unavailable'] as const).map((kind) =>
        String(statusAt(root, kind)),
      );
      expect(statuses).toEqual(expect.arrayContaining(always));
      expect(statuses.includes('408'), nameOf(row)).toBe(worksOutside(row.command));
      expect(statuses.includes('405'), nameOf(row)).toBe(row.needsToken === true);
    }
  });
});

describe('examples that belong to no row', () => {
  it.each<[string, object, unknown, boolean]>([
    ['an error', errorReply.schema, examples.error, true],
    ['an error with something beside it', errorReply.schema, { ...examples.error, n1: {} }, false],
    ['an error without a sentence', errorReply.schema, { error: [], errorcode: 1 }, false],
    ['a dry run', dryRunReply.schema, examples.dryRun, true],
    ['a dry run of work on nodes', dryRunOnNodesReply.schema, examples.dryRunOnNodes, true],
    [
      'a dry run that makes a row',
      dryRunReply.schema,
      { changes: [{ table: 't', key: {}, before: null, after: {} }], nodes: 0 },
      true,
    ],
    ['an error that ends long work', streamLine.schema, examples.workFails, true],
    ...[...examples.stream, ...examples.work].map(
      (line) =>
        [`the line ${JSON.stringify(line)}`, streamLine.schema, line, true] as [string, object, unknown, boolean],
    ),
    ['a line that says nothing', streamLine.schema, { node: 'n1' }, false],
  ])('%s', (_name, schema, example, matches) => {
    expect(Check(schema, example)).toBe(matches);
  });
});

it.each([
  ['/nodes/{noderange}', 'Node', 'bmc'],
  ['/osimages/{imgname}', 'Osimage', 'pkglist'],
])('%s has bodies and replies with the attributes of its type by name', (path, type, attribute) => {
  const document = JSON.parse(JSON.stringify(openApiDocument(roots[0]!, endpoints, '1'))) as Document;
  const { get, put } = document.paths[path]!;
  const definition = { $ref: `#/components/schemas/${type}Definition` };
  expect(put!.requestBody!.content['application/json']!.schema).toEqual(definition);
  expect(get!.responses['200']!.content!['application/json']!.schema).toEqual({
    $ref: `#/components/schemas/${type}Attributes`,
  });
  expect(document.components['schemas']).toMatchObject({
    [`${type}Attributes`]: {
      additionalProperties: { properties: { [attribute]: { type: 'string', description: expect.any(String) } } },
    },
    [`${type}Definition`]: { properties: { [attribute]: { description: expect.any(String) } } },
  });
});
