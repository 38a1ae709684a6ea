import { exactly } from '../../core/count.ts'
import type { EventBody } from '../../core/events.ts'
import type { Tokenizer } from '../../ports/tokenizer.ts'
import { loadGemma, loadOpenModel, OPEN_MODEL_PACKAGES } from './open-models.ts'
import { loadTiktoken } from './tiktoken.ts'

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

const LOADERS: Readonly<Record<string, Loader>> = {
  o200k: () => loadTiktoken('o200k'),
  cl100k: () => loadTiktoken('cl100k'),
  gemini: () => loadGemma(),
  ...Object.fromEntries(Object.keys(OPEN_MODEL_PACKAGES).map((family) => [family, () => loadOpenModel(family)])),
}

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
