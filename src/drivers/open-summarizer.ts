import type { Codec } from '../core/codec.ts'
import type { Conversation } from '../core/conversation.ts'
import { PlimsollError } from '../core/errors.ts'
import type { Item } from '../core/item.ts'
import { boundedText } from './bounded-text.ts'
import { type Summarizer, summaryAnswerOf, type SummaryRequest } from '../ports/summarizer.ts'

/** A summary is never longer. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Error bodies are cut to this length. */
const ERROR_CHARACTERS = 300

/** A conversation of no wire: every codec writes it in its own. */
function conversationOf(model: string, { system, prompt, maxOutputTokens }: SummaryRequest): Conversation {
  const item = (id: string, kind: 'instruction' | 'user', text: string): Item => ({
    id,
    kind,
    role: kind === 'user' ? 'user' : 'system',
    text,
    message: kind === 'user' ? 0 : -1,
  })
  return {
    format: 'plain',
    head: [item('s0', 'instruction', system)],
    items: [item('m0', 'user', prompt)],
    tools: [],
    settings: { model, maxOutputTokens, stream: false, reasoning: false },
    source: { format: 'plain', value: undefined },
  }
}

/** A driver, a model behind HTTP, a function from prompt to text, or `mechanical` for no model. */
export type SummarizerChoice =
  | Summarizer
  | SummarizerSettings
  | ((prompt: string) => string | Promise<string>)
  | 'mechanical'

/** A model that writes summaries, as data. */
export interface SummarizerSettings {
  /** The name of its wire. */
  readonly format: string
  readonly model: string
  /** @default the vendor's own */
  readonly baseUrl?: string
  /** @default the vendor's variable in the environment */
  readonly apiKey?: string
  /** @default the catalogue's */
  readonly window?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly fetch?: typeof fetch
}

/** The parts of a wire that are needed to call its models. */
export interface SummarizerWire {
  readonly codec: Codec
  readonly routes: { path(model: string, stream: boolean): string }
  readonly endpoint: {
    readonly url: string
    /** The end of base URLs, with which paths begin. */
    readonly sdkPath: string
    readonly isLocal: boolean
    readonly keys: readonly string[]
    headers(key: string | undefined, variable?: string): Readonly<Record<string, string>>
  }
}

export interface OpenSummarizerDeps {
  readonly wires: ReadonlyMap<string, SummarizerWire>
  /** The window of a model by its name. */
  readonly windowOf: (model: string) => number
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** The window of a model behind a function; every current model has at least this one. */
const FUNCTION_WINDOW = 128_000

export function openSummarizer(choice: SummarizerChoice | undefined, deps: OpenSummarizerDeps): Summarizer | undefined {
  if (choice === undefined || choice === 'mechanical') return undefined
  if (typeof choice === 'object') return 'summarise' in choice ? choice : overHttp(choice, deps)
  return {
    name: 'function',
    window: FUNCTION_WINDOW,
    summarise: async ({ system, prompt }) => ({ text: await choice(`${system}\n\n${prompt}`), stop: 'end' }),
  }
}

/** A model behind HTTP, on any wire. One request per summary; rejects without an answer. */
function overHttp(
  settings: SummarizerSettings,
  { wires, windowOf, env = process.env }: OpenSummarizerDeps,
): Summarizer {
  const { format, model, headers = {}, fetch: send = globalThis.fetch } = settings
  const wire = wires.get(format)
  if (wire === undefined) {
    throw new PlimsollError('bad-config', `The summarizer's format ${JSON.stringify(format)} is not known.`, {
      advice: `Known formats: ${[...wires.keys()].join(', ')}.`,
    })
  }
  const { codec, routes, endpoint } = wire
  const variable = endpoint.keys.find((name) => (env[name] ?? '') !== '')
  const key = settings.apiKey ?? env[variable ?? '']
  // Local servers need no key; vendors do.
  if (key === undefined && settings.baseUrl === undefined && !endpoint.isLocal) {
    throw new PlimsollError('bad-config', `There is no key for the summarizer ${model}.`, {
      advice: `Set ${endpoint.keys[0]}, or give apiKey.`,
    })
  }
  const baseUrl = (settings.baseUrl ?? endpoint.url + endpoint.sdkPath).replace(/\/+$/, '')
  const url = baseUrl + routes.path(model, false).slice(endpoint.sdkPath.length)
  const credentials = endpoint.headers(key ?? 'none', settings.apiKey === undefined ? variable : undefined)
  return {
    name: `${codec.format} ${model}`,
    model,
    window: settings.window ?? windowOf(model),
    async summarise(request) {
      const response = await send(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...credentials, ...headers },
        body: codec.encode(conversationOf(model, request)).text,
        signal: request.signal,
      })
      const text = await boundedText(response, MAX_ANSWER_BYTES)
      if (response.ok) return summaryAnswerOf(codec.readResponse(JSON.parse(text)))
      const { status } = response
      throw new PlimsollError('upstream', `The summarizer answers ${status}: ${text.slice(0, ERROR_CHARACTERS)}`, {
        retryable: status === 429 || status >= 500,
        fields: { status },
      })
    },
  }
}
