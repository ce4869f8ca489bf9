import { useMemo, useState } from 'preact/hooks';
import { get, inPath, Refusal } from '../api/client.ts';
import type { NodesReply } from '../api/types.ts';
import { Ago, Badge, Card, Message, plural, Read } from '../design/parts.tsx';
import { cluster } from '../model/cluster.ts';
import { changesSeen } from '../model/live.ts';
import { byName, folded } from '../model/ranges.ts';
import { select } from '../model/selection.ts';
import { useStore } from '../model/store.ts';

interface Made {
  readonly when: string;
  readonly by: string;
}

/** What is built and packed of an image, as far as it is shown. */
interface Instance {
  readonly directory: string;
  readonly made?: Made;
  readonly kernel?: string;
  readonly current?: string;
  readonly packages?: readonly unknown[];
  readonly packs: readonly { readonly id: string; readonly method: string; readonly made: Made }[];
}

interface Check {
  readonly problems: readonly string[];
}

interface Look {
  readonly instance?: Instance;
  readonly check: Check;
}

async function lookAt(image: string, signal: AbortSignal): Promise<Look> {
  const path = `/osimages/${inPath(image)}`;
  const check = await get<Check>(`${path}/check`, signal);
  try {
    return { check, instance: await get<Instance>(`${path}/instance`, signal) };
  } catch (error) {
    // Nothing is built of it, or it is installed and never built.
    if (error instanceof Refusal && error.status >= 400 && error.status < 500) return { check };
    throw error;
  }
}

const Built = ({ instance: { directory, made, kernel, current, packages = [], packs } }: { instance: Instance }) => (
  <>
    <p class="muted small">
      {made && `Built by ${made.by}, ${new Date(made.when).toLocaleString()} · `}
      {packages.length > 0 && `${plural(packages.length, 'package')} · `}
      {kernel !== undefined && `kernel ${kernel} · `}
      <span class="mono">{directory}</span>
    </p>
    {packs.length === 0 && <p class="muted">Nothing is packed, so no node can boot it yet.</p>}
    <ul>
      {packs.map(({ id, method, made: packed }) => (
        <li key={id} class="row">
          <span class="mono">{id}</span>
          <span class="muted small grow">
            {method}, by {packed.by}
          </span>
          {id === current && <Badge tone="ok">in use</Badge>}
          <Ago time={packed.when} />
        </li>
      ))}
    </ul>
  </>
);

const Details = ({ image }: { image: string }) => (
  <Read of={image} read={(signal) => lookAt(image, signal)}>
    {({ instance, check: { problems } }) => (
      <div class="stack">
        {problems.map((problem) => (
          <Message key={problem} tone="warning">
            {problem}
          </Message>
        ))}
        {problems.length === 0 && <Message tone="ok">Nodes can boot this image.</Message>}
        {instance && <Built instance={instance} />}
      </div>
    )}
  </Read>
);

const NoImages = () => (
  <div class="empty">
    <strong>There are no images yet.</strong>
    <p>Copy an installation medium on the management node. muster defines the images that can be made from it:</p>
    <pre class="code">muster copycds debian-12-amd64-DVD-1.iso</pre>
    <p>
      The chapter{' '}
      <a href="/muster/manual/images" target="_blank" rel="noreferrer">
        Images
      </a>{' '}
      shows how to build and pack an image for diskless nodes.
    </p>
  </div>
);

/** All images, and which nodes are set to them. */
export function Images() {
  const seen = useStore(changesSeen);
  const { nodes } = useStore(cluster);
  const [open, setOpen] = useState<string>();
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
      <header>
        <h1>Images</h1>
        <span class="muted">what nodes can boot or install, and which nodes are set to it</span>
      </header>
      <Card title="All images">
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
                            {name}
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
                          aria-label={`${open === name ? 'Hide' : 'Show'} ${name}`}
                          aria-expanded={open === name}
                          onClick={() => setOpen(open === name ? undefined : name)}
                        >
                          {open === name ? 'Hide' : 'Show'}
                        </button>
                      </div>
                      {open === name && <Details image={name} />}
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
    <span class="muted small">no node</span>
  ) : (
    <button type="button" class="button" title="Select these nodes" onClick={() => select(folded(names), names)}>
      {plural(names.length, 'node')}
    </button>
  );
