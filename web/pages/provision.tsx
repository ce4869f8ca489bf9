import { useEffect, useState } from 'preact/hooks';
import { get, inPath } from '../api/client.ts';
import { Ago, Card, Message, Read } from '../design/parts.tsx';
import { byName, folded } from '../model/ranges.ts';
import { common } from '../texts/common.ts';
import { texts } from '../texts/actions.ts';
import { runs } from '../texts/runs.ts';
import { AskForm, type AskProps, curlOf, quoted, useBegin } from './ask.tsx';
import { Difference } from './changes.tsx';
import { type DryRun, Reasons, useDryRun } from './dry-run.tsx';

const words = texts.provision;

/** What a dry run says: who would boot, who would not and why, and what would be written. */
function Plan({ plan: { changes = [], targets = {}, refused = {} } }: { plan: DryRun }) {
  return (
    <>
      <Message tone={Object.keys(targets).length > 0 ? 'ok' : 'critical'}>
        {words.plan(Object.keys(targets).length)}
      </Message>
      <Reasons reasons={refused} />
      {changes.length > 0 && (
        <details>
          <summary class="muted small">{words.written(changes.length)}</summary>
          <Difference rows={changes} />
        </details>
      )}
    </>
  );
}

/** Boots nodes with an image; first it shows what that would do. */
export function AskProvision({ range, count, onClose }: AskProps) {
  const { error, isBusy, start } = useBegin(onClose);
  const { problem, isTrying, attempt, planOf } = useDryRun();
  const [image, setImage] = useState('');
  const plan = planOf(image);
  const path = `/nodes/${inPath(range)}/provision`;
  const body = image === '' ? {} : { osimage: image };
  const work = { method: 'POST', path, body, count } as const;
  return (
    <AskForm
      title={words.title(count)}
      about={range}
      harm={words.harm}
      verb={plan ? words.title(count) : common.showFirst}
      isDangerous={plan !== undefined}
      isReady={!plan || Object.keys(plan.targets ?? {}).length > 0}
      isBusy={isBusy || isTrying}
      error={problem || error}
      line={`muster rinstall ${quoted(range)}${image === '' ? '' : ` osimage=${quoted(image)}`}`}
      curl={curlOf('POST', path, body)}
      onSubmit={() => void (plan ? start(work, `/${inPath(range)}`) : attempt(image, work))}
      onClose={onClose}
    >
      <Read of="images" read={(signal) => get<readonly string[]>('/osimages', signal)}>
        {(images) => (
          <div class="label">
            <label for="provision-image">{words.image}</label>
            <select
              id="provision-image"
              class="field"
              value={image}
              onChange={(event) => setImage(event.currentTarget.value)}
            >
              <option value="">{words.ownImage}</option>
              {images.toSorted(byName).map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </div>
        )}
      </Read>
      {plan && <Plan plan={plan} />}
    </AskForm>
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
    <Card title={runs.bootSteps}>
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
            <span>{boot.step || runs.notSeen}</span>
            {boot.since && <Ago time={boot.since} />}
          </li>
        ))}
      </ul>
    </Card>
  );
}
