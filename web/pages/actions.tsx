import { useState } from 'preact/hooks';
import { inPath } from '../api/client.ts';
import { Dialog, Message, plural } from '../design/parts.tsx';
import { select, selection } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { type AskProps, curlOf, Elsewhere, quoted, useBegin } from './ask.tsx';
import { AskProvision } from './provision.tsx';
import { SaveButton } from './range-box.tsx';

interface Power {
  readonly action: string;
  readonly label: string;
  /** What it does to work on the nodes, where it ends it. */
  readonly harm?: string;
}

const powers: readonly Power[] = [
  { action: 'on', label: 'Power on' },
  {
    action: 'softoff',
    label: 'Shut down',
    harm: 'The operating systems of these nodes shut down, and their work ends.',
  },
  {
    action: 'off',
    label: 'Power off',
    harm: 'These nodes lose power at once. Their work ends, and what is not written is lost.',
  },
  {
    action: 'reset',
    label: 'Reset',
    harm: 'These nodes restart at once. Their work ends, and what is not written is lost.',
  },
  {
    action: 'cycle',
    label: 'Power cycle',
    harm: 'These nodes lose power and start again. Their work ends, and what is not written is lost.',
  },
];

function AskPower({ range, count, onClose, power: { action, label, harm } }: AskProps & { power: Power }) {
  const { error, isBusy, start } = useBegin(onClose);
  const path = `/nodes/${inPath(range)}/power`;
  return (
    <Dialog label={label} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void start('PUT', path, { action }, count);
        }}
      >
        <h1>
          {label}: {plural(count, 'node')}
        </h1>
        <p class="mono cut" title={range}>
          {range}
        </p>
        {harm !== undefined && <Message tone="warning">{harm}</Message>}
        <Elsewhere line={`muster rpower ${quoted(range)} ${action}`} curl={curlOf('PUT', path, { action })} />
        {error !== '' && <Message tone="critical">{error}</Message>}
        <div class="row">
          <button class={`button ${harm === undefined ? 'primary' : 'danger'}`} disabled={isBusy}>
            {label} {plural(count, 'node')}
          </button>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function AskCommand({ range, count, onClose }: AskProps) {
  const { error, isBusy, start } = useBegin(onClose);
  const [command, setCommand] = useState('');
  const path = `/nodes/${inPath(range)}/nodeshell`;
  return (
    <Dialog label="Run a command" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void start('POST', path, { command }, count);
        }}
      >
        <h1>Run a command on {plural(count, 'node')}</h1>
        <p class="mono cut" title={range}>
          {range}
        </p>
        <label class="label">
          Command, for the shell of each node
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
        <Elsewhere line={`muster xdsh ${quoted(range)} ${quoted(command)}`} curl={curlOf('POST', path, { command })} />
        {error !== '' && <Message tone="critical">{error}</Message>}
        <div class="row">
          <button class="button primary" disabled={isBusy || command.trim() === ''}>
            Run on {plural(count, 'node')}
          </button>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

type Asked = Power | 'command' | 'provision' | undefined;

/** What can be done with nodes, each behind a question that says how many they are. */
export function Actions({ range, count }: { range: string; count: number }) {
  const [asked, setAsked] = useState<Asked>();
  const close = (): void => setAsked(undefined);
  return (
    <>
      <label class="hidden" for="power-choice">
        Power
      </label>
      <select
        id="power-choice"
        class="field"
        value=""
        onChange={(event) => {
          setAsked(powers.find(({ action }) => action === event.currentTarget.value));
          event.currentTarget.value = '';
        }}
      >
        <option value="" disabled>
          Power…
        </option>
        {powers.map(({ action, label }) => (
          <option key={action} value={action}>
            {label}
          </option>
        ))}
      </select>
      <button type="button" class="button" onClick={() => setAsked('command')}>
        Run a command
      </button>
      <button type="button" class="button" onClick={() => setAsked('provision')}>
        Provision
      </button>
      {asked === 'provision' && <AskProvision range={range} count={count} onClose={close} />}
      {asked === 'command' && <AskCommand range={range} count={count} onClose={close} />}
      {typeof asked === 'object' && <AskPower range={range} count={count} power={asked} onClose={close} />}
    </>
  );
}

/** For the nodes that are selected. */
export function ActionBar() {
  const { range, names, state } = useStore(selection);
  if (state !== 'known' || names.size === 0) return null;
  return (
    <div class="actions" role="toolbar" aria-label="Actions on the selection">
      <strong class="numbers">{plural(names.size, 'node')} selected</strong>
      <Actions range={range} count={names.size} />
      <SaveButton />
      <button type="button" class="button quiet" onClick={() => select('')}>
        Select none
      </button>
    </div>
  );
}
