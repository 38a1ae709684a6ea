import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as face from '../src/index.ts'

const root = resolve(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { default: string }>
  bin: Record<string, string>
}

/** The source file behind a built one. */
const sourceOf = (built: string): string => join(root, built.replace('./dist/', 'src/').replace(/\.js$/, '.ts'))

const moduleOf = async (subpath: string): Promise<Record<string, unknown>> => {
  const entry = manifest.exports[subpath.replace(/^plimsoll/, '.')]
  if (typeof entry !== 'object') throw new Error(`package.json has no export for ${subpath}`)
  return (await import(sourceOf(entry.default))) as Record<string, unknown>
}

const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

/** What users read; architecture and decisions speak of the inside. */
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md') && name !== 'architecture.md')
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, 'examples'))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `examples/${name}`),
]

const imported = pages.flatMap((page) =>
  [...textOf(page).matchAll(/import (?:\{([^}]*)\}|\* as \w+) from '(plimsoll(?:\/[^']*)?)'/g)].map((match) => ({
    page,
    path: match[2]!,
    names: (match[1] ?? '')
      .split(',')
      .map((name) => name.trim().split(' as ')[0]!)
      .filter((name) => name !== '' && !name.startsWith('type ')),
  })),
)

describe('the public face', () => {
  it('exports these values and no others', () => {
    expect(Object.keys(face).sort()).toEqual(['PlimsollError', 'createPlimsoll', 'isPlimsollError'])
  })

  it('has these subpaths and one command', () => {
    expect(Object.keys(manifest.exports)).toEqual([
      '.',
      './adapters/ai-sdk',
      './adapters/aws-sdk',
      './adapters/google-adk',
      './adapters/langchain',
      './adapters/mastra',
      './adapters/openai-agents',
      './adapters/opencode',
      './adapters/pi',
      './adapters/strands',
      './config',
      './drivers',
      './formats',
      './instructions',
      './mcp',
      './policies',
      './proxy',
      './readers',
      './stores',
      './testing',
      './transcripts',
      './package.json',
    ])
    expect(Object.keys(manifest.bin)).toEqual(['plimsoll'])
  })

  it('publishes no internals through a wildcard', () => {
    expect(Object.keys(manifest.exports).filter((key) => key.includes('*'))).toEqual([])
  })

  it.each(Object.keys(manifest.exports).filter((key) => key !== './package.json'))(
    '%s leads to a module',
    async (key) => {
      expect(Object.keys(await moduleOf(key))).not.toEqual([])
    },
  )

  it.each(imported)('$page: $names can be imported from $path', async ({ path, names }) => {
    const module = await moduleOf(path)
    expect(names.filter((name) => !(name in module))).toEqual([])
  })

  it('has every function of ours that the documents name', async () => {
    const faces = Object.keys(manifest.exports).filter((key) => key !== './package.json')
    const offered = new Set((await Promise.all(faces.map(moduleOf))).flatMap((module) => Object.keys(module)))
    const ours = new Set(
      readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .flatMap((file) => [
          ...readFileSync(join(root, 'src', file), 'utf8').matchAll(/^export (?:async )?function\*? (\w+)/gm),
        ])
        .map((match) => match[1]!),
    )
    // Verbs of a session or a store are named like the functions behind them.
    const verbs = ['ports/session-store.ts', 'engine/session/session.ts'].flatMap((file) =>
      [...readFileSync(join(root, 'src', file), 'utf8').matchAll(/^ {2}(\w+)\(/gm)].map((match) => match[1]!),
    )
    const named = pages.flatMap((page) =>
      [...textOf(page).matchAll(/`([a-z]+[A-Z]\w*)(?:\([^`]*\))?`/g)].map((match) => ({ page, name: match[1]! })),
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(({ name }) => ours.has(name) && !offered.has(name) && !verbs.includes(name))).toEqual([])
  })
})
