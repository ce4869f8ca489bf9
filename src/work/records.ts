import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A run under way, as the next muster needs to know it if this one is killed. */
export interface RunRecord {
  readonly run: string;
  readonly command: string;
  readonly user: string;
  readonly client: string;
  /** As the audit log keeps them. */
  readonly range: string;
  readonly line: string;
  readonly request: string;
  readonly started: number;
  /** Directories that go with the run. */
  readonly stagings: readonly string[];
  /** Whether others know what became of it, and only its directories may still be there. */
  readonly done?: true;
}

const suffix = '.json';
const fileOf = (directory: string, run: string): string => join(directory, `${run}${suffix}`);

/** On disk when it resolves. */
export async function writeRecord(directory: string, record: RunRecord): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = fileOf(directory, record.run);
  const temporary = `${file}.tmp`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.writeFile(JSON.stringify(record));
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  await syncDirectory(directory);
}

export async function readRecord(directory: string, run: string): Promise<RunRecord> {
  return JSON.parse(await readFile(fileOf(directory, run), 'utf8')) as RunRecord;
}

export async function removeRecord(directory: string, run: string): Promise<void> {
  await rm(fileOf(directory, run), { force: true });
  await syncDirectory(directory);
}

/** All that can be read; one that cannot must not keep muster from starting. */
export async function readRecords(directory: string, failed: (error: unknown) => void): Promise<RunRecord[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const records: RunRecord[] = [];
  for (const name of names) {
    try {
      if (name.endsWith(suffix)) records.push(await readRecord(directory, name.slice(0, -suffix.length)));
      else await rm(join(directory, name));
    } catch (error) {
      failed(error);
    }
  }
  return records;
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
