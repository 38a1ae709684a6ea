import { createHash } from 'node:crypto'
import { exactly, sumCounts } from '../../src/core/count.ts'
import type { PlimsollEvent } from '../../src/core/events.ts'
import type { Policy } from '../../src/core/policy.ts'
import { artifactAddress } from '../../src/drivers/artifacts/address.ts'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import type { EngineDeps, EngineMeter } from '../../src/engine/deps.ts'
import { policyNamed } from '../../src/engine/policies/index.ts'
import { presentText } from '../../src/engine/present.ts'
import { createSession, type Session } from '../../src/engine/session.ts'
import { codecs } from '../../src/formats/registry.ts'
import type { ModelInfo } from '../../src/ports/catalogue.ts'
import type { SessionStore } from '../../src/ports/session-store.ts'

export const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 40)

/** Four characters to a token, exactly: the arithmetic of a test can be done by hand. */
export const plainMeter: EngineMeter = {
  countText: (_model, text) => exactly(Math.ceil(text.length / 4)),
  countItem: (_model, item) => exactly(Math.ceil(item.text.length / 4) + 4),
  measure: (_model, conversation, bytes) => ({
    count: sumCounts([
      ...[...conversation.head, ...conversation.items].map((item) => exactly(Math.ceil(item.text.length / 4) + 4)),
      ...conversation.tools.map((tool) => exactly(Math.ceil(tool.text.length / 4))),
    ]),
    bytes,
  }),
  limitOf: (target, settings, buffer) => {
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
}

const unknownModel: ModelInfo = {
  id: 'test',
  window: 8_000,
  tokenizer: 'o200k',
  reasoning: false,
  modalities: ['text'],
  bindsThinking: false,
}

export interface TestEngine {
  readonly deps: EngineDeps
  readonly events: PlimsollEvent[]
  session(id?: string): Session
}

export function testEngine(
  options: { policy?: Policy; sessions?: SessionStore; meter?: EngineMeter } = {},
): TestEngine {
  const secret = Buffer.alloc(32, 7)
  const events: PlimsollEvent[] = []
  let now = 1_000
  const deps: EngineDeps = {
    codecs,
    meter: options.meter ?? plainMeter,
    catalogue: { resolve: () => ({ info: unknownModel, match: 'default' }), search: () => [] },
    sessions: options.sessions ?? memoryStore(),
    artifacts: memoryArtifacts({ secret }),
    addressOf: artifactAddress(secret),
    present: presentText,
    clock: { now: () => now++ },
    hash,
    emit: (event) => events.push(event),
    policy: options.policy ?? policyNamed('plimsoll'),
  }
  return { deps, events, session: (id = 'test') => createSession(async () => deps, { id }) }
}
