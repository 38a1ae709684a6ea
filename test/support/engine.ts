import { CacheLives } from '../../src/meter/index.ts'
import { createHash } from 'node:crypto'
import { exactly, sumCounts, type Count } from '../../src/core/count.ts'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { CLAUDE_CODE } from '../../src/core/identity.ts'
import type { Item } from '../../src/core/item.ts'
import type { Policy } from '../../src/core/policy.ts'
import { artifactAddress } from '../../src/drivers/artifacts/artifact.ts'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import type { EngineDeps, EngineMeter } from '../../src/engine/deps.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { createToolRegistry } from '../../src/engine/intake/index.ts'
import { presentText } from '../../src/engine/tool-results/present.ts'
import { readerProvenance } from '../../src/engine/readers/reader.ts'
import { createMemo, noMemo } from '../../src/engine/memo/memo.ts'
import { createSession, type Session } from '../../src/engine/session/session.ts'
import { codecs } from '../../src/formats/registry.ts'
import type { ArtifactStore } from '../../src/ports/artifact-store.ts'
import type { ModelInfo } from '../../src/ports/catalogue.ts'
import type { SessionStore } from '../../src/ports/session-store.ts'
import type { Summarizer } from '../../src/ports/summarizer.ts'

export const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 40)

/** Four characters to a token, exactly: the arithmetic of a test can be done by hand. */
const countItem = (item: Item): Count => exactly(Math.ceil(item.text.length / 4) + 4)

export const plainMeter: EngineMeter = {
  countText: (_target, text) => exactly(Math.ceil(text.length / 4)),
  countItem: (_target, item) => countItem(item),
  measureItems: (_target, items) => {
    const count = sumCounts(items.map(countItem))
    return { count, byClass: { code: count.tokens } }
  },
  countClasses: (_target, byClass) => exactly(Object.values(byClass).reduce((sum, tokens) => sum + tokens, 0)),
  measure(_target, conversation, bytes) {
    const head = sumCounts(conversation.head.map(countItem)).tokens
    const tools = sumCounts(conversation.tools.map((tool) => exactly(Math.ceil(tool.text.length / 4)))).tokens
    const items = sumCounts(conversation.items.map(countItem)).tokens
    const count = exactly(head + tools + items)
    return { count, raw: count, bytes, byClass: { code: count.tokens }, parts: { head, tools, items, framing: 0 } }
  },
  limitOf(target, settings, buffer) {
    const window = target.window ?? 8_000
    const reserve = settings.maxOutputTokens ?? 512
    const margin = Math.round(Math.min(buffer.max, Math.max(buffer.min, window * buffer.fraction)))
    return {
      window,
      buffer: margin,
      outputReserve: reserve,
      tokens: window - margin - reserve,
      bytes: 32_000_000,
      source: 'config',
    }
  },
  perAnswer: (_target, format) =>
    ({ messages: 3, items: 2, contents: 1 })[codecs.get(format)?.traits.promptFraming ?? 'messages'],
  familyOf: () => 'o200k',
  factsOf: () => unknownModel,
}

const unknownModel: ModelInfo = {
  id: 'test',
  window: 8_000,
  tokenizer: 'o200k',
  reasoning: false,
  bindsThinking: false,
}

export interface TestEngine {
  readonly deps: EngineDeps
  readonly events: PlimsollEvent[]
  session(id?: string): Session
}

export function testEngine(
  options: {
    policy?: Policy
    sessions?: SessionStore
    artifacts?: ArtifactStore
    meter?: EngineMeter
    summarizer?: Summarizer
    /** Memory of earlier work. @default true */
    memo?: boolean
  } = {},
): TestEngine {
  const secret = Buffer.alloc(32, 7)
  const events: PlimsollEvent[] = []
  let now = 1_000
  const deps: EngineDeps = {
    codecs,
    meter: options.meter ?? plainMeter,
    catalogue: { resolve: () => ({ info: unknownModel, match: 'exact' }), search: () => [] },
    sessions: options.sessions ?? memoryStore(),
    artifacts: options.artifacts ?? memoryArtifacts({ secret }),
    ...(options.summarizer !== undefined && { summarizer: options.summarizer }),
    addressOf: artifactAddress(secret),
    present: presentText,
    describeResult: createToolRegistry().summarise,
    provenance: readerProvenance(secret),
    clock: { now: () => now++ },
    cacheLives: new CacheLives(),
    hash,
    memo: (options.memo === false ? noMemo : createMemo)({ hash, profile: CLAUDE_CODE }),
    emit: (event) => events.push(event),
    policy: options.policy ?? policyNamed('plimsoll'),
  }
  return { deps, events, session: (id = 'test') => createSession(async () => deps, { id }) }
}
