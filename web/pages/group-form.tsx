import { useState } from 'preact/hooks';
import type { Attributes } from '../api/types.ts';
import { Message } from '../design/parts.tsx';
import { folded } from '../model/ranges.ts';
import { groups as texts } from '../texts/groups.ts';
import { TextField, WriteDialog, type Writing } from './write-dialog.tsx';

/** What makes a group; all else is for its members. */
const own = new Set(['grouptype', 'members', 'membergroups', 'wherevals']);

export const isDynamic = (group: Attributes): boolean => group['grouptype'] === 'dynamic';
export const membersOf = (group: Attributes): readonly string[] =>
  (group['members'] ?? '').split(',').filter((name) => name !== '');
export const givenBy = (group: Attributes): [string, string][] =>
  Object.entries(group).filter(([name, value]) => !own.has(name) && value !== '');

const linesOf = (group: Attributes): string =>
  givenBy(group)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');

/** The attributes in lines of text, or the first line that has none. */
function attributesIn(text: string): Record<string, string> | string {
  const found: Record<string, string> = {};
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [, name, value = ''] = /^\s*([^\s=]+)\s*=(.*)$/.exec(line) ?? [];
    if (name === undefined || own.has(name)) return line;
    found[name] = value;
  }
  return found;
}

/** What differs; what is no longer there is cleared. Masks of secrets that nobody has touched are no difference. */
function changed(before: Attributes, after: Attributes): Record<string, string> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names].flatMap((name) => ((before[name] ?? '') === (after[name] ?? '') ? [] : [[name, after[name] ?? '']])),
  );
}

interface FormProps {
  /** Undefined: a new one. */
  readonly name: string | undefined;
  readonly group: Attributes;
  /** The change up to which it was read. */
  readonly revision: number;
  onClose(): void;
  onWritten(change: number): void;
}

export function GroupForm({ name: known, group, revision, onClose, onWritten }: FormProps) {
  const { form } = texts;
  const before = folded(membersOf(group));
  const [name, setName] = useState(known ?? '');
  const [isDynamicNow, setDynamic] = useState(isDynamic(group));
  const [members, setMembers] = useState(before);
  const [conditions, setConditions] = useState(group['wherevals'] ?? '');
  const [lines, setLines] = useState(linesOf(group));
  const given = attributesIn(lines);
  const isNew = known === undefined;
  const writing = (): Writing | undefined => {
    if (typeof given === 'string' || name === '' || (isDynamicNow && conditions.trim() === '')) return undefined;
    const kind = isDynamicNow
      ? { grouptype: 'dynamic', wherevals: conditions.trim() }
      : { grouptype: 'static', ...(isDynamic(group) ? { wherevals: '' } : {}) };
    const attributes = {
      ...changed(Object.fromEntries(givenBy(group)), given),
      ...(isNew || isDynamicNow !== isDynamic(group) || (isDynamicNow && conditions !== group['wherevals'])
        ? kind
        : {}),
      ...(!isDynamicNow && (isNew || members !== before) ? { members } : {}),
    };
    const definitions = [{ type: 'group', names: name, attributes }];
    return isNew
      ? { method: 'POST', path: '/definitions', body: { definitions } }
      : { method: 'PUT', path: '/definitions', body: { definitions, since: revision } };
  };
  return (
    <WriteDialog
      title={isNew ? form.make : form.edit(name)}
      writing={writing()}
      onClose={onClose}
      onWritten={onWritten}
    >
      {isNew && (
        <TextField label={form.name} value={name} isFirst isRequired onInput={(text) => setName(text.trim())} />
      )}
      <fieldset class="choice">
        <legend>{form.kind}</legend>
        {([false, true] as const).map((dynamic) => (
          <label key={String(dynamic)}>
            <input type="radio" name="kind" checked={dynamic === isDynamicNow} onChange={() => setDynamic(dynamic)} />
            {form.kindHints[dynamic ? 'dynamic' : 'static']}
          </label>
        ))}
      </fieldset>
      {isDynamicNow ? (
        <TextField
          label={form.conditions}
          hint={form.conditionsHint}
          value={conditions}
          isRequired
          onInput={setConditions}
        />
      ) : (
        <TextField label={form.members} hint={form.membersHint} value={members} isLong onInput={setMembers} />
      )}
      <TextField label={form.attributes} hint={form.attributesHint} value={lines} isLong onInput={setLines} />
      {typeof given === 'string' && <Message tone="critical">{form.badLine(given)}</Message>}
    </WriteDialog>
  );
}

export const GroupRemoval = ({
  name,
  revision,
  onClose,
  onWritten,
}: Omit<FormProps, 'name' | 'group'> & { name: string }) => (
  <WriteDialog
    title={texts.form.remove(name)}
    removes
    writing={{
      method: 'DELETE',
      path: '/definitions',
      body: { definitions: [{ type: 'group', names: name }], since: revision },
    }}
    onClose={onClose}
    onWritten={onWritten}
  >
    <p>{texts.form.removal}</p>
  </WriteDialog>
);
