import { useId, useState } from 'preact/hooks';
import { inPath } from '../api/client.ts';
import { select, selection } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { texts } from '../texts/actions.ts';
import { common } from '../texts/common.ts';
import { AskForm, type AskProps, curlOf, quoted, useBegin } from './ask.tsx';
import { AskBios } from './ask-bios.tsx';
import { AskCopy } from './ask-copy.tsx';
import { AskFirmware } from './ask-firmware.tsx';
import { AskUpdate } from './ask-update.tsx';
import { AskProvision } from './provision.tsx';
import { SaveButton } from './range-box.tsx';

type Power = keyof typeof texts.power;
const powers = Object.keys(texts.power) as Power[];

function AskPower({ range, count, onClose, action }: AskProps & { action: Power }) {
  const { error, isBusy, start } = useBegin(onClose);
  const path = `/nodes/${inPath(range)}/power`;
  const { label, harm }: { readonly label: string; readonly harm?: string } = texts.power[action];
  return (
    <AskForm
      title={texts.powerTitle(label, count)}
      about={range}
      harm={harm}
      verb={texts.powerVerb(label, count)}
      isDangerous={harm !== undefined}
      isBusy={isBusy}
      error={error}
      line={`muster rpower ${quoted(range)} ${action}`}
      curl={curlOf('PUT', path, { action })}
      onSubmit={() => void start({ method: 'PUT', path, body: { action }, count })}
      onClose={onClose}
    />
  );
}

function AskCommand({ range, count, onClose }: AskProps) {
  const { error, isBusy, start } = useBegin(onClose);
  const [command, setCommand] = useState('');
  const path = `/nodes/${inPath(range)}/nodeshell`;
  return (
    <AskForm
      title={texts.command.title(count)}
      about={range}
      verb={texts.command.verb(count)}
      isReady={command.trim() !== ''}
      isBusy={isBusy}
      error={error}
      line={`muster xdsh ${quoted(range)} ${quoted(command)}`}
      curl={curlOf('POST', path, { command })}
      onSubmit={() => void start({ method: 'POST', path, body: { command }, count })}
      onClose={onClose}
    >
      <label class="label">
        {texts.command.command}
        <textarea
          class="field mono"
          rows={3}
          required
          autofocus
          spellcheck={false}
          value={command}
          onInput={(event) => setCommand(event.currentTarget.value)}
        />
      </label>
    </AskForm>
  );
}

/** The actions that have a form of their own. */
const forms = {
  command: AskCommand,
  copy: AskCopy,
  provision: AskProvision,
  update: AskUpdate,
  firmware: AskFirmware,
  bios: AskBios,
} as const;
type Form = keyof typeof forms;
const buttons: readonly Form[] = ['command', 'copy', 'provision'];
const updates: readonly Form[] = ['update', 'firmware', 'bios'];

interface MenuProps<T extends string> {
  readonly label: string;
  readonly of?: string | undefined;
  readonly items: readonly (readonly [value: T, text: string])[];
  onChoose(value: T): void;
}

/** A choice that begins something and is then back at its name. `of`: where there are several of the name. */
function Menu<T extends string>({ label, of, items, onChoose }: MenuProps<T>) {
  const id = useId();
  return (
    <>
      <label class="hidden" for={id}>
        {of === undefined ? label : texts.named(label, of)}
      </label>
      <select
        id={id}
        class="field"
        value=""
        onChange={(event) => {
          const chosen = items.find(([value]) => value === event.currentTarget.value);
          event.currentTarget.value = '';
          if (chosen) onChoose(chosen[0]);
        }}
      >
        <option value="" disabled>
          {texts.choice(label)}
        </option>
        {items.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
}

/** Power actions. `of`: the nodes, where several such menus are beside each other. */
export function PowerMenu({ range, count, of }: { range: string; count: number; of?: string }) {
  const [action, setAction] = useState<Power>();
  return (
    <>
      <Menu
        label={common.power}
        of={of}
        items={powers.map((each) => [each, texts.power[each].label] as const)}
        onChoose={(chosen) => setAction(chosen)}
      />
      {action && <AskPower range={range} count={count} action={action} onClose={() => setAction(undefined)} />}
    </>
  );
}

/** What can be done with nodes, each behind a question that says how many they are. */
export function Actions({ range, count }: { range: string; count: number }) {
  const [form, setForm] = useState<Form>();
  const Ask = form && forms[form];
  return (
    <>
      <PowerMenu range={range} count={count} />
      {buttons.map((name) => (
        <button key={name} type="button" class="button" onClick={() => setForm(name)}>
          {texts.forms[name]}
        </button>
      ))}
      <Menu
        label={texts.updateMenu}
        items={updates.map((name) => [name, texts.forms[name]] as const)}
        onChoose={(chosen) => setForm(chosen)}
      />
      {Ask && <Ask range={range} count={count} onClose={() => setForm(undefined)} />}
    </>
  );
}

/** For the nodes that are selected. */
export function ActionBar() {
  const { range, names, state } = useStore(selection);
  if (state !== 'known' || names.size === 0) return null;
  return (
    <div class="actions" role="toolbar" aria-label={texts.bar}>
      <strong class="numbers">{texts.selected(names.size)}</strong>
      <Actions range={range} count={names.size} />
      <SaveButton />
      <button type="button" class="button quiet" onClick={() => select('')}>
        {texts.selectNone}
      </button>
    </div>
  );
}
