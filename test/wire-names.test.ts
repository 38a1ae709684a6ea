import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { wires } from '../src/formats/registry.ts'

const SRC = resolve(import.meta.dirname, '../src')

/** Files that may name a vendor, each with its reason. `/` at the end: the folder. */
const EXCEPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'the other side of a wire, for tests': {
    'testing/referee/dialects/': 'a dialect is what one vendor answers; all are reached through one registry',
    'lab/simulator/': 'the simulated client writes bodies of one wire',
  },
  'models and their tokenizers, whichever wire they are reached over': {
    'settings/settings.ts': 'names tokenizers, and the vendors in the comment on upstreams',
    'drivers/catalogue/': 'lists models by vendor, and imports such lists',
    'drivers/tokenizers/': 'loads vocabularies',
    'engine/presets/': 'prices and estimates of the documented designs go by model',
    'meter/media.ts': 'pictures cost what the model says',
    'meter/overhead.ts': 'templates, bias and forgotten thinking go by model family',
    'cli/commands/count.ts': 'a model in an example',
    'cli/commands/doctor.ts': 'says which tokenizers are exact, and reads the settings of clients',
    'lab/replay/replay.ts': 'the model whose prices serve where a recording names none',
  },
  'clients: agents that people use, which are no vendors of wires': {
    'compose/open/foundation.ts': 'passes the profile of a client on',
    'core/identity.ts': 'the profile of a client that changes its own history',
    'engine/tool-results/derived.ts': 'strips what that client adds',
    'lab/transcripts/': 'the files in which agents keep what was said',
    'cli/agents/': 'which settings each agent reads',
    'cli/commands.ts': 'says whose recordings it finds',
    'cli/commands/inspect.ts': 'says whose recordings it looked for',
    'cli/commands/run.ts': 'an agent in an example',
    'gateway/identity.ts': 'how clients name their sessions',
  },
  'frameworks, whose packages are named after vendors': {
    'compose/api/reader-shapes.ts': 'tools in the shape that each framework gives them',
    'adapters/': 'imports and describes them',
  },
  secrets: {
    'engine/redaction/': 'keys are known by how they look',
  },
}

const names = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** What only a wire knows: its id, where its vendor is, the vendor's headers and variables. */
const KNOWLEDGE = new RegExp(
  wires
    .flatMap(({ id, endpoint, servers }) => [
      `['"\`]${names(id)}['"\`]`,
      ...[endpoint, ...servers].flatMap((one) => [
        ...(one.isLocal ? [] : [names(new URL(one.url).host)]),
        ...[...one.keys, ...one.bases, one.modelVariable].map((name) => `\\b${names(name)}\\b`),
        ...Object.keys(one.headers('key')).filter((name) => name !== 'authorization'),
      ]),
    ])
    .join('|'),
)

const VENDORS = /anthropic|openai|gemini|claude|ollama|bedrock|mistral|cohere/i

const exceptionFor = (file: string): string | undefined =>
  Object.values(EXCEPTIONS)
    .flatMap((group) => Object.keys(group))
    .find((path) => (path.endsWith('/') ? file.startsWith(path) : file === path))

/** Comments may say whom a line is about. */
const codeOf = (file: string): string =>
  readFileSync(join(SRC, file), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|\s)\/\/.*$/gm, '$1')

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('formats/'))
  .sort()

describe('outside formats/', () => {
  it('no file names a wire, or the URL, a header or a variable of its vendor', () => {
    const others =
      /^(drivers\/catalogue|drivers\/tokenizers|settings\/schema|engine\/presets|engine\/redaction|meter)\//
    const found = files.filter(
      (file) =>
        !/^(testing|lab\/(simulator|transcripts))\//.test(file) &&
        // Families of models share their names with wires, and keys with the headers that they travel in.
        !(others.test(file) && exceptionFor(file) !== undefined) &&
        // Clients are known by the variables that they read.
        !/^cli\/(agents\/|commands\/doctor\.ts)/.test(file) &&
        KNOWLEDGE.test(codeOf(file)),
    )
    expect(found).toEqual([])
  })

  it('no file names a vendor, but for models, clients and what tests need', () => {
    const found = files.filter((file) => exceptionFor(file) === undefined && VENDORS.test(codeOf(file)))
    expect(found).toEqual([])
  })

  it('every exception is needed', () => {
    const used = new Set(files.filter((file) => VENDORS.test(codeOf(file))).map(exceptionFor))
    const listed = Object.values(EXCEPTIONS).flatMap((group) => Object.keys(group))
    expect(listed.filter((path) => !used.has(path))).toEqual([])
  })
})

describe('inside formats/', () => {
  const PARTS = ['answers.ts', 'decode.ts', 'encode.ts', 'rules.ts', 'wire.ts']

  it.each(wires.map(({ id }) => id))('%s has the files that every wire has', (id) => {
    const files = readdirSync(join(SRC, 'formats', id))
    expect(files).toEqual(expect.arrayContaining(PARTS))
    expect(files.length).toBeLessThanOrEqual(10)
  })
})
