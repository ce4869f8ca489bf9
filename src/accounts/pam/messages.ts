import { type Static, Type } from 'typebox';
import { schemaCheck } from '../../core/schema-check.ts';

/** What a helper is asked. Without a password it finds out whether the account may be used. */
export interface PamQuestion {
  readonly service: string;
  readonly user: string;
  readonly password: string | undefined;
  /** The address that the password came from. */
  readonly client: string | undefined;
}

const answerSchema = Type.Object({
  step: Type.Enum(['start', 'authenticate', 'account']),
  /** What PAM returned, and its words for it. */
  code: Type.Number(),
  says: Type.String(),
});
export type PamAnswer = Static<typeof answerSchema>;

export const isAnswer = schemaCheck(answerSchema);
