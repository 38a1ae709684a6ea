/** Measures simple managers on recorded sessions. Shared by the printed table and by the test that holds its figures. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import type { PriceModel } from '../src/core/price.ts'
import { RecallIndex } from '../src/engine/replay/recall.ts'
import { SessionPricer } from '../src/engine/replay/session-price.ts'
import type { SentPiece } from '../src/engine/replay/session-price.ts'
import { readableText } from '../src/engine/replay/source.ts'
import { RecallTally } from '../src/engine/replay/tally.ts'
import type { Recall } from '../src/engine/replay/tally.ts'
import { loadFile } from '../src/formats/transcripts/load.ts'
import type { LoadOptions, Recording } from '../src/formats/transcripts/recording.ts'
import { tokensOf } from './simple-managers.ts'
import type { Manager, Message } from './simple-managers.ts'

export const SONNET_4_5: PriceModel = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, caching: 'marks' }

export interface Session {
  readonly recording: Recording
  readonly index: RecallIndex
  readonly messages: readonly Message[]
  readonly pieces: readonly { readonly whole: SentPiece; readonly cleared: SentPiece }[]
}

export interface Counting {
  readonly charactersPerToken: number
  /** Tokens that each tool call costs beside its text. */
  readonly perCall: number
}

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

function sessionOf(recording: Recording, { charactersPerToken, perCall }: Counting): Session {
  const messages = recording.messages.map((message, index): Message => {
    const texts = message.parts.map(readableText)
    const cleared = message.parts.map((part, at) => (part.kind === 'result' ? '[cleared]' : (texts[at] as string)))
    const calls = message.parts.filter((part) => part.kind === 'call').length
    const count = (all: readonly string[]) =>
      all.reduce((total, text) => total + text.length / charactersPerToken, calls * perCall)
    const isResult = message.parts.some((part) => part.kind === 'result')
    return { index, texts, tokens: count(texts), isResult, cleared: { texts: cleared, tokens: count(cleared) } }
  })
  const pieces = messages.map((message) => ({
    whole: { text: `${message.index}`, tokens: message.tokens },
    cleared: { text: `${message.index} cleared`, tokens: message.cleared.tokens },
  }))
  return { recording, index: new RecallIndex(recording), messages, pieces }
}

/** `headTokens` of system and tools stand before every request. */
export function measure(manager: Manager, window: number, headTokens: number, sessions: readonly Session[]): Figures {
  const tally = new RecallTally()
  const head: SentPiece = { text: 'head', tokens: headTokens }
  let costUsd = 0
  let over = 0
  let taskKept = 0
  let calls = 0
  for (const { recording, index, messages, pieces } of sessions) {
    const manage = manager.start(window - headTokens)
    const pricer = new SessionPricer(SONNET_4_5)
    for (const call of recording.calls) {
      const view = manage(messages.slice(0, call.to))
      const sent = view.map(
        ({ message, isCleared }) => pieces[message.index]?.[isCleared ? 'cleared' : 'whole'] ?? head,
      )
      pricer.add({ pieces: [head, ...sent], outputTokens: 0 })
      const texts = view.flatMap(({ message, isCleared }) => (isCleared ? message.cleared.texts : message.texts))
      tally.add(index, call.index, index.view(texts))
      if (tokensOf(view) + headTokens > window) over++
      if (view[0]?.message.index === 0) taskKept++
      calls++
    }
    costUsd += pricer.total().inputCostUsd
  }
  return { recall: tally.total(), costUsd, over, taskKept: calls === 0 ? 1 : taskKept / calls }
}
