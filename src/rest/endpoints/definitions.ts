import { chdef, lsdef, mkdef, rmdef } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { momentForms } from '../../objects/moments.ts';
import type { Given } from '../../objects/define.ts';
import { definitionBody, valueText, modeOf } from './definition-body.ts';
import { anyMembers, endpoint, type Endpoint, type Input } from './endpoint.ts';

/** How a kind of object is offered. All kinds are defined, read, changed and removed alike. */
interface DefinitionRows {
  readonly type: string;
  /** The first segment of the path. */
  readonly collection: string;
  /** The name of the segment that names objects. */
  readonly segment: string;
  readonly plural: string;
  /** Attributes of an example object named `name`. */
  readonly name: string;
  readonly example: Given;
  readonly newName: string;
  readonly newExample: Given;
  /** What an example changes. */
  readonly changeExample: Given;
  /** POST runs chdef, so that it also changes what exists. */
  readonly postChanges?: boolean;
  /** POST and DELETE are not in the specification. */
  readonly createOnlyAtMuster?: boolean;
}

const attributesBody = anyMembers('attribute: value');

/** For readings that can also show how it was. */
export const atMoment = {
  at: `how it was then instead of how it is: ${momentForms}. Who may see it is decided by today's rules, of the nodes as they are and as they were; volatile attributes such as status are not known of the past`,
} as const;

export const allResources = 'ALLRESOURCES';

/** Of a query parameter that has one value. */
export function isSet(name: string, value: string | undefined, only: string): boolean {
  if (value !== undefined && value !== only) throw new Fault('malformed', `${name}: the only value is ${only}.`);
  return value !== undefined;
}

/** What images that nodes are set to are removed with. */
export const forced = { force: '1: also if nodes are set to it; they then have nothing to boot.' } as const;

export const splitList = (text: string): string[] => [...new Set(text.split(/[,;]/).filter((item) => item !== ''))];

export function definitionRows(rows: DefinitionRows): Endpoint[] {
  const { type, collection, segment, plural, name, example, newName, newExample, changeExample } = rows;
  const all = `/${collection}`;
  const one = `/${collection}/{${segment}}`;
  const named = ({ params }: Input): string => params[segment]!;
  const lsdefNames = (input: Input) => ({
    type,
    ...(named(input) === allResources ? {} : { names: named(input) }),
    refuseEmpty: input.root.refusesEmptyRanges,
    hidden: input.root.showsHiddenMembers,
  });
  const definition = (input: Input) => ({ type, names: named(input), ...definitionBody(input.body) });
  const change = (input: Input) => {
    const { names, attributes, options } = definition(input);
    return { type, names, attributes, mode: modeOf(options), mustExist: input.expectsNodes } as const;
  };
  const create = (input: Input) => {
    const { names, attributes, options } = definition(input);
    return { type, names, attributes, ...options };
  };
  const only = rows.createOnlyAtMuster ? ({ only: '/muster' } as const) : {};
  return [
    endpoint(`GET ${all}`, {
      command: lsdef,
      reply: 'list',
      query: atMoment,
      args: () => ({ type, short: true }),
      summary: `Names of all ${plural}.`,
      example: { path: all, reply: [name] },
    }),
    endpoint(`PUT ${all}`, {
      command: chdef,
      body: anyMembers(`name: attributes, as GET ${all}/ALLRESOURCES returns`, attributesBody),
      args: ({ body, expectsNodes }) => ({ type, definitions: bulkBody(body), mustExist: expectsNodes }),
      summary: `Define or change many ${plural} at once, each with its own attributes.`,
      description: `Takes what GET ${all}/ALLRESOURCES returns, edited. All of it is one change: either everything is written or nothing. Values that are already in effect are not changed.`,
      example: { path: all, body: { [name]: example, [newName]: newExample } },
      only: '/muster',
      bulk: true,
    }),
    endpoint(`GET ${one}`, {
      command: lsdef,
      defines: type,
      reply: 'attributes',
      query: atMoment,
      args: lsdefNames,
      range: segment,
      summary: `All attributes of ${plural}; ALLRESOURCES names them all.`,
      example: { path: `${all}/${name}`, reply: { [name]: example } },
    }),
    endpoint(`PUT ${one}`, {
      command: chdef,
      defines: type,
      body: attributesBody,
      args: change,
      range: segment,
      summary: `Change attributes of ${plural}.`,
      description:
        'An empty value clears an attribute. The member options takes {"-p":""} to add to lists and {"-m":""} to take from them.',
      example: { path: `${all}/${name}`, body: changeExample },
    }),
    rows.postChanges
      ? endpoint(`POST ${one}`, {
          command: chdef,
          defines: type,
          body: attributesBody,
          args: change,
          range: segment,
          summary: `Create ${plural}, or change them if they exist.`,
          example: { path: `${all}/${newName}`, body: newExample },
        })
      : endpoint(`POST ${one}`, {
          command: mkdef,
          defines: type,
          body: attributesBody,
          args: create,
          range: segment,
          summary: `Create ${plural}.`,
          description:
            'Refused if any of them exists; with {"options":{"-f":""}} existing ones are replaced. {"options":{"--template":"NAME"}} starts from a template or an existing object.',
          example: { path: `${all}/${newName}`, body: newExample },
          ...only,
        }),
    endpoint(`DELETE ${one}`, {
      command: rmdef,
      ...(type === 'osimage' ? { query: forced } : {}),
      args: (input) => ({ type, names: named(input), force: isSet('force', input.query['force'], '1') || undefined }),
      range: segment,
      summary: `Remove ${plural}.`,
      example: { path: `${all}/${newName}` },
      ...only,
    }),
    endpoint(`GET ${one}/attrs/{attributes}`, {
      command: lsdef,
      defines: type,
      reply: 'attributes',
      query: atMoment,
      args: (input) => ({ ...lsdefNames(input), attributes: splitList(input.params['attributes']!) }),
      range: segment,
      summary: `The named attributes of ${plural}; ALLRESOURCES names them all.`,
      example: { path: `${all}/${name}/attrs/${Object.keys(example)[0]!}`, reply: { [name]: firstOf(example) } },
    }),
  ];
}

const firstOf = (attributes: Given): Given => Object.fromEntries(Object.entries(attributes).slice(0, 1));

function bulkBody(body: Readonly<Record<string, unknown>>): Record<string, Given> {
  const definitions: [string, Given][] = [];
  for (const name in body) {
    const attributes = body[name];
    if (attributes === null || typeof attributes !== 'object' || Array.isArray(attributes)) {
      throw new Fault(
        'malformed',
        `"${name}": give an object of attributes, for example {"${name}":{"groups":"all"}}.`,
      );
    }
    definitions.push([name, texts(attributes as Record<string, unknown>)]);
  }
  return Object.fromEntries(definitions);
}

/** As a rule all values are texts, and need no copy. */
function texts(attributes: Record<string, unknown>): Given {
  let changed: Record<string, string> | undefined;
  for (const name in attributes) {
    const text = valueText(name, attributes[name]);
    if (text !== attributes[name]) (changed ??= {})[name] = text;
  }
  return changed ? { ...(attributes as Given), ...changed } : (attributes as Given);
}
