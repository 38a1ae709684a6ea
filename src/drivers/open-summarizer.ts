import type { Codec } from '../core/codec.ts'
import { PlimsollError } from '../core/errors.ts'
import type { Summarizer } from '../ports/summarizer.ts'
import { httpSummarizer } from './http-summarizer.ts'

/** A driver, a model behind HTTP, a function from prompt to text, or `mechanical` for none. */
export type SummarizerChoice =
  | Summarizer
  | SummarizerSettings
  | ((prompt: string) => string | Promise<string>)
  | 'mechanical'

/** A model that writes summaries, as data. */
export interface SummarizerSettings {
  /** Its wire: `anthropic-messages`, `openai-chat`, `openai-responses` or `gemini`. */
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

export interface OpenSummarizerDeps {
  readonly codecs: ReadonlyMap<string, Codec>
  /** The window of a model by its name. */
  readonly windowOf: (model: string) => number
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A window that every current model has; a function says nothing about its own. */
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

interface Vendor {
  readonly baseUrl: string
  readonly keys: readonly string[]
  readonly path: (model: string) => string
  readonly headers: (key: string) => Readonly<Record<string, string>>
}

const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` })

const VENDORS: Readonly<Record<string, Vendor>> = {
  'anthropic-messages': {
    baseUrl: 'https://api.anthropic.com',
    keys: ['ANTHROPIC_API_KEY'],
    path: () => '/v1/messages',
    headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  },
  'openai-chat': {
    baseUrl: 'https://api.openai.com/v1',
    keys: ['OPENAI_API_KEY'],
    path: () => '/chat/completions',
    headers: bearer,
  },
  'openai-responses': {
    baseUrl: 'https://api.openai.com/v1',
    keys: ['OPENAI_API_KEY'],
    path: () => '/responses',
    headers: bearer,
  },
  gemini: {
    baseUrl: 'https://generativelanguage.googleapis.com',
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    path: (model) => `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
    headers: (key) => ({ 'x-goog-api-key': key }),
  },
}

function overHttp(
  settings: SummarizerSettings,
  { codecs, windowOf, env = process.env }: OpenSummarizerDeps,
): Summarizer {
  const { format, model, headers = {}, fetch } = settings
  const codec = codecs.get(format)
  const vendor = VENDORS[format]
  if (codec === undefined || vendor === undefined) {
    throw new PlimsollError('bad-config', `The summariser's format ${JSON.stringify(format)} is not known.`, {
      advice: `Known formats: ${Object.keys(VENDORS).join(', ')}.`,
    })
  }
  const key =
    settings.apiKey ?? vendor.keys.map((name) => env[name]).find((value) => value !== undefined && value !== '')
  // A local server wants no key; a vendor's own address does.
  if (key === undefined && settings.baseUrl === undefined) {
    throw new PlimsollError('bad-config', `There is no key for the summariser ${model}.`, {
      advice: `Set ${vendor.keys[0]}, or give apiKey.`,
    })
  }
  const baseUrl = (settings.baseUrl ?? vendor.baseUrl).replace(/\/+$/, '')
  return httpSummarizer({
    codec,
    model,
    url: baseUrl + vendor.path(model),
    headers: { ...vendor.headers(key ?? 'none'), ...headers },
    window: settings.window ?? windowOf(model),
    ...(fetch !== undefined && { fetch }),
  })
}
