import { Type } from 'typebox';
import { bodyReader } from './record-bodies.ts';

/** What a server says of itself. */
export interface ServerNote {
  readonly name: string;
  readonly version: string;
  /** ISO time of its start. */
  readonly since: string;
  /** HOST:PORT of each. */
  readonly listens: readonly string[];
  /** Its data directory, which it has the lock of. */
  readonly data?: string;
  /** Of the machine that it runs on: several may have the same name. */
  readonly machine?: string;
}

/** How busy a server is: runs under way, and the nodes they are about. */
export interface ServerLoad {
  readonly jobs: number;
  readonly nodes: number;
}

export interface KnownServer extends ServerNote, ServerLoad {
  readonly id: string;
  /** Of another server: ISO time at which it said so, by its own clock. */
  readonly heard?: string;
}

export const readNote = bodyReader<Omit<KnownServer, 'id'>>(
  Type.Object({
    name: Type.String(),
    version: Type.String(),
    since: Type.String(),
    listens: Type.Array(Type.String()),
    data: Type.Optional(Type.String()),
    machine: Type.Optional(Type.String()),
    heard: Type.Optional(Type.String()),
    jobs: Type.Number(),
    nodes: Type.Number(),
  }),
);

/** Whether a server is the same as another one that was started earlier. */
export const isSamePlace = (one: Place, other: Place): boolean =>
  one.name === other.name && one.machine === other.machine && one.data === other.data;

type Place = { readonly [K in 'name' | 'machine' | 'data']?: string | undefined };

/** More servers than anybody has. */
export const mostServers = 1_000;
