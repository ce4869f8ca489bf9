import type { ServerResponse } from 'node:http';

export type Json = Readonly<Record<string, unknown>>;

export interface Reply {
  readonly status: number;
  readonly body?: Json;
  readonly raw?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Privilege = 'Login' | 'ConfigureSelf' | 'ConfigureComponents' | 'ConfigureManager' | 'ConfigureUsers';

/** Something with an address. What it cannot do is absent. */
export interface Resource {
  readonly get?: () => Json;
  /** What is sent instead of what `get` says. */
  readonly raw?: Buffer;
  readonly patch?: (body: Json) => Reply | Promise<Reply>;
  readonly post?: (body: Json) => Reply | Promise<Reply>;
  /** What is posted is no JSON. */
  readonly takesFile?: (bytes: Buffer, type: string) => Reply;
  readonly delete?: () => Reply;
  /** Goes on with the answer to `get` for as long as it likes. */
  readonly stream?: (response: ServerResponse) => void;
  /** Needed for all but reading. */
  readonly privilege?: Privilege;
  /** `get` and `post` work without a login. */
  readonly open?: readonly ('GET' | 'POST')[];
  /** A PATCH without If-Match is refused. */
  readonly demandsETag?: boolean;
}

export type Resources = Map<string, Resource>;

export const root = '/redfish/v1';

export const link = (path: string): Json => ({ '@odata.id': path });

/** A value of a body as text; clients send what they like. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export const done: Reply = { status: 204 };

export function failure(
  status: number,
  id: string,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Reply {
  const info = { '@odata.type': '#Message.v1_1_1.Message', MessageId: `Base.1.13.${id}`, Message: message };
  const details = { ...info, MessageArgs: [], Severity: 'Warning', Resolution: 'None.' };
  const body = { error: { code: `Base.1.13.${id}`, message, '@Message.ExtendedInfo': [details] } };
  return { status, body, ...(headers ? { headers } : {}) };
}

/** A collection of links. */
export function collection(
  path: string,
  type: string,
  members: () => readonly string[],
  more: Partial<Resource> = {},
): Resource {
  return {
    get: () => ({
      '@odata.id': path,
      '@odata.type': `#${type}Collection.${type}Collection`,
      Name: `${type} Collection`,
      'Members@odata.count': members().length,
      Members: members().map(link),
    }),
    ...more,
  };
}

/** The members a PATCH names that the resource cannot change. */
export const unknownMembers = (body: Json, known: readonly string[]): string[] =>
  Object.keys(body).filter((name) => !known.includes(name));

export const unknownMember = (name: string): Reply =>
  failure(400, 'PropertyUnknown', `The property ${name} is not in the list of valid properties for the resource.`);

export const notInList = (value: unknown, name: string): Reply =>
  failure(
    400,
    'PropertyValueNotInList',
    `The value '${textOf(value)}' for the property ${name} is not in the list of acceptable values.`,
  );

export const outOfRange = (value: unknown, name: string): Reply =>
  failure(
    400,
    'PropertyValueOutOfRange',
    `The value '${textOf(value)}' for the property ${name} is not in the supported range of acceptable values.`,
  );
