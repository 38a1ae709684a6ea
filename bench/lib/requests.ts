import { join } from 'node:path'
import type { Conversation } from '../../src/core/conversation.ts'
import { showsWholePrompt } from '../../src/core/count.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createTokenizers } from '../../src/drivers/tokenizers/tokenizers.ts'
import { codecs, framingOfWire } from '../../src/formats/registry.ts'
import { createMeter } from '../../src/meter/index.ts'
import { readLines } from './shared.ts'
import { quantile } from './statistics.ts'
import { percent, row, title } from './table.ts'

interface ExactRow {
  readonly model: string
  readonly input_tokens: number
  readonly flags: readonly string[]
  readonly request: Readonly<Record<string, unknown>>
}

interface Counted {
  readonly kind: string
  readonly tools: number
  readonly real: number
  readonly tokens: number
  readonly low: number
  readonly high: number
}

/** From so many tokens on a relative error says something where the tokenizer is not public. */
const LARGE = 1_000

const FORMATS = {
  'openai-chat': 'openai-chat',
  'openai-responses': 'openai-responses',
  anthropic: 'anthropic-messages',
  google: 'gemini',
} as const

/** Whole requests as they were sent, small and cold, against the provider's count of them. */
export async function benchRequests(data: string): Promise<void> {
  title("Whole recorded requests against the provider's count (exact tokenizer where there is one, nothing learned)")
  row('wire, kind', ['requests', 'exact', 'median error', 'tokens', 'p90', 'in interval', `from ${LARGE}`])
  const tokenizers = createTokenizers()
  await Promise.all(['o200k', 'cl100k', 'gemini'].map((family) => tokenizers.load(family)))
  const meter = createMeter({ framingOf: framingOfWire, catalogue: bundledCatalogue(), tokenizerFor: tokenizers.get })
  for (const [wire, format] of Object.entries(FORMATS)) {
    const codec = codecs.get(format)!
    const rows = readLines<ExactRow>(join(data, `transcripts/token-usage/exact-${wire}.jsonl.gz`))
    const counted = rows.map(({ model, request, flags, input_tokens: real }): Counted => {
      const conversation = codec.decode(JSON.stringify(request))
      const { tokens, low, high, unsure = 0 } = meter.measure(model, conversation, 0).count
      return {
        kind: kindOf(flags, conversation),
        tools: conversation.tools.length,
        real,
        tokens,
        low,
        high: high + unsure,
      }
    })
    for (const kind of [...new Set(counted.map((one) => one.kind))].sort()) {
      const own = counted.filter((one) => one.kind === kind)
      tell(`${wire}, ${kind}`, own)
      if (kind !== 'tools') continue
      for (const [name, holds] of TOOL_GROUPS) {
        const some = own.filter(({ tools }) => holds(tools))
        if (some.length > 0) tell(`${wire}, ${name}`, some)
      }
    }
  }
}

const TOOL_GROUPS: readonly (readonly [string, (tools: number) => boolean])[] = [
  ['1 tool', (tools) => tools === 1],
  ['2 to 5 tools', (tools) => tools > 1 && tools <= 5],
  ['more tools', (tools) => tools > 5],
]

function kindOf(flags: readonly string[], conversation: Conversation): string {
  if (!showsWholePrompt(conversation)) return 'part unseen'
  const names = [
    ...(flags.includes('structured_output') ? ['schema'] : []),
    ...(flags.includes('tools') ? ['tools'] : []),
    ...(flags.includes('reasoning_history') ? ['thoughts'] : []),
  ]
  return names.length === 0 ? 'text' : names.join(' + ')
}

function tell(label: string, own: readonly Counted[]): void {
  const errors = own.map(({ real, tokens }) => Math.abs(tokens / real - 1))
  const large = own.filter(({ real }) => real >= LARGE).map(({ real, tokens }) => Math.abs(tokens / real - 1))
  const inside = own.filter(({ real, low, high }) => low <= real && real <= high).length
  const off = own.map(({ real, tokens }) => Math.abs(tokens - real))
  row(label, [
    String(own.length),
    String(own.filter(({ real, tokens }) => tokens === real).length),
    percent(quantile(errors, 0.5)),
    String(quantile(off, 0.5)),
    percent(quantile(errors, 0.9)),
    percent(inside / own.length),
    large.length === 0 ? '' : `${percent(quantile(large, 0.5))} (${large.length})`,
  ])
}
