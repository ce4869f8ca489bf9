import { useState } from 'preact/hooks';
import type { Attributes } from '../api/types.ts';
import { policies } from '../texts/policies.ts';
import { TextField, WriteDialog, type Writing } from './write-dialog.tsx';

const { form: texts } = policies;

export const permits = ({ rule = '' }: Attributes): boolean => ['allow', 'accept', 'trusted'].includes(rule);

interface FormProps {
  /** Undefined: a new one. */
  readonly priority: string | undefined;
  readonly rule: Attributes;
  /** The change up to which it was read. */
  readonly revision: number;
  onClose(): void;
  onWritten(change: number): void;
}

export function RuleForm({ priority: known, rule, revision, onClose, onWritten }: FormProps) {
  const [priority, setPriority] = useState(known ?? '');
  const [given, setGiven] = useState<Attributes>(rule);
  const set = (name: string, value: string): void => setGiven({ ...given, [name]: value });
  const isNew = known === undefined;
  const changed = Object.entries(given).filter(([name, value]) => isNew || value !== (rule[name] ?? ''));
  const definitions = [{ type: 'policy', names: priority, attributes: Object.fromEntries(changed) }];
  const writing: Writing = isNew
    ? { method: 'POST', path: '/definitions', body: { definitions } }
    : { method: 'PUT', path: '/definitions', body: { definitions, since: revision } };
  return (
    <WriteDialog
      title={isNew ? texts.make : texts.edit(known)}
      writing={priority === '' ? undefined : writing}
      onClose={onClose}
      onWritten={onWritten}
    >
      {isNew && (
        <TextField
          label={texts.priority}
          hint={texts.priorityHint}
          value={priority}
          isFirst
          isRequired
          onInput={(text) => setPriority(text.trim())}
        />
      )}
      <fieldset class="choice">
        <legend>{texts.rule}</legend>
        {(['allow', 'deny'] as const).map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="rule"
              checked={permits(given) === (each === 'allow')}
              onChange={() => set('rule', each)}
            />
            {each === 'allow' ? policies.allows : policies.refuses}
          </label>
        ))}
      </fieldset>
      <div class="columns-2">
        {Object.entries(texts.fields).map(([name, [label, hint]]) => (
          <TextField
            key={name}
            label={label!}
            hint={hint}
            value={given[name] ?? ''}
            onInput={(value) => set(name, value)}
          />
        ))}
      </div>
    </WriteDialog>
  );
}

export const RuleRemoval = ({ priority = '', revision, onClose, onWritten }: FormProps) => (
  <WriteDialog
    title={texts.remove(priority)}
    removes
    writing={{
      method: 'DELETE',
      path: '/definitions',
      body: { definitions: [{ type: 'policy', names: priority }], since: revision },
    }}
    onClose={onClose}
    onWritten={onWritten}
  >
    <p>{texts.removal}</p>
  </WriteDialog>
);
