import { createHash } from 'node:crypto';
import { Fault } from '../core/errors.ts';
import { inSlices, type Interruptible } from '../core/slices.ts';
import type { AuditRecord } from '../database/database.ts';
import { withoutUrlSecrets } from '../objects/secret-names.ts';
import type { DispatchServices, Request } from './request.ts';

type AuditServices = Pick<DispatchServices, 'audit' | 'store'>;

export const auditRecord = (request: Request, status: string): AuditRecord => ({
  time: Date.now(),
  user: request.user,
  client: request.client,
  command: request.command.name,
  noderange: shortened(request.range),
  args: request.line,
  status: [
    status,
    ...(request.dryRun ? ['(dry run)'] : []),
    ...(request.note === '' ? [] : [`(${request.note})`]),
  ].join(' '),
  request: request.id,
});

/** On disk some time soon; nobody waits for it. */
export function auditSoon({ audit, store }: AuditServices, request: Request, status: string): void {
  if (audit) store.auditSoon(auditRecord(request, status));
}

export async function auditNow({ audit, store }: AuditServices, request: Request, status: string): Promise<void> {
  if (audit) await store.audit(auditRecord(request, status));
}

/** Refusals and failed writes are on disk before the client hears of them. */
export async function auditFailure(
  services: AuditServices & Pick<DispatchServices, 'refusals'>,
  request: Request,
  error: unknown,
): Promise<void> {
  const status = error instanceof Fault && error.kind === 'denied' ? 'Denied' : 'Failed';
  if (!services.audit) return;
  if (status === 'Denied') await services.refusals.noteKnown(auditRecord(request, status));
  else if (request.command.kind === 'query') auditSoon(services, request, status);
  else await auditNow(services, request, status);
}

const longest = 2_048;
const half = longest / 2;
const wordsAtOnce = 256;

/** What the audit log keeps: a long text is cut in the middle, and its hash shows later whether a text is the one that was sent. */
export function shortened(text: string): string {
  if (text.length <= longest) return text;
  return cut(text.slice(0, half), text.length, createHash('sha256').update(text).digest('hex'), text.slice(-half));
}

/** The argument line of a command: its words, and what the audit log keeps of them. */
export interface Line {
  readonly words: readonly string[];
  readonly line: string;
}

export const lineOf = (words: readonly string[] | Interruptible<readonly string[]>): Line | Promise<Line> =>
  'next' in words || words.length > wordsAtOnce ? inSlices(longLine(words)) : { words, line: shortened(joined(words)) };

/** Without passwords in URLs. As `join` does, which takes longer for the few words that most lines have. */
function joined(words: readonly string[]): string {
  let text = withoutUrlSecrets(words[0] ?? '');
  for (let i = 1; i < words.length; i++) text += ` ${withoutUrlSecrets(words[i]!)}`;
  return text;
}

function* longLine(making: readonly string[] | Interruptible<readonly string[]>): Interruptible<Line> {
  const words = 'next' in making ? yield* making : making;
  return { words, line: yield* shortenedWords(words) };
}

/** The same for many words: the whole text is never made. */
function* shortenedWords(words: readonly string[]): Interruptible<string> {
  const hash = createHash('sha256');
  let [start, end, length] = ['', '', 0];
  for (let from = 0; from < words.length; from += wordsAtOnce) {
    const piece = `${from === 0 ? '' : ' '}${joined(words.slice(from, from + wordsAtOnce))}`;
    hash.update(piece);
    length += piece.length;
    if (start.length < half) start = `${start}${piece}`.slice(0, half);
    end = `${end}${piece}`.slice(-longest);
    yield;
  }
  return length <= longest ? end : cut(start, length, hash.digest('hex'), end.slice(-half));
}

const cut = (start: string, length: number, hash: string, end: string): string =>
  `${start} ... (${length} characters, SHA-256 ${hash}) ... ${end}`.toWellFormed();
