import type { RunHead } from '../api/types.ts';
import { Ago, Badge, Card, plural, type Tone } from '../design/parts.tsx';
import { runs } from '../model/live.ts';
import { linkTo } from '../model/route.ts';
import { useStore } from '../model/store.ts';

const tones: Readonly<Record<RunHead['state'], Tone>> = {
  running: 'accent',
  finished: 'ok',
  cancelled: '',
  interrupted: 'warning',
};

export const StateBadge = ({ run: { state, failed, errorcode } }: { run: RunHead }) => {
  const isBad = state === 'finished' && (failed > 0 || errorcode !== 0);
  return <Badge tone={isBad ? 'critical' : tones[state]}>{isBad ? 'with errors' : state}</Badge>;
};

export const countsOf = ({ nodes, ok, failed }: RunHead): string =>
  nodes === 0 ? '' : `${ok + failed} of ${plural(nodes, 'node')}${failed > 0 ? `, ${failed} failed` : ''}`;

/** A run in one line that leads to it. */
export const RunLine = ({ run }: { run: RunHead }) => (
  <div class="row">
    <a class="mono" href={linkTo(`/runs/${run.id}`)}>
      {run.command}
    </a>
    <span class="muted small cut grow numbers">
      {run.user} · {run.progress?.line || countsOf(run)}
    </span>
    <StateBadge run={run} />
  </div>
);

export function Runs() {
  const all = useStore(runs);
  return (
    <>
      <header>
        <h1>Runs</h1>
        <span class="muted">of the last day: what works on nodes, and what takes long</span>
      </header>
      <Card title={plural(all.length, 'run')}>
        {all.length === 0 && (
          <div class="empty">
            <strong>Nothing has run yet.</strong>
            <p>
              Select nodes in the box above and switch them on, or run a command on them. Each run is a link that others
              can follow.
            </p>
          </div>
        )}
        <ul class="list">
          {all.map((run) => (
            <li key={run.id}>
              <div class="grow">
                <RunLine run={run} />
              </div>
              <Ago time={run.started} />
            </li>
          ))}
        </ul>
      </Card>
    </>
  );
}
