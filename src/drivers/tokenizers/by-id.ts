import { messageOf } from '../../core/values.ts'
import type { EventBody } from '../../core/events.ts'
import { estimateTokens } from '../../meter/estimator/estimate.ts'
import type { Tokenizer } from '../../ports/tokenizer.ts'
import { normaliseId, tokenizerOf } from '../catalogue/entry.ts'
import type { Tokenizers } from './tokenizers.ts'

export interface TokenizerByIdOptions {
  /** Exact tokenizers that are loaded; without them the estimator counts for the family. */
  readonly tokenizers?: Pick<Tokenizers, 'get'>
  readonly onEvent?: (event: EventBody) => void
}

/** Characters / 4: what is left when nothing better is known. */
export const approximate: Tokenizer = {
  name: 'approximate',
  count(text) {
    const tokens = Math.ceil(text.length / 4)
    return { tokens, low: Math.floor(tokens / 2), high: tokens * 3, source: 'estimate' }
  },
}

/**
 * Tokenizers by the ids of the ai-agent design: `tiktoken:<model or encoding>`, `anthropic` or `claude:…`, `gemini`,
 * `google:gemini`, `google-gemini`, `approximate`. An unknown id, and a tokenizer that fails, give `approximate` with a warning.
 */
export function createTokenizerById(options: TokenizerByIdOptions = {}): (id: string) => Tokenizer {
  const { tokenizers, onEvent = () => {} } = options
  const known = new Map<string, Tokenizer>()
  const warn = (message: string): void => onEvent({ type: 'warning', topic: 'tokenizer', message })

  function make(id: string): Tokenizer {
    const family = familyOf(id)
    if (family === 'approximate') return approximate
    if (family !== undefined) return guarded(id, family)
    warn(`Unknown tokenizer "${id}"; counting characters / 4.`)
    return approximate
  }

  function guarded(id: string, family: string): Tokenizer {
    let broken = false
    return {
      name: id,
      count(text) {
        if (broken) return approximate.count(text)
        try {
          const exact = tokenizers?.get(family)
          if (exact !== undefined) return exact.count(text)
          const { kind: _, ...count } = estimateTokens(text, family)
          return count
        } catch (error) {
          broken = true
          warn(`Tokenizer "${id}" failed (${messageOf(error)}); counting characters / 4.`)
          return approximate.count(text)
        }
      },
    }
  }

  return (id) => {
    const made = known.get(id) ?? make(id)
    known.set(id, made)
    return made
  }
}

/** The vocabulary behind an id, to be loaded before it is asked; undefined for ids that need none. */
export function vocabularyOf(id: string): string | undefined {
  const family = familyOf(id)
  return family === 'approximate' ? undefined : family
}

/** The tokenizer family behind an id; `tiktoken` with an unknown model is taken for cl100k, as the design does. */
function familyOf(id: string): string | undefined {
  const name = id.trim().toLowerCase()
  if (name === 'approximate') return 'approximate'
  if (name === 'anthropic' || name === 'claude' || name.startsWith('claude:') || name.startsWith('anthropic:'))
    return 'claude'
  if (/^(gemini|google:gemini|google-gemini)/.test(name)) return 'gemini'
  if (!name.startsWith('tiktoken')) return undefined
  const asked = name.slice('tiktoken'.length).replace(/^:/, '')
  if (/^(o200k|cl100k)/.test(asked)) return asked.startsWith('o200k') ? 'o200k' : 'cl100k'
  return tokenizerOf(normaliseId(asked)) === 'o200k' ? 'o200k' : 'cl100k'
}
