import { amendedCatalogue } from '../../drivers/catalogue/catalogue.ts'
import { bundledCatalogue } from '../../drivers/catalogue/bundled.ts'
import { createTokenizerById, vocabularyOf } from '../../drivers/tokenizers/by-id.ts'
import { createTokenizers } from '../../drivers/tokenizers/tokenizers.ts'
import type { Tokenizer } from '../../ports/tokenizer.ts'
import type { Foundation } from './foundation.ts'
import { openSummarizer, type SummarizerChoice } from '../../drivers/open-summarizer.ts'
import { byName } from '../../formats/registry.ts'
import type { PlimsollOptions } from '../../settings/options.ts'
import type { Catalogue } from '../../ports/catalogue.ts'
import { openEmbed } from '../../drivers/open-embed.ts'
import type { Embed } from '../../ports/embed.ts'
import type { Summarizer } from '../../ports/summarizer.ts'

export interface OpenModels {
  /** Loaded on the first call, because it is large. */
  catalogue(): Catalogue
  readonly summarizer: Summarizer | undefined
  readonly extraction: Summarizer | undefined
  readonly canExtract: boolean
  readonly embed: Embed | undefined
}

export function openModels(options: PlimsollOptions): OpenModels {
  let models: Catalogue | undefined
  const catalogue = (): Catalogue =>
    (models ??= amendedCatalogue(options.catalogue ?? bundledCatalogue(), { overrides: options.models ?? {} }))
  const open = (choice: SummarizerChoice | undefined): Summarizer | undefined =>
    openSummarizer(choice, { wires: byName, windowOf: (model) => catalogue().resolve(model).info.window })
  const extractor = options.extraction ?? options.summarizer
  return {
    catalogue,
    // Opened at once, so that wrong settings fail at start-up.
    summarizer: open(options.summarizer),
    extraction: open(options.extraction),
    embed: openEmbed(options.embed),
    canExtract: extractor !== undefined && extractor !== 'mechanical',
  }
}

/** Tokenizer vocabularies, loaded on first use. */
export interface OpenTokenizers {
  /** Tokenizers of models; undefined when switched off. */
  readonly exact: ReturnType<typeof createTokenizers> | undefined
  /** The tokenizers of a design; exact when their vocabulary is installed. */
  ofDesign(ids: readonly string[]): Promise<(id: string) => Tokenizer>
}

export function openTokenizers({ exactTokens }: PlimsollOptions, { note }: Foundation): OpenTokenizers {
  const exact = exactTokens === false ? undefined : createTokenizers({ onEvent: note })
  const byId = createTokenizerById({ tokenizers: exact, onEvent: note })
  return {
    exact,
    async ofDesign(ids) {
      const vocabularies = new Set(ids.flatMap((id) => vocabularyOf(id) ?? []))
      await Promise.all([...vocabularies].map(async (name) => exact?.load(name)))
      return byId
    },
  }
}
