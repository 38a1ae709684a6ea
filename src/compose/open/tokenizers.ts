import { createTokenizerById, vocabularyOf } from '../../drivers/tokenizers/by-id.ts'
import { createTokenizers } from '../../drivers/tokenizers/index.ts'
import type { PlimsollOptions } from '../../options.ts'
import type { Tokenizer } from '../../ports/tokenizer.ts'
import type { Foundation } from './foundation.ts'

/** Vocabularies, loaded where something is counted with them. */
export interface OpenTokenizers {
  /** Of models; undefined where nobody wants them. */
  readonly exact: ReturnType<typeof createTokenizers> | undefined
  /** A design's tokenizers count exactly where their vocabulary is installed. */
  ofDesign(ids: readonly string[]): Promise<(id: string) => Tokenizer>
}

export function openTokenizers({ exactTokens }: PlimsollOptions, { note }: Foundation): OpenTokenizers {
  const exact = exactTokens === false ? undefined : createTokenizers({ onEvent: note })
  const byId = createTokenizerById({ ...(exact !== undefined && { tokenizers: exact }), onEvent: note })
  return {
    exact,
    async ofDesign(ids) {
      const vocabularies = new Set(ids.flatMap((id) => vocabularyOf(id) ?? []))
      await Promise.all([...vocabularies].map(async (name) => exact?.load(name)))
      return byId
    },
  }
}
