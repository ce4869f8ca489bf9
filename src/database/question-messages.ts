import { Type } from 'typebox';
import { type ErrorKind, errorKinds, Fault } from '../core/errors.ts';
import { schemaCheck } from '../core/schema-check.ts';

/** Raised with every change of what servers ask each other: servers of different protocols do not answer. */
const protocol = 1;

/** Characters. */
const largestQuestion = 8 * 1024 * 1024;
const largestAnswer = 64 * 1024 * 1024;

const questionSchema = Type.Object({
  protocol: Type.Literal(protocol),
  /** The id of the server that asks. */
  asker: Type.String({ maxLength: 64 }),
  topic: Type.String({ maxLength: 64 }),
  body: Type.Unknown(),
});

const Texts = Type.Array(Type.String());

const answerSchema = Type.Union([
  Type.Object({ answer: Type.Unknown() }),
  Type.Object({
    fault: Type.Object({
      kind: Type.Enum(Object.keys(errorKinds) as ErrorKind[]),
      sentences: Texts,
      retryAfter: Type.Optional(Type.Number()),
      about: Type.Optional(Texts),
      missing: Type.Optional(Texts),
      reference: Type.Optional(Texts),
      nothingDone: Type.Optional(Type.Boolean()),
    }),
  }),
]);

/** How records are protected that other users of the database could read or write. */
export interface QuestionSeal {
  seal(clear: string, context: string): string;
  open(sealed: string, context: string): string;
}

export interface Question {
  readonly asker: string;
  readonly topic: string;
  readonly body: unknown;
}

const checkQuestion = schemaCheck(questionSchema);
const checkAnswer = schemaCheck(answerSchema);

/** A question or its answer opens under its own number only. */
const questionContext = (id: string): string => `question.${id}`;
const answerContext = (id: string): string => `answer.${id}`;

export function sealedQuestion(seal: QuestionSeal, id: string, question: Question): string {
  const text = JSON.stringify({ protocol, ...question });
  if (text.length > largestQuestion) throw new Fault('too-large', 'The request is too long for another server.');
  return seal.seal(text, questionContext(id));
}

/** Undefined: it is of another protocol. */
export function openedQuestion(seal: QuestionSeal, id: string, sealed: string): Question | undefined {
  const question: unknown = JSON.parse(seal.open(sealed, questionContext(id)));
  return checkQuestion.is(question) ? question : undefined;
}

export function sealedAnswer(seal: QuestionSeal, id: string, answer: unknown): string {
  const text = JSON.stringify({ answer: answer ?? null });
  if (text.length > largestAnswer)
    throw new Fault('unavailable', 'The answer is too long to be sent to another server.');
  return seal.seal(text, answerContext(id));
}

export function sealedFault(seal: QuestionSeal, id: string, fault: Fault): string {
  const { kind, sentences, retryAfter, about, missing, reference, nothingDone } = fault;
  const data = { kind, sentences, retryAfter, about, missing, reference, nothingDone };
  return seal.seal(JSON.stringify({ fault: data }), answerContext(id));
}

/** Throws the Fault, if it is one. */
export function openedAnswer(seal: QuestionSeal, id: string, sealed: string): unknown {
  const opened: unknown = JSON.parse(seal.open(sealed, answerContext(id)));
  if (!checkAnswer.is(opened))
    throw new Fault('unavailable', 'Another server answered in a way that this one does not know.');
  if (!('fault' in opened)) return opened.answer;
  const { kind, sentences, ...options } = opened.fault;
  throw new Fault(kind, sentences, options);
}
