import { type StaticDecode, type StaticEncode, type TOptional, type TSchema, Type } from 'typebox';
import { parseNetwork } from './address-guard.ts';
import { parseListen } from './host-address.ts';

/** Data that is only read; members that may be absent may be undefined too, as code that passes them on has them. */
export type Loose<T> = T extends readonly (infer Item)[]
  ? readonly Loose<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Loose<T[K]> | (object extends Pick<T, K> ? undefined : never) }
    : T;

/** What a setting says besides its schema. */
interface Details {
  /** The default in words, as Markdown, where it is no fixed value. */
  readonly defaultText?: string;
  /** The environment variable, where its name does not follow from the setting's. */
  readonly variable?: string;
  /** What it was called in the version before, in the file and as a variable: both still work, with a warning. */
  readonly formerly?: { readonly name: string; readonly variable: string };
  /** For settings that have an option on the command line: what the option's value is called there. */
  readonly flag?: string;
  /** It may hold a password, so that errors do not repeat it. */
  readonly secret?: boolean;
  /** For secrets that no file should hold. */
  readonly onlyVariable?: boolean;
}

/** Completes the sentence about a wrong value: it "must be ...". */
interface Expected {
  readonly expected: string;
}

export interface Setting extends TSchema, Details, Expected {
  readonly description: string;
  readonly default?: unknown;
}

/** Settings by their names; sections of the configuration file are settings inside settings. */
export interface Settings extends TSchema {
  readonly properties: Readonly<Record<string, Setting | Settings>>;
}

/** Declares a setting beside its service; flag, variable, checks and a row of docs/reference/settings.md are made from it. Without a default it may be undefined. */
export function setting<S extends TSchema & Expected>(
  schema: S,
  description: string,
  details: Details & { readonly default: StaticEncode<S> },
): S & Setting;
export function setting<S extends TSchema & Expected>(
  schema: S,
  description: string,
  details: Details & { readonly defaultText: string },
): TOptional<S & Setting>;
export function setting(schema: TSchema, description: string, details: Details): TSchema {
  const described = Type.With(schema, { description, ...details });
  return 'default' in details ? described : Type.Optional(described);
}

/** The values of settings, as a service gets them. */
export type ValuesOf<T extends TSchema> = Loose<StaticDecode<T>>;

/** A kind of values that settings can have. */
export const kind = <S extends TSchema>(expected: string, schema: S) => Type.With(schema, { expected });

export const oneOf = <const V extends string[]>(...values: V) =>
  kind(`one of ${values.join(', ')}`, Type.Enum<V>(values));

export const Count = kind(
  'a whole number of at least 1',
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
);
export const Switch = kind('true or false', Type.Boolean());
/** Relative ones count from where they are written: the directory of the file, or the working directory. */
export const Path = kind('a path, as a string', Type.String({ minLength: 1, format: 'path' }));
export const Paths = kind('one or more paths', Type.Array(Path, { minItems: 1 }));

/** Of a URL without slashes, or whose password is not encoded, a part of the password would count as a host or a name, and be shown. */
export function isPostgresUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || !/^postgres(ql)?:\/\//i.test(text) || url.hash !== '') return false;
  return !`${url.pathname}${url.search}`.includes('@') && isDecodable(`${url.username}${url.password}${url.pathname}`);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

export const PostgresUrl = kind(
  'a URL postgresql://user:password@host:port/name, with characters such as @ and # written as %40 and %23',
  Type.Refine(Type.String(), isPostgresUrl),
);
export const Names = kind('one or more names', Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }));
export const Networks = kind(
  'one or more networks such as 10.1.0.0/16',
  Type.Array(
    Type.Refine(Type.String(), (text) => parseNetwork(text) !== undefined),
    { minItems: 1 },
  ),
);
const address = Type.Decode(
  Type.Refine(Type.String(), (text) => parseListen(text) !== undefined),
  (text) => parseListen(text)!,
);
export const ListenAddresses = kind(
  'one or more addresses HOST:PORT (an IPv6 address in brackets)',
  Type.Array(address, { minItems: 1 }),
);
/** Where somebody else listens. */
export const RemoteAddress = kind('one address HOST:PORT (an IPv6 address in brackets)', address);
