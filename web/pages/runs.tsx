import type { RunHead } from '../api/types.ts';
import { Ago, Badge, Card, PageTitle, type Tone } from '../design/parts.tsx';
import { runs } from '../model/live.ts';
import { linkTo } from '../model/route.ts';
import { useStore } from '../model/store.ts';
import { runs as texts } from '../texts/runs.ts';

const tones: Readonly<Record<RunHead['state'], Tone>> = {
  running: 'accent',
  finished: 'ok',
  cancelled: '',
  interrupted: 'warning',
};

export const StateBadge = ({ run: { state, failed, errorcode } }: { run: RunHead }) => {
  const isBad = state === 'finished' && (failed > 0 || errorcode !== 0);
  return <Badge tone={isBad ? 'critical' : tones[state]}>{isBad ? texts.withErrors : state}</Badge>;
};

export const countsOf = ({ nodes, ok, failed }: RunHead): string =>
  nodes === 0 ? '' : texts.counts(ok + failed, nodes, failed);

/** A run in one line that leads to it. */
export const RunLine = ({ run }: { run: RunHead }) => (
  <div class="row run">
    <a class="mono" href={linkTo(`/runs/${run.id}`)}>
      {run.command}
    </a>
    <span class="muted small cut grow numbers">{texts.facts(run.user, run.progress?.line || countsOf(run))}</span>
    <StateBadge run={run} />
  </div>
);

export function Runs() {
  const all = useStore(runs);
  return (
    <>
      <PageTitle title={texts.title} about={texts.about} />
      <Card title={texts.runs(all.length)}>
        {all.length === 0 && (
          <div class="empty">
            <strong>{texts.none}</strong>
            <p>{texts.firstStep}</p>
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
