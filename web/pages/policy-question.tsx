import { useState } from 'preact/hooks';
import { get, inPath } from '../api/client.ts';
import { Card, Message, Read } from '../design/parts.tsx';
import { policies } from '../texts/policies.ts';
import { TextField } from './write-dialog.tsx';

const { question: texts } = policies;

interface Verdict {
  readonly allowed: boolean;
  readonly why: readonly string[];
}

interface Explanation extends Verdict {
  readonly fullRights: boolean;
  readonly source?: string;
  readonly groups?: readonly string[];
  readonly node?: string;
  readonly trust: Readonly<Record<string, Verdict>>;
}

const empty = { user: '', command: '', noderange: '', line: '', host: '' };
type Question = typeof empty;

const queryOf = (question: Question): string =>
  Object.entries(question)
    .flatMap(([name, value]) => (value === '' ? [] : [`${name}=${inPath(value)}`]))
    .join('&');

const Reasons = ({ why }: { why: readonly string[] }) => (
  <ol class="reasons">
    {why.map((sentence) => (
      <li key={sentence}>{sentence}</li>
    ))}
    {why.length === 0 && <li class="muted">{texts.noReasons}</li>}
  </ol>
);

function Answer({ question: { user, command, noderange }, answer }: { question: Question; answer: Explanation }) {
  const { allowed, fullRights, source, groups = [], node, why, trust } = answer;
  return (
    <div class="stack">
      <Message tone={allowed ? 'ok' : 'warning'}>
        {(allowed ? texts.allowed : texts.denied)(user, command, noderange)}
      </Message>
      <Reasons why={why} />
      {node !== undefined && <p>{texts.firstRefused(node)}</p>}
      {Object.entries(trust).map(([attribute, verdict]) => (
        <div key={attribute}>
          <p>{texts.trust(attribute, verdict.allowed)}</p>
          <Reasons why={verdict.why} />
        </div>
      ))}
      {fullRights && <p class="muted">{texts.full}</p>}
      {source !== undefined && <p class="muted">{texts.source(source, groups)}</p>}
    </div>
  );
}

/** Asks the policy itself, and again whenever something changes. */
export function PolicyQuestion({ seen }: { seen: number }) {
  const [typed, setTyped] = useState(empty);
  const [question, setQuestion] = useState<Question>();
  const field = (name: keyof Question, label: string, hint?: string) => (
    <TextField
      label={label}
      hint={hint}
      value={typed[name]}
      isRequired={name === 'user' || name === 'command'}
      onInput={(value) => setTyped({ ...typed, [name]: value.trim() })}
    />
  );
  return (
    <Card title={texts.title}>
      <form
        class="body stack"
        onSubmit={(event) => {
          event.preventDefault();
          setQuestion(typed);
        }}
      >
        {field('user', texts.user)}
        {field('command', texts.command, texts.commandHint)}
        {field('noderange', texts.range, texts.rangeHint)}
        {field('line', texts.line, texts.lineHint)}
        {field('host', texts.host)}
        <div>
          <button class="button primary">{texts.ask}</button>
        </div>
        {question ? (
          <Read
            key={queryOf(question)}
            of={`${queryOf(question)} ${seen}`}
            read={(signal) => get<Explanation>(`/policy/explain?${queryOf(question)}`, signal)}
          >
            {(answer) => <Answer question={question} answer={answer} />}
          </Read>
        ) : (
          <p class="muted">{texts.idle}</p>
        )}
      </form>
    </Card>
  );
}
