import { type Client, path } from '../client.ts';
import { Refused } from '../errors.ts';

export type Attributes = Readonly<Record<string, string>>;

export interface Reading {
  readonly type: string;
  /** Undefined: all objects of the type. */
  readonly names: string | undefined;
  /** Undefined: all of them. */
  readonly attributes: readonly string[] | undefined;
  /** Hidden nodes too. */
  readonly hidden: boolean;
  /** Without the scripts that run on every node. */
  readonly ownScripts?: boolean;
}

export interface Found {
  readonly objects: ReadonlyMap<string, Attributes>;
  /** Names that nothing has. */
  readonly missing: readonly string[];
  /** Attributes that the type does not have. */
  readonly strange: readonly string[];
}

/** Reads objects, and names what does not exist beside them. One request, and one more for each kind of trouble. */
export async function readObjects(client: Client, reading: Reading): Promise<Found> {
  const missing: string[] = [];
  const strange: string[] = [];
  let { attributes } = reading;
  for (;;) {
    try {
      const objects = await read(client, { ...reading, attributes }, missing.length > 0);
      return { objects: new Map(Object.entries(objects)), missing, strange };
    } catch (error) {
      if (!(error instanceof Refused) || error.missing.length === 0) throw error;
      if (error.kind === 'unknown-object' && missing.length === 0) missing.push(...error.missing);
      else if (error.kind === 'invalid' && attributes?.some((name) => error.missing.includes(name))) {
        strange.push(...error.missing);
        attributes = attributes.filter((name) => !error.missing.includes(name));
      } else throw error;
    }
  }
}

async function read(
  client: Client,
  { type, names = 'ALLRESOURCES', attributes, hidden, ownScripts }: Reading,
  skipMissing: boolean,
): Promise<Record<string, Attributes>> {
  const query = {
    hidden: hidden ? '1' : undefined,
    skip: skipMissing ? 'missing' : undefined,
    scripts: ownScripts ? 'own' : undefined,
  };
  // Where no attribute is left the names alone are wanted; every type has one that may be asked for.
  const chosen =
    attributes === undefined ? [] : ['attrs', attributes.length > 0 ? attributes.join(',') : plainest(type)];
  const found = (await client.get(path('definitions', type, names, ...chosen), { query })) as Record<
    string,
    Attributes
  >;
  if (attributes?.length !== 0) return found;
  return Object.fromEntries(Object.keys(found).map((name) => [name, {}]));
}

const plainest = (type: string): string =>
  type === 'node' ? 'groups' : type === 'group' ? 'grouptype' : 'usercomment';

/** Names of all objects of a type. */
export const readNames = async (client: Client, type: string, hidden: boolean): Promise<readonly string[]> =>
  (await client.get(path('definitions', type), { query: { hidden: hidden ? '1' : undefined } })) as string[];

/** What is said of a range that selects nothing, or that cannot be read. */
export const emptyRangeText = (range: string): string => `No node in '${range}', check the noderange syntax.`;

/** What is said of a name that nothing has. */
export const missingText = (name: string, type: string): string =>
  `Could not find an object named '${name}' of type '${type}'.`;
