import type { Item } from '../../../core/item.ts'
import { cutHead, cutHeadBytes, cutTail, byteLength } from '../../intake/text.ts'

/** Of a result, a summarizer sees its two ends: the middle seldom changes what is worth carrying on. */
const RESULT_CHARACTERS = 1_600
const ARGUMENT_CHARACTERS = 600

/** One line of a transcript for a summarizer: who, and what was said, called or returned. Arguments and results are in it. */
function transcriptLine(item: Item): string | undefined {
  const text = item.text.trim()
  switch (item.kind) {
    case 'call':
      return `[called tool: ${item.toolName ?? 'unknown'}] ${cutHead(text, ARGUMENT_CHARACTERS)}`
    case 'result':
      return `[tool ${item.toolName ?? 'unknown'} returned] ${ends(text, RESULT_CHARACTERS)}`
    case 'user':
    case 'assistant':
    case 'instruction':
      return text === '' ? undefined : `${item.role}: ${text}`
    case 'media':
      return `${item.role}: [${(item.media ?? []).map(({ mime, type }) => mime ?? type).join(', ')}]`
    case 'reasoning':
    case 'opaque':
      return undefined
  }
}

/** The newest lines that fit, oldest first; the rest is counted. */
export function transcriptWithin(
  items: readonly Item[],
  maxTokens: number,
  countText: (text: string) => number,
): string {
  const lines: string[] = []
  let left = maxTokens
  let dropped = 0
  for (const item of items.toReversed()) {
    const line = transcriptLine(item)
    if (line === undefined) continue
    const cost = countText(line) + 1
    if (dropped > 0 || (cost > left && lines.length > 0)) {
      dropped++
      continue
    }
    lines.unshift(cost > left ? cutHead(line, Math.max(200, Math.floor((line.length * left) / cost))) : line)
    left -= cost
  }
  return dropped === 0 ? lines.join('\n') : `[${dropped} older entries left out]\n${lines.join('\n')}`
}

/** The first bytes of a text, never half a character. */
export const excerptOf = (text: string, maxBytes: number): string =>
  byteLength(text) <= maxBytes ? text : `${cutHeadBytes(text, maxBytes)}...`

function ends(text: string, characters: number): string {
  const half = Math.floor(characters / 2)
  return text.length <= characters ? text : `${cutHead(text, half)} … ${cutTail(text, half)}`
}

const QUOTE_BYTES = 2_000

/** What a person asked of this summary stays with it: code cannot follow it, the next model can. */
export const askedFor = ({ instructions }: { readonly instructions?: string }): string =>
  instructions === undefined ? '' : `The user asked of this summary: ${excerptOf(instructions, QUOTE_BYTES)}`

/** The same for the model that writes it. */
export const withInstructions = (system: string, instructions: string | undefined): string =>
  instructions === undefined ? system : `${system}\nThe user asks of this summary: ${instructions}`
