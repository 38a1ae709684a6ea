/** Measures simple managers on recorded sessions. Shared by the printed table and by the test that holds its figures. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PriceModel } from '../src/core/price.ts'
import { RecallIndex, readableText, RecallTally, type Recall } from '../src/lab/replay/recall.ts'
import { SessionPricer, type SentPiece } from '../src/lab/replay/price.ts'
import { codecs } from '../src/formats/registry.ts'
import { loadFile } from '../src/lab/transcripts/load.ts'
import type { LoadOptions, Part, Recording } from '../src/lab/transcripts/recording.ts'
import { tokensOf, type Manager, type Message, type Shown } from './simple-managers.ts'

export const SONNET_4_5: PriceModel = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, caching: 'marks' }

export interface Session {
  readonly recording: Recording
  /** Tokens of the instructions and tools in front of its requests. */
  readonly headTokens: number
  readonly index: RecallIndex
  readonly messages: readonly Message[]
}

export interface Counting {
  /** Tokens of a text. */
  readonly count: (text: string) => number
  /** Tokens that each tool call costs beside its text. */
  readonly perCall: number
  /** Tokens of a part as it travels: escapes, keys, ids and framing included. @default its text as it is read */
  readonly countPart?: (part: Part) => number
}

export const byCharacters = (charactersPerToken: number, perCall = 0): Counting => ({
  count: (text) => text.length / charactersPerToken,
  perCall,
})

/** Figures of one manager over all sessions. */
export interface Figures {
  readonly recall: Recall
  readonly costUsd: number
  readonly over: number
  /** Share of calls that still show the first message. */
  readonly taskKept: number
}

/** Sessions of a folder as a client would send them that resends everything, thinking left out. */
export async function loadSessions(
  folder: string,
  counting: Counting,
  parallel: NonNullable<LoadOptions['parallel']>,
): Promise<readonly Session[]> {
  const sessions: Session[] = []
  for (const name of readdirSync(folder).sort()) {
    const { recordings } = await loadFile(join(folder, name), { resend: 'everything', thinking: 'drop', parallel })
    for (const recording of recordings) sessions.push(sessionOf(recording, counting))
  }
  return sessions
}

export function sessionOf(recording: Recording, { count, perCall, countPart }: Counting): Session {
  const messages = recording.messages.map((message, index): Message => {
    const texts = message.parts.map(readableText)
    const cleared = message.parts.map((part, at) => (part.kind === 'result' ? '[cleared]' : (texts[at] as string)))
    const calls = message.parts.filter((part) => part.kind === 'call').length
    const shown = (id: string, all: readonly string[]): Shown => ({
      id,
      texts: all,
      tokens: all.reduce(
        (total, text, at) =>
          total + (countPart !== undefined && text === texts[at] ? countPart(message.parts[at]!) : count(text)),
        calls * perCall,
      ),
    })
    const whole = shown(`${index}`, texts)
    return {
      index,
      tokens: whole.tokens,
      isResult: message.parts.some((part) => part.kind === 'result'),
      parts: message.parts.map(({ kind, toolName = '' }, at) => ({ kind, text: texts[at] as string, tool: toolName })),
      whole,
      cleared: shown(`${index} cleared`, cleared),
    }
  })
  return { recording, headTokens: headTokensOf(recording, count), index: new RecallIndex(recording), messages }
}

/** Instructions that are a message of the history count there. */
function headTokensOf({ calls, wire, system = '' }: Recording, count: (text: string) => number): number {
  const first = calls[0]
  const tools = first === undefined ? [] : codecs.get(wire)!.decode(first.body()).tools
  return tools.reduce((sum, { text }) => sum + count(text), count(system))
}

/** `headTokens` of system and tools stand before every request, in front of its own. */
export function measure(
  manager: Manager,
  window: number,
  headTokens: number,
  sessions: readonly Session[],
  count: (text: string) => number = (text) => text.length / 3,
): Figures {
  const tally = new RecallTally()
  let costUsd = 0
  let over = 0
  let taskKept = 0
  let calls = 0
  for (const { recording, headTokens: own, index, messages } of sessions) {
    const head: SentPiece = { text: 'head', tokens: headTokens + own }
    const manage = manager.start(window - head.tokens, count)
    const pricer = new SessionPricer(SONNET_4_5)
    for (const call of recording.calls) {
      const view = manage(messages.slice(0, call.to))
      const sent = view.map(({ id, tokens }): SentPiece => ({ text: id, tokens }))
      pricer.add({ pieces: [head, ...sent], outputTokens: 0 })
      const texts = view.flatMap((shown) => shown.texts)
      tally.add(index, call.index, index.view(texts))
      if (tokensOf(view) + head.tokens > window) over++
      if (view[0] === messages[0]?.whole) taskKept++
      calls++
    }
    costUsd += pricer.total().inputCostUsd
  }
  return { recall: tally.total(), costUsd, over, taskKept: calls === 0 ? 1 : taskKept / calls }
}
