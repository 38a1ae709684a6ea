import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PlimsollError } from '../core/errors.ts'
import { policies } from '../engine/presets/index.ts'
import type { Config } from './config.ts'
import { nearest } from '../core/values.ts'
import { locateValue, parseText, type Parsed } from './schema/parse.ts'
import { CONFIG } from './schema/shape.ts'
import { validate, type ConfigProblem, type Located } from './schema/validate.ts'

export interface CheckedConfig {
  readonly config: Config
  readonly problems: readonly ConfigProblem[]
}

const MODULES = new Set(['.ts', '.mts', '.js', '.mjs'])

/** Reads and checks a file: `.yaml`, `.yml`, `.json`, or a module whose default export is the config. Never throws for what is in it. */
export async function checkConfig(file: string): Promise<CheckedConfig> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    return failed(file, `The file cannot be read: ${messageOf(error)}`)
  }
  if (!MODULES.has(extname(file))) return checkConfigText(text, file)
  try {
    const loaded = (await import(pathToFileURL(resolve(file)).href)) as { default?: unknown }
    return checkParsed({ root: locateValue(loaded.default, text), problems: [] }, file)
  } catch (error) {
    return failed(file, `The module cannot be loaded: ${messageOf(error)}`)
  }
}

/** The same for text that is at hand. */
export const checkConfigText = (text: string, file: string): CheckedConfig => checkParsed(parseText(text, file), file)

/** The config, or one error that names every problem with file, line and the nearest valid key. */
export async function loadConfig(file: string): Promise<Config> {
  return soundOrThrow(await checkConfig(file), file)
}

/** The same at once, for YAML and JSON: a proxy reads its file again while it runs. */
export function readConfig(file: string): Config {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return soundOrThrow(failed(file, `The file cannot be read: ${messageOf(error)}`), file)
  }
  return soundOrThrow(checkConfigText(text, file), file)
}

function soundOrThrow({ config, problems }: CheckedConfig, file: string): Config {
  if (problems.length === 0) return config
  throw new PlimsollError('bad-config', problems.map(problemLine).join('\n'), { fields: { file, problems } })
}

export const problemLine = ({ file, line, message }: ConfigProblem): string =>
  `${file}${line === undefined ? '' : `:${line}`}: ${message}`

function checkParsed({ root, problems }: Parsed, file: string): CheckedConfig {
  if (root === undefined) return { config: {}, problems }
  const { value, problems: found } = validate(root, CONFIG, file)
  const config: Config = value ?? {}
  return { config, problems: [...found, ...nameProblems(root, file), ...strayProblems(config, root, file)] }
}

/** Keys of ai-agent's that only its preset reads, beside another policy. */
function strayProblems(config: Config, root: Located, file: string): ConfigProblem[] {
  const base = config.policies?.[config.policy ?? '']?.extends ?? config.policy
  if (base === undefined || base === 'ai-agent') return []
  const stray = [
    ...(config.defaults?.toolResponseMaxBytes === undefined ? [] : ['defaults.toolResponseMaxBytes']),
    ...Object.entries(config.providers ?? {}).flatMap(([provider, { models = {} }]) =>
      Object.keys(models)
        .filter((model) => models[model]?.tokenizer !== undefined)
        .map((model) => `providers.${provider}.models.${model}.tokenizer`),
    ),
  ]
  return stray.map((path) => {
    const line = childrenOf(root)?.get(path.split('.')[0]!)?.line
    const message = `${path} is read by the policy ai-agent only, and this file asks for ${JSON.stringify(base)}.`
    return { file, ...(line !== undefined && { line }), path, message }
  })
}

const failed = (file: string, message: string): CheckedConfig => ({
  config: {},
  problems: [{ file, path: '', message }],
})
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Names of policies that are neither a preset nor in this file. */
function nameProblems(root: Located, file: string): ConfigProblem[] {
  const own = [...(childrenOf(childOf(root, 'policies'))?.keys() ?? [])]
  const presets = [...policies.keys()]
  const check = (node: Located | undefined, path: string, known: readonly string[]): ConfigProblem[] => {
    if (typeof node?.value !== 'string' || known.includes(node.value)) return []
    const near = nearest(node.value, known)
    const hint = near === undefined ? ` Known: ${known.join(', ')}.` : ` Did you mean ${JSON.stringify(near)}?`
    return [
      {
        file,
        ...(node.line !== undefined && { line: node.line }),
        path,
        message: `There is no policy ${JSON.stringify(node.value)}.${hint}`,
        ...(near !== undefined && { nearest: near }),
      },
    ]
  }
  const each = (group: string, key: string, known: readonly string[]): ConfigProblem[] =>
    [...(childrenOf(childOf(root, group)) ?? [])].flatMap(([name, entry]) =>
      check(childOf(entry.value, key), `${group}.${name}.${key}`, known),
    )
  return [
    ...check(childOf(root, 'policy'), 'policy', [...presets, ...own]),
    ...each('policies', 'extends', presets),
    ...each('agents', 'policy', [...presets, ...own]),
  ]
}

const childrenOf = (node: Located | undefined) => (node?.value instanceof Map ? node.value : undefined)
const childOf = (node: Located | undefined, key: string): Located | undefined => childrenOf(node)?.get(key)?.value
