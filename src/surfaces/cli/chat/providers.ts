import { PlimsollError } from '../../../core/errors.ts'
import { anthropicWire } from '../../../formats/anthropic-messages/chat.ts'
import { geminiWire } from '../../../formats/gemini/chat.ts'
import { openaiWire } from '../../../formats/openai-chat/chat.ts'
import type { ChatWire } from './wires/wire.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Provider {
  readonly name: ProviderName
  readonly wire: ChatWire
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  /** Where the server's window is known better than by the model's name. */
  readonly window?: number
}

export const PROVIDERS = ['anthropic', 'openai', 'gemini', 'ollama', 'compatible', 'demo'] as const
export type ProviderName = (typeof PROVIDERS)[number]

export interface ProviderWish {
  readonly provider?: ProviderName
  readonly model?: string
  readonly baseUrl?: string
}

const set = (env: Environment, ...names: readonly string[]): string | undefined =>
  names.map((name) => env[name]).find((value) => value !== undefined && value !== '')

/** Without a wish: the first provider that has a key, else the demo model. */
export function chooseProvider(wish: ProviderWish, env: Environment): ProviderName {
  if (wish.provider !== undefined) return wish.provider
  if (wish.baseUrl !== undefined) return 'compatible'
  const byModel = wish.model === undefined ? undefined : providerOfModel(wish.model)
  if (byModel !== undefined && hasKey(byModel, env)) return byModel
  return (
    (['anthropic', 'openai', 'gemini'] as const).find((name) => hasKey(name, env)) ??
    (set(env, 'OLLAMA_HOST', 'OLLAMA_MODEL') === undefined ? 'demo' : 'ollama')
  )
}

const KEYS: Readonly<Record<'anthropic' | 'openai' | 'gemini', readonly string[]>> = {
  anthropic: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
  openai: ['OPENAI_API_KEY'],
  gemini: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
}

const hasKey = (name: keyof typeof KEYS, env: Environment): boolean => set(env, ...KEYS[name]) !== undefined

function providerOfModel(model: string): keyof typeof KEYS | undefined {
  if (/claude/i.test(model)) return 'anthropic'
  if (/gemini/i.test(model)) return 'gemini'
  return /^(?:gpt|o\d|chatgpt)/i.test(model) ? 'openai' : undefined
}

/** A provider of the environment. The demo is started elsewhere; its address comes in as `baseUrl`. */
export function openProvider(wish: ProviderWish & { readonly provider: ProviderName }, env: Environment): Provider {
  const { provider, baseUrl } = wish
  const model = (...fallbacks: readonly (string | undefined)[]): string => {
    const found = [wish.model, ...fallbacks].find((name) => name !== undefined && name !== '')
    if (found !== undefined) return found
    throw new PlimsollError('bad-config', `No model is named for ${provider}.`, { advice: 'Add --model.' })
  }
  const address = (fallback: string, ...names: readonly string[]): string =>
    trimmed(baseUrl ?? set(env, ...names) ?? fallback)
  switch (provider) {
    case 'anthropic': {
      const key = keyOf(provider, env)
      const bearer = set(env, 'ANTHROPIC_API_KEY') === undefined
      return {
        name: provider,
        wire: anthropicWire,
        baseUrl: address('https://api.anthropic.com', 'ANTHROPIC_BASE_URL'),
        headers: {
          'anthropic-version': '2023-06-01',
          ...(bearer ? { authorization: `Bearer ${key}` } : { 'x-api-key': key }),
        },
        model: model(env['ANTHROPIC_MODEL'], 'claude-sonnet-4-5'),
      }
    }
    case 'openai':
      return {
        name: provider,
        wire: openaiWire({ capField: 'max_completion_tokens' }),
        baseUrl: address('https://api.openai.com/v1', 'OPENAI_BASE_URL'),
        headers: { authorization: `Bearer ${keyOf(provider, env)}` },
        model: model(env['OPENAI_MODEL'], 'gpt-5'),
      }
    case 'gemini':
      return {
        name: provider,
        wire: geminiWire,
        baseUrl: address('https://generativelanguage.googleapis.com', 'GOOGLE_GEMINI_BASE_URL', 'GEMINI_BASE_URL'),
        headers: { 'x-goog-api-key': keyOf(provider, env) },
        model: model(env['GEMINI_MODEL'], 'gemini-2.5-pro'),
      }
    case 'ollama': {
      const host = set(env, 'OLLAMA_HOST') ?? '127.0.0.1:11434'
      return {
        name: provider,
        wire: openaiWire({ capField: 'max_tokens' }),
        baseUrl: `${trimmed(baseUrl ?? (/^https?:/.test(host) ? host : `http://${host}`)).replace(/\/v1$/, '')}/v1`,
        // Ollama itself ignores it; gateways in front of it want to see one.
        headers: { authorization: 'Bearer ollama' },
        model: model(env['OLLAMA_MODEL']),
        // Ollama cuts what does not fit without a word, and 4,096 is what it gives a model when nobody says otherwise.
        window: Number(set(env, 'OLLAMA_CONTEXT_LENGTH') ?? 4_096),
      }
    }
    case 'compatible': {
      const key = set(env, 'OPENAI_API_KEY')
      return {
        name: provider,
        wire: openaiWire({ capField: 'max_tokens' }),
        baseUrl: address('http://127.0.0.1:8080/v1', 'OPENAI_BASE_URL'),
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
        model: model(env['OPENAI_MODEL']),
      }
    }
    case 'demo':
      return {
        name: provider,
        wire: anthropicWire,
        baseUrl: baseUrl ?? '',
        headers: { 'x-api-key': 'demo', 'anthropic-version': '2023-06-01' },
        model: model('claude-sonnet-4-5'),
      }
  }
}

const trimmed = (url: string): string => url.replace(/\/+$/, '')

function keyOf(provider: keyof typeof KEYS, env: Environment): string {
  const key = set(env, ...KEYS[provider])
  if (key !== undefined) return key
  throw new PlimsollError('bad-config', `There is no key for ${provider}.`, {
    advice: `Set ${KEYS[provider].join(' or ')}, or try plimsoll chat --provider demo, which needs none.`,
  })
}
