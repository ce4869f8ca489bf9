import { Type, type Static } from 'typebox';
import { schemaCheck } from '../core/schema-check.ts';

const kindOf = <K extends string>(kind: K, description: string) =>
  Type.Object({ type: Type.Literal(kind, { description }) }, { additionalProperties: false });

/** What a client sends as text; what it sends as bytes is typed. */
export const requestSchema = Type.Union([
  kindOf('break', 'sends a break on the line'),
  kindOf('ask', 'asks who types to let you type'),
  kindOf('take', 'you type from now on, and who typed before only looks on'),
  kindOf('release', 'somebody else may type'),
  Type.Object(
    { type: Type.Literal('give', { description: 'a viewer types from now on' }), to: Type.Integer({ minimum: 1 }) },
    { additionalProperties: false },
  ),
  kindOf('reconnect', 'connects now, if muster waits before it tries again'),
  kindOf('takeover', 'connects now, and takes the console from a program outside of muster that has it'),
]);
export type ConsoleRequest = Static<typeof requestSchema>;
export const checkRequest = schemaCheck(requestSchema);

/** Whether muster has the console: `waiting` until it tries again. */
export type ConsoleState = 'connecting' | 'connected' | 'waiting';

/** Somebody who looks at a console, as others see it. */
export interface ShownViewer {
  readonly viewer: number;
  readonly user: string;
  readonly client: string;
  readonly since: string;
  readonly writes: boolean;
}

/** What a client gets as text; bytes are what the machine prints. */
export type ConsoleMessage =
  | {
      readonly type: 'state';
      readonly node: string;
      readonly state: ConsoleState;
      /** How the machine is reached, once it is known. */
      readonly way?: string | undefined;
      /** Why it is not connected, and what happens next. */
      readonly message?: string | undefined;
      /** The number of the client itself. */
      readonly viewer: number;
      /** It is the one who types. */
      readonly writes: boolean;
      readonly mayWrite: boolean;
      readonly viewers: readonly ShownViewer[];
    }
  /** Output that was left out, because the client was too slow for it. */
  | { readonly type: 'cut'; readonly bytes: number }
  | { readonly type: 'notice'; readonly message: string }
  /** The last. */
  | { readonly type: 'end'; readonly message: string };
