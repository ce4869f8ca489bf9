import { useState } from 'preact/hooks';
import { get, inPath } from '../api/client.ts';
import { Ago, Badge, Read } from '../design/parts.tsx';
import { runs } from '../model/live.ts';
import { useStore } from '../model/store.ts';
import { texts } from '../texts/machines.ts';
import { AskForm, curlOf, quoted, useBegin } from './ask.tsx';

interface Snapshot {
  readonly name: string;
  readonly created?: string;
  readonly power?: string;
  readonly description?: string;
}

/** What is said of more snapshots than this is not asked. */
const mostDescribed = 50;

async function snapshotsOf(node: string, signal: AbortSignal): Promise<readonly Snapshot[]> {
  const path = `/nodes/${inPath(node)}/snapshots`;
  const reply = await get<Readonly<Record<string, { readonly snapshots?: readonly string[] }>>>(path, signal);
  const names = reply[node]?.snapshots ?? [];
  const described = names.slice(-mostDescribed).map(async (name): Promise<Snapshot> => {
    const shown = await get<Readonly<Record<string, Omit<Snapshot, 'name'>>>>(`${path}/${inPath(name)}`, signal);
    return { ...shown[node], name };
  });
  return [...names.slice(0, -mostDescribed).map((name) => ({ name })), ...(await Promise.all(described))];
}

type Act = { readonly act: 'take' } | { readonly act: 'revert' | 'delete'; readonly snapshot: string };

function AskSnapshot({ node, asked, onClose }: { node: string; asked: Act; onClose: () => void }) {
  const { error, isBusy, start } = useBegin(onClose);
  const [given, setGiven] = useState('');
  const [description, setDescription] = useState('');
  const name = asked.act === 'take' ? given.trim() : asked.snapshot;
  const all = `/nodes/${inPath(node)}/snapshots`;
  const one = `${all}/${inPath(name)}`;
  const body = { name, ...(description.trim() && { description: description.trim() }) };
  const work = {
    take: { method: 'POST', path: all, body },
    revert: { method: 'PUT', path: one, body: { action: 'revert' } },
    delete: { method: 'DELETE', path: one, body: undefined },
  } as const;
  const { method, path, body: sent } = work[asked.act];
  const verb = asked.act === 'take' ? texts.takeOne : texts.verbs[asked.act];
  const title = asked.act === 'take' ? verb : texts.titles[asked.act](name);
  const described = asked.act === 'take' && description.trim() ? ` --description ${quoted(description.trim())}` : '';
  return (
    <AskForm
      title={texts.titleOf(title)}
      about={node}
      harm={{ take: texts.take, revert: texts.revert, delete: texts.remove }[asked.act]}
      verb={verb}
      isDangerous={asked.act !== 'take'}
      isReady={name !== ''}
      isBusy={isBusy}
      error={error}
      line={`muster snapvm ${quoted(node)} ${asked.act} ${quoted(name || 'NAME')}${described}`}
      curl={curlOf(method, path, sent)}
      onSubmit={() => void start({ method, path, ...(sent && { body: sent }), count: 1 })}
      onClose={onClose}
    >
      {asked.act === 'take' && (
        <>
          <label class="label">
            {texts.name}
            <input
              class="field mono"
              autofocus
              required
              spellcheck={false}
              value={given}
              onInput={(event) => setGiven(event.currentTarget.value)}
            />
            <span>{texts.nameHelp}</span>
          </label>
          <label class="label">
            {texts.description}
            <input class="field" value={description} onInput={(event) => setDescription(event.currentTarget.value)} />
          </label>
        </>
      )}
    </AskForm>
  );
}

/** The snapshots of one machine, and what can be done with them. */
export function Snapshots({ node }: { node: string }) {
  const [asked, setAsked] = useState<Act>();
  // Somebody may have taken one: it is read again when a run on snapshots has ended.
  const last = useStore(runs).find(({ command, state }) => command === 'snapvm' && state !== 'running')?.id;
  return (
    <div class="stack">
      <Read of={`${node} ${last ?? ''}`} read={(signal) => snapshotsOf(node, signal)}>
        {(all) =>
          all.length === 0 ? (
            <p class="muted">{texts.noSnapshots}</p>
          ) : (
            <ul class="list" aria-label={texts.snapshotsOf(node)}>
              {all.map(({ name, created, power, description }) => (
                <li key={name}>
                  <div class="grow">
                    <span class="mono">{name}</span> {power !== undefined && <Badge>{power}</Badge>}
                    {description !== undefined && <div class="muted small">{description}</div>}
                  </div>
                  {created !== undefined && <Ago time={created} />}
                  <div class="acts">
                    <button
                      type="button"
                      class="button"
                      aria-label={texts.revertNamed(name, node)}
                      onClick={() => setAsked({ act: 'revert', snapshot: name })}
                    >
                      {texts.revertIt}
                    </button>
                    <button
                      type="button"
                      class="button"
                      aria-label={texts.deleteNamed(name, node)}
                      onClick={() => setAsked({ act: 'delete', snapshot: name })}
                    >
                      {texts.deleteIt}
                    </button>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Read>
      <div>
        <button type="button" class="button" onClick={() => setAsked({ act: 'take' })}>
          {texts.takeOne}
        </button>
      </div>
      {asked && <AskSnapshot node={node} asked={asked} onClose={() => setAsked(undefined)} />}
    </div>
  );
}
