import { type Count, exactly } from '../../core/count.ts'
import type { EventBody } from '../../core/events.ts'
import { createMeter } from '../../meter/meter.ts'
import type { Catalogue } from '../../ports/catalogue.ts'
import type { Tokenizer } from '../../ports/tokenizer.ts'

export interface TokenizersOptions {
  readonly onEvent?: (event: EventBody) => void
}

/** Exact tokenizers, loaded when somebody asks for them: a vocabulary costs a quarter of a second and tens of megabytes. */
export interface Tokenizers {
  /** The tokenizer of a family if it is loaded; give this to `createMeter`. */
  readonly get: (family: string) => Tokenizer | undefined
  /** Loads it. False when no installed package carries the vocabulary; the estimator then goes on counting. */
  load(family: string): Promise<boolean>
}

type Loader = () => Promise<((text: string) => number) | undefined>

export function createTokenizers(options: TokenizersOptions = {}): Tokenizers {
  const { onEvent = () => {} } = options
  const loaded = new Map<string, Tokenizer>()
  const pending = new Map<string, Promise<boolean>>()

  async function loadOnce(family: string): Promise<boolean> {
    const loader = LOADERS[family]
    if (loader === undefined) return false
    try {
      const count = await loader()
      if (count !== undefined) {
        loaded.set(family, { name: family, count: (text) => exactly(count(text)) })
        return true
      }
      onEvent({
        type: 'warning',
        topic: 'tokenizer-missing',
        message: `No installed package carries the vocabulary of ${family}; counts are estimates.`,
      })
    } catch (error) {
      onEvent({
        type: 'degraded',
        what: `tokenizer ${family}`,
        cause: error instanceof Error ? error.message : String(error),
      })
    }
    return false
  }

  return {
    get: (family) => loaded.get(family),
    load(family) {
      const running = pending.get(family) ?? loadOnce(family)
      pending.set(family, running)
      return running
    },
  }
}

export type TiktokenEncoding = 'o200k' | 'cl100k'

const LOADERS: Readonly<Record<string, Loader>> = {
  o200k: () => loadTiktoken('o200k'),
  cl100k: () => loadTiktoken('cl100k'),
}

/**
 * No word is as long. The package takes a time that grows with the square of a run without a boundary, so a longer one is counted in parts; a
 * cut costs at most a token or two.
 */
const LONG_RUN = /[\p{L}\p{M}]{128}|[^\s\p{L}\p{N}]{128}|\s{128}/gu

/** Markup of a vocabulary is plain text in a prompt. */
const PLAIN = { disallowedSpecial: new Set<string>() }

/** The optional package `gpt-tokenizer`; undefined where that is not installed. */
export async function loadTiktoken(encoding: TiktokenEncoding): Promise<((text: string) => number) | undefined> {
  const loading =
    encoding === 'o200k' ? import('gpt-tokenizer/encoding/o200k_base') : import('gpt-tokenizer/encoding/cl100k_base')
  const library = await loading.catch(() => undefined)
  if (library === undefined) return undefined
  const { countTokens } = library
  return (text) => {
    let tokens = 0
    let from = 0
    for (const { 0: run, index } of text.matchAll(LONG_RUN)) {
      const end = index + run.length
      tokens += countTokens(text.slice(from, end), PLAIN)
      from = end
    }
    return tokens + countTokens(text.slice(from), PLAIN)
  }
}

export interface CountedText extends Count {
  readonly model: string
  /** Tokenizer family. */
  readonly family: string
  readonly bytes: number
}

/** Counts one text for a model as well as this installation can: with the exact tokenizer where its vocabulary is there. */
export async function countText(
  catalogue: Pick<Catalogue, 'resolve'>,
  model: string,
  text: string,
  tokenizers: Tokenizers = createTokenizers(),
): Promise<CountedText> {
  const meter = createMeter({ catalogue, tokenizerFor: tokenizers.get })
  const family = meter.familyOf(model)
  await tokenizers.load(family)
  return { model, family, bytes: Buffer.byteLength(text), ...meter.countText(model, text) }
}
