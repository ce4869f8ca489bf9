import { useEffect, useState } from 'preact/hooks';
import { get, inPath, write } from '../api/client.ts';
import type { ChangedRow } from '../api/types.ts';
import { Ago, Card, Dialog, Message, plural, Read } from '../design/parts.tsx';
import { byName, folded } from '../model/ranges.ts';
import { type AskProps, curlOf, Elsewhere, quoted, useBegin } from './ask.tsx';
import { Difference } from './changes.tsx';

interface DryRun {
  readonly changes?: readonly ChangedRow[];
  readonly targets?: Readonly<Record<string, object>>;
  readonly refused?: Readonly<Record<string, string>>;
}

/** Sentences about nodes, each once with the nodes that it is about. */
function foldReasons(refused: Readonly<Record<string, string>>): [reason: string, names: string[]][] {
  const found = new Map<string, string[]>();
  for (const [name, reason] of Object.entries(refused)) {
    const text = reason.startsWith(`${name}: `) ? reason.slice(name.length + 2) : reason;
    found.set(text, [...(found.get(text) ?? []), name]);
  }
  return [...found];
}

/** What a dry run says: who would boot, who would not and why, and what would be written. */
function Plan({ plan: { changes = [], targets = {}, refused = {} } }: { plan: DryRun }) {
  return (
    <>
      <Message tone={Object.keys(targets).length > 0 ? 'ok' : 'critical'}>
        {plural(Object.keys(targets).length, 'node')} would be set to the image and started.
      </Message>
      {foldReasons(refused).map(([reason, names]) => (
        <Message key={reason} tone="warning">
          <strong>{folded(names)}</strong>: {reason}
        </Message>
      ))}
      {changes.length > 0 && (
        <details>
          <summary class="muted small">What is written: {plural(changes.length, 'row')}</summary>
          <Difference rows={changes} />
        </details>
      )}
    </>
  );
}

/** Boots nodes with an image; first it shows what that would do. */
export function AskProvision({ range, count, onClose }: AskProps) {
  const { error, isBusy, start } = useBegin(onClose);
  const [image, setImage] = useState('');
  const [tried, setTried] = useState<{ readonly image: string; readonly plan: DryRun }>();
  const [problem, setProblem] = useState('');
  const path = `/nodes/${inPath(range)}/provision`;
  // What was said of another image counts no more.
  const plan = tried?.image === image ? tried.plan : undefined;
  const body = image === '' ? {} : { osimage: image };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setProblem('');
    if (plan) return start('POST', path, body, count, `/${inPath(range)}`);
    try {
      setTried({ image, plan: await write<DryRun>('POST', `${path}?dryRun=1`, { body }) });
    } catch (failed) {
      setProblem((failed as Error).message);
    }
  };
  return (
    <Dialog label="Provision" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <h1>Provision {plural(count, 'node')}</h1>
        <p class="mono cut" title={range}>
          {range}
        </p>
        <Read of="images" read={(signal) => get<readonly string[]>('/osimages', signal)}>
          {(images) => (
            <div class="label">
              <label for="provision-image">Image</label>
              <select
                id="provision-image"
                class="field"
                value={image}
                onChange={(event) => setImage(event.currentTarget.value)}
              >
                <option value="">the image that each node has</option>
                {images.toSorted(byName).map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </div>
          )}
        </Read>
        <Message tone="warning">
          These nodes restart, and their work ends. An image that is installed replaces what is on their disks.
        </Message>
        {plan && <Plan plan={plan} />}
        <Elsewhere
          line={`muster rinstall ${quoted(range)}${image === '' ? '' : ` osimage=${quoted(image)}`}`}
          curl={curlOf('POST', path, body)}
        />
        {(problem || error) !== '' && <Message tone="critical">{problem || error}</Message>}
        <div class="row">
          <button
            class={`button ${plan ? 'danger' : 'primary'}`}
            disabled={isBusy || (plan && Object.keys(plan.targets ?? {}).length === 0)}
          >
            {plan ? `Provision ${plural(count, 'node')}` : 'Show what happens'}
          </button>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface Boot {
  readonly status?: string;
  readonly step?: string;
  readonly since?: string;
  readonly why?: string;
}

/** Milliseconds between two readings. */
const pace = 2_000;

/** How far nodes are in their boot, read again while they boot; nodes that are equally far are shown together. */
export function BootSteps({ range, isRunning }: { range: string; isRunning: boolean }) {
  const [boots, setBoots] = useState<Readonly<Record<string, Boot>>>({});
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      try {
        setBoots(await get(`/nodes/${inPath(range)}/boot`, controller.signal));
        setProblem('');
      } catch (failed) {
        if (controller.signal.aborted) return;
        setProblem((failed as Error).message);
      }
      if (isRunning && !controller.signal.aborted) timer = setTimeout(() => void read(), pace);
    };
    void read();
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [range, isRunning]);
  const steps = new Map<string, { readonly boot: Boot; readonly names: string[] }>();
  for (const [name, boot] of Object.entries(boots)) {
    const key = JSON.stringify([boot.step, boot.status, boot.why]);
    const same = steps.get(key) ?? { boot, names: [] };
    same.names.push(name);
    steps.set(key, same);
  }
  return (
    <Card title="Boot steps">
      {problem !== '' && <Message tone="warning">{problem}</Message>}
      <ul class="list">
        {[...steps].map(([key, { boot, names }]) => (
          <li key={key}>
            <div class="grow">
              <div class="cut" title={names.join(', ')}>
                {folded(names)}
              </div>
              {boot.why && <div class="muted small">{boot.why}</div>}
            </div>
            <span>{boot.step || 'not seen yet'}</span>
            {boot.since && <Ago time={boot.since} />}
          </li>
        ))}
      </ul>
    </Card>
  );
}
