import { execFileSync } from 'node:child_process';

/** What installers make of files, told by the libraries that they use: Python's shlex, YAML and XML. */
const program = `
import json, shlex, sys, yaml
import xml.etree.ElementTree as xml
def element(node):
    return {"tag": node.tag, "text": node.text or "", "attributes": node.attrib, "children": [element(child) for child in node]}
parsers = {
    "words": lambda text: [shlex.split(line, comments=True) for line in text.split("\\n")],
    "yaml": yaml.safe_load,
    "xml": lambda text: element(xml.fromstring(text)),
}
parse = parsers[sys.argv[1]]
print(json.dumps([parse(text) for text in json.load(sys.stdin)]))
`;

export interface Element {
  readonly tag: string;
  readonly text: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
}

interface Parsed {
  readonly words: readonly string[][];
  readonly yaml: unknown;
  readonly xml: Element;
}

/** Each of the texts; one that cannot be read is an error. */
export function parse<Kind extends keyof Parsed>(kind: Kind, texts: readonly string[]): Parsed[Kind][] {
  return JSON.parse(execFileSync('python3', ['-c', program, kind], { input: JSON.stringify(texts), encoding: 'utf8' }));
}
