// The web console: one script and what it loads when it is wanted, one style sheet and one page, named by their content and compressed
// once, here.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const web = join(import.meta.dirname, '..', 'web');

const named = (name: string, ending: string, text: string): string =>
  `web/${name}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}.${ending}`;

/** The script that the page begins with, and those that it loads later. */
async function scripts(): Promise<{ entry: string; files: Map<string, string> }> {
  const made = await rolldown({
    input: join(web, 'main.tsx'),
    platform: 'browser',
    tsconfig: join(web, 'tsconfig.json'),
    transform: { target: 'es2023' },
    // Style sheets of packages come with the script that needs them.
    moduleTypes: { '.css': 'text' },
  });
  const { output } = await made.generate({
    format: 'esm',
    minify: true,
    hashCharacters: 'hex',
    entryFileNames: 'console-[hash:12].js',
    chunkFileNames: '[name]-[hash:12].js',
    comments: { legal: false },
  });
  await made.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  const files = new Map(chunks.map(({ fileName, code }) => [`web/${fileName}`, code]));
  return { entry: chunks.find(({ isEntry }) => isEntry)!.fileName, files };
}

/** In the order of their names: each rests on those before it. */
function style(): string {
  const directory = join(web, 'design');
  const sheets = readdirSync(directory).filter((name) => name.endsWith('.css'));
  return sheets
    .toSorted()
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('\n')
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s*\n\s*/g, '\n');
}

/** Every file of the console by its name in the build, beside it what is sent to those who take it compressed. */
export async function bundleConsole(): Promise<Map<string, string | Buffer>> {
  const { entry, files: code } = await scripts();
  const sheet = style();
  const sheetFile = named('console', 'css', sheet);
  const icon = readFileSync(join(web, 'icon.svg'), 'utf8');
  const iconFile = named('icon', 'svg', icon);
  const page = readFileSync(join(web, 'index.html'), 'utf8')
    .replace('main.tsx', entry)
    .replace('style.css', sheetFile.slice('web/'.length))
    .replace('icon.svg', iconFile.slice('web/'.length));
  const files = new Map<string, string>([['web/index.html', page], ...code, [sheetFile, sheet], [iconFile, icon]]);
  const packed = [...files].flatMap(([name, text]): [string, string | Buffer][] => [
    [name, text],
    [`${name}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } })],
    [`${name}.gz`, gzipSync(text, { level: 9 })],
  ]);
  return new Map(packed);
}
