import type { Recording } from '../../src/lab/transcripts/recording.ts'
import { incident } from './incident.ts'

const CHARACTERS_PER_TOKEN = 3
const TOOLS = 20

/** The same recording with instructions and tools in front of every request, half of the tokens each. */
export function withHead(recording: Recording, tokens: number): Recording {
  if (tokens === 0) return recording
  const prose = incident(4_000, 11)
    .map(({ content }) => content ?? '')
    .join('\n')
  const half = Math.floor((tokens * CHARACTERS_PER_TOKEN) / 2)
  const instructions = prose.slice(0, half)
  const share = Math.floor(half / TOOLS)
  const tools = Array.from({ length: TOOLS }, (_, n) => ({
    name: `tool_${n}`,
    description: prose.slice(half + n * share, half + (n + 1) * share),
  }))
  const dressed = (text: string, wire: string): string => {
    const body = JSON.parse(text) as Record<string, unknown>
    if (wire === 'anthropic-messages') {
      const own = body['system']
      const first = { type: 'text', text: instructions }
      return JSON.stringify({
        ...body,
        system: [first, ...(typeof own === 'string' ? [{ type: 'text', text: own }] : ((own as unknown[]) ?? []))],
        tools: [...((body['tools'] as unknown[]) ?? []), ...tools.map((tool) => ({ ...tool, input_schema: OPEN }))],
      })
    }
    if (wire === 'openai-responses') {
      return JSON.stringify({
        ...body,
        instructions:
          typeof body['instructions'] === 'string' ? `${instructions}\n${body['instructions']}` : instructions,
        tools: [
          ...((body['tools'] as unknown[]) ?? []),
          ...tools.map((tool) => ({ type: 'function', ...tool, parameters: OPEN, strict: false })),
        ],
      })
    }
    throw new Error(`No head is written for ${wire}.`)
  }
  return {
    ...recording,
    calls: recording.calls.map((call) => ({ ...call, body: () => dressed(call.body(), recording.wire) })),
  }
}

const OPEN = { type: 'object' }
