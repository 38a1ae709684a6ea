import type { PriceModel, Rates } from '../../core/price.ts'
import type { ModelInfo } from '../../ports/catalogue.ts'
import { bindsThinking, cachingOf, tokenizerOf } from './families.ts'
import { normaliseId } from './normalise.ts'

/**
 * A catalogue entry is one line, so that a new price is a one-line diff:
 * `id|window|input limit|max output|rates|tiers|cache minimum|flags`, rates being `in,out,read,write,write-1h` in dollars per
 * million, tiers `above:rates`, flags `c` canonical, `r` reasoning and `v` images, `p` PDFs, `a` sound, `m` video.
 */
export interface CatalogueEntry {
  readonly id: string
  readonly window: number
  readonly inputLimit?: number
  readonly maxOutputTokens?: number
  readonly rates?: Rates
  readonly tiers?: readonly (Rates & { readonly above: number })[]
  readonly cacheMinimum?: number
  readonly reasoning: boolean
  readonly modalities: readonly string[]
  /** Speaks for every spelling of its normalised id; the others are offers that differ from it. */
  readonly canonical?: true
}

const MODALITY_FLAGS: readonly (readonly [string, string])[] = [
  ['image', 'v'],
  ['pdf', 'p'],
  ['audio', 'a'],
  ['video', 'm'],
]

export function writeEntry(entry: CatalogueEntry): string {
  const flags =
    (entry.canonical === true ? 'c' : '') +
    (entry.reasoning ? 'r' : '') +
    MODALITY_FLAGS.map(([name, flag]) => (entry.modalities.includes(name) ? flag : '')).join('')
  return [
    entry.id,
    entry.window,
    entry.inputLimit ?? '',
    entry.maxOutputTokens ?? '',
    entry.rates === undefined ? '' : writeRates(entry.rates),
    (entry.tiers ?? []).map((tier) => `${tier.above}:${writeRates(tier)}`).join(';'),
    entry.cacheMinimum ?? '',
    flags,
  ].join('|')
}

export function readEntry(line: string): CatalogueEntry | undefined {
  const [id, window, inputLimit, maxOutput, rates, tiers, cacheMinimum, flags = ''] = line.split('|')
  if (id === undefined || id === '' || !(Number(window) > 0)) return undefined
  return {
    id,
    window: Number(window),
    ...(inputLimit !== undefined && inputLimit !== '' && { inputLimit: Number(inputLimit) }),
    ...(maxOutput !== undefined && maxOutput !== '' && { maxOutputTokens: Number(maxOutput) }),
    ...(rates !== undefined && rates !== '' && { rates: readRates(rates) }),
    ...(tiers !== undefined && tiers !== '' && { tiers: tiers.split(';').map(readTier) }),
    ...(cacheMinimum !== undefined && cacheMinimum !== '' && { cacheMinimum: Number(cacheMinimum) }),
    ...(flags.includes('c') && { canonical: true }),
    reasoning: flags.includes('r'),
    modalities: ['text', ...MODALITY_FLAGS.filter(([, flag]) => flags.includes(flag)).map(([name]) => name)],
  }
}

/** What the port promises, from what the line holds and what the id says. */
export function infoOf(entry: CatalogueEntry): ModelInfo {
  const name = normaliseId(entry.id)
  return {
    id: entry.id,
    window: entry.window,
    ...(entry.inputLimit !== undefined && { inputLimit: entry.inputLimit }),
    ...(entry.maxOutputTokens !== undefined && { maxOutputTokens: entry.maxOutputTokens }),
    ...(entry.rates !== undefined && { price: priceOf(entry, entry.rates, name) }),
    tokenizer: tokenizerOf(name),
    reasoning: entry.reasoning,
    modalities: entry.modalities,
    bindsThinking: bindsThinking(name),
  }
}

function priceOf(entry: CatalogueEntry, rates: Rates, name: string): PriceModel {
  return {
    ...rates,
    ...(entry.tiers !== undefined && { tiers: entry.tiers }),
    ...(entry.cacheMinimum !== undefined && { cacheMinimum: entry.cacheMinimum }),
    caching: rates.cacheRead === undefined ? 'none' : cachingOf(name),
  }
}

function writeRates({ input, output, cacheRead, cacheWrite, cacheWriteLong }: Rates): string {
  return [input, output, cacheRead, cacheWrite, cacheWriteLong]
    .map((rate) => rate ?? '')
    .join(',')
    .replace(/,+$/, '')
}

function readRates(text: string): Rates {
  const [input, output, read, write, writeLong] = text.split(',')
  return {
    input: Number(input),
    output: Number(output ?? 0),
    ...(read !== undefined && read !== '' && { cacheRead: Number(read) }),
    ...(write !== undefined && write !== '' && { cacheWrite: Number(write) }),
    ...(writeLong !== undefined && writeLong !== '' && { cacheWriteLong: Number(writeLong) }),
  }
}

function readTier(text: string): Rates & { above: number } {
  const [above, rates] = text.split(':')
  return { above: Number(above), ...readRates(rates ?? '') }
}
