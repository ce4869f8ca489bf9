import { useState } from 'preact/hooks';
import { inPath } from '../api/client.ts';
import { archiveOf, problemOf } from '../model/archive.ts';
import { texts } from '../texts/actions.ts';
import { common } from '../texts/common.ts';
import { AskForm, type AskProps, curlOfFiles, fileWord, quoted, useBegin } from './ask.tsx';

const words = texts.copy;

/** Copies files of the machine that the browser is on. */
export function AskCopy({ range, count, onClose }: AskProps) {
  const { error, isBusy, start } = useBegin(onClose);
  const [files, setFiles] = useState<readonly File[]>([]);
  const [target, setTarget] = useState('/tmp/');
  const names = files.map(({ name }) => name);
  const problem = problemOf(files);
  const path = `/nodes/${inPath(range)}/files?target=${encodeURIComponent(target)}`;
  const shown = names.length === 0 ? ['FILE'] : names;
  return (
    <AskForm
      title={words.title(count)}
      about={range}
      harm={words.harm}
      verb={isBusy ? common.sending : words.verb(count)}
      isReady={files.length > 0 && target.trim() !== '' && problem === undefined}
      isBusy={isBusy}
      error={problem ?? error}
      line={`muster xdcp ${quoted(range)} ${shown.map(fileWord).join(' ')} ${quoted(target)}`}
      curl={curlOfFiles(path, shown)}
      onSubmit={() => void start({ method: 'PUT', path, body: archiveOf(files), count })}
      onClose={onClose}
    >
      <label class="label">
        {words.files}
        <input
          type="file"
          class="field file"
          multiple
          required
          onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])}
        />
      </label>
      <label class="label">
        {words.target}
        <input
          class="field mono"
          required
          spellcheck={false}
          value={target}
          onInput={(event) => setTarget(event.currentTarget.value)}
        />
        <span>{words.targetHelp}</span>
      </label>
    </AskForm>
  );
}
