// The web console: one script, one style sheet and one page, named by their content and compressed once, here.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const web = join(import.meta.dirname, '..', 'web');

const named = (name: string, ending: string, text: string): string =>
  `web/${name}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}.${ending}`;

async function script(): Promise<string> {
  const made = await rolldown({
    input: join(web, 'main.tsx'),
    platform: 'browser',
    tsconfig: join(web, 'tsconfig.json'),
    transform: { target: 'es2023' },
  });
  const { output } = await made.generate({
    format: 'esm',
    minify: true,
    codeSplitting: false,
    comments: { legal: false },
  });
  await made.close();
  return output[0].code;
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
  const code = await script();
  const sheet = style();
  const scriptFile = named('console', 'js', code);
  const sheetFile = named('console', 'css', sheet);
  const icon = readFileSync(join(web, 'icon.svg'), 'utf8');
  const iconFile = named('icon', 'svg', icon);
  const page = readFileSync(join(web, 'index.html'), 'utf8')
    .replace('main.tsx', scriptFile.slice('web/'.length))
    .replace('style.css', sheetFile.slice('web/'.length))
    .replace('icon.svg', iconFile.slice('web/'.length));
  const files = new Map([
    ['web/index.html', page],
    [scriptFile, code],
    [sheetFile, sheet],
    [iconFile, icon],
  ]);
  const packed = [...files].flatMap(([name, text]): [string, string | Buffer][] => [
    [name, text],
    [`${name}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } })],
    [`${name}.gz`, gzipSync(text, { level: 9 })],
  ]);
  return new Map(packed);
}
