import { describe, expect, it } from 'vitest'
import { cacheSizes } from '../../src/compose/cache-sizes.ts'
import { presentInThread } from '../../src/compose/open/present-in-thread.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { presentText } from '../../src/engine/tool-results/present.ts'
import type { PresentOptions } from '../../src/engine/deps.ts'
import { createPlimsoll } from '../../src/index.ts'
import type { LogRecord } from '../../src/core/records.ts'
import type { SessionStore } from '../../src/ports/session-store.ts'

const MODEL = { model: 'gpt-4o', window: 16_000 }

const options: PresentOptions = {
  budgetTokens: 800,
  countTokens: (text) => Math.ceil(text.length / 4),
  handle: 'art_00000000000000000000000000',
  tool: 'bash',
  readers: new Map([['artifact_read', 'recall']]),
}

const log = (lines: number): string =>
  Array.from(
    { length: lines },
    (_, n) => `2026-11-16T10:00:00Z INFO worker-${n % 7} handled id=${n} in ${n % 90} ms`,
  ).join('\n')

describe('a view of a long output', () => {
  it('is made in another thread and is the same one', async () => {
    const aside = presentInThread(() => {
      throw new Error('not here')
    })
    const long = log(12_000)
    const { text } = await aside.present(long, options)
    expect(text).toBe(presentText(long, options).text)
    await aside.close()
  })

  it('is made here where the output is short', async () => {
    const aside = presentInThread(presentText)
    expect((await aside.present(log(100), options)).text).toBe(presentText(log(100), options).text)
    await aside.close()
  })
})

/** A store that says what it was asked to append. */
function watchedStore(): { store: SessionStore; batches: (readonly LogRecord[])[] } {
  const inner = memoryStore()
  const batches: (readonly LogRecord[])[] = []
  const store: SessionStore = {
    ...inner,
    append(tenant, session, records, expected, how) {
      batches.push(records)
      return inner.append(tenant, session, records, expected, how)
    },
  }
  return { store, batches }
}

describe('a first request with very many items', () => {
  const messages = [
    ...Array.from({ length: 1_300 }, (_, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content: `m ${n}` })),
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'bash', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: log(3_000) },
  ]

  it('is archived in parts, what was decided about it before the rest', async () => {
    const { store, batches } = watchedStore()
    const plimsoll = createPlimsoll({ store, artifacts: 'memory:' })
    const session = plimsoll.session({ id: 's' })
    const turn = await session.prepare({
      format: 'openai-chat',
      body: { model: MODEL.model, messages },
      targets: [MODEL],
    })
    await session.record({ turn: turn.id })
    await plimsoll.close()
    expect(Math.max(...batches.map((batch) => batch.length))).toBeLessThanOrEqual(500)
    const all = batches.flat()
    const lastDecision = all.findLastIndex(({ type }) => type === 'edit')
    expect(lastDecision).toBeGreaterThanOrEqual(0)
    expect(all.findIndex(({ type }) => type === 'item-seen')).toBeGreaterThan(lastDecision)
    const identities = all.flatMap((record) => (record.type === 'item-seen' ? [record.identity] : []))
    expect(new Set(identities).size).toBe(messages.length)
  })
})

describe('one bound for all caches', () => {
  it('is what they hold together', () => {
    const bound = 256 * 2 ** 20
    const sum = Object.values(cacheSizes(bound)).reduce((all, size: number) => all + size, 0)
    expect(sum).toBeLessThan(bound)
    expect(sum).toBeGreaterThan(bound / 2)
  })

  it('changes no byte that is sent', async () => {
    const sent = async (memoryBytes: number | undefined): Promise<string[]> => {
      const plimsoll = createPlimsoll({
        store: 'memory:',
        artifacts: 'memory:',
        secret: Buffer.alloc(32, 1),
        ...(memoryBytes !== undefined && { memoryBytes }),
      })
      const session = plimsoll.session({ id: 's' })
      const texts: string[] = []
      for (let turns = 1; turns <= 12; turns++) {
        const messages = Array.from({ length: 2 * turns - 1 }, (_, n) => ({
          role: n % 2 === 0 ? 'user' : 'assistant',
          content: `${n} ${'some words of it '.repeat(300)}`,
        }))
        const body = { model: MODEL.model, messages }
        const { id, text } = await session.prepare({ format: 'openai-chat', body, targets: [MODEL] })
        texts.push(text)
        await session.record({ turn: id })
      }
      await plimsoll.close()
      return texts
    }
    expect(await sent(2 ** 24)).toEqual(await sent(undefined))
  })
})
