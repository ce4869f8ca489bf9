import { useMemo, useState } from 'preact/hooks';
import { get, inPath } from '../api/client.ts';
import type { NodesReply, RunHead } from '../api/types.ts';
import { Card, PageTitle, Progress, Read, Sentence } from '../design/parts.tsx';
import { cluster } from '../model/cluster.ts';
import { changesSeen, runs } from '../model/live.ts';
import { byName, folded } from '../model/ranges.ts';
import { linkTo } from '../model/route.ts';
import { select } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { texts } from '../texts/images.ts';
import { ImageDetails } from './image-details.tsx';
import { RunLine } from './runs.tsx';

/** Runs that make something of images. */
const imageCommands: readonly string[] = [
  'copycds',
  'genimage',
  'imgcapture',
  'imgexport',
  'imgimport',
  'imgpull',
  'imgrun',
  'packimage',
  'rmimage',
  'rollbackimage',
  'tagimage',
];

function UnderWay({ all }: { all: readonly RunHead[] }) {
  if (all.length === 0) return null;
  return (
    <Card title={common.underWay}>
      <ul class="list">
        {all.map((run) => (
          <li key={run.id}>
            <div class="grow stack">
              <RunLine run={run} />
              <Progress done={run.progress?.done ?? 0} of={run.progress?.of ?? 1} />
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const NoImages = () => (
  <div class="empty">
    <strong>{texts.none}</strong>
    <p>{texts.firstStep}</p>
    <pre class="code">{texts.firstLine}</pre>
    <p>
      <Sentence text={texts.nextStep}>
        {(part) => (
          <a href="/muster/manual/images" target="_blank" rel="noreferrer">
            {part}
          </a>
        )}
      </Sentence>
    </p>
  </div>
);

/** All images, and which nodes are set to them. `shown`: the one that is open at first. */
export function Images({ shown }: { shown?: string | undefined }) {
  const seen = useStore(changesSeen);
  const { nodes } = useStore(cluster);
  const work = useStore(runs).filter(({ command }) => imageCommands.includes(command));
  const underWay = work.filter(({ state }) => state === 'running');
  const [open, setOpen] = useState(shown);
  const users = useMemo(() => {
    const found = new Map<string, string[]>();
    for (const { name, attributes } of nodes) {
      const image = attributes['provmethod'] ?? '';
      if (image !== '') found.set(image, [...(found.get(image) ?? []), name]);
    }
    return found;
  }, [nodes]);
  return (
    <>
      <PageTitle title={texts.title} about={texts.about} />
      <UnderWay all={underWay} />
      <Card title={texts.all}>
        <Read of={String(seen)} read={(signal) => get<NodesReply>('/osimages/ALLRESOURCES', signal)}>
          {(images) => {
            const names = Object.keys(images).sort(byName);
            if (names.length === 0) return <NoImages />;
            return (
              <ul class="list">
                {names.map((name) => (
                  <li key={name}>
                    <div class="grow stack">
                      <div class="row wrap">
                        <div class="grow">
                          <div class="cut" title={name}>
                            <a href={linkTo(`/images/${inPath(name)}`)}>{name}</a>
                          </div>
                          <div class="muted small cut">
                            {['osvers', 'osarch', 'provmethod', 'profile']
                              .flatMap((attribute) => images[name]?.[attribute] ?? [])
                              .join(' · ')}
                          </div>
                        </div>
                        <Users names={users.get(name) ?? []} />
                        <button
                          type="button"
                          class="button quiet"
                          aria-label={common.showOrHideIt(name, open === name)}
                          aria-expanded={open === name}
                          onClick={() => setOpen(open === name ? undefined : name)}
                        >
                          {common.showOrHide(open === name)}
                        </button>
                      </div>
                      {open === name && (
                        <ImageDetails
                          image={name}
                          isDiskless={images[name]?.['provmethod'] !== 'install'}
                          users={users.get(name)?.length ?? 0}
                          turn={work.find(({ state }) => state !== 'running')?.id ?? ''}
                        />
                      )}
                    </div>
                  </li>
                ))}
              </ul>
            );
          }}
        </Read>
      </Card>
    </>
  );
}

const Users = ({ names }: { names: readonly string[] }) =>
  names.length === 0 ? (
    <span class="muted small">{texts.noNode}</span>
  ) : (
    <button type="button" class="button" title={common.selectThese} onClick={() => select(folded(names), names)}>
      {common.nodes(names.length)}
    </button>
  );
