import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parsedJson, recordOf } from '../../core/values.ts'
import { baseUrlsAt } from '../../formats/endpoints.ts'

export interface Launch {
  readonly args: readonly string[]
  /** Variables in addition to those that every command gets. */
  readonly env: Readonly<Record<string, string>>
}

export interface LaunchRequest {
  readonly url: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** A temporary folder, removed when the agent has ended. */
  readonly folder: string
}

/** A coding agent that `plimsoll run` knows how to point at a proxy. */
export interface KnownAgent {
  readonly name: string
  /** The names of its npm packages, to recognise `npx <package>`. */
  readonly packages?: readonly string[]
  /** A sentence for the user: how the agent is pointed at the proxy. */
  readonly how: string
  readonly launch: (request: LaunchRequest) => Launch
}

/** The base URL variables of agents and SDKs, pointed at the proxy. Every command gets them. */
export const baseUrls = (url: string): Record<string, string> => Object.fromEntries(baseUrlsAt(url, true))

const unchanged = ({ args }: LaunchRequest): Launch => ({ args, env: {} })

export const KNOWN_AGENTS: readonly KnownAgent[] = [
  { name: 'claude', packages: ['@anthropic-ai/claude-code'], how: 'ANTHROPIC_BASE_URL', launch: unchanged },
  {
    name: 'codex',
    packages: ['@openai/codex'],
    how: 'the option -c model_provider=plimsoll, with OPENAI_API_KEY or the login of Codex',
    launch: ({ url, args, env }) => {
      // The user has chosen a provider: do not override it.
      if (args.some((arg) => arg.includes('model_provider'))) return { args, env: {} }
      const key = (env['OPENAI_API_KEY'] ?? '') === '' ? 'requires_openai_auth=true' : 'env_key="OPENAI_API_KEY"'
      const provider = `{name="plimsoll",base_url="${url}/openai/v1",wire_api="responses",${key}}`
      return {
        args: ['-c', 'model_provider="plimsoll"', '-c', `model_providers.plimsoll=${provider}`, ...args],
        env: {},
      }
    },
  },
  {
    name: 'gemini',
    packages: ['@google/gemini-cli'],
    how: 'GOOGLE_GEMINI_BASE_URL; needs GEMINI_API_KEY, since a Google login goes to another API',
    launch: unchanged,
  },
  {
    name: 'opencode',
    packages: ['opencode-ai'],
    how: 'OPENCODE_CONFIG_CONTENT with the base URLs of the providers anthropic, openai and google',
    launch: ({ url, args, env }) => ({
      args,
      env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(url, env['OPENCODE_CONFIG_CONTENT'])) },
    }),
  },
  {
    name: 'pi',
    packages: ['@earendil-works/pi-coding-agent', '@mariozechner/pi-coding-agent'],
    how: 'the option --extension with the base URLs of the providers anthropic, openai and google',
    launch: ({ url, args, folder }) => {
      const extension = join(folder, 'plimsoll.js')
      const calls = Object.entries(providerUrls(url, '')).map(
        ([name, baseUrl]) => `  pi.registerProvider(${JSON.stringify(name)}, ${JSON.stringify({ baseUrl })})\n`,
      )
      writeFileSync(extension, `export default function (pi) {\n${calls.join('')}}\n`)
      return { args: ['--extension', extension, ...args], env: {} }
    },
  },
  {
    name: 'aider',
    how: 'OPENAI_API_BASE and ANTHROPIC_API_BASE',
    launch: ({ url, args }) => ({ args, env: { ANTHROPIC_API_BASE: `${url}/anthropic` } }),
  },
]

/** By the provider names that several agents share. Some SDKs expect the version in the base URL, others add it. */
const providerUrls = (url: string, anthropicVersion: string): Record<string, string> => ({
  anthropic: `${url}/anthropic${anthropicVersion}`,
  openai: `${url}/openai/v1`,
  google: `${url}/gemini/v1beta`,
})

function opencodeConfig(url: string, given: string | undefined): object {
  // Invalid JSON is passed on as it is, so that opencode reports it.
  const config = recordOf(parsedJson(given ?? '')) ?? {}
  const provider = { ...recordOf(config['provider']) }
  for (const [name, baseURL] of Object.entries(providerUrls(url, '/v1'))) {
    const own = recordOf(provider[name])
    provider[name] = { ...own, options: { ...recordOf(own?.['options']), baseURL } }
  }
  return { ...config, provider }
}

/** A command and its arguments, and the name by which its agent is recognised. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
}

const RUNNERS = new Set(['npx', 'bunx', 'pnpx'])

/** The command with the arguments and variables that its agent needs; an unknown command is returned unchanged. */
export function launchOf(
  { file, args }: Command,
  request: Omit<LaunchRequest, 'args'>,
): { readonly command: Command; readonly env: Readonly<Record<string, string>>; readonly agent?: KnownAgent } {
  const isRunner = RUNNERS.has(nameOf(file))
  const at = isRunner ? args.findIndex((arg) => !arg.startsWith('-')) : -1
  const started = isRunner ? (args[at] ?? '') : file
  const agent = KNOWN_AGENTS.find((known) => isCalled(known, started))
  if (agent === undefined) return { command: { file, args }, env: {} }
  const launch = agent.launch({ ...request, args: args.slice(at + 1) })
  return { command: { file, args: [...args.slice(0, at + 1), ...launch.args] }, env: launch.env, agent }
}

const isCalled = (agent: KnownAgent, started: string): boolean =>
  nameOf(started) === agent.name || agent.packages?.includes(started.replace(/(?<=.)@[^@/]+$/, '')) === true

const nameOf = (file: string): string => basename(file).replace(/\.(exe|cmd|bat|js|mjs)$/i, '')
