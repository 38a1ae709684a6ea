import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml'
import { PlimsollError } from '../core/errors.ts'
import { nearest, recordOf, messageOf } from '../core/values.ts'
import { policies } from '../engine/presets/index.ts'
import { jsonSchemaOf } from '../util/json-schema.ts'
import { checked } from './check.ts'
import { fileSchema, SETTINGS, type FileOf, type Settings } from './settings.ts'

/** A settings file, validated. */
export type Config = FileOf<typeof SETTINGS>

export interface ConfigProblem {
  readonly file: string
  /** Counted from 1; absent in a module. */
  readonly line?: number
  /** The path to the key, e.g. `agents.main.window`. */
  readonly path: string
  readonly message: string
  /** The valid key or value with the smallest spelling difference. */
  readonly nearest?: string
}

export interface CheckedConfig<C = Config> {
  readonly config: C
  readonly problems: readonly ConfigProblem[]
}

interface Parsed {
  readonly value: unknown
  readonly lineOf: (path: readonly PropertyKey[], isKey?: boolean) => number | undefined
}

const MODULES = new Set(['.ts', '.mts', '.js', '.mjs'])

/** Reads and checks a file: `.yaml`, `.yml`, `.json`, or a module whose default export is the config. Never throws for its content. */
export async function checkConfig(file: string): Promise<CheckedConfig> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    return failed(file, `The file cannot be read: ${messageOf(error)}`)
  }
  if (!MODULES.has(extname(file))) return checkConfigText(text, file)
  try {
    const { default: value } = (await import(
      /* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ pathToFileURL(resolve(file)).href
    )) as { default?: unknown }
    return checkParsed({ value, lineOf: () => undefined }, file, SETTINGS)
  } catch (error) {
    return failed(file, `The module cannot be loaded: ${messageOf(error)}`)
  }
}

/** Checks the text of a file. */
export const checkConfigText = (text: string, file: string): CheckedConfig => checkTextOf(SETTINGS, text, file)

export function checkTextOf<S extends Settings>(settings: S, text: string, file: string): CheckedConfig<FileOf<S>> {
  const parsed = parseText(text, file)
  return ('problems' in parsed ? { config: {}, ...parsed } : checkParsed(parsed, file, settings)) as CheckedConfig<
    FileOf<S>
  >
}

/** Reads a file. @throws PlimsollError that names every problem with file, line and the nearest valid key */
export async function loadConfig(file: string): Promise<Config> {
  return validOrThrow(await checkConfig(file), file)
}

/** The same, synchronously, for YAML and JSON: a proxy reloads its file while it runs. */
export function readConfig(file: string): Config {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return validOrThrow(failed(file, `The file cannot be read: ${messageOf(error)}`), file)
  }
  return validOrThrow(checkConfigText(text, file), file)
}

/** The JSON Schema of a settings file, for editors. */
export const configJsonSchema = (settings: Settings = SETTINGS): Record<string, unknown> => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Plimsoll config',
  ...jsonSchemaOf(fileSchema(settings)),
})

export const problemLine = ({ file, line, message }: ConfigProblem): string =>
  `${file}${line === undefined ? '' : `:${line}`}: ${message}`

function validOrThrow({ config, problems }: CheckedConfig, file: string): Config {
  if (problems.length === 0) return config
  throw new PlimsollError('bad-config', problems.map(problemLine).join('\n'), { fields: { file, problems } })
}

const failed = (file: string, message: string): CheckedConfig => ({
  config: {},
  problems: [{ file, path: '', message }],
})

/** Parses YAML; JSON is a part of YAML. */
function parseText(text: string, file: string): Parsed | { readonly problems: readonly ConfigProblem[] } {
  const lines = new LineCounter()
  const document = parseDocument(text.replace(UNQUOTED_MEMORY, '$1"memory:"'), {
    lineCounter: lines,
    merge: true,
    uniqueKeys: true,
  })
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => ({
      file,
      line: lines.linePos(error.pos[0]).line,
      path: '',
      message: error.message.split('\n')[0]!.replace(/ at line \d+.*$/, '.'),
    }))
    return { problems }
  }
  try {
    const value: unknown = document.toJS()
    return {
      value: document.contents === null ? {} : value,
      lineOf: (path, isKey) => lineIn(document, lines, path, isKey),
    }
  } catch (error) {
    return failed(file, `The file cannot be read: ${messageOf(error)}`)
  }
}

