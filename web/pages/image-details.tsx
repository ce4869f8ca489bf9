import { useState } from 'preact/hooks';
import { get, inPath, Refusal } from '../api/client.ts';
import { Ago, Badge, Message, Read, TableHead } from '../design/parts.tsx';
import { momentOf } from '../model/moments.ts';
import { common } from '../texts/common.ts';
import { texts } from '../texts/images.ts';
import { AskImage, type ImageAct } from './ask-image.tsx';

interface Made {
  readonly when: string;
  readonly by: string;
}

interface Pack {
  readonly id: string;
  readonly method: string;
  readonly compress?: string;
  readonly parts?: readonly { readonly size: number }[];
  readonly made: Made;
  readonly tags?: readonly string[];
}

/** What is built and packed of an image, as far as it is shown. */
interface Instance {
  readonly directory: string;
  readonly made?: Made;
  readonly kernel?: string;
  readonly current?: string;
  readonly packages?: readonly unknown[];
  readonly packs: readonly Pack[];
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

const megabytes = (parts: readonly { readonly size: number }[]): string =>
  texts.megabytes(Math.max(1, Math.round(parts.reduce((sum, { size }) => sum + size, 0) / 1e6)));

interface PackProps {
  readonly pack: Pack;
  readonly isCurrent: boolean;
  onAsk(act: ImageAct): void;
}

const PackRow = ({ pack: { id, method, compress, parts = [], made, tags = [] }, isCurrent, onAsk }: PackProps) => (
  <tr>
    <td>
      <span class="mono">{id}</span>
      {isCurrent && (
        <>
          {' '}
          <Badge tone="ok">{texts.inUse}</Badge>
        </>
      )}
      {tags.map((tag) => (
        <div key={tag} class="row">
          <Badge tone="accent">{tag}</Badge>
          <button
            type="button"
            class="button quiet small"
            aria-label={texts.removeTag(tag)}
            onClick={() => onAsk({ action: 'untag', tag })}
          >
            {common.remove}
          </button>
        </div>
      ))}
    </td>
    <td class="muted">
      {[method, compress, megabytes(parts)].filter(Boolean).join(', ')}
      <div class="small">
        {texts.madeBy(made.by)}
        <Ago time={made.when} />
      </div>
    </td>
    <td class="acts">
      <button
        type="button"
        class="button"
        aria-label={texts.tagIt(id)}
        onClick={() => onAsk({ action: 'tag', pack: id })}
      >
        {texts.verbs.tag}
      </button>
      {!isCurrent && (
        <button
          type="button"
          class="button"
          aria-label={texts.putBackIt(id)}
          onClick={() => onAsk({ action: 'rollback', pack: id })}
        >
          {texts.verbs.rollback}
        </button>
      )}
    </td>
  </tr>
);

function Built({ instance, onAsk }: { instance: Instance; onAsk: (act: ImageAct) => void }) {
  const { directory, made, kernel, current, packages = [], packs } = instance;
  return (
    <>
      <p class="muted small">
        {made && `${texts.builtBy(made.by, momentOf(made.when))} · `}
        {packages.length > 0 && `${texts.packages(packages.length)} · `}
        {kernel !== undefined && `${texts.kernel(kernel)} · `}
        <span class="mono">{directory}</span>
      </p>
      {packs.length === 0 ? (
        <p class="muted">{texts.noPack}</p>
      ) : (
        <div class="scrolled" tabIndex={0} role="region" aria-label={texts.packs}>
          <table class="grid-table">
            <TableHead columns={texts.columns} hasActs />
            <tbody>
              {packs.map((pack) => (
                <PackRow key={pack.id} pack={pack} isCurrent={pack.id === current} onAsk={onAsk} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

interface Props {
  readonly image: string;
  /** Images that are installed on disks are not built here. */
  readonly isDiskless: boolean;
  /** Nodes that are set to it. */
  readonly users: number;
  /** Another one when something may have become of the image. */
  readonly turn: string;
}

/** What there is of an image, and what can be done with it. */
export function ImageDetails({ image, isDiskless, users, turn }: Props) {
  const [act, setAct] = useState<ImageAct>();
  return (
    <div class="stack">
      {isDiskless && (
        <div class="row">
          <button type="button" class="button" onClick={() => setAct({ action: 'gen' })}>
            {texts.verbs.gen}
          </button>
          <button type="button" class="button" onClick={() => setAct({ action: 'pack' })}>
            {texts.verbs.pack}
          </button>
        </div>
      )}
      <Read of={`${image} ${turn}`} read={(signal) => lookAt(image, signal)}>
        {({ instance, check: { problems } }) => (
          <>
            {problems.map((problem) => (
              <Message key={problem} tone="warning">
                {problem}
              </Message>
            ))}
            {problems.length === 0 && <Message tone="ok">{texts.bootable}</Message>}
            {instance && <Built instance={instance} onAsk={setAct} />}
            {!instance && isDiskless && <p class="muted">{texts.noTree}</p>}
          </>
        )}
      </Read>
      {act && <AskImage image={image} act={act} users={users} onClose={() => setAct(undefined)} />}
    </div>
  );
}
