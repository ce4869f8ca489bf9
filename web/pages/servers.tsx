import { useEffect, useState } from 'preact/hooks';
import { get, Refusal } from '../api/client.ts';
import type { Findings, Server, ServerList } from '../api/types.ts';
import { Ago, Badge, Card, Message, PageTitle, Read, TableHead } from '../design/parts.tsx';
import { momentOf } from '../model/moments.ts';
import { texts } from '../texts/servers.ts';

/** Milliseconds between two looks. */
const pace = 5_000;

const Time = ({ time }: { time: string }) => (
  <time dateTime={time} title={new Date(time).toISOString()}>
    {momentOf(time)}
  </time>
);

function ServerRow({ server }: { server: Server }) {
  const { name, role, state, version, host, listens, since, heard, jobs, nodes, assigned, serves, boots, problem } =
    server;
  const place = listens?.join(', ') ?? (host === name ? undefined : host);
  return (
    <tr>
      <td>
        <div class="row">
          <strong>{name}</strong>
          <Badge tone={state === 'connected' ? (problem === undefined ? 'ok' : 'warning') : 'critical'}>{state}</Badge>
        </div>
        <div class="muted small">{[role, place].filter(Boolean).join(' · ')}</div>
        {problem !== undefined && <Message tone={state === 'connected' ? 'warning' : 'critical'}>{problem}</Message>}
      </td>
      <td class="mono">{version}</td>
      <td>
        <Time time={since} />
        {heard !== undefined && (
          <div class="muted small">
            {texts.heard} <Ago time={heard} />
          </div>
        )}
      </td>
      <td class="numbers">
        {jobs === 0 ? texts.idle : texts.busy(jobs, nodes)}
        <div class="muted small">
          {[
            assigned === undefined ? '' : texts.worksFor(assigned),
            serves === undefined ? '' : texts.serves(serves.join(', ')),
            boots === undefined ? '' : texts.boots(boots),
          ]
            .filter(Boolean)
            .join(' · ')}
        </div>
      </td>
    </tr>
  );
}

const List = ({ servers }: { servers: readonly Server[] }) => (
  <div class="wide-table" tabIndex={0} role="region" aria-label={texts.list}>
    <table class="grid-table">
      <TableHead columns={texts.columns} />
      <tbody>
        {servers.map((server) => (
          <ServerRow key={`${server.role} ${server.name} ${server.since}`} server={server} />
        ))}
      </tbody>
    </table>
  </div>
);

/** Null: the account may not have the server look at itself. */
async function findings(signal: AbortSignal): Promise<Findings | null> {
  try {
    return await get<Findings>('/doctor', signal);
  } catch (error) {
    if (error instanceof Refusal && error.status === 403) return null;
    throw error;
  }
}

const Doctor = () => (
  <Read of="doctor" read={findings}>
    {(found, again) =>
      found && (
        <Card
          title={texts.doctor}
          side={
            <button type="button" class="button quiet" onClick={again}>
              {texts.lookAgain}
            </button>
          }
        >
          {found.findings.every(({ well }) => well) && <p class="body muted">{texts.well}</p>}
          <ul class="list findings">
            {found.findings
              .toSorted((a, b) => Number(a.well) - Number(b.well))
              .map(({ well, what, text }) => (
                <li key={`${what} ${text}`}>
                  <Badge tone={well ? 'ok' : 'critical'}>{well ? texts.verdicts.well : texts.verdicts.wrong}</Badge>
                  <span class="muted">{what}</span>
                  <span>{text}</span>
                </li>
              ))}
          </ul>
        </Card>
      )
    }
  </Read>
);

/** Who does the work, and what is wrong with them. */
export function Servers() {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTurn((before) => before + 1), pace);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <PageTitle title={texts.title} about={texts.about} />
      <Card title={texts.all}>
        <Read of={String(turn)} read={(signal) => get<ServerList>('/servers', signal)}>
          {({ servers }) => (
            <>
              <List servers={servers} />
              {servers.every(({ role }) => role === 'server') && (
                <div class="empty">
                  <strong>{texts.noWorkers}</strong>
                  <p>
                    <a href="/muster/manual/service-nodes" target="_blank" rel="noreferrer">
                      {texts.howToWorkers}
                    </a>
                  </p>
                </div>
              )}
            </>
          )}
        </Read>
      </Card>
      <Doctor />
    </>
  );
}