/** YAML takes an unquoted `memory:` for the key of a map where a value belongs; written behind these keys it is the URL. */
const UNQUOTED_MEMORY = /^([ \t]*(?:store|artifacts):[ \t]+)memory:(?=[ \t]*(?:#.*)?\r?$)/gm

/** The line of the value (or key) at a path, or of the nearest parent that the file has. */
function lineIn(
  document: Document,
  lines: LineCounter,
  path: readonly PropertyKey[],
  isKey = false,
): number | undefined {
  let node: unknown = document.contents
  let found = rangeOf(node)
  for (const [at, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    const pair = isMap(node)
      ? node.items.find((one) => isPair(one) && isScalar(one.key) && String(one.key.value) === String(step))
      : undefined
    node = isSeq(node) ? node.items[Number(step)] : pair?.value
    const isLast = at === path.length - 1
    found = (isLast && isKey ? rangeOf(pair?.key) : rangeOf(node)) ?? rangeOf(pair?.key) ?? found
  }
  return found ? lines.linePos(found[0]).line : undefined
}

const rangeOf = (node: unknown): Node['range'] | undefined => (node as Partial<Node> | null | undefined)?.range

function checkParsed({ value, lineOf }: Parsed, file: string, settings: Settings): CheckedConfig {
  const { value: config = {}, problems } = checked(fileSchema(settings), value, 'The file', 'text')
  const found = problems.map(({ at, path, message, nearest: near, isKey }) => ({
    file,
    line: lineOf(at, isKey),
    path,
    message,
    nearest: near,
  }))
  return {
    config,
    problems: [...found, ...nameProblems({ value, lineOf }, file), ...strayProblems(config, lineOf, file)],
  }
}

/** Problems with names of policies that are neither a preset nor in this file. */
function nameProblems({ value, lineOf }: Parsed, file: string): ConfigProblem[] {
  const root = recordOf(value) ?? {}
  const presets = [...policies.keys()]
  const all = [...presets, ...Object.keys(recordOf(root['policies']) ?? {})]
  const check = (name: unknown, at: readonly string[], known: readonly string[]): ConfigProblem[] => {
    if (typeof name !== 'string' || known.includes(name)) return []
    const near = nearest(name, known)
    const hint = near === undefined ? `Known: ${known.join(', ')}.` : `Did you mean ${JSON.stringify(near)}?`
    const message = `There is no policy ${JSON.stringify(name)}. ${hint}`
    return [{ file, line: lineOf(at), path: at.join('.'), message, nearest: near }]
  }
  const each = (of: string, key: string, known: readonly string[]): ConfigProblem[] =>
    Object.entries(recordOf(root[of]) ?? {}).flatMap(([name, own]) =>
      check(recordOf(own)?.[key], [of, name, key], known),
    )
  return [
    ...check(root['policy'], ['policy'], all),
    ...each('policies', 'extends', presets),
    ...each('agents', 'policy', all),
  ]
}

/** Problems with keys that only the preset ai-agent reads, in a file with another policy. */
function strayProblems(config: Config, lineOf: Parsed['lineOf'], file: string): ConfigProblem[] {
  const { policy = '', policies: own = {}, defaults, providers = {} } = config
  const base = own[policy]?.extends ?? config.policy
  if (base === undefined || base === 'ai-agent') return []
  const stray = [
    ...(defaults?.toolResponseMaxBytes === undefined ? [] : [['defaults', 'toolResponseMaxBytes']]),
    ...Object.entries(providers).flatMap(([provider, { models = {} }]) =>
      Object.keys(models)
        .filter((model) => models[model]?.tokenizer !== undefined)
        .map((model) => ['providers', provider, 'models', model, 'tokenizer']),
    ),
  ]
  return stray.map((at) => {
    const path = at.join('.')
    const message = `${path} is used by the policy "ai-agent" only, and the policy of this file is ${JSON.stringify(base)}. Remove the key or change the policy.`
    return { file, line: lineOf(at, true), path, message }
  })
}
