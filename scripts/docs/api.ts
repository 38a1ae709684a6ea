import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { page, sentence } from './markdown.ts'
import { exportsOf, type Declaration } from './sources.ts'

const KINDS = [
  ['function', 'Functions'],
  ['class', 'Classes'],
  ['const', 'Values'],
  ['type', 'Types'],
] as const

export function apiPage(root: string): string {
  const { exports: faces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { default: string }>
  }
  const entries = Object.entries(faces).flatMap(([subpath, entry]) =>
    typeof entry === 'string'
      ? []
      : [{ name: subpath.replace(/^\./, 'plimsoll'), file: sourceOf(root, entry.default) }],
  )
  return page(
    'API reference',
    'the exported types',
    'Everything that can be imported, by module, with the comments of its source. [Getting started](../getting-started.md) and the recipes show it in use.',
    entries.map(({ name }) => `- [\`${name}\`](#${anchorOf(name)})`).join('\n'),
    ...entries.flatMap(({ name, file }) => [
      `## ${name}`,
      ...KINDS.flatMap(([kind, title]) =>
        part(
          title,
          exportsOf(file).filter((one) => one.kind === kind),
        ),
      ),
    ]),
  )
}

const sourceOf = (root: string, built: string): string =>
  join(root, built.replace('./dist/', 'src/').replace(/\.js$/, '.ts'))

const anchorOf = (name: string): string => name.replaceAll('/', '')

function part(title: string, declarations: readonly Declaration[]): readonly string[] {
  if (declarations.length === 0) return []
  return [
    `**${title}**`,
    ...declarations.flatMap(({ text, about }) => [
      ...(about === '' ? [] : [sentence(about)]),
      `\`\`\`typescript\n${text}\n\`\`\``,
    ]),
  ]
}
